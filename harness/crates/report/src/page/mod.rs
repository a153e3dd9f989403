//! An HTML page that compares what the subject did with what was expected, as pictures and line by
//! line.
//!
//! The page is one self-contained file. Its policy forbids network access and every script except
//! the slider's and the filter's, which it allows by digest. It is light or dark like the reader's
//! system. All text from cases, subjects and clusters is escaped.
//!
//! * `chart` draws a timeline, with a lane for each Deployment and ReplicaSet, in the page or as a
//!   picture of its own.
//! * `index` lists the cases by what went wrong, with a filter.
//! * `frames` writes a slider through the frames of a recording.
//! * `steps` writes both timelines side by side, line by line.

mod chart;
mod frames;
mod index;
mod steps;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

pub(crate) use chart::escape;
pub use chart::picture;
use lockstep_case::Case;
use lockstep_support::{pluralize, sanitize};
use lockstep_timeline::{StepId, Timeline};
use lockstep_verdict::series::{RecordingTrace, RolloutSeries};
use lockstep_verdict::{ComparisonBasis, FindingKind, Judgement, TimelineLocation, VerdictFinding};

use super::diagnosis::diagnosis;
use super::failure::{RerunCommands, brief, cluster, first_difference, outcome, quirk_sentence, sentence, subject};
use super::summary::{EarlyEnd, ends_between};

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

/// The most cases that are all expanded. Of more, the first of each cause is.
const MOST_OPEN: usize = 3;
/// The most causes of which one is expanded.
const MOST_CAUSES: usize = 6;
/// The most steps for which the two pictures are side by side.
const MOST_BESIDE: usize = 13;

