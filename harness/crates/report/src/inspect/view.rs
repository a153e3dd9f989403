//! The terminal view of one frame.

use lockstep_timeline::{StepId, TimelineLine, TimelineStep};
use lockstep_verdict::series::{Snapshot, StepTrace};
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect, Size};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Widget};

use super::{Inspection, NO_AUTHORS, NO_REQUESTS, RequestSource};
use crate::ascii_chart::ascii_chart;
use crate::rows::{DiffRow, rows};

/// The least terminal width for two columns of panels.
const WIDE: u16 = 110;
/// The colours of ReplicaSets, in turn.
const COLOURS: [Color; 6] = [Color::Blue, Color::Cyan, Color::Yellow, Color::Magenta, Color::Green, Color::LightRed];
/// The indent of the rest of a wrapped line.
const HANGING: usize = 6;
const KEYS: &str = "←/→ step  ↑/↓ version  Home/End first/last  w first wrong step  q quit";

/// The view of a frame for a terminal of a certain size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameView {
    heading: Vec<Line<'static>>,
    picture: Panel,
    status: Panel,
    decisions: Panel,
    requests: Panel,
    beside: Panel,
    is_wide: bool,
}

impl FrameView {
    /// The view of the frame with this number, or of the last frame if the number is too large.
    #[must_use]
    pub fn of(inspected: &Inspection, at: usize, size: Size) -> Self {
        let is_wide = size.width >= WIDE;
        let frames = &inspected.frames;
        let Some(snapshot) = frames.snapshots.get(at).or(frames.snapshots.last()) else {
            return Self::empty(inspected, is_wide);
        };
        let step = frames.step_of(snapshot);
        // The panel on the left, without its borders.
        let column = usize::from(if is_wide { size.width * 3 / 5 } else { size.width }).saturating_sub(2);
        Self {
            heading: heading(inspected, snapshot, at),
            picture: picture(inspected, snapshot, column),
            status: status(snapshot, column),
            decisions: decisions(inspected, snapshot, at),
            requests: requests(inspected, step, snapshot, at),
            beside: beside(inspected, step.id, column),
            is_wide,
        }
    }

    fn empty(inspected: &Inspection, is_wide: bool) -> Self {
        let none = || Panel::new("", Vec::new());
        let heading = vec![Line::from(inspected.title.clone()).bold(), Line::from("the recording shows no object")];
        let (picture, status, decisions, requests, beside) = (none(), none(), none(), none(), none());
        Self { heading, picture, status, decisions, requests, beside, is_wide }
    }

    fn draw_wide(&self, area: Rect, buffer: &mut Buffer) {
        let [left, right] = Layout::horizontal([Constraint::Fill(3), Constraint::Fill(2)]).areas(area);
        let most = left.height / 2;
        let [picture, status, beside] = Layout::vertical([
            Constraint::Length(self.picture.height().min(most)),
            Constraint::Length(self.status.height().min(most / 2 + 1)),
            Constraint::Fill(1),
        ])
        .areas(left);
        let [decisions, requests] = Layout::vertical([Constraint::Fill(3), Constraint::Fill(2)]).areas(right);
        self.picture.draw(picture, buffer);
        self.status.draw(status, buffer);
        self.beside.draw(beside, buffer);
        self.decisions.draw(decisions, buffer);
        self.requests.draw(requests, buffer);
    }

    /// Draw all panels in one column. Panels that do not fit are left out, requests first.
    fn draw_narrow(&self, area: Rect, buffer: &mut Buffer) {
        let rest = |panel: &Panel, least: u16| panel.height().min(least);
        let mut heights = [
            rest(&self.picture, area.height / 3 + 1),
            rest(&self.decisions, 5),
            rest(&self.status, 4),
            rest(&self.beside, 6),
            rest(&self.requests, 4),
        ];
        for at in [4, 2, 3] {
            if heights.iter().sum::<u16>() > area.height {
                heights[at] = 0;
            }
        }
        // The panel with the most content gets the spare rows.
        let spare = area.height.saturating_sub(heights.iter().sum());
        let grows = if heights[3] > 0 { 3 } else { 1 };
        heights[grows] += spare;
        let panels = [&self.picture, &self.decisions, &self.status, &self.beside, &self.requests];
        let areas = Layout::vertical(heights.map(Constraint::Length)).areas::<5>(area);
        for (panel, area) in panels.into_iter().zip(areas) {
            panel.draw(area, buffer);
        }
    }
}

