//! How far a run is: on a terminal one line that is written over, with what is running and for how
//! long; elsewhere only a plain line for a play that takes unusually long. Standard error alone, so
//! that results can be piped.
//!
//! indicatif draws the line. What is slow is found here, as it is reported without a terminal too.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::clock::{self, Instant};
use crate::run::{Event, FileError, Subscriber};
use crate::timeline::StepId;

/// How often the line is written anew.
const TICK: Duration = Duration::from_millis(250);
/// A play of this length is told of, and again when it has taken twice as long.
const SLOW: Duration = Duration::from_secs(15);

/// Prints while plays run.
#[derive(Default)]
pub(in super::super) struct Progress {
    state: Arc<Mutex<State>>,
    /// Dropped, it ends the thread.
    running: Mutex<Option<Sender<()>>>,
}

struct State {
    /// What clears the line until the next tick.
    screen: MultiProgress,
    line: ProgressBar,
    /// What runs.
    running: BTreeMap<String, Running>,
}

/// A play that runs.
struct Running {
    since: Instant,
    /// After how long it is named next.
    next: Duration,
    /// The last step that has settled.
    step: Option<StepId>,
}

impl Progress {
    /// So many plays are to come.
    fn start(&self, total: usize) {
        let quiet = ["CI", "GITHUB_ACTIONS"].iter().any(|name| std::env::var_os(name).is_some());
        let live = total > 1 && !quiet && std::io::stderr().is_terminal();
        let target = if live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        *lock(&self.state) = State::of(total, target);
        let (running, over) = channel::<()>();
        let ticking = Arc::clone(&self.state);
        std::thread::spawn(move || {
            while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
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

impl Subscriber for Progress {
    fn on(&self, event: &Event<'_>) -> Result<(), FileError> {
        match *event {
            Event::RunStarted { plays } => self.start(plays),
            Event::CaseStarted { case } => {
                let running = Running { since: clock::instant(), next: SLOW, step: None };
                lock(&self.state).running.insert(case.name.clone(), running);
            }
            Event::StepSettled { case, step } => {
                lock(&self.state).running.get_mut(&case.name).into_iter().for_each(|it| it.step = Some(step));
            }
            Event::CasePlayed { case } => {
                let mut state = lock(&self.state);
                state.running.remove(&case.name);
                state.line.inc(1);
                // Something about it is about to be printed; a closed standard error is no reason
                // to stop.
                state.screen.clear().ok();
            }
            Event::RunEnded { .. } => self.stop(),
            _ => {}
        }
        Ok(())
    }
}

/// What a thread that panicked has left is still good for a line of progress.
fn lock<T>(state: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for State {
    fn default() -> Self {
        Self::of(0, ProgressDrawTarget::hidden())
    }
}

impl State {
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
        // Of several the one that has been running longest.
        if let Some((name, took)) = times.iter().max_by_key(|(_, took)| *took) {
            let step = self.running.get(name).and_then(|it| it.step).map(|step| format!(" after {step}"));
            let more = if times.len() > 1 { format!(" and {} more", times.len() - 1) } else { String::new() };
            let what = format!("{name}{} {:.1} s{more}", step.unwrap_or_default(), took.as_secs_f64());
            self.line.set_message(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    /// What is on standard error after two ticks, as a terminal and as a plain file.
    fn ticked(live: bool, took: Duration) -> (String, String) {
        let terminal = InMemoryTerm::new(10, 80);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let mut state = State::of(120, if live { target } else { ProgressDrawTarget::hidden() });
        state.line.set_position(3);
        let since = clock::instant().checked_sub(took).unwrap();
        state.running.insert("a/b".to_owned(), Running { since, next: SLOW, step: None });
        let mut out = Vec::new();
        state.tick(&mut out);
        state.tick(&mut out);
        (terminal.contents(), String::from_utf8(out).unwrap())
    }

    #[test]
    fn a_terminal_gets_a_line_that_is_written_over() {
        let line = "[  3/120] a/b 1.2 s".to_owned();
        assert_eq!(ticked(true, Duration::from_millis(1_200)), (line, String::new()));
    }

    #[test]
    fn on_a_terminal_what_is_slow_stands_above_the_line_and_once() {
        let lines = "slow: a/b has been running for 16 s\n[  3/120] a/b 16.0 s".to_owned();
        assert_eq!(ticked(true, Duration::from_secs(16)), (lines, String::new()));
    }

    #[test]
    fn elsewhere_only_what_is_slow_is_told_and_once() {
        assert_eq!(ticked(false, Duration::from_secs(1)), (String::new(), String::new()));
        let line = "slow: a/b has been running for 16 s\n".to_owned();
        assert_eq!(ticked(false, Duration::from_secs(16)), (String::new(), line));
    }
}
