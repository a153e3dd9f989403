//! Prints on standard error, so that results can be piped: progress, and messages about the test
//! environment and the subjects, where they leave the results unchanged; with `--legend` also the
//! words of a timeline.
//!
//! Progress is on a terminal one line that is overwritten, with the running plays and their
//! durations; elsewhere only a line for each slow play. indicatif draws the line. Slow plays are
//! detected here, because they are reported without a terminal, too.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use lockstep_runner::run::{EnvironmentOrigin, FileError, RunEvent, Subscriber};
use lockstep_support::clock::{self, Instant};
use lockstep_timeline::{StepId, legend};

use super::super::out::note;

/// How often the line is redrawn.
const TICK_INTERVAL: Duration = Duration::from_millis(250);
/// A play of this length is reported as slow, and again each time that its length has doubled.
const SLOW_AFTER: Duration = Duration::from_secs(15);

/// Prints progress while plays run.
#[derive(Default)]
pub(in super::super) struct ProgressReporter {
    state: Arc<Mutex<ProgressLine>>,
    /// Ends the thread when it is dropped.
    running: Mutex<Option<Sender<()>>>,
}

struct ProgressLine {
    /// Clears the line until the next tick.
    screen: MultiProgress,
    line: ProgressBar,
    /// The running plays by case.
    running: BTreeMap<String, RunningPlay>,
}

/// A running play.
struct RunningPlay {
    since: Instant,
    /// The length at which it is next reported as slow.
    next: Duration,
    /// The last settled step.
    step: Option<StepId>,
}

impl ProgressReporter {
    /// Start a run of this many plays.
    fn start(&self, total: usize) {
        let quiet = ["CI", "GITHUB_ACTIONS"].iter().any(|name| std::env::var_os(name).is_some());
        let live = total > 1 && !quiet && std::io::stderr().is_terminal();
        let target = if live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        *lock(&self.state) = ProgressLine::of(total, target);
        let (running, over) = channel::<()>();
        let ticking = Arc::clone(&self.state);
        std::thread::spawn(move || {
            while over.recv_timeout(TICK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                lock(&ticking).tick(&mut std::io::stderr());
            }
        });
        *lock(&self.running) = Some(running);
    }

    fn stop(&self) {
        lock(&self.running).take();
        let mut state = lock(&self.state);
        state.running.clear();
        state.line.finish_and_clear();
    }
}

impl Subscriber for ProgressReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        match *event {
            RunEvent::RunStarted { plays } => self.start(plays),
            RunEvent::CaseStarted { case } => {
                let running = RunningPlay { since: clock::instant(), next: SLOW_AFTER, step: None };
                lock(&self.state).running.insert(case.name.clone(), running);
            }
            RunEvent::StepSettled { case, step } => {
                lock(&self.state).running.get_mut(&case.name).into_iter().for_each(|it| it.step = Some(step));
            }
            RunEvent::CasePlayed { case } => {
                let mut state = lock(&self.state);
                state.running.remove(&case.name);
                state.line.inc(1);
                // A report of the play is printed next. Ignore a closed standard error.
                state.screen.clear().ok();
            }
            RunEvent::RunEnded { .. } => self.stop(),
            _ => {}
        }
        Ok(())
    }
}

