//! The container engine's command: finds it, and checks that the engine answers and permits this
//! user.
//!
//! The command is needed even though a library creates the containers: a supervisor runs it to
//! remove them when the harness is gone, and it knows the user's contexts.

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use lockstep_support::output;
use tokio::process::Command;

/// The engine's default socket.
const SOCKET: &str = "/var/run/docker.sock";
/// The time limit for an answer, on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Why the container engine cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Neither the command nor the engine's socket exists.
    #[error("no {program} on PATH; install Docker, or use --cluster control-plane, which does not need it")]
    Missing {
        /// The command.
        program: String,
    },
    /// The engine's socket exists, but the command does not.
    #[error(
        "{socket} exists, but the command {program} is not on PATH; lockstep needs it to remove containers; install Docker's command line"
    )]
    NoCommand {
        /// The command.
        program: String,
        /// The engine's address.
        socket: String,
    },
    /// The command exists, but the engine's socket does not.
    #[error(
        "the container engine does not run: its socket {socket} does not exist; start it, or set DOCKER_HOST to the socket's address"
    )]
    NoSocket {
        /// Its path.
        socket: String,
    },
    /// A socket exists, but nothing listens on it.
    #[error("the container engine does not run: nothing listens on its socket {socket}; start it")]
    Stopped {
        /// Its path.
        socket: String,
    },
    /// This user may not use the socket.
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
        /// Its message.
        why: String,
        /// The remedy.
        remedy: &'static str,
    },
    /// A command failed.
    #[error("`{command}` failed: {why}")]
    Failed {
        /// The command.
        command: String,
        /// Its message, or the system's.
        why: String,
    },
}

/// The container engine.
#[derive(Debug)]
pub(super) struct Engine {
    program: PathBuf,
    /// Its address, such as `unix:///var/run/docker.sock`; empty if the command does not report it.
    #[cfg_attr(not(feature = "containers"), allow(dead_code, reason = "kind does not use it"))]
    host: String,
}

impl Engine {
    /// Finds the engine's command, and checks that the engine answers.
    pub(super) async fn find(program: &Path) -> Result<Self, EngineError> {
        let engine = Self::locate(program)?;
        engine.check_answer().await?;
        Ok(engine)
    }

    /// Finds the engine's command and socket, and checks that something listens there.
    pub(super) fn locate(program: &Path) -> Result<Self, EngineError> {
        let program = Self::find_on_path(program)?;
        // The current context, or DOCKER_HOST. Some engines have no contexts.
        let host = match query_blocking(&program, &["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]) {
            Ok(host) => host,
            Err(error) if program.file_name().is_some_and(|name| name == "docker") => return Err(error),
            Err(_) => String::new(),
        };
        if let Some(socket) = host.strip_prefix("unix://") {
            check_socket(socket)?;
        }
        Ok(Self { program, host })
    }

    /// Finds the engine's command without running it.
    pub(super) fn find_on_path(program: &Path) -> Result<PathBuf, EngineError> {
        find_on_path(program).ok_or_else(|| missing_command(program))
    }

    /// The path of the command.
    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    async fn check_answer(&self) -> Result<(), EngineError> {
        let version = run(&self.program, ["version", "--format", "{{.Server.Version}}"]);
        let why = match tokio::time::timeout(TIMEOUT, version).await {
            Ok(answer) => {
                let answer = answer?;
                if answer.status.success() {
                    return Ok(());
                }
                output::reason(&answer.stderr)
            }
            Err(_) => no_answer_message(),
        };
        let remedy = remedy(&why);
        Err(EngineError::Silent { engine: self.program.display().to_string(), why, remedy })
    }
}

#[cfg_attr(not(feature = "containers"), allow(dead_code, reason = "kind does not use it"))]
impl Engine {
    /// The engine's address.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Runs the command, which must succeed, and returns its output.
    pub(super) async fn query<'a>(
        &self,
        words: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Result<String, EngineError> {
        require_stdout(&self.program, words.clone(), &run(&self.program, words).await?)
    }

