//! What is to be known of the test environment and of the subjects, a line each on standard error.

use std::time::Duration;

use super::super::out::note;
use crate::run::{Event, FileError, HowReady, Subscriber};

/// Prints the lines.
pub(in super::super) struct Notes;

impl Subscriber for Notes {
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        match *event {
            Event::EnvironmentReady { identity, how, took } => {
                let how = match how {
                    HowReady::Attached => "attached to a running control plane",
                    HowReady::Booted => "booted",
                    HowReady::Own => "yours, ready",
                    HowReady::Ready => "ready",
                };
                note!("{}: {}, {how} in {:.1} s", identity.name, identity.title(), took.as_secs_f64());
            }
            Event::SessionReady { spec, identity, under_test, unserved, took } => {
                let (title, took) = (identity.title(), took.as_secs_f64());
                let how = match unserved {
                    None => format!("the test environment proved and the subject started in {took:.1} s"),
                    Some(_) => {
                        format!("the test environment proved; in {took:.1} s the subject has not served the probe")
                    }
                };
                note!("{spec}: {title}, brings {under_test}, {how}");
                if let Some(why) = unserved {
                    note!("{spec}: {why}");
                }
            }
            Event::RoundEnded { spec, time, seed, conformant, plays } => {
                let seed = seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
                note!("{spec}: time {time}{seed}: {conformant} of {plays} conformant");
            }
            Event::CasesPlayed { title, plays, took } => pace(title, plays, took),
            Event::SessionEnded { spec, requests, refused, ended } => {
                if !refused.is_empty() {
                    let refused: Vec<_> = refused.iter().map(|(what, times)| format!("{what} ({times}×)")).collect();
                    note!("{spec}: {requests} requests; the API server refused {}", refused.join(", "));
                } else if spec.is_inside() {
                    // Of a subject with rights of its own, that it was refused nothing is worth
                    // knowing.
                    note!("{spec}: {requests} requests, none of them refused");
                }
                ended.iter().for_each(|end| note!("{spec}: {end}"));
            }
            Event::RunStarted { .. }
            | Event::CaseStarted { .. }
            | Event::StepSettled { .. }
            | Event::CasePlayed { .. }
            | Event::CaseJudged(_)
            | Event::CaseCompared { .. }
            | Event::FaultsTried(_)
            | Event::RunEnded { .. } => {}
        }
        Ok(())
    }
}

/// How fast a subject went through its cases.
fn pace(title: &str, plays: usize, took: Duration) {
    let seconds = took.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a number of cases is small")]
    let number = plays as f64;
    let (each, pace) = (seconds / number, number * 60.0 / seconds);
    match plays {
        1 => note!("{title}: one case in {seconds:.2} s"),
        _ => note!("{title}: {plays} cases in {seconds:.1} s, {each:.2} s each, {pace:.0} a minute"),
    }
}
