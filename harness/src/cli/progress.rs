//! How far a run is: on a terminal one line that is written over, with what is running and for how long; elsewhere only a plain line for
//! a play that takes unusually long. Standard error alone, so that results can be piped.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::{self, Instant};

/// How often the line is written anew.
const TICK: Duration = Duration::from_millis(250);
/// A play of this length is told of, and again when it has taken twice as long.
const SLOW: Duration = Duration::from_secs(15);
/// Takes the cursor to the beginning and clears the line.
const CLEAR: &str = "\r\x1b[2K";

/// Tells until it is dropped.
pub(super) struct Progress {
    state: Arc<Mutex<State>>,
    /// Dropped, it ends the thread.
    _running: Sender<()>,
}

#[derive(Default)]
struct State {
    live: bool,
    done: usize,
    total: usize,
    /// What runs, since when, and after how long it is told of next.
    running: BTreeMap<String, (Option<Instant>, Duration)>,
}

impl Progress {
    /// Of so many plays.
    pub(super) fn of(total: usize) -> Self {
        let quiet = ["CI", "GITHUB_ACTIONS"].iter().any(|name| std::env::var_os(name).is_some());
        let live = total > 1 && !quiet && std::io::stderr().is_terminal();
        let state = Arc::new(Mutex::new(State { live, total, ..State::default() }));
        let (running, over) = channel::<()>();
        let ticking = Arc::clone(&state);
        std::thread::spawn(move || {
            while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                lock(&ticking).tick(&mut std::io::stderr());
            }
        });
        Self { state, _running: running }
    }

    /// A play begins.
    pub(super) fn begins(&self, name: &str) {
        lock(&self.state).running.insert(name.to_owned(), (Some(clock::instant()), SLOW));
    }

    /// A play is over, and something about it is about to be printed.
    pub(super) fn ends(&self, name: &str) {
        let mut state = lock(&self.state);
        state.running.remove(name);
        state.done += 1;
        state.clear(&mut std::io::stderr());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.clear(&mut std::io::stderr());
        state.running.clear();
        state.live = false;
    }
}

/// What a thread that panicked has left is still good for a line of progress.
fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
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
            .map(|(name, (since, _))| (name.clone(), since.map_or(Duration::ZERO, |since| since.elapsed())))
            .collect();
        for (name, took) in &times {
            if let Some((_, next)) = self.running.get_mut(name).filter(|(_, next)| took >= next) {
                *next *= 2;
                let clear = if self.live { CLEAR } else { "" };
                writeln!(out, "{clear}slow: {name} has been running for {} s", took.as_secs()).ok();
            }
        }
        if self.live && !times.is_empty() {
            write!(out, "{CLEAR}{}", self.line(&times)).ok();
            out.flush().ok();
        }
    }

    /// `[ 12/245] rolling/quarter-on-ten 1.2 s`; of several the one that has been running longest.
    fn line(&self, times: &[(String, Duration)]) -> String {
        let width = self.total.to_string().len();
        let longest = times.iter().max_by_key(|(_, took)| *took);
        let more = if times.len() > 1 { format!(" and {} more", times.len() - 1) } else { String::new() };
        let what = longest.map_or_else(String::new, |(name, took)| format!("{name} {:.1} s{more}", took.as_secs_f64()));
        format!("[{:>width$}/{}] {what}", self.done, self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticked(live: bool, took: Duration) -> String {
        let since = clock::instant().checked_sub(took).unwrap();
        let running = BTreeMap::from([("a/b".to_owned(), (Some(since), SLOW))]);
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
