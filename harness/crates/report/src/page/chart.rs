//! Draws a timeline as SVG: steps from left to right, a lane for each Deployment and ReplicaSet
//! from top to bottom.
//!
//! Both pictures of a case share one layout, with the same steps, lanes and scale, so that
//! differences are visible at a glance.
//!
//! No plotting library is used: a step has only a few bars and lines, coloured by the style sheet
//! of the page, and the page must not load anything.

use std::collections::BTreeMap;
use std::fmt::Write;

use lockstep_case::Case;
use lockstep_support::sanitize::is_unprintable;
use lockstep_timeline::{StepId, Timeline};
use lockstep_verdict::series::{DeploymentSize, ReplicaSetSize, RolloutBounds, RolloutSeries, StepTotals, belongs_to};

use crate::wrap::wrap_line;

/// The least and the greatest width of a step, and the width of all steps if there are few.
const NARROW: usize = 52;
const WIDE: usize = 104;
const ROOM: usize = 540;
/// The width of a picture that a phone shows whole.
const PHONE: usize = 340;
/// The width of the names on the left.
const GUTTER: usize = 62;
/// The height of the lane of a Deployment and of a ReplicaSet, without the gap below.
const TALL: f64 = 120.0;
const LOW: f64 = 58.0;
const GAP: f64 = 22.0;
/// The space for the mark above the lanes, and for the names of the steps below.
const HEAD: f64 = 26.0;
const FOOT: f64 = 28.0;
/// The height of a line of a label, the width of a letter of it, and the most lines.
const LINE: f64 = 12.0;
const LETTER: usize = 6;
const MOST_LINES: usize = 6;

/// The legend of colours and symbols.
pub(super) const LEGEND: &str = "<p class=\"legend\"><span class=\"key total\"></span> pods wanted in all \
    <span class=\"key available\"></span> available <span class=\"key hatch\"></span> outside the bounds \
    <span class=\"key full\"></span> available pods of a ReplicaSet <span class=\"key half\"></span> ready, not for long enough \
    <span class=\"key empty\"></span> wanted, not ready &nbsp; ◆ a user &nbsp; ● nodes &nbsp; ◷ time &nbsp; ▼ the first wrong step</p>\n";

/// The hatching, as a pattern that pictures reference.
pub(super) const HATCH: &str = "<defs><pattern id=\"hatch\" width=\"7\" height=\"7\" patternTransform=\"rotate(45)\" patternUnits=\"userSpaceOnUse\">\
     <rect width=\"7\" height=\"7\" class=\"hatch-ground\"/><line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"7\" class=\"hatch-line\"/></pattern></defs>";

/// The hidden element with the hatching that all pictures of a page share.
pub(super) fn patterns() -> String {
    format!("<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\">{HATCH}</svg>\n")
}

/// The layout that the pictures of one case share.
#[derive(Debug)]
pub(super) struct ChartLayout {
    ids: Vec<StepId>,
    deployments: Vec<String>,
    sets: Vec<String>,
    /// The number of pods at the top of the lane of a Deployment, and of a ReplicaSet.
    most: i64,
    widest: i64,
    wrong: Option<StepId>,
    /// The number of the case on the page; `None` for a picture in a file of its own.
    number: Option<usize>,
    /// The width of a step.
    wide: usize,
    labels: BTreeMap<StepId, StepLabel>,
    /// The height below the lanes.
    foot: f64,
}