impl Widget for &FrameView {
    fn render(self, area: Rect, buffer: &mut Buffer) {
        let heading = u16::try_from(self.heading.len()).unwrap_or(0);
        let [top, body, keys] =
            Layout::vertical([Constraint::Length(heading), Constraint::Fill(1), Constraint::Length(1)]).areas(area);
        for (line, row) in self.heading.iter().zip(top.rows()) {
            line.render(row, buffer);
        }
        if self.is_wide {
            self.draw_wide(body, buffer);
        } else {
            self.draw_narrow(body, buffer);
        }
        Line::from(KEYS).dark_gray().render(keys, buffer);
    }
}

fn heading(inspected: &Inspection, snapshot: &Snapshot, at: usize) -> Vec<Line<'static>> {
    let frames = &inspected.frames;
    let step = frames.step_of(snapshot);
    let versions = frames.snapshots_in(snapshot.step).filter(|(_, snapshot)| snapshot.version.is_some()).count();
    let line = if step.line == 0 { String::new() } else { format!("   {}:{}", inspected.path, step.line) };
    let wrong = if inspected.wrong == Some(step.id) { "   ▼ first wrong step" } else { "" };
    let (number, all) = (at.min(frames.snapshots.len() - 1) + 1, frames.snapshots.len());
    let seconds = snapshot.at / 1_000;
    let time = format!("{seconds}.{:03} s", snapshot.at % 1_000);
    let place = match snapshot.version {
        Some(version) => format!("frame {number} of {all} · {time} · version {version} of {versions}: "),
        None => format!("frame {number} of {all} · {time} · "),
    };
    let what = Span::from(snapshot.cause.clone());
    let what = if snapshot.decision.is_some() { what.bold() } else { what };
    let mut lines = vec![
        Line::from(vec![
            Span::from(inspected.title.clone()).bold(),
            Span::from(format!("   {}", inspected.subject)).dark_gray(),
        ]),
        Line::from(verdict(inspected)),
        Line::from(vec![
            Span::from(step.title()).bold(),
            Span::from(format!("  {}", step.label)),
            Span::from(line).dark_gray(),
            Span::from(wrong).red(),
        ]),
        Line::from(vec![Span::from(place).dark_gray(), what]),
    ];
    // The remarks of `given` would be many, and the case has them.
    let remarks = step.remarks.iter().filter(|_| step.id != StepId::GIVEN);
    lines.extend(remarks.map(|remark| Line::from(format!("  {remark}")).yellow()));
    lines
}

fn verdict(inspected: &Inspection) -> Span<'static> {
    let text = inspected.verdict.clone();
    if inspected.wrong.is_some() { Span::from(text).red() } else { Span::from(text) }
}

/// The chart of the ReplicaSets. Text that does not fit beside a bar is wrapped.
fn picture(inspected: &Inspection, snapshot: &Snapshot, columns: usize) -> Panel {
    let sets = snapshot.totals.replica_sets.len();
    let lines = ascii_chart(&inspected.lanes, &snapshot.totals).into_iter().enumerate().flat_map(|(at, line)| {
        let style = if at < sets { Style::new().fg(COLOURS[at % COLOURS.len()]) } else { Style::new() };
        wrapped(&line, columns, style)
    });
    Panel::new("ReplicaSets", lines.collect())
}

fn status(snapshot: &Snapshot, columns: usize) -> Panel {
    let mut lines = Vec::new();
    for status in snapshot.summaries.iter() {
        lines.extend(wrapped(&format!("{}: {}", status.deployment, status.counts), columns, Style::new().bold()));
        for (condition, message) in &status.conditions {
            let text = if message.is_empty() { condition.clone() } else { format!("{condition}: {message}") };
            lines.extend(wrapped(&format!("  {text}"), columns, Style::new()));
        }
    }
    Panel::new("Deployments", lines)
}

