//! Prints the results on standard output: judged plays as text or as JSON, and the faults of cases.

use std::sync::{Arc, Mutex, PoisonError};

use lockstep_report::{self as report, FaultsSummary, PlaySummary, PlayTally};
use lockstep_runner::run::{FileError, JudgedPlay, RunEvent, Subscriber};
use lockstep_support::outcome::RunOutcome;
use lockstep_timeline::Timeline;
use lockstep_verdict::{ComparisonBasis, Judgement, Verdict};

use super::super::out::{self, colour, say};
use super::collector::{Collector, is_good};

/// The style of the text output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum HumanStyle {
    /// Each play; then what repeated plays have in common, and a summary.
    Run {
        /// Whether to print both timelines side by side.
        timelines: bool,
    },
    /// Both timelines of pairs that differ, or of all pairs; then a table and a summary.
    Compare {
        /// Whether to print pairs that do not differ, too.
        timelines: bool,
    },
    /// The judgement of each recording.
    Judge,
}

/// Prints results as text.
pub(super) struct HumanReporter {
    style: HumanStyle,
    collected: Arc<Collector>,
    tally: Mutex<PlayTally>,
    /// All judgements of a comparison.
    compared: Mutex<Vec<Judgement>>,
}

impl HumanReporter {
    pub(super) fn new(style: HumanStyle, collected: Arc<Collector>) -> Self {
        Self { style, collected, tally: Mutex::default(), compared: Mutex::default() }
    }

    fn print_play(&self, play: &JudgedPlay<'_>) {
        let judgement = play.judgement;
        match self.style {
            HumanStyle::Compare { .. } => return,
            HumanStyle::Run { timelines } => {
                let summary = PlaySummary::new(judgement, play.golden, play.seed);
                self.tally.lock().unwrap_or_else(PoisonError::into_inner).take(&summary);
                if let (true, Some(expected)) = (timelines, play.expected) {
                    print_side_by_side(judgement, expected);
                }
            }
            HumanStyle::Judge => {}
        }
        if play.brief && is_good(judgement.outcome()) {
            return;
        }
        if is_good(judgement.outcome()) {
            let took = play.took.map_or_else(String::new, |took| format!("  {:.2} s", took.as_secs_f64()));
            let which = report::outcome(judgement).map_or_else(String::new, |which| format!(", {which}"));
            say!("{:15} {} on {}{which}{took}", judgement.verdict.name(), judgement.case, judgement.subject.name);
        } else {
            out::report(&format!("{}\n\n", report::failure(judgement, play.rerun, colour())));
        }
    }

    fn print_comparison(&self, titles: [&str; 2], judgements: [&Judgement; 2]) {
        let [first, second] = judgements;
        let always = matches!(self.style, HumanStyle::Compare { timelines: true });
        if always || second.verdict != Verdict::Conformant {
            let title = |title: &str, judgement: &Judgement| format!("{title} ({})", judgement.subject.title());
            let (a, b) = (title(titles[0], first), title(titles[1], second));
            say!("{}\n", first.case);
            let a = report::TitledTimeline { title: &a, timeline: &first.timeline };
            let b = report::TitledTimeline { title: &b, timeline: &second.timeline };
            say!("{}\n", report::side_by_side(a, b, width(), colour()));
        }
        let mut all = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(judgements.into_iter().cloned());
    }

    fn print_end(
        &self,
        outcomes: &[RunOutcome],
        ended_between: usize,
        unplayed: Option<usize>,
        took: std::time::Duration,
    ) {
        match self.style {
            HumanStyle::Run { .. } => {
                let tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
                tally.lines().iter().for_each(|line| say!("{line}"));
            }
            HumanStyle::Compare { .. } => {
                let all = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
                if !all.is_empty() {
                    out::report(&format!("{}\n", report::table(&all, colour())));
                    say!("{}", report::totals(&all, colour()));
                }
            }
            HumanStyle::Judge => {}
        }
        let unplayed = unplayed.map_or_else(String::new, |plays| format!(", {plays} not played"));
        match (self.style, outcomes) {
            (HumanStyle::Judge, _) => {}
            (_, []) => say!("nothing was judged{unplayed}"),
            (_, some) => say!("{}{unplayed}", report::summary(some, ended_between, took, colour())),
        }
        let state = self.collected.snapshot();
        let list = report::list_not_conformant(state.plays.iter().map(|it| &it.judgement), colour());
        // A list of one play would repeat its report.
        if !list.is_empty() && state.plays.len() + state.discarded > 1 {
            out::report(&format!("{list}\n"));
        }
        let causes = report::common_causes(state.plays.iter().map(|it| &it.judgement));
        if !causes.is_empty() && !matches!(self.style, HumanStyle::Judge) {
            out::report(&format!("{causes}\n"));
        }
    }
}

impl Subscriber for HumanReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        match *event {
            RunEvent::CaseJudged(judged) => self.print_play(judged),
            RunEvent::CaseCompared { titles, judgements } => self.print_comparison(titles, judgements),
            RunEvent::RunEnded { outcomes, ended_between, unplayed, took, .. } => {
                self.print_end(outcomes, ended_between, unplayed, took);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Print the expected and the actual timeline side by side.
fn print_side_by_side(judgement: &Judgement, expected: &Timeline) {
    let upstream = match &judgement.basis {
        ComparisonBasis::Golden(Some(from)) => format!("upstream, recorded ({})", from.controller),
        _ => "upstream, recorded".to_owned(),
    };
    let subject = judgement.subject.to_string();
    let left = report::TitledTimeline { title: &upstream, timeline: expected };
    let right = report::TitledTimeline { title: &subject, timeline: &judgement.timeline };
    say!("{}\n\n{}", judgement.case, report::side_by_side(left, right, width(), colour()));
    say!("the words of a timeline: lockstep explain --legend\n");
}

/// The width of the terminal, or a width for two timelines if it is unknown.
fn width() -> usize {
    out::terminal_width().unwrap_or(180)
}

/// Prints each judgement as one line of JSON. The last ones say that the subject ended between two
/// cases, and why the run ended early.
pub(super) struct JsonReporter(pub(super) Arc<Collector>);

impl Subscriber for JsonReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        match event {
            RunEvent::CaseJudged(judged) => say!("{}", report::json(judged.judgement)),
            RunEvent::RunEnded { ended_between, .. } => {
                report::ends_between_json(*ended_between).iter().for_each(|line| say!("{line}"));
                self.0.snapshot().early.iter().for_each(|early| say!("{}", report::early_end_json(early)));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Prints the results of faults.
pub(in super::super) struct FaultsReporter {
    json: bool,
    all: Mutex<Vec<FaultsSummary>>,
}

impl FaultsReporter {
    /// Print text, or JSON.
    pub(in super::super) fn new(json: bool) -> Self {
        Self { json, all: Mutex::default() }
    }
}

impl Subscriber for FaultsReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        match *event {
            RunEvent::FaultsTried(of) if self.json => say!("{}", report::faults_json(of)),
            RunEvent::FaultsTried(of) => {
                out::report(&format!("{}\n", report::faults(of, colour())));
                self.all.lock().unwrap_or_else(PoisonError::into_inner).push(of.into());
            }
            RunEvent::RunEnded { .. } => {
                let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
                if !all.is_empty() {
                    say!("\n{}\n", report::faults_table(all.iter()));
                    let failed = report::list_failed_points(all.iter());
                    if !failed.is_empty() {
                        out::report(&format!("{failed}\n\n"));
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}
