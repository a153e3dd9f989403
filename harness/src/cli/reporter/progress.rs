//! Passes the plays of a run on to [`Progress`], and prints messages about the test environment and
//! the subjects on standard error, where they leave the results unchanged.

use std::time::Duration;

use lockstep_runner::run::{EnvironmentOrigin, FileError, RunEvent, Subscriber};
use lockstep_support::pluralize;

use super::super::out::note;
use super::super::progress::Progress;

/// Passes plays on to the progress of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum ProgressReporter {
    /// Plays are what the command counts.
    Counting,
    /// Plays are what the command counts, and their cases have no names.
    CountingNameless,
    /// The command counts something else.
    Naming,
}

impl Subscriber for ProgressReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        let progress = Progress::for_process();
        match *event {
            RunEvent::CaseStarted { .. } | RunEvent::StepSettled { .. } if *self == Self::CountingNameless => {}
            RunEvent::RunStarted { plays } if *self == Self::Counting => progress.expect("play", Some(plays)),
            RunEvent::CaseStarted { case } => progress.play_started(&case.name),
            RunEvent::StepSettled { case, step } => progress.step_settled(&case.name, step),
            RunEvent::CasePlayed { case } => {
                progress.play_ended(&case.name);
                progress.advance(usize::from(*self != Self::Naming));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Prints the messages.
pub(in super::super) struct NotesReporter;

impl Subscriber for NotesReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        match *event {
            RunEvent::EnvironmentReady { identity, origin, took } => {
                let origin = match origin {
                    EnvironmentOrigin::Attached => "attached to a running control plane",
                    EnvironmentOrigin::Booted => "booted",
                    EnvironmentOrigin::User => "yours, ready",
                    EnvironmentOrigin::Ready => "ready",
                };
                note!("{}: {}, {origin} in {:.1} s", identity.name, identity.title(), took.as_secs_f64());
            }
            RunEvent::SessionReady { spec, identity, beside, under_test, unserved, took } => {
                let (title, took) = (identity.title(), took.as_secs_f64());
                let how = match unserved {
                    None => format!("the test environment proved and the subject started in {took:.1} s"),
                    Some(_) => {
                        format!("the test environment proved; in {took:.1} s the subject has not served the probe")
                    }
                };
                let beside = beside.map_or_else(String::new, |beside| format!(" beside {beside}, in real time"));
                note!("{spec}: {title}, brings {under_test}{beside}, {how}");
                if let Some(why) = unserved {
                    note!("{spec}: {why}");
                }
            }
            RunEvent::RoundEnded { spec, time, seed, conformant, plays } => {
                let seed = seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
                note!("{spec}: time {time}{seed}: {conformant} of {plays} conformant");
            }
            RunEvent::CasesPlayed { title, plays, took } => print_pace(title, plays, took),
            RunEvent::SessionEnded { spec, requests, refused, ends_between_cases } => {
                let requests = pluralize(usize::try_from(requests).unwrap_or(usize::MAX), "request");
                if !refused.is_empty() {
                    let refused: Vec<_> = refused.iter().map(|(what, times)| format!("{what} ({times}×)")).collect();
                    note!("{spec}: {requests}; the API server refused {}", refused.join(", "));
                } else if spec.is_inside() {
                    // For a subject with restricted rights, no refusal is worth a message.
                    note!("{spec}: {requests}, none of them refused");
                }
                ends_between_cases.iter().for_each(|end| note!("{spec}: {end}"));
            }
            RunEvent::RunStarted { .. }
            | RunEvent::CaseStarted { .. }
            | RunEvent::StepSettled { .. }
            | RunEvent::CasePlayed { .. }
            | RunEvent::CaseJudged(_)
            | RunEvent::CaseCompared { .. }
            | RunEvent::FaultsTried(_)
            | RunEvent::RunEnded { .. } => {}
        }
        Ok(())
    }
}

/// Prints the speed of a subject.
fn print_pace(title: &str, plays: usize, took: Duration) {
    let seconds = took.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a number of cases is small")]
    let number = plays as f64;
    let (each, pace) = (seconds / number, number * 60.0 / seconds);
    match plays {
        1 => note!("{title}: one case in {seconds:.2} s"),
        _ => note!("{title}: {plays} cases in {seconds:.1} s, {each:.2} s each, {pace:.0} a minute"),
    }
}
