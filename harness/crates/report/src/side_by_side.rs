//! Two timelines side by side, step by step, with the first difference marked.
//!
//! Wide terminals get two columns with wrapped lines; narrow terminals get one column, as a diff.

use std::collections::BTreeSet;

use lockstep_timeline::{StepId, Timeline, TimelineLine, TimelineStep, fold};

use super::paint::Paint;
use super::rows::{CommonRuns, DiffRow, rows};
use super::table::pad;

/// The least width for two columns.
const NARROW: usize = 120;
/// The indent of the rest of a wrapped line.
const HANGING: usize = 10;

/// One of the two timelines with its title.
#[derive(Debug, Clone, Copy)]
pub struct TitledTimeline<'a> {
    /// The subject: `upstream (kube-controller-manager v1.36.3)`.
    pub title: &'a str,
    /// The timeline.
    pub timeline: &'a Timeline,
}

/// Both timelines, for a terminal of this width.
#[must_use]
pub fn side_by_side(first: TitledTimeline<'_>, second: TitledTimeline<'_>, width: usize, colour: bool) -> String {
    let paint = Paint::new(colour);
    let mut writer = if width < NARROW { ColumnWriter::sequential(paint) } else { ColumnWriter::columns(width, paint) };
    writer.titles(first.title, second.title);
    let steps = first.timeline.steps.iter().chain(&second.timeline.steps);
    let ids: BTreeSet<StepId> = steps.map(|step| step.id).collect();
    let mut ids = ids.into_iter();
    // A run of like sub-steps that is equal on both sides is collapsed.
    let common = CommonRuns::of(first.timeline, second.timeline);
    while let Some(id) = ids.next() {
        if let Some(run) = common.at(id) {
            let heading = fold::heading(run);
            let rest: Vec<TimelineLine> = run
                .last()
                .into_iter()
                .flat_map(|last| last.checkpoint.iter().cloned().map(TimelineLine::State))
                .collect();
            writer.block(&heading, &heading, &rest, &rest);
            ids.by_ref().nth(run.len() - 2);
            continue;
        }
        let (a, b) = (first.timeline.step(id), second.timeline.step(id));
        let heading = |step: Option<&TimelineStep>| {
            step.map(TimelineStep::heading).unwrap_or_else(|| format!("{id}  (not made)"))
        };
        let lines = |step: Option<&TimelineStep>| step.map(TimelineStep::lines).unwrap_or_default();
        writer.block(&heading(a), &heading(b), &lines(a), &lines(b));
    }
    let events = |timeline: &Timeline| {
        let lines = timeline.events.lines();
        (timeline.events.heading(), lines.into_iter().skip(1).collect::<Vec<_>>())
    };
    let ((heading_a, a), (heading_b, b)) = (events(first.timeline), events(second.timeline));
    writer.block(&heading_a, &heading_b, &a, &b);
    writer.finish()
}

/// Writes the rows.
struct ColumnWriter {
    paint: Paint,
    /// The width of a column; `None` for one column.
    column: Option<usize>,
    out: Vec<String>,
    /// Whether the first difference has been marked.
    is_marked: bool,
}

impl ColumnWriter {
    fn sequential(paint: Paint) -> Self {
        Self { paint, column: None, out: Vec::new(), is_marked: false }
    }

    fn columns(width: usize, paint: Paint) -> Self {
        Self { paint, column: Some((width - 3) / 2), out: Vec::new(), is_marked: false }
    }

    fn titles(&mut self, first: &str, second: &str) {
        match self.column {
            Some(wide) => {
                self.out.push(self.paint.strong(&format!("{}   {second}", pad(first, wide))));
                self.out.push(format!("{}─┬─{}", "─".repeat(wide), "─".repeat(wide)));
            }
            None => {
                self.out.push(self.paint.good(&format!("- {first}")));
                self.out.push(self.paint.bad(&format!("+ {second}")));
                self.out.push(String::new());
            }
        }
    }

    /// Write a heading with the lines below it, on both sides.
    fn block(&mut self, heading_a: &str, heading_b: &str, a: &[TimelineLine], b: &[TimelineLine]) {
        if heading_a == heading_b {
            self.row(&DiffRow::Same(heading_a.to_owned()), true);
        } else {
            self.row(&DiffRow::Changed(heading_a.to_owned(), heading_b.to_owned()), true);
        }
        for row in rows(a, b) {
            self.row(&row, false);
        }
    }

    fn row(&mut self, row: &DiffRow, heading: bool) {
        let differs = !matches!(row, DiffRow::Same(_));
        if differs && !self.is_marked {
            self.is_marked = true;
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

    fn sequential_row(&mut self, row: &DiffRow, heading: bool) {
        let paint = self.paint;
        let same = |line: &str| if heading { paint.strong(line) } else { line.to_owned() };
        match row {
            DiffRow::Same(line) => self.out.push(format!("  {}", same(line))),
            DiffRow::Expected(line) => self.out.push(paint.good(&format!("- {line}"))),
            DiffRow::Actual(line) => self.out.push(paint.bad(&format!("+ {line}"))),
            DiffRow::Changed(old, new) => {
                self.out.push(paint.good(&format!("- {old}")));
                self.out.push(paint.bad(&format!("+ {new}")));
            }
        }
    }

    fn columns_row(&mut self, row: &DiffRow, wide: usize, heading: bool) {
        let (left, sign, right) = match row {
            DiffRow::Same(line) => (line.as_str(), '│', line.as_str()),
            DiffRow::Changed(old, new) => (old.as_str(), '≠', new.as_str()),
            DiffRow::Expected(line) => (line.as_str(), '<', ""),
            DiffRow::Actual(line) => ("", '>', line.as_str()),
        };
        let (left, right) = (wrap(left, wide), wrap(right, wide));
        for at in 0..left.len().max(right.len()) {
            let cell = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
            let (left, right) = (pad(&cell(&left), wide), cell(&right));
            let sign = if at == 0 { sign } else { '│' };
            let line = match row {
                DiffRow::Same(_) if heading => {
                    format!("{} {sign} {}", self.paint.strong(&left), self.paint.strong(&right))
                }
                DiffRow::Same(_) => format!("{left} {sign} {right}"),
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
        if !self.is_marked {
            self.out.push(String::new());
            self.out.push(self.paint.good("no difference"));
        }
        self.out.join("\n") + "\n"
    }
}

/// Wraps a line at blanks into pieces of at most `wide` columns, with the rest indented.
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
