//! How far a run is: on a terminal one line that is written over, with what is running and for how long; elsewhere only a plain line for
//! a play that takes unusually long. Standard error alone, so that results can be piped.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{self, Instant};
use crate::run::{Event, ReportError, Subscriber};
use crate::timeline::StepId;

/// How often the line is written anew.
const TICK: Duration = Duration::from_millis(250);
/// A play of this length is told of, and again when it has taken twice as long.
const SLOW: Duration = Duration::from_secs(15);
/// Takes the cursor to the beginning and clears the line.
const CLEAR: &str = "\r\x1b[2K";

/// Prints while plays run.
#[derive(Default)]
pub(super) struct Progress {
    state: Arc<Mutex<State>>,
    /// Dropped, it ends the thread.
    running: Mutex<Option<Sender<()>>>,
}

#[derive(Default)]
struct State {
    live: bool,
    done: usize,
    total: usize,
    /// What runs.
    running: BTreeMap<String, Running>,
}

/// A play that runs.
struct Running {
    since: Option<Instant>,
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
        *lock(&self.state) = State { live, total, ..State::default() };
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
        state.clear(&mut std::io::stderr());
        state.running.clear();
        state.live = false;
    }
}

impl Subscriber for Progress {
    fn on(&self, event: &Event<'_>) -> Result<(), ReportError> {
        match *event {
            Event::RunStarted { plays } => self.start(plays),
            Event::CaseStarted { case } => {
                let running = Running { since: Some(clock::instant()), next: SLOW, step: None };
                lock(&self.state).running.insert(case.name.clone(), running);
            }
            Event::StepSettled { case, step } => {
                lock(&self.state).running.get_mut(&case.name).into_iter().for_each(|it| it.step = Some(step));
            }
            Event::CasePlayed { case } => {
                let mut state = lock(&self.state);
                state.running.remove(&case.name);
                state.done += 1;
                // Something about it is about to be printed.
                state.clear(&mut std::io::stderr());
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

impl State {
    fn clear(&self, out: &mut impl Write) {
        if self.live {
            write!(out, "{CLEAR}").ok();
        }
    }

    fn tick(&mut self, out: &mut impl Write) {
        let times: Vec<(String, Duration)> = self
            .running
            .iter()
            .map(|(name, it)| (name.clone(), it.since.map_or(Duration::ZERO, |since| since.elapsed())))
            .collect();
        for (name, took) in &times {
            if let Some(it) = self.running.get_mut(name).filter(|it| *took >= it.next) {
                it.next *= 2;
                let clear = if self.live { CLEAR } else { "" };
                writeln!(out, "{clear}slow: {name} has been running for {} s", took.as_secs()).ok();
            }
        }
        if self.live && !times.is_empty() {
            write!(out, "{CLEAR}{}", self.line(&times)).ok();
            out.flush().ok();
        }
    }

    /// `[ 12/245] rolling/quarter-on-ten after step 1 1.2 s`; of several the one that has been running longest.
    fn line(&self, times: &[(String, Duration)]) -> String {
        let width = self.total.to_string().len();
        let longest = times.iter().max_by_key(|(_, took)| *took);
        let more = if times.len() > 1 { format!(" and {} more", times.len() - 1) } else { String::new() };
        let step = |name: &String| self.running.get(name)?.step.map(|step| format!(" after {step}"));
        let what = longest.map_or_else(String::new, |(name, took)| {
            format!("{name}{} {:.1} s{more}", step(name).unwrap_or_default(), took.as_secs_f64())
        });
        format!("[{:>width$}/{}] {what}", self.done, self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticked(live: bool, took: Duration) -> String {
        let since = clock::instant().checked_sub(took).unwrap();
        let running = BTreeMap::from([("a/b".to_owned(), Running { since: Some(since), next: SLOW, step: None })]);
        let mut state = State { live, done: 3, total: 120, running };
        let mut out = Vec::new();
        state.tick(&mut out);
        state.tick(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_terminal_gets_a_line_that_is_written_over() {
        assert_eq!(ticked(true, Duration::from_millis(1_200)), format!("{CLEAR}[  3/120] a/b 1.2 s").repeat(2));
    }

    #[test]
    fn elsewhere_only_what_is_slow_is_told_and_once() {
        assert_eq!(ticked(false, Duration::from_secs(1)), "");
        assert_eq!(ticked(false, Duration::from_secs(16)), "slow: a/b has been running for 16 s\n");
    }
}
