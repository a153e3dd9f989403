//! Two timelines side by side, step by step, with the first difference marked.
//!
//! Wide terminals get two columns with wrapped lines; narrow terminals get one column, as a diff.
//! Timelines without a difference are shown once.

use std::collections::BTreeSet;

use lockstep_timeline::{StepId, Timeline, TimelineLine, TimelineStep, fold};

use super::paint::Paint;
use super::rows::{CommonRuns, DiffRow, rows};
use super::table::pad;
use super::wrap::wrap_line;

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
    let is_same = first.timeline.steps == second.timeline.steps && first.timeline.events == second.timeline.events;
    let mut writer =
        ColumnWriter { paint, width, layout: RowLayout::of(is_same, width), out: Vec::new(), is_marked: false };
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

/// How the rows are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowLayout {
    /// One column for two timelines without a difference.
    Same,
    /// One column with signs.
    Diff,
    /// Two columns of this width.
    Columns(usize),
}

impl RowLayout {
    fn of(is_same: bool, width: usize) -> Self {
        match width {
            _ if is_same => Self::Same,
            ..NARROW => Self::Diff,
            _ => Self::Columns((width - 3) / 2),
        }
    }
}

/// Writes the rows.
struct ColumnWriter {
    paint: Paint,
    width: usize,
    layout: RowLayout,
    out: Vec<String>,
    /// Whether the first difference has been marked.
    is_marked: bool,
}

impl ColumnWriter {
    fn titles(&mut self, first: &str, second: &str) {
        let paint = self.paint;
        match self.layout {
            RowLayout::Columns(wide) => {
                let (left, right) = (wrap_line(first, wide, HANGING), wrap_line(second, wide, HANGING));
                self.beside(&left, ' ', &right, |text| paint.strong(text), |text| paint.strong(text));
                self.out.push(format!("{}─┬─{}", "─".repeat(wide), "─".repeat(wide)));
            }
            RowLayout::Diff => {
                self.line(&format!("- {first}"), |line| paint.minus(line));
                self.line(&format!("+ {second}"), |line| paint.plus(line));
                self.out.push(String::new());
            }
            RowLayout::Same => {
                self.line("the same on both sides", |line| paint.strong(line));
                self.line(&format!("  {first}"), |line| paint.strong(line));
                self.line(&format!("  {second}"), |line| paint.strong(line));
                self.out.push("─".repeat(self.width.min(NARROW)));
            }
        }
    }

    /// Write a line in one column.
    fn line(&mut self, line: &str, paint: impl Fn(&str) -> String) {
        self.out.extend(wrap_line(line, self.width, HANGING + 2).iter().map(|piece| paint(piece)));
    }

    /// Write two wrapped cells in two columns, with a sign between their first lines.
    fn beside(
        &mut self,
        left: &[String],
        sign: char,
        right: &[String],
        paint_left: impl Fn(&str) -> String,
        paint_right: impl Fn(&str) -> String,
    ) {
        let RowLayout::Columns(wide) = self.layout else { return };
        let bar = if sign == ' ' { ' ' } else { '│' };
        for at in 0..left.len().max(right.len()) {
            let cell = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
            let (left, right) = (pad(&cell(left), wide), cell(right));
            let sign = match sign {
                _ if at > 0 => bar.to_string(),
                ' ' | '│' => sign.to_string(),
                _ => self.paint.strong(&sign.to_string()),
            };
            let line = format!("{} {sign} {}", paint_left(&left), paint_right(&right));
            self.out.push(line.trim_end().to_owned());
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
            self.out.push(match self.layout {
                RowLayout::Columns(wide) => self.paint.strong(&format!("{text:>wide$} ▼")),
                RowLayout::Diff | RowLayout::Same => self.paint.strong(&format!("▼ {text}")),
            });
        }
        match self.layout {
            RowLayout::Columns(wide) => self.columns_row(row, wide, heading),
            RowLayout::Diff | RowLayout::Same => self.sequential_row(row, heading),
        }
    }

    fn sequential_row(&mut self, row: &DiffRow, heading: bool) {
        let paint = self.paint;
        match row {
            DiffRow::Same(line) => {
                let gap = if self.layout == RowLayout::Same { "" } else { "  " };
                let same = |line: &str| if heading { paint.strong(line) } else { line.to_owned() };
                self.line(&format!("{gap}{line}"), same);
            }
            DiffRow::Expected(line) => self.line(&format!("- {line}"), |line| paint.minus(line)),
            DiffRow::Actual(line) => self.line(&format!("+ {line}"), |line| paint.plus(line)),
            DiffRow::Changed(old, new) => {
                self.line(&format!("- {old}"), |line| paint.minus(line));
                self.line(&format!("+ {new}"), |line| paint.plus(line));
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
        let paint = self.paint;
        let (left, right) = (wrap_line(left, wide, HANGING), wrap_line(right, wide, HANGING));
        match row {
            DiffRow::Same(_) if heading => {
                self.beside(&left, sign, &right, |text| paint.strong(text), |text| paint.strong(text));
            }
            DiffRow::Same(_) => self.beside(&left, sign, &right, str::to_owned, str::to_owned),
            _ => self.beside(&left, sign, &right, |text| paint.minus(text), |text| paint.plus(text)),
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
