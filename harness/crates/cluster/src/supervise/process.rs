//! Identifies a process, distinct from a later one with the same id.

use std::path::Path;
use std::time::Duration;

use lockstep_support::clock;
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

/// A process by its id and, where the system reports it, its start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessId {
    /// The process id.
    pub pid: i32,
    /// When it started, in clock ticks since the system booted; `None` without a `/proc`.
    pub start: Option<u64>,
}

/// The fields of `/proc/PID/stat` that are used.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    state: char,
    parent: i32,
    start: u64,
}

impl ProcessId {
    /// The process that has this id now.
    pub fn of(pid: i32) -> Self {
        Self { pid, start: stat(pid).map(|found| found.start) }
    }

    /// The process that started this one.
    pub(crate) fn parent() -> Option<Self> {
        rustix::process::getppid().map(|pid| Self::of(pid.as_raw_nonzero().get()))
    }

    /// The processes that this process is the parent of; empty without a `/proc`.
    pub(super) fn children() -> Vec<Pid> {
        let own = i32::try_from(std::process::id()).ok();
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| stat(*pid).map(|found| found.parent) == own).filter_map(Pid::from_raw).collect()
    }

    /// The closest ancestor of this process whose executable's name begins with `prefix`; only
    /// where there is a `/proc`.
    pub(crate) fn ancestor(prefix: &str) -> Option<Self> {
        let mut pid = rustix::process::getppid()?.as_raw_nonzero().get();
        while pid > 1 {
            let executable = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
            let name = executable.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
            if name.is_some_and(|name| name.starts_with(prefix)) {
                return Some(Self::of(pid));
            }
            pid = stat(pid)?.parent;
        }
        None
    }

    /// Whether it is running. A zombie is not.
    pub fn is_alive(&self) -> bool {
        match (stat(self.pid), self.start) {
            (Some(found), Some(start)) => found.start == start && !matches!(found.state, 'Z' | 'X'),
            (Some(found), None) => !matches!(found.state, 'Z' | 'X'),
            (None, Some(_)) => false,
            (None, None) => Pid::from_raw(self.pid)
                .is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH)),
        }
    }

    /// Sends SIGTERM, and waits until it has exited or `timeout` has elapsed. Returns whether it
    /// has exited.
    pub fn terminate(&self, timeout: Duration) -> bool {
        let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.is_alive()) else {
            return true;
        };
        // It may have exited in between; then nothing is left to do.
        let _ = rustix::process::kill_process(pid, Signal::TERM);
        let started = clock::instant();
        while self.is_alive() {
            if started.elapsed() > timeout {
                return false;
            }
            clock::pause_blocking(Duration::from_millis(10));
        }
        true
    }

    /// Sends SIGQUIT, on which a Go program prints its goroutines and exits.
    pub fn quit(&self) {
        if let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.is_alive()) {
            // It may have exited in between; then nothing is left to do.
            let _ = rustix::process::kill_process(pid, Signal::QUIT);
        }
    }

    /// Kills the group that it leads, if it is still running.
    pub fn kill_group(&self) {
        if let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.is_alive()) {
            // It may have exited in between; then nothing is left to do.
            let _ = rustix::process::kill_process_group(pid, Signal::KILL);
        }
    }
}

fn stat(pid: i32) -> Option<Stat> {
    parse(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name is in parentheses and may contain spaces and parentheses, so fields are counted from
/// the last one.
fn parse(line: &str) -> Option<Stat> {
    let (_, rest) = line.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let parent = fields.next()?.parse().ok()?;
    // The state is field 3, the parent 4, the start time 22.
    let start = fields.nth(17)?.parse().ok()?;
    Some(Stat { state, parent, start })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_survives_any_process_name() {
        let line = "4321 (a) b (c)) S 17 4321 4321 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3\n";
        assert_eq!(parse(line), Some(Stat { state: 'S', parent: 17, start: 987_654 }));
        assert_eq!(parse("nonsense"), None);
        assert_eq!(parse("1 (x) S"), None);
    }

    #[test]
    fn start_time_distinguishes_processes() {
        let own = ProcessId::of(i32::try_from(std::process::id()).unwrap());
        assert!(own.is_alive());
        if let Some(start) = own.start {
            assert!(!ProcessId { start: Some(start + 1), ..own }.is_alive());
        }
    }
}
