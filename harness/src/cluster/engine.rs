//! The container engine, as a program: whether it is there, answers, and lets this user in.
//!
//! Its command is needed even where a library makes the containers: a supervisor runs it to remove
//! them when the harness is gone, and it knows the user's contexts.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tokio::process::Command;

use crate::output;

/// Where the engine listens by default.
const SOCKET: &str = "/var/run/docker.sock";
/// An engine on a busy machine may take this long to answer.
const PATIENCE: Duration = Duration::from_secs(30);

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
    /// The command is there, the engine's socket is not.
    #[error(
        "the container engine does not run: its socket {socket} does not exist; start it, or set DOCKER_HOST to the socket's address"
    )]
    NoSocket {
        /// Its path.
        socket: String,
    },
    /// An engine has left its socket.
    #[error("the container engine does not run: nothing listens on its socket {socket}; start it")]
    Stopped {
        /// Its path.
        socket: String,
    },
    /// The socket is another user's.
    #[error(
        "this user has no permission to use the container engine's socket {socket}; add the user to the socket's group \
         and log in again, or run as root"
    )]
    Denied {
        /// Its path.
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
    /// A command failed.
    #[error("`{command}` failed: {why}")]
    Failed {
        /// The command.
        command: String,
        /// What it or the system says.
        why: String,
    },
}

/// An engine that answers.
#[derive(Debug)]
pub(super) struct Engine {
    program: PathBuf,
    /// Where it listens, as in `unix:///var/run/docker.sock`; empty where the command does not say.
    #[cfg_attr(not(feature = "containers"), allow(dead_code, reason = "kind asks nothing more of an engine"))]
    host: String,
}

impl Engine {
    /// Find the engine's command, and see that the engine answers it.
    pub(super) async fn find(program: &Path) -> Result<Self, EngineError> {
        let engine = Self::locate(program)?;
        engine.answers().await?;
        Ok(engine)
    }

    /// Find the engine's command and its socket, and see that something listens there.
    pub(super) fn locate(program: &Path) -> Result<Self, EngineError> {
        let program = Self::on_path(program)?;
        // The context in use, or DOCKER_HOST instead of it. Not every engine has contexts.
        let host = match ask_now(&program, &["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]) {
            Ok(host) => host,
            Err(error) if program.file_name().is_some_and(|name| name == "docker") => return Err(error),
            Err(_) => String::new(),
        };
        if let Some(socket) = host.strip_prefix("unix://") {
            listens(socket)?;
        }
        Ok(Self { program, host })
    }

    /// Find the engine's command, and ask nothing.
    pub(super) fn on_path(program: &Path) -> Result<PathBuf, EngineError> {
        on_path(program).ok_or_else(|| missing(program))
    }

    /// Its command.
    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    async fn answers(&self) -> Result<(), EngineError> {
        let version = run(&self.program, ["version", "--format", "{{.Server.Version}}"]);
        let why = match tokio::time::timeout(PATIENCE, version).await {
            Ok(answer) => {
                let answer = answer?;
                if answer.status.success() {
                    return Ok(());
                }
                output::reason(&answer.stderr)
            }
            Err(_) => no_answer(),
        };
        let remedy = remedy(&why);
        Err(EngineError::Silent { engine: self.program.display().to_string(), why, remedy })
    }
}

#[cfg_attr(not(feature = "containers"), allow(dead_code, reason = "kind asks nothing more of an engine"))]
impl Engine {
    /// Where it listens.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// What it prints, from its engine, which must succeed.
    pub(super) async fn ask<'a>(
        &self,
        words: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Result<String, EngineError> {
        printed(&self.program, words.clone(), &run(&self.program, words).await?)
    }

    /// The same without a runtime.
    pub(super) fn ask_now(&self, words: &[&str]) -> Result<String, EngineError> {
        ask_now(&self.program, words)
    }
}

/// What an engine's command prints that must succeed.
fn printed<'a>(
    program: &Path,
    words: impl IntoIterator<Item = &'a str>,
    output: &Output,
) -> Result<String, EngineError> {
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let command = words.into_iter().fold(name, |command, word| command + " " + word);
    Err(EngineError::Failed { command, why: output::reason(&output.stderr) })
}

/// Run the engine's command without a runtime, and not for ever.
fn ask_now(program: &Path, words: &[&str]) -> Result<String, EngineError> {
    let failed = |why: String| EngineError::Failed { command: program.display().to_string(), why };
    let mut command = std::process::Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let pid = rustix::process::Pid::from_child(&child);
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(child.wait_with_output()));
    let Ok(output) = receive.recv_timeout(PATIENCE) else {
        // It may have ended just now.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        return Err(failed(no_answer()));
    };
    printed(program, words.iter().copied(), &output.map_err(|error| failed(error.to_string()))?)
}

fn no_answer() -> String {
    format!("no answer within {} s", PATIENCE.as_secs())
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

/// Whether something listens on a socket, and lets this user in.
fn listens(socket: &str) -> Result<(), EngineError> {
    use std::io::ErrorKind;
    let owned = || socket.to_owned();
    match UnixStream::connect(socket).map_err(|error| error.kind()) {
        Err(ErrorKind::NotFound) => Err(EngineError::NoSocket { socket: owned() }),
        Err(ErrorKind::PermissionDenied) => Err(EngineError::Denied { socket: owned() }),
        Err(ErrorKind::ConnectionRefused) => Err(EngineError::Stopped { socket: owned() }),
        // The engine's command says more of any other error than this could.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// What to do about an engine that says this.
fn remedy(why: &str) -> &'static str {
    if why.contains("permission denied") {
        "add this user to the engine's group, or run as one who may use it"
    } else {
        "start it, or restart it"
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

/// A program by its path, or by a name that `PATH` knows.
pub(super) fn on_path(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::*;

    /// An engine's command that prints an address for its context and refuses everything else.
    fn command(folder: &Path, host: &str) -> PathBuf {
        let program = folder.join("docker");
        let script = format!(
            "#!/bin/sh\n[ \"$1\" = context ] && echo {host} || {{ echo 'unknown flag: --x' >&2; echo; echo 'Run docker --help' >&2; exit 1; }}\n"
        );
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        program
    }

    #[test]
    fn engine_that_does_not_run_is_named_by_its_socket() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("engine.sock");
        let program = command(folder.path(), &format!("unix://{}", socket.display()));
        let refused = || Engine::locate(&program).unwrap_err().to_string();
        assert!(refused().contains(&format!("its socket {} does not exist", socket.display())), "{}", refused());
        let listener = UnixListener::bind(&socket).unwrap();
        let engine = Engine::locate(&program).unwrap();
        assert_eq!(engine.host(), format!("unix://{}", socket.display()));
        let error = engine.ask_now(&["create", "--x"]).unwrap_err().to_string();
        assert_eq!(error, "`docker create --x` failed: unknown flag: --x");
        drop(listener);
        assert!(refused().contains("nothing listens on its socket"), "{}", refused());
        // Root may use any socket.
        if !rustix::process::getuid().is_root() {
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o0)).unwrap();
            assert!(matches!(listens(&socket.display().to_string()), Err(EngineError::Denied { .. })));
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        }
    }
}
