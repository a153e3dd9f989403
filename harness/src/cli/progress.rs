//! What a command is doing, on standard error, so that results can be piped: one mechanism for all
//! commands.
//!
//! On a terminal it is one line that is overwritten, from the second second on; indicatif draws it.
//! Elsewhere, and in CI, it is a line with the counts at intervals that grow. Both also have a line
//! for each slow play.
//!
//! A command says what it counts ([`Progress::expect`], [`Progress::advance`]); a thread prints.
//! [`super::out`] clears the line before it prints anything else. Time is an argument of everything
//! that decides what is printed.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use lockstep_support::clock::{self, Instant};
use lockstep_support::pluralize;
use lockstep_timeline::StepId;

/// How often the line is redrawn.
const TICK_INTERVAL: Duration = Duration::from_millis(250);
/// A command that is faster shows nothing.
const QUIET_TIME: Duration = Duration::from_secs(1);
/// When counts are first printed elsewhere than on a terminal. Each time is twice as late, up to
/// the longest interval.
const FIRST_COUNTS: Duration = Duration::from_secs(5);
const LONGEST_INTERVAL: Duration = Duration::from_secs(60);
/// A play of this length is reported as slow, and again each time that its length has doubled.
const SLOW_AFTER: Duration = Duration::from_secs(15);

/// The progress of the command of this process.
#[derive(Debug)]
pub(super) struct Progress(Mutex<Option<ProgressLine>>);

static OF_PROCESS: Progress = Progress(Mutex::new(None));

