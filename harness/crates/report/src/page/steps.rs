//! Both timelines line by line and step by step. Equal steps are collapsed; differing words are
//! marked.

use std::collections::BTreeSet;
use std::fmt::Write;

use lockstep_case::Case;
use lockstep_timeline::{DecisionAction, StepId, Timeline, TimelineLine, TimelineStep, fold};
use lockstep_verdict::series::RolloutSeries;
use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::chart::{anchor, escape};
use crate::explanation::StepReasons;
use crate::rows::{CommonRuns, DiffRow, rows};

/// Write the block of one case. Without an expected timeline it has one column; with a case, each
/// step says why upstream decides so, or why the subject does.
pub(super) fn lines(
    out: &mut String,
    number: usize,
    case: Option<&Case>,
    (expected, actual): (Option<&Timeline>, &Timeline),
    wrong: Option<StepId>,
) {
    let explained = expected.unwrap_or(actual);
    let series = case.map(|case| RolloutSeries::of(explained, case));
    out.push_str("<div class=\"steps\"><h3>step by step</h3>\n");
    let all = expected.iter().flat_map(|timeline| &timeline.steps).chain(&actual.steps);
    let ids: BTreeSet<StepId> = all.map(|step| step.id).collect();
    let mut ids = ids.into_iter();
    let common = CommonRuns::of(actual, expected.unwrap_or(actual));
    while let Some(id) = ids.next() {
        if let Some(run) = common.at(id).filter(|run| run.iter().all(|step| wrong != Some(step.id))) {
            let rest: Vec<TimelineLine> =
                run.last().into_iter().flat_map(TimelineStep::lines).filter(|line| line.state().is_some()).collect();
            let _ = writeln!(out, "<details><summary><b>{}</b></summary>", escape(&fold::heading(run)));
            for step in run {
                let _ = write!(out, "<a id=\"case{number}-{}\"></a>", anchor(step.id));
            }
            table(out, expected.is_some(), &rest, &rest);
            out.push_str("</details>\n");
            ids.by_ref().nth(run.len() - 2);
            continue;
        }
        let (left, right) = (expected.and_then(|timeline| timeline.step(id)), actual.step(id));
        let text = |step: Option<&TimelineStep>| step.map(TimelineStep::lines).unwrap_or_default();
        let differs = expected.is_some() && text(left) != text(right);
        let heading = right.or(left).map(TimelineStep::heading).unwrap_or_default();
        let is_wrong = wrong == Some(id);
        let (class, word) = match (differs, is_wrong) {
            (_, true) => (" class=\"wrong\"", "<span class=\"badge bad\">first wrong step</span>"),
            (true, false) => (" class=\"differs\"", "<span class=\"badge doubtful\">differs</span>"),
            _ => ("", ""),
        };
        let open = if is_wrong { " open" } else { "" };
        let _ = writeln!(
            out,
            "<details{class}{open}><summary><b>{}</b> <span class=\"faint\">{}</span> {word}</summary><a id=\"case{number}-{}\"></a>",
            escape(&heading),
            escape(&decisions_summary(right.or(left))),
            anchor(id)
        );
        table(out, expected.is_some(), &text(left), &text(right));
        if let Some(series) = &series {
            why(out, if expected.is_some() { "why upstream does so" } else { "why" }, explained, series, id);
        }
        out.push_str("</details>\n");
    }
    let events = |timeline: Option<&Timeline>| timeline.map(|timeline| timeline.events.lines()).unwrap_or_default();
    let (left, right) = (events(expected), events(Some(actual)));
    let differs = expected.is_some() && left != right;
    let word = if differs { "<span class=\"badge doubtful\">differs</span>" } else { "" };
    let _ = writeln!(out, "<details><summary><b>events</b> {word}</summary>");
    table(out, expected.is_some(), &left, &right);
    out.push_str("</details></div>\n");
}

/// Write the reasons for the decisions of a step.
fn why(out: &mut String, title: &str, timeline: &Timeline, series: &RolloutSeries, id: StepId) {
    let Some(at) = series.steps.iter().position(|stop| stop.id == id) else { return };
    let (Some(step), stop) = (timeline.step(id), &series.steps[at]) else { return };
    let before = at.checked_sub(1).map(|at| &series.steps[at]);
    let StepReasons { facts, decisions, idle } = StepReasons::of(step, before, stop);
    let _ = write!(out, "<div class=\"why\"><b>{title}</b><ul>");
    for text in facts.iter().chain(&idle) {
        let _ = write!(out, "<li>{}</li>", escape(text));
    }
    for (decision, reason) in &decisions {
        let reason = reason.as_ref().map_or_else(String::new, |reason| format!(": {}", escape(reason)));
        let _ = write!(out, "<li>{}<span class=\"faint\">{reason}</span></li>", escape(decision));
    }
    out.push_str("</ul></div>\n");
}

fn decisions_summary(step: Option<&TimelineStep>) -> String {
    let decisions = step.map(|step| step.decisions.as_slice()).unwrap_or_default();
    let sizes = decisions
        .iter()
        .filter(|decision| !matches!(decision.action, DecisionAction::Changed | DecisionAction::Annotated));
    let texts: Vec<String> = sizes.map(|decision| format!("{}{}", decision.object, decision.action)).collect();
    texts.join(", ").replace("->", "→")
}

fn table(out: &mut String, has_expected: bool, expected: &[TimelineLine], actual: &[TimelineLine]) {
    out.push_str("<table>");
    if has_expected {
        out.push_str("<thead><tr><th>− expected<th>+ happened</thead>");
    }
    out.push_str("<tbody>");
    if !has_expected {
        actual.iter().for_each(|line| row(out, &[("", cell(&line.indented()))]));
    } else if expected.is_empty() && actual.is_empty() {
        row(out, &[("", String::new()), ("", String::new())]);
    } else {
        for it in rows(expected, actual) {
            match it {
                DiffRow::Same(line) => row(out, &[("same", cell(&line)), ("again", cell(&line))]),
                DiffRow::Expected(line) => row(out, &[("minus", cell(&line)), ("gap", String::new())]),
                DiffRow::Actual(line) => row(out, &[("gap", String::new()), ("plus", cell(&line))]),
                DiffRow::Changed(old, new) => {
                    let (old, new) = mark_differences(&old, &new);
                    row(out, &[("minus", old), ("plus", new)]);
                }
            }
        }
    }
    out.push_str("</tbody></table>");
}

fn row(out: &mut String, cells: &[(&str, String)]) {
    out.push_str("<tr>");
    for (class, text) in cells {
        let _ = write!(out, "<td class=\"{class}\">{text}");
    }
    out.push('\n');
}

/// A line, with settled states fainter than decisions.
fn cell(line: &str) -> String {
    let class = if line.trim_start().starts_with("= ") { "rest" } else { "decision" };
    format!("<span class=\"{class}\">{}</span>", escape(line.trim()))
}

/// Two lines about one object, with the differing words marked on both sides.
fn mark_differences(old: &str, new: &str) -> (String, String) {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (a, b) = (words(old), words(new));
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for op in capture_diff_slices(Algorithm::Myers, &a, &b) {
        let (tag, from, to) = op.as_tag_tuple();
        let show = |words: &[String]| {
            let text = escape(&words.join(" "));
            if tag == DiffTag::Equal || text.is_empty() { text } else { format!("<mark>{text}</mark>") }
        };
        left.push(show(&a[from]));
        right.push(show(&b[to]));
    }
    let join = |parts: Vec<String>| {
        format!(
            "<span class=\"decision\">{}</span>",
            parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        )
    };
    (join(left), join(right))
}
