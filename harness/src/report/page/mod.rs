//! A page for a browser: what the subject did beside what was expected, as pictures and line by
//! line.
//!
//! One file that needs nothing else: no network (its own policy forbids it), no script but the
//! slider's, which the policy knows by its digest, no font. Light or dark as the reader's system
//! is. Everything that comes from a case, a subject or a cluster goes through `escape`.
//!
//! * `chart` draws a timeline: a lane for each Deployment with its bounds, one for each ReplicaSet
//!   with what is wanted and available.
//! * `frames` is a slider through the frames of a recording.
//! * `recorded` is the page of a recording that has no case.
//! * `steps` is the same in lines, both sides beside each other.
//! * `picture` is one of the pictures as a file of its own.

mod chart;
mod frames;
mod picture;
mod recorded;
mod steps;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use super::again::Again;
use super::conduct::conduct;
use super::escape::escape;
use super::failure::{brief, cluster, outcome, sentence};
use crate::case::Case;
use crate::course::{Course, Frames};
use crate::outcome::Outcome;
use crate::plain;
use crate::timeline::{StepId, Timeline};
use crate::verdict::{Blessing, Judgement, Place, What};

pub use picture::picture;
pub use recorded::recorded;

/// One judged play on the page.
#[derive(Debug, Clone, Copy)]
pub struct Sheet<'a> {
    /// What was found.
    pub judgement: &'a Judgement,
    /// What was expected: the golden timeline, or another run's.
    pub expected: Option<&'a Timeline>,
    /// The commands that play it again.
    pub again: &'a Again,
    /// How long it took, where that is known.
    pub took: Option<Duration>,
    /// What was recorded, for a slider.
    pub frames: Option<&'a Frames>,
}

/// With more cases than this the good ones are folded.
const OPEN: usize = 3;
/// With more steps than this the two pictures stand one below the other.
const BESIDE: usize = 13;