/// The decisions of the step: past ones, that of this frame, and those to come.
fn decisions(inspected: &Inspection, snapshot: &Snapshot, at: usize) -> Panel {
    let all = inspected.frames.snapshots_in(snapshot.step);
    let all: Vec<(usize, &str)> = all.filter_map(|(at, it)| Some((at, it.decision.as_deref()?))).collect();
    let lines = all.iter().map(|(place, decision)| {
        let text = |sign: &str| Line::from(format!("{sign} {decision}"));
        match place.cmp(&at) {
            std::cmp::Ordering::Less => text(" "),
            std::cmp::Ordering::Equal => text("▶").bold(),
            std::cmp::Ordering::Greater => text("·").dark_gray(),
        }
    });
    let lines: Vec<_> = lines.collect();
    let focus = all.iter().rposition(|(place, _)| *place <= at).unwrap_or(0);
    if lines.is_empty() {
        return Panel::new("decisions", vec![Line::from("nothing is decided in this step").dark_gray()]);
    }
    Panel { focus, ..Panel::new("decisions", lines) }
}

/// The requests of the step, with those to come faint. A live cluster shows no requests, but
/// possibly the author of each version.
fn requests(inspected: &Inspection, step: &StepTrace, snapshot: &Snapshot, at: usize) -> Panel {
    let faint = |text: &str| vec![Line::from(text.to_owned()).dark_gray()];
    match inspected.request_source {
        RequestSource::Authors => return writes(inspected, snapshot, at),
        RequestSource::Unknown => {
            let lines = [faint(&format!("{NO_REQUESTS},")), faint(NO_AUTHORS)];
            return Panel::new("requests", lines.into_iter().flatten().collect());
        }
        RequestSource::Requests => {}
    }
    let lines = step.requests.iter().map(|asked| {
        let patch = asked.patch.as_ref().map_or_else(String::new, |patch| format!("  {patch}"));
        let text = Line::from(format!("{:>3} {}{patch}", asked.status, asked.request));
        match asked.status {
            _ if asked.at > snapshot.at => text.dark_gray(),
            200..300 => text,
            _ => text.red(),
        }
    });
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() {
        return Panel::new("requests", faint("the controller asks for nothing in this step"));
    }
    let focus = step.requests.iter().rposition(|asked| asked.at <= snapshot.at).unwrap_or(0);
    Panel { focus, ..Panel::new("requests", lines) }
}

/// The program that wrote each version of the step.
fn writes(inspected: &Inspection, snapshot: &Snapshot, at: usize) -> Panel {
    let all: Vec<(usize, &Snapshot)> =
        inspected.frames.snapshots_in(snapshot.step).filter(|(_, it)| it.version.is_some()).collect();
    let lines = all.iter().map(|(place, it)| {
        let what = it.cause.split_once(" was ").map_or(it.cause.as_str(), |(object, _)| object);
        let text = Line::from(format!("{what}: {}", it.author.as_deref().unwrap_or("not known")));
        match place.cmp(&at) {
            std::cmp::Ordering::Less => text,
            std::cmp::Ordering::Equal => text.bold(),
            std::cmp::Ordering::Greater => text.dark_gray(),
        }
    });
    let lines = lines.collect();
    let focus = all.iter().rposition(|(place, _)| *place <= at).unwrap_or(0);
    Panel { focus, ..Panel::new("writes (requests are not seen)", lines) }
}

