//! The messages between the harness and its supervisor: one JSON value per line.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ProcessId;

/// A program to run under supervision.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessSpec {
    /// The program's name in messages.
    pub name: String,
    /// A path, or a name on `PATH`.
    pub program: PathBuf,
    /// Its arguments, without the program itself.
    pub args: Vec<String>,
    /// Its whole environment: nothing is inherited.
    pub env: BTreeMap<String, String>,
    /// The file to which its standard output and standard error are appended.
    pub log: PathBuf,
}

/// How long a detached supervisor runs, and what it removes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DetachOptions {
    /// End when this process has exited; `None` to end only on SIGTERM.
    #[serde(rename = "gone")]
    pub process: Option<ProcessId>,
    /// The folder to remove at the end, replacing the one given at the start.
    pub remove: PathBuf,
}

/// How a program exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Exit {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Its supervisor ended first.
    #[serde(rename = "unseen")]
    Unknown,
}

impl Exit {
    /// Whether the exit code is 0.
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Unknown => write!(f, "unseen, with its supervisor"),
        }
    }
}

/// From the harness to the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum SupervisorCommand {
    /// The first message: the folder to remove at the end, if any.
    Begin { remove: Option<PathBuf> },
    /// Start a program with this id, with a connection to this socket as its standard input, if
    /// there is one.
    Spawn {
        id: u64,
        spec: ProcessSpec,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        socket: Option<PathBuf>,
    },
    /// Send SIGKILL to a program's group.
    Kill { id: u64 },
    /// Send SIGTERM to a program's group, and SIGKILL after the grace period.
    Terminate { id: u64 },
    /// Run a program at the end, when no other is running.
    Finally { spec: ProcessSpec },
    /// Forget the last programs, and keep the folder.
    Keep,
    /// Also end what a program has left outside of its group.
    EndOrphans,
    /// Outlive the harness.
    Detach { until: DetachOptions },
}

/// From the supervisor to the harness.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum SupervisorReport {
    /// The answer to [`SupervisorCommand::Begin`].
    Ready,
    /// The program runs, and leads the process group of the same id.
    Spawned { id: u64, pid: i32 },
    /// The program did not start.
    Failed { id: u64, why: String },
    /// The program and its group have exited.
    Exited { id: u64, exit: Exit },
    /// The answer to [`SupervisorCommand::Finally`], [`SupervisorCommand::Keep`] and
    /// [`SupervisorCommand::EndOrphans`].
    Noted,
    /// The answer to [`SupervisorCommand::Detach`].
    Detached,
}