/// The page.
#[must_use]
pub fn page(title: &str, sheets: &[Sheet<'_>]) -> String {
    let mut body =
        format!("<header class=\"top\"><h1>{}</h1><p>{}</p></header>\n<main>\n", escape(title), counts(sheets));
    if sheets.len() > 1 {
        index(&mut body, sheets);
    }
    for (number, sheet) in sheets.iter().enumerate() {
        section(&mut body, number, sheet, sheets.len() <= OPEN);
    }
    document(title, &(body + "</main>\n"), sheets.iter().any(|sheet| sheet.frames.is_some()))
}

/// A whole file with this body, and with the slider's script where there is a slider.
fn document(title: &str, body: &str, slides: bool) -> String {
    let (allowed, style, script) = if slides {
        let script = format!("<script>{}</script>\n", frames::SCRIPT);
        (format!("; script-src '{}'", frames::DIGEST), include_str!("frames.css"), script)
    } else {
        (String::new(), "", String::new())
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'{allowed}\">\n\
         <title>{}</title>\n<style>\n{}{}{}{style}</style>\n</head>\n<body>\n{}{body}{script}</body>\n</html>\n",
        escape(title),
        include_str!("colours.css"),
        include_str!("style.css"),
        include_str!("chart.css"),
        chart::patterns(),
    )
}

/// How many of each outcome.
fn counts(sheets: &[Sheet<'_>]) -> String {
    let mut words: Vec<(&str, &str, usize)> = Vec::new();
    for sheet in sheets {
        let (word, class) = word(sheet.judgement);
        match words.iter_mut().find(|(known, ..)| *known == word) {
            Some((.., count)) => *count += 1,
            None => words.push((word, class, 1)),
        }
    }
    words.sort();
    words.iter().map(|(word, class, count)| format!("<span class=\"badge {class}\">{count} {word}</span> ")).collect()
}

/// The outcome's word and class.
fn word(judgement: &Judgement) -> (&'static str, &'static str) {
    match (judgement.outcome(), &judgement.blessing) {
        (Outcome::Conformant, _) => ("conformant", "good"),
        (Outcome::NonConformant, _) => ("non-conformant", "bad"),
        (Outcome::Unblessed, Blessing::Changed(_)) => ("changed", "doubtful"),
        (Outcome::Unblessed, _) => ("unblessed", "doubtful"),
        _ => ("inconclusive", "doubtful"),
    }
}

fn index(out: &mut String, sheets: &[Sheet<'_>]) {
    out.push_str("<nav><table><thead><tr><th>case<th>subject<th>outcome<th>first wrong step</thead><tbody>\n");
    let mut order: Vec<(usize, &Sheet<'_>)> = sheets.iter().enumerate().collect();
    order.sort_by_key(|(number, sheet)| (sheet.judgement.outcome() == Outcome::Conformant, *number));
    for (number, sheet) in order {
        let judgement = sheet.judgement;
        let (word, class) = word(judgement);
        let first = judgement.decisive().map_or_else(String::new, brief);
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#case{number}\">{}</a><td>{}<td><span class=\"badge {class}\">{word}</span><td>{}",
            escape(&judgement.case),
            escape(&judgement.subject.name),
            escape(&first)
        );
    }
    out.push_str("</tbody></table></nav>\n");
}

/// All about one case.
fn section(out: &mut String, number: usize, sheet: &Sheet<'_>, open: bool) {
    let judgement = sheet.judgement;
    let (word, class) = word(judgement);
    let open = if open || judgement.outcome() != Outcome::Conformant { " open" } else { "" };
    let _ = writeln!(
        out,
        "<section id=\"case{number}\" class=\"{class}\"><details{open}><summary><h2>{}</h2><span class=\"badge {class}\">{word}</span></summary>",
        escape(&judgement.case)
    );
    let case = &judgement.definition;
    let _ = writeln!(out, "<p class=\"lead\">{}</p>", escape(&case.description));
    callout(out, judgement);
    facts(out, sheet);
    let wrong = wrong_step(judgement);
    pictures(out, number, sheet, case, wrong);
    if let Some(all) = sheet.frames {
        frames::slider(out, all, wrong);
    }
    steps::lines(out, number, sheet.expected, &judgement.timeline, wrong);
    source(out, judgement);
    out.push_str("</details></section>\n");
}

/// The step of the finding that decided.
fn wrong_step(judgement: &Judgement) -> Option<StepId> {
    match judgement.decisive()?.place {
        Place::Step(id) => Some(id),
        Place::Events => None,
    }
}

/// What went wrong first, in words.
fn callout(out: &mut String, judgement: &Judgement) {
    let Some(finding) = judgement.decisive() else { return };
    let (_, class) = word(judgement);
    let line = finding.line.map_or_else(String::new, |line| format!(" · {}:{line}", judgement.path));
    let _ = writeln!(
        out,
        "<div class=\"callout {class}\"><p><b>{}</b> {}<span class=\"faint\">{}</span></p>",
        escape(&finding.place.to_string()),
        escape(&finding.label),
        escape(&line)
    );
    if let Some(text) = finding.line.and_then(|line| judgement.definition.source.lines().nth(line - 1)) {
        let _ = writeln!(out, "<pre>{}</pre>", escape(&plain::shortened(text.trim())));
    }
    let _ = writeln!(out, "<p>{}</p>", escape(&sentence(&finding.what)));
    if let What::Breach(breach) = &finding.what {
        let _ = writeln!(out, "<p class=\"faint\">the invariant: {}</p>", escape(breach.invariant.says()));
    }
    let conduct = conduct(judgement).join("\n");
    if !conduct.is_empty() {
        let _ = writeln!(out, "<pre>{}</pre>", escape(conduct.trim_matches('\n')));
    }
    let others: Vec<_> = judgement.findings.iter().filter(|it| *it != finding).collect();
    if !others.is_empty() {
        let items: String = others.iter().map(|it| format!("<li>{}</li>", escape(&brief(it)))).collect();
        let _ = writeln!(out, "<details><summary>{} more finding(s)</summary><ul>{items}</ul></details>", others.len());
    }
    out.push_str("</div>\n");
}

/// Who, where, what it cost, and how to see it again.
fn facts(out: &mut String, sheet: &Sheet<'_>) {
    let judgement = sheet.judgement;
    let (subject, cluster) = (judgement.subject.to_string(), cluster(judgement));
    let took = sheet.took.map(|took| format!("{:.2} s", took.as_secs_f64()));
    let rows = [
        ("subject", Some(subject)),
        ("expected", Some(expected(judgement))),
        ("cluster", Some(cluster)),
        ("took", took),
        ("cost", Some(judgement.metrics.to_string())),
    ];
    out.push_str("<dl>");
    for (name, value) in rows {
        if let Some(value) = value {
            let _ = write!(out, "<dt>{name}<dd>{}", escape(&value));
        }
    }
    if !sheet.again.repeat.is_empty() {
        let _ = write!(out, "<dt>repeat<dd><code>{}</code>", escape(&sheet.again.repeat));
    }
    out.push_str("</dl>\n");
}

/// Where the expectation comes from.
fn expected(judgement: &Judgement) -> String {
    match &judgement.blessing {
        Blessing::Golden(Some(from)) => {
            let which = outcome(judgement).map_or_else(String::new, |which| format!(", {which}"));
            format!("{} on {}, {} recordings{which}", from.controller, from.server, from.recordings)
        }
        Blessing::Golden(None) => "a golden timeline".to_owned(),
        Blessing::Live(other) => format!("{other}, live"),
        Blessing::Unblessed => "nothing but the invariants: no timeline is blessed".to_owned(),
        Blessing::Rules => "the case's own rules".to_owned(),
        Blessing::Changed(_) => "nothing but the invariants: the case has changed since it was blessed".to_owned(),
    }
}

fn pictures(out: &mut String, number: usize, sheet: &Sheet<'_>, case: &Case, wrong: Option<StepId>) {
    let actual = Course::of(&sheet.judgement.timeline, case);
    let expected = sheet.expected.map(|timeline| Course::of(timeline, case));
    let ids: BTreeSet<StepId> =
        expected.iter().chain([&actual]).flat_map(|course| course.stops.iter().map(|stop| stop.id)).collect();
    let frame = chart::Frame::around(expected.iter().chain([&actual]), ids.into_iter().collect(), wrong, Some(number));
    let beside = if frame.columns() <= BESIDE { " beside" } else { "" };
    let _ = writeln!(out, "<div class=\"pictures{beside}\">");
    if let (Some(course), Some(timeline)) = (&expected, sheet.expected) {
        frame.figure(out, "expected", &expected_by(sheet.judgement), course, timeline);
    }
    let subject = &sheet.judgement.subject;
    frame.figure(out, "happened", &subject.to_string(), &actual, &sheet.judgement.timeline);
    out.push_str("</div>\n");
    out.push_str(chart::LEGEND);
}

fn expected_by(judgement: &Judgement) -> String {
    match &judgement.blessing {
        Blessing::Golden(Some(from)) => format!("{} ({})", from.name, from.controller),
        Blessing::Live(other) => other.to_string(),
        _ => "blessed".to_owned(),
    }
}

/// The case file, the line of the wrong step marked.
fn source(out: &mut String, judgement: &Judgement) {
    let wrong = judgement.decisive().and_then(|finding| finding.line);
    let _ = write!(out, "<details class=\"source\"><summary>{}</summary><ol>", escape(&judgement.path));
    for (number, line) in (1..).zip(judgement.definition.source.lines()) {
        let class = if Some(number) == wrong { " class=\"wrong\"" } else { "" };
        let _ = write!(out, "<li{class}><code>{} </code></li>", escape(&plain::shortened(line)));
    }
    out.push_str("</ol></details>\n");
}

#[cfg(test)]
mod tests;