impl ChartLayout {
    /// The layout that fits all these courses. `number` is the number of the case on the page,
    /// whose steps are linked to.
    pub(super) fn around<'a>(
        courses: impl Iterator<Item = &'a RolloutSeries> + Clone,
        ids: Vec<StepId>,
        wrong: Option<StepId>,
        number: Option<usize>,
    ) -> Self {
        let wide = (ROOM / ids.len().max(1)).clamp(NARROW, WIDE);
        let labels = labels(&ids, &courses, wide);
        let lines = labels.values().map(|label| label.row + label.lines.len()).max().unwrap_or(0);
        let foot = FOOT + LINE * length(lines);
        let none = Vec::new;
        let mut frame =
            Self { wide, ids, deployments: none(), sets: none(), most: 1, widest: 1, wrong, number, labels, foot };
        for course in courses {
            for (names, known) in
                [(course.deployments(), &mut frame.deployments), (course.replica_sets(), &mut frame.sets)]
            {
                let new: Vec<String> =
                    names.into_iter().filter(|name| !known.iter().any(|it| it == name)).map(str::to_owned).collect();
                known.extend(new);
            }
            for stop in &course.steps {
                let bounds = stop.bounds.values().map(|allowed| allowed.bounds.most);
                let totals = stop.deployments.values().flat_map(|total| [total.desired, total.available]);
                frame.most = bounds.chain(totals).chain([frame.most]).max().unwrap_or(1);
                frame.widest = stop
                    .replica_sets
                    .values()
                    .map(|size| size.desired.max(size.ready))
                    .chain([frame.widest])
                    .max()
                    .unwrap_or(1);
            }
        }
        frame
    }

    /// The number of steps.
    pub(super) fn columns(&self) -> usize {
        self.ids.len()
    }

    /// Write a picture with its title.
    pub(super) fn figure(
        &self,
        out: &mut String,
        side: &str,
        title: &str,
        course: &RolloutSeries,
        timeline: &Timeline,
    ) {
        let (width, height) = self.size();
        // A picture that is slightly too wide shrinks; one that would be unreadable scrolls.
        let least = width * 3 / 4;
        let wide = if least > PHONE { " wide" } else { "" };
        let _ = writeln!(
            out,
            "<figure class=\"{side}{wide}\"><figcaption><b>{side}</b> {}</figcaption><div class=\"scroll\">\
             <svg style=\"width:100%;max-width:{width}px;min-width:{least}px\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{side}: pods by step\">",
            escape(title)
        );
        self.drawing(out, course, timeline);
        out.push_str("</svg></div><p class=\"hint\">← → the picture scrolls sideways</p></figure>\n");
    }

    /// The width and the height of a picture.
    pub(super) fn size(&self) -> (usize, f64) {
        let lanes = |count: usize, height: f64| length(count) * (height + GAP);
        let height = HEAD + lanes(self.deployments.len(), TALL) + lanes(self.sets.len(), LOW) + self.foot;
        (GUTTER + self.wide * self.ids.len() + 10, height)
    }

    /// Write the content of a picture.
    pub(super) fn drawing(&self, out: &mut String, course: &RolloutSeries, timeline: &Timeline) {
        let (_, height) = self.size();
        self.columns_of(out, timeline, height);
        let mut top = HEAD;
        for name in &self.deployments {
            self.deployment(out, name, course, top);
            top += TALL + GAP;
        }
        for (number, name) in self.sets.iter().enumerate() {
            self.replica_set(out, number, name, course, top);
            top += LOW + GAP;
        }
        self.hovers(out, timeline, height);
    }

    /// The left edge of a step's column.
    fn x(&self, column: usize) -> usize {
        let wide = self.wide;
        GUTTER + column * wide
    }

    /// Write the names and marks of the steps, and the band of the wrong step.
    fn columns_of(&self, out: &mut String, timeline: &Timeline, height: f64) {
        let wide = self.wide;
        let foot = height - self.foot;
        for (column, id) in self.ids.iter().enumerate() {
            let (x, middle) = (self.x(column), self.x(column) + wide / 2);
            if self.wrong == Some(*id) {
                let _ = writeln!(
                    out,
                    "<rect class=\"wrong\" x=\"{x}\" y=\"2\" width=\"{wide}\" height=\"{:.0}\" rx=\"4\"/><text class=\"wrong-mark\" x=\"{middle}\" y=\"17\">▼</text>",
                    height - 4.0
                );
            }
            let Some(step) = timeline.step(*id) else {
                let _ = writeln!(out, "<text class=\"label\" x=\"{middle}\" y=\"{:.0}\">not made</text>", foot + 28.0);
                continue;
            };
            let (mark, class) = mark(&step.label, *id);
            if class == "user" && *id != StepId::GIVEN {
                let end = height - 8.0;
                let _ = writeln!(out, "<line class=\"user\" x1=\"{x}\" y1=\"{HEAD}\" x2=\"{x}\" y2=\"{end:.0}\"/>");
            }
            let name = if *id == StepId::GIVEN { "given".to_owned() } else { id.to_string().replace("step ", "") };
            let (open, close) = self.number.map_or_else(Default::default, |number| {
                (format!("<a href=\"#case{number}-{}\">", anchor(*id)), "</a>")
            });
            let _ = writeln!(
                out,
                "{open}<text class=\"step {class}\" x=\"{middle}\" y=\"{:.0}\">{mark} {name}</text>{close}",
                foot + 14.0,
            );
            let Some(label) = self.labels.get(id) else { continue };
            for (row, line) in (label.row..).zip(&label.lines) {
                let y = foot + 28.0 + LINE * length(row);
                // The label of a user begins at the line of its step, and may be wider than that.
                let (class, x) = if class == "user" { ("label user", x + 3) } else { ("label", middle) };
                let _ = writeln!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y:.0}\">{}</text>", escape(line));
            }
        }
    }

    /// Write the lane of a Deployment: wanted and available pods, with their bounds.
    fn deployment(&self, out: &mut String, name: &str, course: &RolloutSeries, top: f64) {
        let wide = self.wide;
        let y = |pods: i64| top + TALL - TALL * fraction(pods, self.most + 1);
        self.lane(out, name, top, TALL, "deployment");
        let mut last: Option<(usize, DeploymentSize)> = None;
        for (column, id) in self.ids.iter().enumerate() {
            let Some((stop, total)) = course.step(*id).and_then(|stop| Some((stop, *stop.deployments.get(name)?)))
            else {
                last = None;
                continue;
            };
            let allowed = stop.bounds.get(name);
            let before = column.checked_sub(1).and_then(|column| course.step(self.ids[column])?.bounds.get(name));
            self.bounds(out, column, allowed, &y, top);
            if before.map(|it| it.bounds) != allowed.map(|it| it.bounds) {
                self.names_of_bounds(out, column, allowed, &y);
            }
            let (x, end) = (self.x(column), self.x(column) + wide);
            for (class, now, before) in [
                ("total", total.desired, last.map(|(_, last)| last.desired)),
                ("available", total.available, last.map(|(_, last)| last.available)),
            ] {
                let rise = before.map_or_else(String::new, |before| format!("M{x} {:.1}V{:.1}", y(before), y(now)));
                let _ = writeln!(out, "<path class=\"line {class}\" d=\"{rise}M{x} {0:.1}H{end}\"/>", y(now));
            }
            last = Some((column, total));
            self.numbers(out, column, (stop, name), total, &y);
        }
    }

    /// Write the areas above the most wanted and below the least available pods.
    fn bounds(
        &self,
        out: &mut String,
        column: usize,
        allowed: Option<&RolloutBounds>,
        y: &impl Fn(i64) -> f64,
        top: f64,
    ) {
        let wide = self.wide;
        let Some(allowed) = allowed else { return };
        let x = self.x(column);
        let most = y(allowed.bounds.most);
        let _ = writeln!(
            out,
            "<rect class=\"outside\" x=\"{x}\" y=\"{top:.1}\" width=\"{wide}\" height=\"{:.1}\"/><path class=\"bound\" d=\"M{x} {most:.1}h{wide}\"/>",
            most - top
        );
        if let Some(least) = allowed.bounds.least.filter(|least| *least > 0) {
            let least = y(least);
            let _ = writeln!(
                out,
                "<rect class=\"outside\" x=\"{x}\" y=\"{least:.1}\" width=\"{wide}\" height=\"{:.1}\"/><path class=\"bound\" d=\"M{x} {least:.1}h{wide}\"/>",
                top + TALL - least
            );
        }
    }

    /// Write the labels of new bounds: `≤ 13` and `≥ 8`.
    fn names_of_bounds(
        &self,
        out: &mut String,
        column: usize,
        allowed: Option<&RolloutBounds>,
        y: &impl Fn(i64) -> f64,
    ) {
        let Some(bounds) = allowed.map(|allowed| allowed.bounds) else { return };
        let x = if column == 0 { GUTTER - 8 } else { self.x(column) + 26 };
        let least = bounds.least.filter(|least| *least > 0).map(|least| ('≥', least, 10.0));
        for (sign, pods, below) in [('≤', bounds.most, if column == 0 { 4.0 } else { -3.0 })].into_iter().chain(least)
        {
            let _ =
                writeln!(out, "<text class=\"allowed\" x=\"{x}\" y=\"{:.1}\">{sign} {pods}</text>", y(pods) + below);
        }
    }

    /// Write the numbers at the lines; numbers out of bounds are highlighted.
    fn numbers(
        &self,
        out: &mut String,
        column: usize,
        (stop, name): (&StepTotals, &str),
        total: DeploymentSize,
        y: &impl Fn(i64) -> f64,
    ) {
        let wide = self.wide;
        let middle = self.x(column) + wide / 2;
        let bounds = stop.bounds.get(name).map(|allowed| allowed.bounds);
        let over = bounds.is_some_and(|bounds| total.desired > bounds.most);
        let under = bounds.and_then(|bounds| bounds.least).is_some_and(|least| total.available < least);
        let class = |bad: bool| if bad { " out" } else { "" };
        let _ = writeln!(
            out,
            "<text class=\"number total{}\" x=\"{middle}\" y=\"{:.1}\">{}</text>",
            class(over),
            y(total.desired) - 4.0,
            total.desired
        );
        if total.available != total.desired {
            let _ = writeln!(
                out,
                "<text class=\"number available{}\" x=\"{middle}\" y=\"{:.1}\">{}</text>",
                class(under),
                y(total.available) + 12.0,
                total.available
            );
        }
    }

    /// Write the lane of a ReplicaSet: a bar per step, filled up to its available pods.
    fn replica_set(&self, out: &mut String, number: usize, name: &str, course: &RolloutSeries, top: f64) {
        let wide = self.wide;
        self.lane(out, name, top, LOW, "set");
        let height = |pods: i64| LOW * fraction(pods, self.widest + 1);
        for (column, id) in self.ids.iter().enumerate() {
            let Some(ReplicaSetSize { desired: wanted, ready, available }) =
                course.step(*id).and_then(|stop| stop.replica_sets.get(name)).copied()
            else {
                continue;
            };
            let (x, width, middle) = (self.x(column) + 6, wide - 12, self.x(column) + wide / 2);
            let bar = |class: &str, pods: i64| {
                let tall = height(pods);
                format!(
                    "<rect class=\"bar {class} c{}\" x=\"{x}\" y=\"{:.1}\" width=\"{width}\" height=\"{tall:.1}\" rx=\"2\"/>",
                    number % 6,
                    top + LOW - tall
                )
            };
            let bars = [("empty", wanted), ("half", ready), ("full", available)];
            let bars: String =
                bars.into_iter().filter(|(_, pods)| *pods > 0).map(|(class, pods)| bar(class, pods)).collect();
            let class = if wanted == 0 { " none" } else { "" };
            let partly = if available == wanted { wanted.to_string() } else { format!("{available}/{wanted}") };
            let _ = writeln!(
                out,
                "{bars}<text class=\"number{class}\" x=\"{middle}\" y=\"{:.1}\">{partly}</text>",
                top + LOW - height(wanted.max(ready)) - 3.0
            );
        }
    }

    /// Write the name and base line of a lane.
    fn lane(&self, out: &mut String, name: &str, top: f64, height: f64, class: &str) {
        let (floor, end) = (top + height, self.x(self.ids.len()));
        let owner = self.deployments.iter().find(|deployment| belongs_to(name, deployment) && class == "set");
        let title = owner.map_or_else(|| name.to_owned(), |owner| format!("{name}, of {owner}"));
        let label = name.rsplit('/').next().filter(|_| self.deployments.len() < 2).unwrap_or(name);
        let _ = writeln!(
            out,
            "<path class=\"floor\" d=\"M{GUTTER} {floor:.1}H{end}\"/><text class=\"lane {class}\" x=\"{}\" y=\"{floor:.1}\"><title>{}</title>{}</text>",
            GUTTER - 8,
            escape(&title),
            escape(&clip(label, 9))
        );
    }

    /// Write the tooltips of the steps.
    fn hovers(&self, out: &mut String, timeline: &Timeline, height: f64) {
        let wide = self.wide;
        for (column, id) in self.ids.iter().enumerate() {
            let Some(step) = timeline.step(*id) else { continue };
            let decisions: String = step.decisions.iter().map(|decision| format!("\n{decision}")).collect();
            let tooltip =
                format!("{}{}", step.heading(), if decisions.is_empty() { "\nnothing is decided" } else { &decisions });
            let _ = writeln!(
                out,
                "<rect class=\"hover\" x=\"{}\" y=\"{HEAD}\" width=\"{wide}\" height=\"{:.0}\"><title>{}</title></rect>",
                self.x(column),
                height - HEAD - self.foot,
                escape(&tooltip)
            );
        }
    }
}

