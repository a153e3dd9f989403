//! The picture of a case as an SVG file of its own, for documents.
//!
//! It has the drawing, style and colours of the page, and is light or dark like the reader's
//! system.

use std::fmt::Write;

use lockstep_case::Case;
use lockstep_timeline::Timeline;
use lockstep_verdict::series::RolloutSeries;

use super::{chart, escape};

/// Draws the timeline of a case.
#[must_use]
pub fn picture(case: &Case, timeline: &Timeline) -> String {
    let course = RolloutSeries::of(timeline, case);
    let ids = course.steps.iter().map(|stop| stop.id).collect();
    let frame = chart::ChartLayout::around(std::iter::once(&course), ids, None, None);
    let (width, height) = frame.size();
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n"
    );
    let _ = write!(
        out,
        "<title>{}: pods by step</title>\n<style>\n{}{}.card {{ fill: var(--card); }}\n</style>\n{}\n\
         <rect class=\"card\" width=\"{width}\" height=\"{height}\" rx=\"8\"/>\n",
        escape(&case.name),
        include_str!("colours.css"),
        include_str!("chart.css"),
        chart::HATCH,
    );
    frame.drawing(&mut out, &course, timeline);
    out + "</svg>\n"
}
