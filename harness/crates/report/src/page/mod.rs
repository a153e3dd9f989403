//! An HTML page that compares what the subject did with what was expected, as pictures and line by
//! line.
//!
//! The page is one self-contained file. Its policy forbids network access and every script except
//! the slider's, which it allows by digest. It is light or dark like the reader's system. All text
//! from cases, subjects and clusters is escaped.
//!
//! * `chart` draws a timeline, with a lane for each Deployment and ReplicaSet, in the page or as a
//!   picture of its own.
//! * `frames` writes a slider through the frames of a recording.
//! * `steps` writes both timelines side by side, line by line.

mod chart;
mod frames;
mod steps;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

pub(crate) use chart::escape;
pub use chart::picture;
use lockstep_case::Case;
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize;
use lockstep_timeline::{StepId, Timeline};
use lockstep_verdict::series::{RecordingTrace, RolloutSeries};
use lockstep_verdict::{ComparisonBasis, FindingKind, Judgement, TimelineLocation};

use super::diagnosis::diagnosis;
use super::failure::{RerunCommands, brief, cluster, outcome, sentence};

/// A judged play on the page.
#[derive(Debug, Clone, Copy)]
pub struct CaseSection<'a> {
    /// The judgement.
    pub judgement: &'a Judgement,
    /// The expected timeline: a golden one, or that of another run.
    pub expected: Option<&'a Timeline>,
    /// The commands that repeat it.
    pub rerun: &'a RerunCommands,
    /// The duration, if known.
    pub took: Option<Duration>,
    /// The frames of the recording, for a slider.
    pub frames: Option<&'a RecordingTrace>,
}

/// The most cases for which conformant ones are expanded.
const MOST_OPEN: usize = 3;
/// The most steps for which the two pictures are side by side.
const MOST_BESIDE: usize = 13;