/// The timeline of the step, as a diff from the golden timeline if there is one.
fn beside(inspected: &Inspection, id: StepId, columns: usize) -> Panel {
    let lines = |step: Option<&TimelineStep>| step.map(TimelineStep::lines).unwrap_or_default();
    let actual = lines(inspected.timeline.step(id));
    let Some(golden) = &inspected.expected else {
        if actual.is_empty() {
            let why = match &inspected.no_steps_reason {
                Some(why) => format!("a timeline has steps, and there are none: {why}"),
                None => "nothing was decided in this step, and the namespace had not settled after it".to_owned(),
            };
            return Panel::new("timeline of the step", wrapped(&why, columns, Style::new().dark_gray()));
        }
        return Panel::new("timeline of the step", wrapped_lines(&actual, columns));
    };
    let expected = lines(golden.step(id));
    if expected == actual {
        return Panel::new("as the golden timeline says", wrapped_lines(&actual, columns));
    }
    // As in a diff of git.
    let (minus, plus) = (Style::new().red(), Style::new().green());
    let mut all = Vec::new();
    let mut focus = None;
    for row in rows(&expected, &actual) {
        if !matches!(row, DiffRow::Same(_)) {
            focus.get_or_insert(all.len());
        }
        match row {
            DiffRow::Same(line) => all.extend(wrapped(&format!("  {}", line.trim()), columns, Style::new())),
            DiffRow::Expected(line) => all.extend(wrapped(&format!("- {}", line.trim()), columns, minus)),
            DiffRow::Actual(line) => all.extend(wrapped(&format!("+ {}", line.trim()), columns, plus)),
            DiffRow::Changed(old, new) => {
                all.extend(wrapped(&format!("- {}", old.trim()), columns, minus));
                all.extend(wrapped(&format!("+ {}", new.trim()), columns, plus));
            }
        }
    }
    Panel { focus: focus.unwrap_or(0), ..Panel::new("- golden  + happened", all) }
}

fn wrapped_lines(lines: &[TimelineLine], columns: usize) -> Vec<Line<'static>> {
    lines.iter().flat_map(|line| wrapped(line.to_string().trim(), columns, Style::new())).collect()
}

/// Wraps a line at blanks into this number of columns.
fn wrapped(text: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut rest: Vec<char> = text.chars().collect();
    while rest.len() > columns && columns > 2 * HANGING {
        let blank = rest[..=columns].iter().rposition(|letter| *letter == ' ').filter(|at| *at > columns / 2);
        let head: String = rest.drain(..blank.unwrap_or(columns)).collect();
        lines.push(Line::styled(head, style));
        let skipped = rest.iter().take_while(|letter| **letter == ' ').count();
        rest.splice(..skipped, std::iter::repeat_n(' ', HANGING));
    }
    lines.push(Line::styled(rest.into_iter().collect::<String>(), style));
    lines
}

/// Lines with a title, of which those around the focus are shown if not all fit.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Panel {
    title: String,
    lines: Vec<Line<'static>>,
    /// The index of the line that must be visible.
    focus: usize,
}

impl Panel {
    fn new(title: impl Into<String>, lines: Vec<Line<'static>>) -> Self {
        Self { title: title.into(), lines, focus: 0 }
    }

    /// The number of rows of the whole panel, with borders.
    fn height(&self) -> u16 {
        u16::try_from(self.lines.len()).unwrap_or(u16::MAX).saturating_add(2)
    }

    /// The lines that fit into this number of rows, and the index of the first.
    fn window(&self, rows: usize) -> (usize, &[Line<'static>]) {
        let from = self.focus.saturating_sub(rows / 2).min(self.lines.len().saturating_sub(rows));
        (from, &self.lines[from..self.lines.len().min(from + rows)])
    }

    fn draw(&self, area: Rect, buffer: &mut Buffer) {
        if area.height < 3 || area.width < 4 {
            return;
        }
        let (from, visible) = self.window(usize::from(area.height) - 2);
        let hidden = self.lines.len() - visible.len();
        let title = match hidden {
            0 => format!(" {} ", self.title),
            _ => format!(" {} · {}–{} of {} ", self.title, from + 1, from + visible.len(), self.lines.len()),
        };
        let border = Style::new().fg(Color::DarkGray);
        let block = Block::bordered().border_type(BorderType::Rounded).border_style(border).title(title.bold().reset());
        let inner = block.inner(area);
        block.render(area, buffer);
        for (line, row) in visible.iter().zip(inner.rows()) {
            line.render(row, buffer);
        }
    }
}

#[cfg(test)]
mod tests;