    /// Like [`Engine::query`], without a runtime.
    pub(super) fn query_blocking(&self, words: &[&str]) -> Result<String, EngineError> {
        query_blocking(&self.program, words)
    }
}

/// The output of a command that must succeed.
fn require_stdout<'a>(
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

/// Runs the engine's command without a runtime, with a time limit.
fn query_blocking(program: &Path, words: &[&str]) -> Result<String, EngineError> {
    let failed = |why: String| EngineError::Failed { command: program.display().to_string(), why };
    let mut command = std::process::Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let pid = rustix::process::Pid::from_child(&child);
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(child.wait_with_output()));
    let Ok(output) = receive.recv_timeout(TIMEOUT) else {
        // It may have exited in between.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        return Err(failed(no_answer_message()));
    };
    require_stdout(program, words.iter().copied(), &output.map_err(|error| failed(error.to_string()))?)
}

fn no_answer_message() -> String {
    format!("no answer within {} s", TIMEOUT.as_secs())
}

fn missing_command(program: &Path) -> EngineError {
    let program = program.display().to_string();
    let named = std::env::var("DOCKER_HOST").ok().filter(|host| !host.is_empty());
    let socket = named.or_else(|| Path::new(SOCKET).exists().then(|| SOCKET.to_owned()));
    match socket {
        Some(socket) => EngineError::NoCommand { program, socket },
        None => EngineError::Missing { program },
    }
}

/// Checks that something listens on a socket and permits this user.
fn check_socket(socket: &str) -> Result<(), EngineError> {
    use std::io::ErrorKind;
    let owned = || socket.to_owned();
    match UnixStream::connect(socket).map_err(|error| error.kind()) {
        Err(ErrorKind::NotFound) => Err(EngineError::NoSocket { socket: owned() }),
        Err(ErrorKind::PermissionDenied) => Err(EngineError::Denied { socket: owned() }),
        Err(ErrorKind::ConnectionRefused) => Err(EngineError::Stopped { socket: owned() }),
        // The engine's command reports any other error better.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The remedy for an engine's error message.
fn remedy(why: &str) -> &'static str {
    if why.contains("permission denied") {
        "add this user to the engine's group, or run as one who may use it"
    } else {
        "start it, or restart it"
    }
}

/// Runs a program until it exits.
pub(super) async fn run<'a>(program: &Path, words: impl IntoIterator<Item = &'a str>) -> Result<Output, EngineError> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).kill_on_drop(true);
    let failed =
        |error: std::io::Error| EngineError::Failed { command: program.display().to_string(), why: error.to_string() };
    command.output().await.map_err(failed)
}

/// Finds a program by its path, or by a name on `PATH`.
pub(super) fn find_on_path(program: &Path) -> Option<PathBuf> {
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

    /// A fake engine command that prints an address for its context and fails otherwise.
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
    fn reports_socket_of_engine_that_does_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("engine.sock");
        let program = command(folder.path(), &format!("unix://{}", socket.display()));
        let refused = || Engine::locate(&program).unwrap_err().to_string();
        assert!(refused().contains(&format!("its socket {} does not exist", socket.display())), "{}", refused());
        let listener = UnixListener::bind(&socket).unwrap();
        let engine = Engine::locate(&program).unwrap();
        assert_eq!(engine.host(), format!("unix://{}", socket.display()));
        let error = engine.query_blocking(&["create", "--x"]).unwrap_err().to_string();
        assert_eq!(error, "`docker create --x` failed: unknown flag: --x");
        drop(listener);
        assert!(refused().contains("nothing listens on its socket"), "{}", refused());
        // Root may use any socket, so this check is skipped.
        if !rustix::process::getuid().is_root() {
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o0)).unwrap();
            assert!(matches!(check_socket(&socket.display().to_string()), Err(EngineError::Denied { .. })));
            std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        }
    }
}