/// The page of these plays.
#[must_use]
pub fn page(title: &str, sheets: &[CaseSection<'_>]) -> String {
    let mut body =
        format!("<header class=\"top\"><h1>{}</h1><p>{}</p></header>\n<main>\n", escape(title), counts(sheets));
    if sheets.len() > 1 {
        index(&mut body, sheets);
    }
    for (number, sheet) in sheets.iter().enumerate() {
        section(&mut body, number, sheet, sheets.len() <= MOST_OPEN);
    }
    document(title, &(body + "</main>\n"), sheets.iter().any(|sheet| sheet.frames.is_some()))
}

/// The complete file with this body, and with the slider's script if it has a slider.
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

/// The number of plays of each outcome.
fn counts(sheets: &[CaseSection<'_>]) -> String {
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

/// The name and the style class of an outcome.
fn word(judgement: &Judgement) -> (&'static str, &'static str) {
    match (judgement.outcome(), &judgement.basis) {
        (RunOutcome::Conformant, _) => ("conformant", "good"),
        (RunOutcome::NonConformant, _) => ("non-conformant", "bad"),
        (RunOutcome::Unblessed, ComparisonBasis::Changed(_)) => ("changed", "doubtful"),
        (RunOutcome::Unblessed, _) => ("unblessed", "doubtful"),
        _ => ("inconclusive", "doubtful"),
    }
}

fn index(out: &mut String, sheets: &[CaseSection<'_>]) {
    out.push_str("<nav><table><thead><tr><th>case<th>subject<th>outcome<th>first wrong step</thead><tbody>\n");
    let mut order: Vec<(usize, &CaseSection<'_>)> = sheets.iter().enumerate().collect();
    order.sort_by_key(|(number, sheet)| (sheet.judgement.outcome() == RunOutcome::Conformant, *number));
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

/// Write the section of one case.
fn section(out: &mut String, number: usize, sheet: &CaseSection<'_>, open: bool) {
    let judgement = sheet.judgement;
    let (word, class) = word(judgement);
    let open = if open || judgement.outcome() != RunOutcome::Conformant { " open" } else { "" };
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

/// The step of the decisive finding.
fn wrong_step(judgement: &Judgement) -> Option<StepId> {
    match judgement.decisive()?.place {
        TimelineLocation::Step(id) => Some(id),
        TimelineLocation::Events => None,
    }
}

/// Write the decisive finding.
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
        let _ = writeln!(out, "<pre>{}</pre>", escape(&sanitize::shorten(text.trim())));
    }
    let _ = writeln!(out, "<p>{}</p>", escape(&sentence(&finding.kind)));
    if let FindingKind::Breach(breach) = &finding.kind {
        let _ = writeln!(out, "<p class=\"faint\">the invariant: {}</p>", escape(breach.invariant.description()));
    }
    let lines = diagnosis(judgement).join("\n");
    if !lines.is_empty() {
        let _ = writeln!(out, "<pre>{}</pre>", escape(lines.trim_matches('\n')));
    }
    let others: Vec<_> = judgement.findings.iter().filter(|it| *it != finding).collect();
    if !others.is_empty() {
        let items: String = others.iter().map(|it| format!("<li>{}</li>", escape(&brief(it)))).collect();
        let _ = writeln!(out, "<details><summary>{} more finding(s)</summary><ul>{items}</ul></details>", others.len());
    }
    out.push_str("</div>\n");
}

/// Write subject, cluster, cost and rerun command.
fn facts(out: &mut String, sheet: &CaseSection<'_>) {
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
    if !sheet.rerun.repeat.is_empty() {
        let _ = write!(out, "<dt>repeat<dd><code>{}</code>", escape(&sheet.rerun.repeat));
    }
    out.push_str("</dl>\n");
}

/// The source of the expectation.
fn expected(judgement: &Judgement) -> String {
    match &judgement.basis {
        ComparisonBasis::Golden(Some(from)) => {
            let which = outcome(judgement).map_or_else(String::new, |which| format!(", {which}"));
            format!("{} on {}, {} recordings{which}", from.controller, from.server, from.recordings)
        }
        ComparisonBasis::Golden(None) => "a golden timeline".to_owned(),
        ComparisonBasis::Live(other) => format!("{other}, live"),
        ComparisonBasis::Unblessed => "nothing but the invariants: no timeline is blessed".to_owned(),
        ComparisonBasis::Rules => "the case's own rules".to_owned(),
        ComparisonBasis::Changed(_) => {
            "nothing but the invariants: the case has changed since it was blessed".to_owned()
        }
    }
}

fn pictures(out: &mut String, number: usize, sheet: &CaseSection<'_>, case: &Case, wrong: Option<StepId>) {
    let actual = RolloutSeries::of(&sheet.judgement.timeline, case);
    let expected = sheet.expected.map(|timeline| RolloutSeries::of(timeline, case));
    let ids: BTreeSet<StepId> =
        expected.iter().chain([&actual]).flat_map(|course| course.steps.iter().map(|stop| stop.id)).collect();
    let frame =
        chart::ChartLayout::around(expected.iter().chain([&actual]), ids.into_iter().collect(), wrong, Some(number));
    let beside = if frame.columns() <= MOST_BESIDE { " beside" } else { "" };
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
    match &judgement.basis {
        ComparisonBasis::Golden(Some(from)) => format!("{} ({})", from.name, from.controller),
        ComparisonBasis::Live(other) => other.to_string(),
        _ => "blessed".to_owned(),
    }
}

/// Write the case file, with the line of the wrong step marked.
fn source(out: &mut String, judgement: &Judgement) {
    let wrong = judgement.decisive().and_then(|finding| finding.line);
    let _ = write!(out, "<details class=\"source\"><summary>{}</summary><ol>", escape(&judgement.path));
    for (number, line) in (1..).zip(judgement.definition.source.lines()) {
        let class = if Some(number) == wrong { " class=\"wrong\"" } else { "" };
        let _ = write!(out, "<li{class}><code>{} </code></li>", escape(&sanitize::shorten(line)));
    }
    out.push_str("</ol></details>\n");
}

/// The page of a recording without a case, which shows what happened without a judgement: facts by
/// name, a slider, and the timeline.
#[must_use]
pub fn recording_page(title: &str, facts: &[(&str, String)], timeline: &Timeline, frames: &RecordingTrace) -> String {
    let mut body = format!("<header class=\"top\"><h1>{}</h1></header>\n<main>\n<section><dl>", escape(title));
    for (name, value) in facts {
        let _ = write!(body, "<dt>{}<dd>{}", escape(name), escape(value));
    }
    body.push_str("</dl>\n");
    frames::slider(&mut body, frames, None);
    steps::lines(&mut body, 0, None, timeline, None);
    document(title, &(body + "</section>\n</main>\n"), true)
}

#[cfg(test)]
mod tests {
    use lockstep_recording::Recording;
    use lockstep_recording::testing::{RecordingBuilder, deployment, owned_set, ready, revision, scaled, with_patch};
    use lockstep_timeline::Timeline;
    use lockstep_verdict::series::RecordingTrace;
    use lockstep_verdict::testing::judge;
    use serde_json::json;

    use super::{CaseSection, page};
    use crate::RerunCommands;

    /// A scale-up to 12 in which rs1 is given this size.
    fn recording(size: i32) -> Recording {
        let web = with_patch(&deployment("web", 10, "app:1"), &revision(1));
        let set = with_patch(&owned_set(&web, "1", "app:1", 10), &json!({"status": ready(10)}));
        RecordingBuilder::rolled_out(10)
            .user_step(1, "scale 12")
            .driver_write(&scaled(&web, 12))
            .subject_write(&scaled(&set, size))
            .settled()
            .end()
    }

    fn rerun(repeat: &str) -> RerunCommands {
        RerunCommands { repeat: repeat.to_owned(), ..RerunCommands::default() }
    }

    fn render(recording: &Recording) -> String {
        let expected = Timeline::from_recording(&self::recording(12));
        let judgement = judge(recording, Some(&expected));
        let rerun = rerun("lockstep run x");
        let sheet =
            CaseSection { judgement: &judgement, expected: Some(&expected), rerun: &rerun, took: None, frames: None };
        page("a run", &[sheet])
    }

    #[test]
    fn page_loads_nothing_and_runs_no_script() {
        let page = render(&recording(13)).to_lowercase();
        for word in ["<script", "http://", "https://", "@import", "src=", "onload", "javascript:"] {
            assert!(!page.contains(word), "the page has `{word}`");
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn page_marks_wrong_step_if_there_is_one() {
        let (bad, good) = (render(&recording(13)), render(&recording(12)));
        for sign in ["class=\"wrong\"", "first wrong step", "<mark>13/10</mark>", "non-conformant", "▼</text>"] {
            assert!(bad.contains(sign), "no {sign}");
        }
        assert!(!good.contains("class=\"wrong\"") && !good.contains("<mark>") && good.contains("badge good"));
        assert_eq!(bad.matches("<figure").count(), 2);
    }

    #[test]
    fn hostile_texts_are_escaped() {
        let evil = "</title><script>alert(1)</script>\"'<img src=x onerror=1>";
        let mut recording = recording(13);
        recording.header.subject.name = evil.to_owned();
        recording.header.subject.version = evil.to_owned();
        recording.header.cluster.version = evil.to_owned();
        recording.header.case = evil.to_owned();
        recording.header.path = evil.to_owned();
        recording.header.source = format!("description: \"{}\"\n# {evil}\n", "<b>bold</b>");
        let expected = Timeline::from_recording(&self::recording(12));
        let mut expected = expected;
        expected.case = None;
        for step in &mut expected.steps {
            step.injections.push(evil.to_owned());
        }
        let judgement = judge(&recording, Some(&expected));
        let rerun = rerun(evil);
        let sheet =
            CaseSection { judgement: &judgement, expected: Some(&expected), rerun: &rerun, took: None, frames: None };
        let without = page(evil, &[sheet, sheet]);
        assert!(!without.contains("<script") && !without.contains("<img") && !without.contains("<b>bold"), "{without}");
        assert!(without.matches("&lt;script&gt;").count() > 10);

        // The slider has our own script once, and its input is escaped text.
        let builder = RecordingBuilder::rolled_out(2).user_step(1, evil).subject_write(&deployment(evil, 2, "app:1"));
        let frames = RecordingTrace::of(&builder.settled().end());
        let sheet = CaseSection { frames: Some(&frames), ..sheet };
        for with in
            [page(evil, &[sheet, sheet]), super::recording_page(evil, &[(evil, evil.to_owned())], &expected, &frames)]
        {
            assert!(with.contains("<pre hidden>set\tweb/rs1") && !with.contains("<img"), "{with}");
            assert_eq!(with.matches("<script").count(), 1, "{with}");
            assert!(with.ends_with(&format!("<script>{}</script>\n</body>\n</html>\n", super::frames::SCRIPT)));
            assert!(with.contains(&format!("script-src '{}'", super::frames::DIGEST)));
        }
    }

    /// The script fetches nothing, and writes no HTML from its input.
    #[test]
    fn slider_script_loads_nothing() {
        for word in ["http", "fetch", "import", "src", "innerHTML", "eval", "Function", "document.write", "</"] {
            assert!(!super::frames::SCRIPT.contains(word), "the script has `{word}`");
        }
    }
}