/// The page of these plays.
#[must_use]
pub fn page(title: &str, sheets: &[CaseSection<'_>]) -> String {
    page_of_run(title, sheets, 0, None)
}

/// The page of a run, which may have ended early, and whose subject may have ended between cases.
#[must_use]
pub fn page_of_run(title: &str, sheets: &[CaseSection<'_>], ended_between: usize, early: Option<&EarlyEnd>) -> String {
    let title = &early.map_or_else(|| title.to_owned(), |early| format!("{title} ({})", early.title()));
    let judgements: Vec<&Judgement> = sheets.iter().map(|sheet| sheet.judgement).collect();
    let mut body = format!(
        "<header class=\"top\"><h1>{}</h1><p>{}</p></header>\n<main>\n",
        escape(title),
        index::counts(&judgements)
    );
    for text in ends_between(ended_between).iter().chain(early.map(|early| &early.error)) {
        let _ = writeln!(body, "<div class=\"callout bad\"><pre>{}</pre></div>", escape(text));
    }
    let causes = index::causes(&judgements);
    if sheets.len() > 1 {
        index::index(&mut body, &judgements, &causes);
    }
    for (at, cause) in causes.iter().enumerate() {
        for (place, number) in cause.plays.iter().enumerate() {
            let is_first = place == 0 && at < MOST_CAUSES && !cause.is_conformant;
            section(&mut body, *number, &sheets[*number], sheets.len() <= MOST_OPEN || is_first);
        }
    }
    let scripts = Scripts { frames: sheets.iter().any(|sheet| sheet.frames.is_some()), filter: sheets.len() > 1 };
    document(title, &(body + "</main>\n"), scripts)
}

/// The scripts that a page needs.
#[derive(Debug, Clone, Copy)]
struct Scripts {
    /// The slider's.
    frames: bool,
    filter: bool,
}

/// The complete file with this body, and with its scripts.
fn document(title: &str, body: &str, scripts: Scripts) -> String {
    let all = [(scripts.filter, index::SCRIPT, index::DIGEST), (scripts.frames, frames::SCRIPT, frames::DIGEST)];
    let (mut allowed, mut script) = (String::new(), String::new());
    for (_, text, digest) in all.into_iter().filter(|(is_needed, ..)| *is_needed) {
        let _ = write!(allowed, "{} '{digest}'", if allowed.is_empty() { "; script-src" } else { "" });
        let _ = writeln!(script, "<script>{text}</script>");
    }
    let style = if scripts.frames { include_str!("frames.css") } else { "" };
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

/// Write the section of one case.
fn section(out: &mut String, number: usize, sheet: &CaseSection<'_>, open: bool) {
    let judgement = sheet.judgement;
    let (word, class) = index::word(judgement);
    let open = if open { " open" } else { "" };
    // A browser opens the details around the target of a link, if it is below their summary.
    let _ = writeln!(
        out,
        "<section class=\"{class}\"><details{open}><summary><h2>{}</h2><span class=\"badge {class}\">{word}</span></summary><a id=\"case{number}\"></a>",
        escape(&judgement.case)
    );
    let case = &judgement.definition;
    let _ = writeln!(out, "<p class=\"lead\">{}</p>", escape(&case.description));
    callout(out, number, judgement);
    facts(out, sheet);
    let wrong = wrong_step(judgement);
    pictures(out, number, sheet, case, wrong);
    if let Some(all) = sheet.frames {
        frames::slider(out, all, wrong);
    }
    steps::lines(out, number, Some(case), (sheet.expected, &judgement.timeline), wrong);
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

/// Write the finding that heads the report, and the first difference.
fn callout(out: &mut String, number: usize, judgement: &Judgement) {
    let Some(finding) = judgement.headline() else { return };
    let (_, class) = index::word(judgement);
    let _ = writeln!(out, "<div class=\"callout {class}\"><p class=\"what\">{}</p>", escape(&sentence(&finding.kind)));
    if let FindingKind::Breach(breach) = &finding.kind {
        let _ = writeln!(out, "<p class=\"faint\">the invariant: {}</p>", escape(breach.invariant.description()));
    }
    let line = finding.line.map_or_else(String::new, |line| format!(" · {}:{line}", judgement.path));
    let _ = writeln!(
        out,
        "<p><b>{}</b> {}<span class=\"faint\">{}</span></p>",
        step_link(number, finding),
        escape(&finding.label),
        escape(&line)
    );
    if let Some(text) = finding.line.and_then(|line| judgement.definition.source.lines().nth(line - 1)) {
        let _ = writeln!(out, "<pre>{}</pre>", escape(&sanitize::shorten(text.trim())));
    }
    let difference = first_difference(judgement).filter(|it| *it != finding);
    if let Some(it) = difference {
        let what = escape(&sentence(&it.kind));
        let _ = writeln!(out, "<p>the first difference: <b>{}</b> {what}</p>", step_link(number, it));
    }
    let lines = diagnosis(judgement).join("\n");
    if !lines.is_empty() {
        let _ = writeln!(out, "<pre>{}</pre>", escape(lines.trim_matches('\n')));
    }
    for quirk in &judgement.quirks {
        let _ = writeln!(out, "<p>{}</p>", escape(&quirk_sentence(quirk)));
    }
    let others: Vec<_> = {
        let is_shown = |it: &&VerdictFinding| *it == finding || Some(*it) == difference || it.is_same_breach(finding);
        judgement.findings.iter().filter(|it| !is_shown(it)).collect()
    };
    if !others.is_empty() {
        let items: String = others.iter().map(|it| format!("<li>{}</li>", escape(&brief(it)))).collect();
        let _ = writeln!(
            out,
            "<details><summary>{}</summary><ul>{items}</ul></details>",
            pluralize(others.len(), "more finding")
        );
    }
    out.push_str("</div>\n");
}

/// The place of a finding, as a link to the lines of its step.
fn step_link(number: usize, finding: &VerdictFinding) -> String {
    match finding.place {
        TimelineLocation::Step(id) => format!("<a href=\"#case{number}-{}\">{id}</a>", chart::anchor(id)),
        TimelineLocation::Events => escape(&finding.place.to_string()),
    }
}

/// Write subject, cluster, cost and rerun command.
fn facts(out: &mut String, sheet: &CaseSection<'_>) {
    let judgement = sheet.judgement;
    let (subject, cluster) = (subject(judgement), cluster(judgement));
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
    let wrong = judgement.headline().and_then(|finding| finding.line);
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
    steps::lines(&mut body, 0, None, (None, timeline), None);
    let scripts = Scripts { frames: true, filter: false };
    document(title, &(body + "</section>\n</main>\n"), scripts)
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
    fn broken_invariant_heads_case_with_reasons_and_first_difference() {
        let page = render(&recording(20));
        let what = "<p class=\"what\">invariant `surge` broken: web wants 20 pods in all, at most 15 allowed</p>";
        assert!(page.contains(what), "{page}");
        assert!(
            page.contains("the first difference: <b><a href=\"#case0-step1-0\">step 1</a></b> rs1 10 -&gt; 20"),
            "{page}"
        );
        assert!(page.contains("why upstream does so") && page.contains("<li>rs1 grows from 10 to 12"), "{page}");
    }

    /// The first ReplicaSets grow in step 1; the label of step 2 is longer than a step is wide.
    #[test]
    fn labels_of_users_are_whole() {
        let mut builder = RecordingBuilder::rolled_out(2);
        for index in 1..12 {
            builder = builder.user_step(index, "set image=registry.example.com/app:2").settled();
        }
        let timeline = Timeline::from_recording(&builder.end());
        let case = lockstep_verdict::testing::case_of(&recording(12));
        let picture = super::picture(&case, &timeline);
        let words =
            |line: &str| line.split('>').nth(1).and_then(|text| text.split('<').next()).unwrap_or("").to_owned();
        let label: String = picture.lines().filter(|line| line.contains("class=\"label user\"")).map(words).collect();
        assert_eq!(label, "setimage=registry.example.com/app:2".repeat(11));
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
        let filter = format!("<script>{}</script>\n", super::index::SCRIPT);
        let without = page(evil, &[sheet, sheet]);
        assert!(without.ends_with(&format!("{filter}</body>\n</html>\n")));
        let without = without.replace(&filter, "");
        assert!(!without.contains("<script") && !without.contains("<img") && !without.contains("<b>bold"), "{without}");
        assert!(without.matches("&lt;script&gt;").count() > 10);

        // The slider has our own script once, and its input is escaped text.
        let builder = RecordingBuilder::rolled_out(2).user_step(1, evil).subject_write(&deployment(evil, 2, "app:1"));
        let frames = RecordingTrace::of(&builder.settled().end());
        let sheet = CaseSection { frames: Some(&frames), ..sheet };
        for with in
            [page(evil, &[sheet, sheet]), super::recording_page(evil, &[(evil, evil.to_owned())], &expected, &frames)]
        {
            let with = with.replace(&filter, "");
            assert!(with.contains("<pre hidden>set\tweb/rs1") && !with.contains("<img"), "{with}");
            assert_eq!(with.matches("<script").count(), 1, "{with}");
            assert!(with.ends_with(&format!("<script>{}</script>\n</body>\n</html>\n", super::frames::SCRIPT)));
            let policy = with.lines().find(|line| line.contains("Content-Security-Policy")).unwrap_or_default();
            assert!(
                policy.contains("; script-src 'sha256-") && policy.contains(&format!(" '{}'\"", super::frames::DIGEST))
            );
        }
    }

    /// The scripts fetch nothing, and write no HTML from their input.
    #[test]
    fn scripts_load_nothing() {
        for word in ["http", "fetch", "import", "src", "innerHTML", "eval", "Function", "document.write", "</"] {
            for script in [super::frames::SCRIPT, super::index::SCRIPT] {
                assert!(!script.contains(word), "the script has `{word}`");
            }
        }
    }
}
