//! Finds and starts a subject as a child process, and quotes its output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use lockstep_cluster::supervise;

use crate::SubjectError;
use crate::excerpt::excerpt;
use crate::log_source::read_from;
use crate::pod_env::{ServiceAccount, SubjectHome};

/// The message that a subject has ended.
pub(crate) const ENDED: &str = "the subject ended";

/// Finds a program by a path, or by a name on PATH.
pub(super) fn find(word: &str) -> Result<PathBuf, SubjectError> {
    let missing = || SubjectError::Missing {
        item: "the subject's program",
        path: word.to_owned(),
        remedy: if word.split_once(' ').is_some_and(|(program, _)| find(program).is_ok()) {
            "a program has arguments with `command:` alone; name a script that starts it with them"
        } else if !word.contains('/') && Path::new(word).exists() {
            "PATH does not have it; begin the path of a file in this folder with ./"
        } else {
            "give the path of an executable file, or a name that PATH knows"
        },
    };
    if word.contains('/') {
        let path = PathBuf::from(word);
        return match path.metadata() {
            Ok(_) if is_program(&path) => Ok(std::path::absolute(path)?),
            Ok(file) => Err(SubjectError::NotAProgram { path, folder: file.is_dir() }),
            Err(_) => Err(missing()),
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(word)).find(|path| is_program(path)).ok_or_else(missing)
}

/// Whether a file is executable.
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// The process to start. Its environment has the variables that every controller needs, those that
/// the user names, and those for the access to the cluster.
pub(super) fn process(
    program: &Path,
    (args, variables): (Vec<String>, BTreeMap<String, String>),
    home: &SubjectHome,
    account: Option<&ServiceAccount>,
    user_variables: &[String],
    log: &Path,
) -> std::io::Result<supervise::ProcessSpec> {
    let mut env = environment(user_variables);
    env.insert("KUBECONFIG".into(), home.kubeconfig.display().to_string());
    env.insert("HOME".into(), home.folder.display().to_string());
    env.extend(account.into_iter().flat_map(ServiceAccount::variables));
    env.extend(variables);
    let spec =
        supervise::ProcessSpec { name: "subject".into(), program: program.to_owned(), args, env, log: log.to_owned() };
    match account {
        Some(account) => {
            Ok(supervise::with_mount(spec, &account.create(&home.folder)?, Path::new(ServiceAccount::PATH)))
        }
        None => Ok(spec),
    }
}

/// The variables of this process that every controller needs, and those that the user names. Others
/// may contain secrets, as in a CI job.
fn environment(user_variables: &[String]) -> BTreeMap<String, String> {
    supervise::own_environment().filter(|(name, _)| is_needed(name) || user_variables.contains(name)).collect()
}

/// Whether every controller needs a variable. Proxies are excluded: not every client exempts
/// loopback, where the interceptor listens. So are the variables of a cluster in which the harness
/// itself may run as a pod.
fn is_needed(name: &str) -> bool {
    NEEDED.contains(&name) || name.starts_with("LC_") || name.eq_ignore_ascii_case("no_proxy")
}

/// Variables of the system, the C library, TLS, Go and Rust, and those by which Java and Python
/// find their installations.
const NEEDED: [&str; 26] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "TZ",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GODEBUG",
    "GOGC",
    "GOMAXPROCS",
    "GOMEMLIMIT",
    "GORACE",
    "GOTRACEBACK",
    "GOCOVERDIR",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "RUST_MIN_STACK",
    "JAVA_HOME",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUNBUFFERED",
];

/// Whether a variable names a proxy.
pub(super) fn is_proxy(name: &str) -> bool {
    ["http_proxy", "https_proxy", "all_proxy"].iter().any(|proxy| name.eq_ignore_ascii_case(proxy))
}

/// Asks it to end, and kills it if it does not.
pub(super) async fn end(child: &supervise::Child) {
    child.terminate();
    if tokio::time::timeout(Duration::from_secs(3), child.wait_exit()).await.is_err() {
        child.kill();
        child.wait_exit().await;
    }
}

/// The first line of `PROGRAM --version`, or the program's name. The program gets little time, and
/// an empty home folder, as the user's may have a kubeconfig.
pub(super) async fn version(program: &Path) -> String {
    let line = first_line_of_version(program).await;
    line.unwrap_or_else(|| program.display().to_string())
}

async fn first_line_of_version(program: &Path) -> Option<String> {
    let home = tempfile::Builder::new().prefix("lockstep-version-").tempdir().ok()?;
    let mut command = tokio::process::Command::new(program);
    command.arg("--version").env_clear().envs(environment(&[])).env("HOME", home.path());
    command.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_secs(5), command.output()).await.ok()?.ok()?;
    let line = || String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned);
    output.status.success().then(line).flatten()
}

/// How many processes the system has killed for lack of memory; 0 where it does not count them.
pub(super) fn count_oom_kills() -> u64 {
    let counters = std::fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let count = counters.lines().find_map(|line| line.strip_prefix("oom_kill "));
    count.and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// An excerpt of what a subject has printed since a position in its log, to follow a colon.
pub(super) fn last_words(log: &Path, from: u64) -> String {
    let lines = excerpt(&read_from(log, from));
    if lines.is_empty() {
        return "; it printed nothing".to_owned();
    }
    format!("; it printed:\n  {}", lines.join("\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_about_program_has_remedy() {
        let remedy = |word: &str| find(word).unwrap_err().to_string();
        assert!(remedy("Cargo.toml").ends_with("begin the path of a file in this folder with ./"));
        assert!(remedy("no-such-program").ends_with("or a name that PATH knows"));
        assert!(remedy("sh --flag").ends_with("name a script that starts it with them"));
    }

    #[test]
    fn passes_only_variables_that_every_controller_needs() {
        for name in
            ["HTTPS_PROXY", "https_proxy", "all_proxy", "NEXTEST_RUN_ID", "KUBERNETES_SERVICE_HOST", "KUBECONFIG"]
        {
            assert!(!is_needed(name), "{name}");
        }
        for name in ["GITHUB_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "AWS_SECRET_ACCESS_KEY", "CI", "PATHS"] {
            assert!(!is_needed(name), "{name}");
        }
        for name in ["NO_PROXY", "no_proxy", "PATH", "HOME", "LANG", "LC_ALL", "GODEBUG", "RUST_LOG"] {
            assert!(is_needed(name), "{name}");
        }
    }

    #[tokio::test]
    async fn version_is_asked_for_in_an_empty_home_folder() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (program, home) = (folder.path().join("program"), folder.path().join("home"));
        let script = format!("#!/bin/sh\necho \"$HOME\" > {}\nls -A \"$HOME\"; echo v1\n", home.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(version(&program).await, "v1");
        let home = std::fs::read_to_string(home).unwrap();
        let home = home.trim_end();
        assert!(Some(Path::new(home)) != std::env::home_dir().as_deref() && !Path::new(home).exists(), "{home}");
    }
}