/// Lock a mutex, even if a thread panicked: the state is good enough for a line of progress.
fn lock<T>(state: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for ProgressLine {
    fn default() -> Self {
        Self::of(0, ProgressDrawTarget::hidden())
    }
}

impl ProgressLine {
    /// `[ 12/245] rolling/quarter-on-ten after step 1 1.2 s`
    fn of(total: usize, target: ProgressDrawTarget) -> Self {
        let template = format!("[{{pos:>{}}}/{{len}}] {{msg}}", total.to_string().len());
        let style = ProgressStyle::with_template(&template).expect("a constant template but for a width");
        let screen = MultiProgress::with_draw_target(target);
        let line = screen.add(ProgressBar::new(total as u64).with_style(style));
        Self { screen, line, running: BTreeMap::new() }
    }

    fn tick(&mut self, out: &mut impl Write) {
        let times: Vec<(String, Duration)> =
            self.running.iter().map(|(name, it)| (name.clone(), it.since.elapsed())).collect();
        for (name, took) in &times {
            if let Some(it) = self.running.get_mut(name).filter(|it| *took >= it.next) {
                it.next *= 2;
                let slow = format!("slow: {name} has been running for {} s", took.as_secs());
                if self.line.is_hidden() {
                    writeln!(out, "{slow}").ok();
                } else {
                    self.line.println(slow);
                }
            }
        }
        // Show the play that has been running longest.
        if let Some((name, took)) = times.iter().max_by_key(|(_, took)| *took) {
            let step = self.running.get(name).and_then(|it| it.step).map(|step| format!(" after {step}"));
            let more = if times.len() > 1 { format!(" and {} more", times.len() - 1) } else { String::new() };
            let what = format!("{name}{} {:.1} s{more}", step.unwrap_or_default(), took.as_secs_f64());
            self.line.set_message(what);
        }
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
            RunEvent::SessionReady { spec, identity, under_test, unserved, took } => {
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
            RunEvent::RoundEnded { spec, time, seed, conformant, plays } => {
                let seed = seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
                note!("{spec}: time {time}{seed}: {conformant} of {plays} conformant");
            }
            RunEvent::CasesPlayed { title, plays, took } => print_pace(title, plays, took),
            RunEvent::SessionEnded { spec, requests, refused, ends_between_cases } => {
                if !refused.is_empty() {
                    let refused: Vec<_> = refused.iter().map(|(what, times)| format!("{what} ({times}×)")).collect();
                    note!("{spec}: {requests} requests; the API server refused {}", refused.join(", "));
                } else if spec.is_inside() {
                    // For a subject with restricted rights, no refusal is worth a message.
                    note!("{spec}: {requests} requests, none of them refused");
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

/// Prints the legend when the run has ended.
pub(super) struct LegendReporter;

impl Subscriber for LegendReporter {
    fn on(&self, event: &RunEvent<'_>) -> Result<(), FileError> {
        if let RunEvent::RunEnded { .. } = event {
            note!("\nin a timeline\n{}", legend());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    /// The output after two ticks, to a terminal and to a plain file.
    fn ticked(live: bool, took: Duration) -> (String, String) {
        let terminal = InMemoryTerm::new(10, 80);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let mut state = ProgressLine::of(120, if live { target } else { ProgressDrawTarget::hidden() });
        state.line.set_position(3);
        let since = clock::instant().checked_sub(took).unwrap();
        state.running.insert("a/b".to_owned(), RunningPlay { since, next: SLOW_AFTER, step: None });
        let mut out = Vec::new();
        state.tick(&mut out);
        state.tick(&mut out);
        (terminal.contents(), String::from_utf8(out).unwrap())
    }

    #[test]
    fn terminal_shows_one_line_that_is_overwritten() {
        let line = "[  3/120] a/b 1.2 s".to_owned();
        assert_eq!(ticked(true, Duration::from_millis(1_200)), (line, String::new()));
    }

    #[test]
    fn terminal_shows_slow_play_once_above_the_line() {
        let lines = "slow: a/b has been running for 16 s\n[  3/120] a/b 16.0 s".to_owned();
        assert_eq!(ticked(true, Duration::from_secs(16)), (lines, String::new()));
    }

    #[test]
    fn plain_output_reports_only_slow_play_and_once() {
        assert_eq!(ticked(false, Duration::from_secs(1)), (String::new(), String::new()));
        let line = "slow: a/b has been running for 16 s\n".to_owned();
        assert_eq!(ticked(false, Duration::from_secs(16)), (String::new(), line));
    }
}
