//! The page of a recording without a case, which shows what happened without a judgement.

use std::fmt::Write;

use lockstep_timeline::Timeline;
use lockstep_verdict::series::RecordingTrace;

use super::{document, escape, frames, steps};

/// The page with facts by name, a slider, and the timeline.
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
