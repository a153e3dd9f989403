//! What the harness and its supervisor say to each other: one JSON value a line.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ProcessId;

/// A program to run under supervision.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec {
    /// What it is called in messages.
    pub name: String,
    /// A path, or a name to be found on `PATH`.
    pub program: PathBuf,
    /// Its arguments, without the program itself.
    pub args: Vec<String>,
    /// Its whole environment: nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// The file that takes its standard output and standard error, appended.
    pub log: PathBuf,
}

/// What a detached supervisor lives for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Until {
    /// End when this process is gone; `None`: only on SIGTERM.
    pub gone: Option<ProcessId>,
    /// The folder to remove at the end, instead of the one given at the start.
    pub remove: PathBuf,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Exit {
    /// By itself, with this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Nobody was left to see it.
    Unseen,
}

impl Exit {
    /// Whether it ended by itself with exit code 0.
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Unseen => write!(f, "unseen, with its supervisor"),
        }
    }
}

/// From the harness to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Order {
    /// The first line: the folder to remove at the end, if any.
    Begin { remove: Option<PathBuf> },
    /// Start a program under this number, with a connection to this socket as its standard input,
    /// if there is one.
    Spawn {
        id: u64,
        spec: Spec,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        socket: Option<PathBuf>,
    },
    /// Send SIGKILL to a program's group.
    Kill { id: u64 },
    /// Send SIGTERM to a program's group, and SIGKILL after the grace.
    Terminate { id: u64 },
    /// Run a program at the very end, when no other runs any more.
    Finally { spec: Spec },
    /// Forget the last programs, and leave the folder.
    Keep,
    /// Live on without the harness.
    Detach { until: Until },
}

/// From the supervisor to the harness.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Report {
    /// The answer to [`Order::Begin`].
    Ready,
    /// The program runs, and leads the group of the same number.
    Spawned { id: u64, pid: i32 },
    /// The program did not start.
    Failed { id: u64, missing: bool, why: String },
    /// The program ended, and its group with it.
    Exited { id: u64, exit: Exit },
    /// The answer to [`Order::Finally`] and [`Order::Keep`].
    Noted,
    /// The answer to [`Order::Detach`].
    Detached,
}
