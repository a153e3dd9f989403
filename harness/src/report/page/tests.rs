//! The page as a browser gets it.

use super::{Sheet, page};
use crate::course::Frames;
use crate::recording::Recording;
use crate::report::Again;
use crate::timeline::Timeline;
use crate::timeline::fixture::{Film, deployment, owned_set, ready, revision, scaled, with};
use crate::verdict::fixture::judge;
use serde_json::json;

/// A scale-up to 12 in which rs1 is given this size.
fn recording(size: i32) -> Recording {
    let web = with(&deployment("web", 10, "app:1"), &revision(1));
    let set = with(&owned_set(&web, "1", "app:1", 10), &json!({"status": ready(10)}));
    Film::rolled_out(10).user(1, "scale 12").driver(&scaled(&web, 12)).other(&scaled(&set, size)).settled().end()
}

fn again(repeat: &str) -> Again {
    Again { repeat: repeat.to_owned(), ..Again::default() }
}

fn shown(recording: &Recording) -> String {
    let expected = Timeline::from_recording(&self::recording(12));
    let judgement = judge(recording, Some(&expected));
    let again = again("lockstep run x");
    let sheet = Sheet { judgement: &judgement, expected: Some(&expected), again: &again, took: None, frames: None };
    page("a run", &[sheet])
}

#[test]
fn it_asks_nothing_of_the_network_and_runs_no_script() {
    let page = shown(&recording(13)).to_lowercase();
    for word in ["<script", "http://", "https://", "@import", "src=", "onload", "javascript:"] {
        assert!(!page.contains(word), "the page has `{word}`");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn the_wrong_step_is_marked_where_there_is_one() {
    let (bad, good) = (shown(&recording(13)), shown(&recording(12)));
    for sign in ["class=\"wrong\"", "first wrong step", "<mark>13/10</mark>", "non-conformant", "▼</text>"] {
        assert!(bad.contains(sign), "no {sign}");
    }
    assert!(!good.contains("class=\"wrong\"") && !good.contains("<mark>") && good.contains("badge good"));
    assert_eq!(bad.matches("<figure").count(), 2);
}

#[test]
fn whatever_a_subject_or_a_case_says_is_text() {
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
        step.meetings.push(evil.to_owned());
    }
    let judgement = judge(&recording, Some(&expected));
    let again = again(evil);
    let sheet = Sheet { judgement: &judgement, expected: Some(&expected), again: &again, took: None, frames: None };
    let without = page(evil, &[sheet, sheet]);
    assert!(!without.contains("<script") && !without.contains("<img") && !without.contains("<b>bold"), "{without}");
    assert!(without.matches("&lt;script&gt;").count() > 10);

    // A slider is our own script, once, and what it reads is text as well.
    let film = Film::rolled_out(2).user(1, evil).other(&deployment(evil, 2, "app:1"));
    let frames = Frames::of(&film.settled().end());
    let sheet = Sheet { frames: Some(&frames), ..sheet };
    for with in [page(evil, &[sheet, sheet]), super::recorded(evil, &[(evil, evil.to_owned())], &expected, &frames)] {
        assert!(with.contains("<pre hidden>set\tweb/rs1") && !with.contains("<img"), "{with}");
        assert_eq!(with.matches("<script").count(), 1, "{with}");
        assert!(with.ends_with(&format!("<script>{}</script>\n</body>\n</html>\n", super::frames::SCRIPT)));
        assert!(with.contains(&format!("script-src '{}'", super::frames::DIGEST)));
    }
}

/// The script names nothing that a browser would fetch, and makes no HTML of what it reads.
#[test]
fn the_sliders_script_asks_nothing_of_the_network() {
    for word in ["http", "fetch", "import", "src", "innerHTML", "eval", "Function", "document.write", "</"] {
        assert!(!super::frames::SCRIPT.contains(word), "the script has `{word}`");
    }
}
