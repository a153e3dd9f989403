//! The results for people, on standard output.

use std::sync::{Arc, Mutex, PoisonError};

use super::super::out::say;
use super::collected::Collected;
use super::is_good;
use crate::outcome::Outcome;
use crate::report::{self, PlaySummary, Tally};
use crate::run::{Event, FileError, Judged, Subscriber};
use crate::timeline::Timeline;
use crate::verdict::{Blessing, Judgement, Verdict};

/// What is printed besides the results themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Style {
    /// Each play, beside what was expected where that is wanted; then what repeated plays have in
    /// common, and a summary.
    Run {
        /// Whether both timelines are shown beside each other.
        timelines: bool,
    },
    /// Both timelines of each pair that differs, or of all; then a table and a summary.
    Compare {
        /// Whether those that do not differ are shown as well.
        timelines: bool,
    },
    /// Each recording.
    Judge,
}

/// Prints.
pub(in super::super) struct Human {
    style: Style,
    collected: Arc<Collected>,
    tally: Mutex<Tally>,
    /// Of a comparison: all judgements.
    compared: Mutex<Vec<Judgement>>,
}

impl Human {
    pub(super) fn new(style: Style, collected: Arc<Collected>) -> Self {
        Self { style, collected, tally: Mutex::default(), compared: Mutex::default() }
    }

    fn judged(&self, judged: &Judged<'_>) {
        let judgement = judged.judgement;
        match self.style {
            Style::Compare { .. } => return,
            Style::Run { timelines } => {
                let summary = PlaySummary::new(judgement, judged.golden, judged.seed);
                self.tally.lock().unwrap_or_else(PoisonError::into_inner).take(&summary);
                if let (true, Some(expected)) = (timelines, judged.expected) {
                    beside(judgement, expected);
                }
            }
            Style::Judge => {}
        }
        if judged.brief && is_good(judgement.outcome()) {
            return;
        }
        if is_good(judgement.outcome()) {
            let took = judged.took.map_or_else(String::new, |took| format!("  {:.2} s", took.as_secs_f64()));
            let which = report::outcome(judgement).map_or_else(String::new, |which| format!(", {which}"));
            say!("{:15} {} on {}{which}{took}", judgement.verdict.name(), judgement.case, judgement.subject.name);
        } else {
            say!("{}\n", report::failure(judgement, judged.again, colour()));
        }
    }

    fn compared(&self, titles: [&str; 2], judgements: [&Judgement; 2]) {
        let [first, second] = judgements;
        let always = matches!(self.style, Style::Compare { timelines: true });
        if always || second.verdict != Verdict::Conformant {
            let title = |title: &str, judgement: &Judgement| format!("{title} ({})", judgement.subject.title());
            let (a, b) = (title(titles[0], first), title(titles[1], second));
            say!("{}\n", first.case);
            let a = report::Side { title: &a, timeline: &first.timeline };
            let b = report::Side { title: &b, timeline: &second.timeline };
            say!("{}\n", report::side_by_side(a, b, width(), colour()));
        }
        let mut all = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(judgements.into_iter().cloned());
    }

    fn ended(&self, outcomes: &[Outcome], left: Option<usize>, took: std::time::Duration) {
        match self.style {
            Style::Run { .. } => {
                let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
                tally.lines().iter().for_each(|line| say!("{line}"));
            }
            Style::Compare { .. } => {
                let all = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
                if !all.is_empty() {
                    say!("{}", report::table(&all, colour()));
                    say!("{}", report::totals(&all, colour()));
                }
            }
            Style::Judge => {}
        }
        let left = left.map_or_else(String::new, |left| format!(", {left} not played"));
        match (self.style, outcomes) {
            (Style::Judge, _) => {}
            (_, []) => say!("nothing was judged{left}"),
            (_, some) => say!("{}{left}", report::summary(some, took, colour())),
        }
        let state = self.collected.so_far();
        let list = report::not_conformant(state.kept.iter().map(|it| &it.judgement), colour());
        // Where the only play has just been shown at length, there is nothing to list.
        if !list.is_empty() && state.kept.len() + state.forgotten > 1 {
            say!("{list}");
        }
        let causes = report::causes(state.kept.iter().map(|it| &it.judgement));
        if !causes.is_empty() && !matches!(self.style, Style::Judge) {
            say!("{causes}");
        }
    }
}

impl Subscriber for Human {
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        match *event {
            Event::CaseJudged(judged) => self.judged(judged),
            Event::CaseCompared { titles, judgements } => self.compared(titles, judgements),
            Event::RunEnded { outcomes, left, took, .. } => self.ended(outcomes, left, took),
            _ => {}
        }
        Ok(())
    }
}

/// What upstream did and what the subject did, beside each other.
fn beside(judgement: &Judgement, expected: &Timeline) {
    let upstream = match &judgement.blessing {
        Blessing::Golden(Some(from)) => format!("upstream, recorded ({})", from.controller),
        _ => "upstream, recorded".to_owned(),
    };
    let subject = judgement.subject.to_string();
    let left = report::Side { title: &upstream, timeline: expected };
    let right = report::Side { title: &subject, timeline: &judgement.timeline };
    say!("{}\n\n{}", judgement.case, report::side_by_side(left, right, width(), colour()));
    say!("the words of a timeline: lockstep explain --legend\n");
}

/// How wide the terminal is; wide enough for two timelines where it does not say.
fn width() -> usize {
    let said = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || rustix::termios::tcgetwinsize(std::io::stdout()).ok().map(|size| usize::from(size.ws_col));
    said.or_else(terminal).filter(|columns| *columns > 0).unwrap_or(180)
}

/// Whether standard output is for a person's eyes.
pub(in super::super) fn colour() -> bool {
    use std::io::IsTerminal;
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) && std::io::stdout().is_terminal()
}