/// The fraction `part / total`.
#[expect(clippy::cast_precision_loss, reason = "numbers of pods are small")]
fn fraction(part: i64, total: i64) -> f64 {
    part.max(0) as f64 / total.max(1) as f64
}

/// A small number as a length.
fn length(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(0))
}

/// The anchor of a step on the page.
pub(super) fn anchor(id: StepId) -> String {
    format!("step{}-{}", id.index, id.part)
}

/// The symbol and the style class of a step, by who makes it: user, nodes or time.
fn mark(label: &str, id: StepId) -> (&'static str, &'static str) {
    let verb = label.split([' ', '/']).next().unwrap_or_default();
    match verb {
        _ if id == StepId::GIVEN => ("", "given"),
        "ready" | "unready" | "fail" | "succeed" | "terminate" | "pods" => ("●", "node"),
        "advance" => ("◷", "time"),
        _ => ("◆", "user"),
    }
}

/// The label of a step below its name.
#[derive(Debug)]
struct StepLabel {
    /// The row of its first line.
    row: usize,
    lines: Vec<String>,
}

/// The labels of the steps. That of a user has rows of its own, below the others, and the room up
/// to the next step of a user; others have the room of their step.
fn labels<'a>(
    ids: &[StepId],
    courses: &(impl Iterator<Item = &'a RolloutSeries> + Clone),
    wide: usize,
) -> BTreeMap<StepId, StepLabel> {
    let label = |id: &StepId| courses.clone().find_map(|course| course.step(*id)).map_or("", |stop| &stop.label);
    let is_user = |id: &StepId| mark(label(id), *id).1 == "user";
    let lines = |text: &str, room: usize| {
        let mut lines = wrap_line(text, room / LETTER + 1, 0);
        if lines.len() > MOST_LINES {
            lines.truncate(MOST_LINES - 1);
            lines.push("…".to_owned());
        }
        lines
    };
    let mut all = BTreeMap::new();
    for id in ids.iter().filter(|id| **id != StepId::GIVEN && !is_user(id)) {
        all.insert(*id, StepLabel { row: 0, lines: lines(label(id), wide) });
    }
    let row = all.values().map(|label| label.lines.len()).max().unwrap_or(0);
    for (column, id) in ids.iter().enumerate().filter(|(_, id)| **id != StepId::GIVEN && is_user(id)) {
        let columns = 1 + ids[column + 1..].iter().take_while(|next| !is_user(next)).count();
        all.insert(*id, StepLabel { row, lines: lines(label(id), columns * wide - LETTER) });
    }
    all
}

fn clip(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most - 1).chain(['…']).collect() }
}

/// Draws the timeline of a case as an SVG file of its own, for documents. It has the drawing, style
/// and colours of the page, and is light or dark like the reader's system.
#[must_use]
pub fn picture(case: &Case, timeline: &Timeline) -> String {
    let course = RolloutSeries::of(timeline, case);
    let ids = course.steps.iter().map(|stop| stop.id).collect();
    let frame = ChartLayout::around(std::iter::once(&course), ids, None, None);
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
        HATCH,
    );
    frame.drawing(&mut out, &course, timeline);
    out + "</svg>\n"
}

/// Escapes text for HTML and SVG, in elements and in quoted attributes: replaces the five special
/// characters, and control characters that a page must not contain.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(letter),
            letter if is_unprintable(letter) => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}
