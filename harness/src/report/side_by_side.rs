//! Two timelines beside each other, step by step, the first difference marked.
//!
//! Wide enough terminals get two columns, each line wrapped to its column; narrower ones get both
//! timelines in one, as a diff.

use std::collections::BTreeSet;

use super::folded::Folded;
use super::paint::Paint;
use super::rows::{Row, rows};
use super::table::pad;
use crate::timeline::{Line, Step, StepId, Timeline, fold};

/// Fewer columns than this do not hold two timelines.
const NARROW: usize = 120;
/// How far the rest of a wrapped line is set in.
const HANGING: usize = 10;

/// One of the two timelines and whose it is.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Whose: `upstream (kube-controller-manager v1.36.3)`.
    pub title: &'a str,
    /// What it did.
    pub timeline: &'a Timeline,
}

/// Both timelines in `width` columns.
#[must_use]
pub fn side_by_side(left: Side<'_>, right: Side<'_>, width: usize, colour: bool) -> String {
    let paint = Paint::new(colour);
    let mut sheet = if width < NARROW { Sheet::sequential(paint) } else { Sheet::columns(width, paint) };
    sheet.titles(left.title, right.title);
    let steps = left.timeline.steps.iter().chain(&right.timeline.steps);
    let ids: BTreeSet<StepId> = steps.map(|step| step.id).collect();
    let mut ids = ids.into_iter();
    // A run of like sub-steps that both sides have is one block.
    let folded = Folded::of(left.timeline, right.timeline);
    while let Some(id) = ids.next() {
        if let Some(run) = folded.at(id) {
            let heading = fold::heading(run);
            let rest: Vec<Line> =
                run.last().into_iter().flat_map(|last| last.checkpoint.iter().cloned().map(Line::State)).collect();
            sheet.block(&heading, &heading, &rest, &rest);
            ids.by_ref().nth(run.len() - 2);
            continue;
        }
        let (a, b) = (left.timeline.step(id), right.timeline.step(id));
        let heading = |step: Option<&Step>| step.map(Step::heading).unwrap_or_else(|| format!("{id}  (not made)"));
        let lines = |step: Option<&Step>| step.map(Step::lines).unwrap_or_default();
        sheet.block(&heading(a), &heading(b), &lines(a), &lines(b));
    }
    let events = |timeline: &Timeline| {
        let lines = timeline.events.lines();
        (timeline.events.heading(), lines.into_iter().skip(1).collect::<Vec<_>>())
    };
    let ((heading_a, a), (heading_b, b)) = (events(left.timeline), events(right.timeline));
    sheet.block(&heading_a, &heading_b, &a, &b);
    sheet.finish()
}

/// The page that is written.
struct Sheet {
    paint: Paint,
    /// The width of a column; `None`: one below the other.
    column: Option<usize>,
    out: Vec<String>,
    /// Whether a difference has been marked.
    marked: bool,
}

impl Sheet {
    fn sequential(paint: Paint) -> Self {
        Self { paint, column: None, out: Vec::new(), marked: false }
    }

    fn columns(width: usize, paint: Paint) -> Self {
        Self { paint, column: Some((width - 3) / 2), out: Vec::new(), marked: false }
    }

    fn titles(&mut self, left: &str, right: &str) {
        match self.column {
            Some(wide) => {
                self.out.push(self.paint.strong(&format!("{}   {right}", pad(left, wide))));
                self.out.push(format!("{}─┬─{}", "─".repeat(wide), "─".repeat(wide)));
            }
            None => {
                self.out.push(self.paint.good(&format!("- {left}")));
                self.out.push(self.paint.bad(&format!("+ {right}")));
                self.out.push(String::new());
            }
        }
    }

    /// A heading and the lines below it, on both sides.
    fn block(&mut self, heading_a: &str, heading_b: &str, a: &[Line], b: &[Line]) {
        if heading_a == heading_b {
            self.row(&Row::Same(heading_a.to_owned()), true);
        } else {
            self.row(&Row::Changed(heading_a.to_owned(), heading_b.to_owned()), true);
        }
        for row in rows(a, b) {
            self.row(&row, false);
        }
    }

    fn row(&mut self, row: &Row, heading: bool) {
        let differs = !matches!(row, Row::Same(_));
        if differs && !self.marked {
            self.marked = true;
            let text = "first difference";
            self.out.push(match self.column {
                Some(wide) => self.paint.strong(&format!("{text:>wide$} ▼")),
                None => self.paint.strong(&format!("▼ {text}")),
            });
        }
        match self.column {
            Some(wide) => self.columns_row(row, wide, heading),
            None => self.sequential_row(row, heading),
        }
    }

    fn sequential_row(&mut self, row: &Row, heading: bool) {
        let paint = self.paint;
        let same = |line: &str| if heading { paint.strong(line) } else { line.to_owned() };
        match row {
            Row::Same(line) => self.out.push(format!("  {}", same(line))),
            Row::Expected(line) => self.out.push(paint.good(&format!("- {line}"))),
            Row::Actual(line) => self.out.push(paint.bad(&format!("+ {line}"))),
            Row::Changed(old, new) => {
                self.out.push(paint.good(&format!("- {old}")));
                self.out.push(paint.bad(&format!("+ {new}")));
            }
        }
    }

    fn columns_row(&mut self, row: &Row, wide: usize, heading: bool) {
        let (left, sign, right) = match row {
            Row::Same(line) => (line.as_str(), '│', line.as_str()),
            Row::Changed(old, new) => (old.as_str(), '≠', new.as_str()),
            Row::Expected(line) => (line.as_str(), '<', ""),
            Row::Actual(line) => ("", '>', line.as_str()),
        };
        let (left, right) = (wrap(left, wide), wrap(right, wide));
        for at in 0..left.len().max(right.len()) {
            let cell = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
            let (left, right) = (pad(&cell(&left), wide), cell(&right));
            let sign = if at == 0 { sign } else { '│' };
            let line = match row {
                Row::Same(_) if heading => format!("{} {sign} {}", self.paint.strong(&left), self.paint.strong(&right)),
                Row::Same(_) => format!("{left} {sign} {right}"),
                _ => format!(
                    "{} {} {}",
                    self.paint.good(&left),
                    self.paint.strong(&sign.to_string()),
                    self.paint.bad(&right)
                ),
            };
            self.out.push(line.trim_end().to_owned());
        }
    }

    fn finish(mut self) -> String {
        if !self.marked {
            self.out.push(String::new());
            self.out.push(self.paint.good("no difference"));
        }
        self.out.join("\n") + "\n"
    }
}

/// A line in pieces of at most `wide` columns, broken at blanks where there are any; what follows
/// is set in.
fn wrap(line: &str, wide: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = line.to_owned();
    while rest.chars().count() > wide {
        let limit = rest.char_indices().nth(wide).map_or(rest.len(), |(at, _)| at);
        let text_starts = rest.len() - rest.trim_start().len();
        let blank = if rest[limit..].starts_with(' ') { Some(limit) } else { rest[..limit].rfind(' ') };
        let at = blank.filter(|at| *at > text_starts).unwrap_or(limit);
        pieces.push(rest[..at].trim_end().to_owned());
        rest = format!("{}{}", " ".repeat(HANGING), rest[at..].trim_start());
    }
    pieces.push(rest);
    pieces
}
