//! The list of the cases on a page: what went wrong, with the cases below it, and a filter by text
//! and outcome.
//!
//! The filter is a script, which the page's policy allows by its digest. Without scripts the page
//! shows everything.

use std::fmt::Write;

use lockstep_support::outcome::RunOutcome;
use lockstep_verdict::{ComparisonBasis, Judgement};

use super::chart::escape;
use crate::failure::brief;
use crate::failure_signature::failure_signature;

/// The script of the filter.
pub(super) const SCRIPT: &str = include_str!("index.js");
/// The SHA-256 of the script in the form of a policy. A test compares it.
pub(super) const DIGEST: &str = "sha256-G31eqswiEYwNw5cegct4ibJ/DgCCzeg6nPJyIcL6UvM=";

/// The plays that went wrong for one reason.
#[derive(Debug)]
pub(super) struct CauseGroup {
    /// The reason, without numbers; or the outcome.
    pub(super) title: String,
    /// Whether these are the conformant plays.
    pub(super) is_conformant: bool,
    /// The indexes of the plays.
    pub(super) plays: Vec<usize>,
}

/// The plays by cause, the most frequent cause first, then the conformant ones.
pub(super) fn causes(judgements: &[&Judgement]) -> Vec<CauseGroup> {
    let mut groups: Vec<CauseGroup> = Vec::new();
    for (number, judgement) in judgements.iter().enumerate() {
        let is_conformant = judgement.outcome() == RunOutcome::Conformant;
        let signature: Vec<String> = failure_signature(judgement).into_iter().collect();
        let title = match (is_conformant, signature.is_empty()) {
            (false, false) => signature.join("; "),
            (false, true) if judgement.headline().is_some() => "only numbers differ".to_owned(),
            _ => word(judgement).0.to_owned(),
        };
        match groups.iter_mut().find(|group| group.title == title) {
            Some(group) => group.plays.push(number),
            None => groups.push(CauseGroup { title, is_conformant, plays: vec![number] }),
        }
    }
    groups.sort_by_key(|group| (group.is_conformant, usize::MAX - group.plays.len()));
    groups
}

/// Write the list and the filter.
pub(super) fn index(out: &mut String, judgements: &[&Judgement], causes: &[CauseGroup]) {
    out.push_str(
        "<nav aria-label=\"cases\">\n<form class=\"filter\" role=\"search\" hidden>\
         <input type=\"search\" placeholder=\"filter\" aria-label=\"filter by text\" title=\"a case, a subject, words of a finding; key: /\">\
         <select aria-label=\"filter by outcome\"><option value=\"\">every outcome</option>",
    );
    for (name, _, _) in counts_by_outcome(judgements) {
        let _ = write!(out, "<option>{name}</option>");
    }
    out.push_str("</select> <output></output></form>\n");
    let is_one = judgements.windows(2).all(|pair| pair[0].subject.name == pair[1].subject.name);
    for group in causes {
        // Conformant plays need no attention if there are others.
        let open = if group.is_conformant && causes.len() > 1 { "" } else { " open" };
        let _ = writeln!(
            out,
            "<details class=\"group\"{open}><summary><b>{}</b> {}</summary><ul>",
            group.plays.len(),
            escape(&group.title)
        );
        for number in &group.plays {
            let judgement = judgements[*number];
            let (word, class) = word(judgement);
            let first = judgement.headline().map_or_else(String::new, brief);
            let _ = writeln!(
                out,
                "<li data-case=\"case{number}\" data-outcome=\"{word}\"><span class=\"badge {class}\">{word}</span> \
                 <a href=\"#case{number}\">{}</a> <span class=\"faint\">{}</span> <span class=\"first\">{}</span></li>",
                escape(&judgement.case),
                escape(if is_one { "" } else { &judgement.subject.name }),
                escape(&first)
            );
        }
        out.push_str("</ul></details>\n");
    }
    out.push_str("</nav>\n");
}

/// The number of plays of each outcome, with the style class of the outcome.
fn counts_by_outcome(judgements: &[&Judgement]) -> Vec<(&'static str, &'static str, usize)> {
    let mut words: Vec<(&str, &str, usize)> = Vec::new();
    for judgement in judgements {
        let (word, class) = word(judgement);
        match words.iter_mut().find(|(known, ..)| *known == word) {
            Some((.., count)) => *count += 1,
            None => words.push((word, class, 1)),
        }
    }
    words.sort();
    words
}

/// The numbers of plays, as badges.
pub(super) fn counts(judgements: &[&Judgement]) -> String {
    let badge = |(word, class, count)| format!("<span class=\"badge {class}\">{count} {word}</span> ");
    counts_by_outcome(judgements).into_iter().map(badge).collect()
}

/// The name and the style class of an outcome.
pub(super) fn word(judgement: &Judgement) -> (&'static str, &'static str) {
    match (judgement.outcome(), &judgement.basis) {
        (RunOutcome::Conformant, _) => ("conformant", "good"),
        (RunOutcome::NonConformant, _) => ("non-conformant", "bad"),
        (RunOutcome::Unblessed, ComparisonBasis::Changed(_)) => ("changed", "doubtful"),
        (RunOutcome::Unblessed, _) => ("unblessed", "doubtful"),
        _ => ("inconclusive", "doubtful"),
    }
}