/// Prints progress until it is dropped.
pub(super) struct ProgressThread(#[expect(dead_code, reason = "dropping it ends the thread")] Sender<()>);

impl Progress {
    /// The progress of the command of this process.
    pub(super) fn for_process() -> &'static Self {
        &OF_PROCESS
    }

    /// Print progress from now on.
    pub(super) fn start(&'static self, command: &str) -> ProgressThread {
        let in_ci = ["CI", "GITHUB_ACTIONS"].iter().any(|name| std::env::var_os(name).is_some());
        let is_live = !in_ci && std::io::stderr().is_terminal();
        let target = if is_live { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        *self.lock() = Some(ProgressLine::new(command, clock::instant(), target));
        let (sender, over) = channel::<()>();
        std::thread::spawn(move || {
            while over.recv_timeout(TICK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                self.update(|line| line.tick(clock::instant(), &mut std::io::stderr()));
            }
        });
        ProgressThread(sender)
    }

    /// Stop printing, for a command that has the screen for itself.
    pub(super) fn stop(&self) {
        self.lock().take().iter().for_each(ProgressLine::clear);
    }

    /// Count units, such as plays, from zero; `total` of them if that is known.
    pub(super) fn expect(&self, unit: &'static str, total: Option<usize>) {
        self.update(|line| line.count = Some(Count { unit, total, done: 0 }));
    }

    /// Count so many units more.
    pub(super) fn advance(&self, number: usize) {
        self.update(|line| line.count.iter_mut().for_each(|count| count.done += number));
    }

    /// Say this behind the counts.
    pub(super) fn describe(&self, detail: String) {
        self.update(|line| line.detail = detail);
    }

    /// A play begins.
    pub(super) fn play_started(&self, case: &str) {
        let running = RunningPlay { since: clock::instant(), next: SLOW_AFTER, step: None };
        self.update(|line| {
            line.running.insert(case.to_owned(), running);
        });
    }

    /// A play has settled after a step.
    pub(super) fn step_settled(&self, case: &str, step: StepId) {
        self.update(|line| line.running.get_mut(case).into_iter().for_each(|play| play.step = Some(step)));
    }

    /// A play is over.
    pub(super) fn play_ended(&self, case: &str) {
        self.update(|line| {
            line.running.remove(case);
        });
    }

    /// Print something else, without the line.
    pub(super) fn while_cleared(&self, print: impl FnOnce()) {
        let line = self.lock();
        line.iter().for_each(ProgressLine::clear);
        print();
    }

    fn update(&self, change: impl FnOnce(&mut ProgressLine)) {
        if let Some(line) = self.lock().as_mut() {
            change(line);
        }
    }

    /// Lock the line, even if a thread panicked: the state is good enough for a line of progress.
    fn lock(&self) -> MutexGuard<'_, Option<ProgressLine>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ProgressThread {
    fn drop(&mut self) {
        Progress::for_process().stop();
    }
}

/// What is known of the progress, and the line that shows it.
#[derive(Debug)]
struct ProgressLine {
    command: String,
    since: Instant,
    count: Option<Count>,
    detail: String,
    /// The running plays by case.
    running: BTreeMap<String, RunningPlay>,
    /// When the counts are printed next, as a time since the beginning.
    next: Duration,
    /// Clears the line until the next tick.
    screen: MultiProgress,
    bar: ProgressBar,
}

/// What a command counts.
#[derive(Debug, Clone, Copy)]
struct Count {
    unit: &'static str,
    total: Option<usize>,
    done: usize,
}

#[derive(Debug)]
struct RunningPlay {
    since: Instant,
    /// The length at which it is next reported as slow.
    next: Duration,
    /// The last settled step.
    step: Option<StepId>,
}

impl ProgressLine {
    fn new(command: &str, since: Instant, target: ProgressDrawTarget) -> Self {
        let style = ProgressStyle::with_template("{wide_msg}").expect("a constant template");
        let screen = MultiProgress::with_draw_target(target);
        let bar = screen.add(ProgressBar::no_length().with_style(style));
        Self {
            command: command.to_owned(),
            since,
            count: None,
            detail: String::new(),
            running: BTreeMap::new(),
            next: FIRST_COUNTS,
            screen,
            bar,
        }
    }

    /// Print what is due at this time: the line to the terminal, everything else to `out`.
    fn tick(&mut self, now: Instant, out: &mut impl Write) {
        for slow in self.slow_plays(now) {
            self.clear();
            // Standard error may be closed.
            writeln!(out, "{slow}").ok();
        }
        let elapsed = now.saturating_duration_since(self.since);
        if !self.bar.is_hidden() {
            if elapsed >= QUIET_TIME {
                self.bar.set_message(self.text(now));
            }
        } else if elapsed >= self.next {
            self.next = elapsed + self.next.min(LONGEST_INTERVAL);
            if let Some(counts) = self.counts(elapsed) {
                writeln!(out, "{counts}").ok();
            }
        }
    }

    fn clear(&self) {
        // Standard error may be closed.
        self.screen.clear().ok();
    }

    /// A line for each play that has become slow.
    fn slow_plays(&mut self, now: Instant) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, play) in &mut self.running {
            let took = now.saturating_duration_since(play.since);
            if took >= play.next {
                play.next *= 2;
                lines.push(format!("slow: {name} has been running for {} s", took.as_secs()));
            }
        }
        lines
    }

    /// The line for a terminal: `[ 12/120 plays] rolling/rollover after step 2 1.2 s and 3 more`.
    fn text(&self, now: Instant) -> String {
        let mut parts = vec![match self.count {
            Some(Count { unit, total: Some(total), done }) => {
                let width = total.to_string().len();
                format!("[{done:width$}/{total} {unit}s]")
            }
            Some(Count { unit, total: None, done }) => format!("[{}]", pluralize(done, unit)),
            None => self.command.clone(),
        }];
        if !self.detail.is_empty() {
            parts.push(self.detail.clone());
        }
        // The play that has been running longest.
        let longest = self.running.iter().min_by_key(|(_, play)| play.since);
        parts.push(match longest {
            Some((name, play)) => {
                let step = play.step.map_or_else(String::new, |step| format!(" after {step}"));
                let took = now.saturating_duration_since(play.since).as_secs_f64();
                let more = match self.running.len() {
                    1 => String::new(),
                    plays => format!(" and {} more", plays - 1),
                };
                format!("{name}{step} {took:.1} s{more}")
            }
            None => format!("{} s", now.saturating_duration_since(self.since).as_secs()),
        });
        parts.join(" ")
    }

    /// The counts, where there is no terminal: `12 of 120 plays in 35 s`.
    fn counts(&self, elapsed: Duration) -> Option<String> {
        let Count { unit, total, done } = self.count?;
        let counts = match total {
            Some(total) => format!("{done} of {}", pluralize(total, unit)),
            None => pluralize(done, unit),
        };
        let detail = if self.detail.is_empty() { String::new() } else { format!("; {}", self.detail) };
        Some(format!("{counts} in {} s{detail}", elapsed.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    /// The lines at these seconds, on a terminal or elsewhere: of the terminal, and of standard
    /// error. The play `a/b` runs from the beginning.
    fn ticked(is_live: bool, seconds: &[u64], count: Option<Count>) -> (String, String) {
        let terminal = InMemoryTerm::new(10, 80);
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let since = clock::instant();
        let target = if is_live { target } else { ProgressDrawTarget::hidden() };
        let mut line = ProgressLine::new("run", since, target);
        line.count = count;
        line.running.insert("a/b".to_owned(), RunningPlay { since, next: SLOW_AFTER, step: None });
        let mut out = Vec::new();
        for second in seconds {
            line.tick(since + Duration::from_secs(*second), &mut out);
        }
        (terminal.contents(), String::from_utf8(out).unwrap())
    }

    const PLAYS: Option<Count> = Some(Count { unit: "play", total: Some(120), done: 3 });

    #[test]
    fn terminal_shows_one_line_that_is_overwritten() {
        assert_eq!(ticked(true, &[0], PLAYS), (String::new(), String::new()), "a fast command shows nothing");
        assert_eq!(ticked(true, &[1, 2], PLAYS), ("[  3/120 plays] a/b 2.0 s".to_owned(), String::new()));
    }

    #[test]
    fn slow_play_is_reported_once() {
        let slow = "slow: a/b has been running for 16 s\n".to_owned();
        assert_eq!(ticked(true, &[16, 17], PLAYS), ("[  3/120 plays] a/b 17.0 s".to_owned(), slow));
        let lines = "slow: a/b has been running for 16 s\n3 of 120 plays in 16 s\n".to_owned();
        assert_eq!(ticked(false, &[16, 17], PLAYS), (String::new(), lines));
    }

    #[test]
    fn counts_are_printed_at_growing_intervals_without_a_terminal() {
        let every_second: Vec<u64> = (0..150).collect();
        let (_, text) = ticked(false, &every_second, Some(Count { unit: "program", total: None, done: 1 }));
        let times: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("slow"))
            .filter_map(|it| it.strip_prefix("1 program in "))
            .collect();
        assert_eq!(times, ["5 s", "10 s", "20 s", "40 s", "80 s", "140 s"]);
    }

    #[test]
    fn command_that_counts_nothing_shows_its_time_on_a_terminal_only() {
        let mut line = ProgressLine::new("capture", clock::instant(), ProgressDrawTarget::hidden());
        let mut out = Vec::new();
        line.tick(line.since + Duration::from_secs(7), &mut out);
        assert_eq!((line.text(line.since + Duration::from_secs(7)).as_str(), out.len()), ("capture 7 s", 0));
    }

    #[test]
    fn cleared_line_leaves_nothing_and_is_drawn_again() {
        let terminal = InMemoryTerm::new(10, 80);
        let since = clock::instant();
        let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
        let mut line = ProgressLine::new("fuzz", since, target);
        line.detail = "2 causes of a difference".to_owned();
        line.tick(since + Duration::from_secs(2), &mut std::io::sink());
        assert_eq!(terminal.contents(), "fuzz 2 causes of a difference 2 s");
        line.clear();
        assert_eq!(terminal.contents(), "");
        line.tick(since + Duration::from_secs(3), &mut std::io::sink());
        assert_eq!(terminal.contents(), "fuzz 2 causes of a difference 3 s");
    }
}
