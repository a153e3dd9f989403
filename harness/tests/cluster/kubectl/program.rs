//! The kubectl program with a cluster.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lockstep_cluster::{self as cluster, ClusterAccess, ClusterPlan, Site};
use tempfile::TempDir;

use super::{KubectlResult, Play};

/// kubectl with a kubeconfig.
pub(crate) struct Kubectl {
    program: PathBuf,
    reach: Vec<OsString>,
    folder: TempDir,
}

/// The path of kubectl, if installed.
pub(crate) fn find_kubectl() -> Option<PathBuf> {
    let beside = std::env::var_os("LOCKSTEP_BIN").map(|folder| Path::new(&folder).join("kubectl"));
    let beside = beside.filter(|program| program.is_file());
    let program = beside.unwrap_or_else(|| PathBuf::from("kubectl"));
    let asked = Command::new(&program).args(["version", "--client"]).output();
    asked.is_ok_and(|asked| asked.status.success()).then_some(program)
}

/// Runs a trial on a new simulated cluster.
pub(crate) fn on_simulated(program: &Path, play: Play) -> KubectlResult {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let cluster = runtime.block_on(cluster::boot(&ClusterPlan::new(cluster::DEFAULT_VERSION).at(Site::Sim)))?;
    let kubectl = Kubectl::to(program, cluster.access())?;
    play(&kubectl)?;
    let unsupported = runtime.block_on(cluster.unsupported_requests())?;
    if unsupported.is_empty() { Ok(()) } else { Err(format!("refused as unsupported: {unsupported:#?}").into()) }
}

impl Kubectl {
    /// kubectl with a token.
    pub(crate) fn to(program: &Path, access: &ClusterAccess) -> KubectlResult<Self> {
        let folder = tempfile::tempdir()?;
        let ca = folder.path().join("ca.crt");
        std::fs::write(&ca, &access.ca_pem)?;
        let flag = |name: &str, value: &str| OsString::from(format!("--{name}={value}"));
        let authority = flag("certificate-authority", &ca.display().to_string());
        let reach = vec![flag("server", &access.server), flag("token", &access.subject_token), authority];
        Ok(Self { program: program.to_owned(), reach, folder })
    }

    pub(crate) fn with(program: &Path, kubeconfig: &Path) -> KubectlResult<Self> {
        let reach = vec![format!("--kubeconfig={}", kubeconfig.display()).into()];
        Ok(Self { program: program.to_owned(), reach, folder: tempfile::tempdir()? })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        // It does not use the user's files.
        command.env("HOME", self.folder.path()).env_remove("KUBECONFIG");
        command.env("KUBECACHEDIR", self.folder.path().join("cache"));
        command.args(&self.reach).args(words);
        command
    }

    /// Runs it with this input and environment; returns its success and output.
    pub(crate) fn run(&self, words: &[&str], input: &str, variables: &[(&str, &str)]) -> KubectlResult<(bool, String)> {
        let mut command = self.command(words);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        child.stdin.take().ok_or("it has an input")?.write_all(input.as_bytes())?;
        let output = child.wait_with_output()?;
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        Ok((output.status.success(), text))
    }

    /// Runs it with this input; it must succeed. Returns its output.
    pub(crate) fn run_with_input(&self, line: &str, input: &str) -> KubectlResult<String> {
        let words = shlex::split(line).ok_or("unbalanced quotes")?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match self.run(&words, input, &[])? {
            (true, text) => Ok(text),
            (false, text) => Err(format!("`kubectl {line}` failed:\n{text}").into()),
        }
    }

    /// Runs it; it must succeed. Returns its output.
    pub(crate) fn ok(&self, line: &str) -> KubectlResult<String> {
        self.run_with_input(line, "")
    }

    /// Runs it; it must succeed and print this.
    pub(crate) fn prints(&self, line: &str, expected_text: &str) -> KubectlResult {
        let text = self.ok(line)?;
        if text.contains(expected_text) {
            return Ok(());
        }
        Err(format!("`kubectl {line}` did not print `{expected_text}`:\n{text}").into())
    }

    /// Runs it; it must fail and print this.
    pub(crate) fn fails(&self, line: &str, input: &str, expected_text: &str) -> KubectlResult<String> {
        let words = shlex::split(line).ok_or("unbalanced quotes")?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match self.run(&words, input, &[])? {
            (false, text) if text.contains(expected_text) => Ok(text),
            (_, text) => Err(format!("`kubectl {line}` did not fail with `{expected_text}`:\n{text}").into()),
        }
    }

    /// Runs `edit` with this editor command, which gets the file's name as its last argument.
    pub(crate) fn edits(&self, line: &str, editor: &str) -> KubectlResult<String> {
        let words: Vec<&str> = line.split(' ').collect();
        match self.run(&words, "", &[("KUBE_EDITOR", editor)])? {
            (true, text) => Ok(text),
            (false, text) => Err(format!("`kubectl {line}` failed:\n{text}").into()),
        }
    }

    /// Starts it; the caller reads its output while it runs.
    pub(crate) fn start(&self, line: &str) -> KubectlResult<Child> {
        let words: Vec<&str> = line.split(' ').collect();
        Ok(self.command(&words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?)
    }

    /// The value of an object's field.
    pub(crate) fn field(&self, object: &str, path: &str) -> KubectlResult<String> {
        self.ok(&format!("get {object} -o 'jsonpath={{{path}}}'"))
    }

    /// Checks the value of an object's field.
    pub(crate) fn has(&self, object: &str, path: &str, expected_value: &str) -> KubectlResult {
        let value = self.field(object, path)?;
        if value == expected_value {
            Ok(())
        } else {
            Err(format!("{path} of {object} is {value:?}, not {expected_value:?}").into())
        }
    }
}
