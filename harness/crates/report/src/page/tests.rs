//! Tests of the complete page.

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
