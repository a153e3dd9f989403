//! The container engine, as a program: whether it is there, answers, and lets this user in.
//!
//! All is done by its command and nothing by its socket: the command is what a supervisor runs to remove containers when the
//! harness is gone, and what knows the user's contexts.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use tokio::process::Command;

/// Where the engine listens, unless it is told otherwise.
const SOCKET: &str = "/var/run/docker.sock";

/// Why there is no container engine to work with.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The command is not there, and nothing else of the engine's is seen.
    #[error("no {program} on PATH; install Docker, or use --cluster control-plane, which does not need it")]
    Missing {
        /// The command.
        program: String,
    },
    /// The engine may be there, but its command is not.
    #[error(
        "{socket} exists, but the command {program} is not on PATH; lockstep needs it to remove containers; install Docker's command line"
    )]
    NoCommand {
        /// The command.
        program: String,
        /// The engine's address.
        socket: String,
    },
    /// The engine does not answer.
    #[error("{engine} does not answer: {why}; {remedy}")]
    Silent {
        /// The engine's program.
        engine: String,
        /// What it says.
        why: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A program could not be run.
    #[error("`{command}` failed: {why}")]
    Failed {
        /// The command.
        command: String,
        /// What the system says.
        why: String,
    },
}

impl EngineError {
    /// What the engine or the system says, without what to do about an engine that is silent.
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Silent { why, .. } | Self::Failed { why, .. } => why,
            Self::Missing { program } | Self::NoCommand { program, .. } => program,
        }
    }
}

/// An engine that answers.
#[derive(Debug)]
pub(super) struct Engine {
    program: PathBuf,
}

impl Engine {
    /// Find the engine's command, and see that the engine answers it.
    pub(super) async fn find(program: &Path) -> Result<Self, EngineError> {
        let engine = Self { program: Self::on_path(program)? };
        engine.ask(["version", "--format", "{{.Server.Version}}"]).await?;
        Ok(engine)
    }

    /// Find the engine's command, and ask nothing.
    pub(super) fn on_path(program: &Path) -> Result<PathBuf, EngineError> {
        on_path(program).ok_or_else(|| missing(program))
    }

    /// Its command.
    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    /// What it answers to a question that every engine answers that is in order.
    pub(super) async fn ask<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Result<String, EngineError> {
        let answer = run(&self.program, words).await?;
        if answer.status.success() {
            return Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned());
        }
        let why = last_line(&answer.stderr);
        let remedy = remedy(&why);
        Err(EngineError::Silent { engine: self.program.display().to_string(), why, remedy })
    }
}

fn missing(program: &Path) -> EngineError {
    let program = program.display().to_string();
    let named = std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
    let socket = named.or_else(|| Path::new(SOCKET).exists().then(|| SOCKET.to_owned()));
    match socket {
        Some(socket) => EngineError::NoCommand { program, socket },
        None => EngineError::Missing { program },
    }
}

/// What to do about an engine that says this.
pub(super) fn remedy(why: &str) -> &'static str {
    if why.contains("permission denied") {
        "add this user to the engine's group, or run as one who may use it"
    } else {
        "start it"
    }
}

/// Run a program to its end.
pub(super) async fn run<'a>(program: &Path, words: impl IntoIterator<Item = &'a str>) -> Result<Output, EngineError> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).kill_on_drop(true);
    let failed =
        |error: std::io::Error| EngineError::Failed { command: program.display().to_string(), why: error.to_string() };
    command.output().await.map_err(failed)
}

/// The last line that says something.
pub(super) fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim().to_owned()
}

/// A program by its path, or by a name that `PATH` knows.
pub(super) fn on_path(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
