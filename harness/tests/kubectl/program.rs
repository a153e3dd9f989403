//! kubectl as a program, and the cluster that it is to reach.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lockstep::cluster::{self, Access, Plan, Site};
use tempfile::TempDir;

use super::{Checked, Play};

/// kubectl, with what it needs to reach a cluster.
pub(crate) struct Kubectl {
    program: PathBuf,
    reach: Vec<OsString>,
    folder: TempDir,
}

/// The program, where there is one.
pub(crate) fn found() -> Option<PathBuf> {
    let beside = std::env::var_os("LOCKSTEP_BIN").map(|folder| Path::new(&folder).join("kubectl"));
    let beside = beside.filter(|program| program.is_file());
    let program = beside.unwrap_or_else(|| PathBuf::from("kubectl"));
    let asked = Command::new(&program).args(["version", "--client"]).output();
    asked.is_ok_and(|asked| asked.status.success()).then_some(program)
}

/// Runs a play on a simulated cluster of its own.
pub(crate) fn on_simulated(program: &Path, play: Play) -> Checked {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let cluster = runtime.block_on(cluster::boot(&Plan::new(cluster::DEFAULT_VERSION).at(Site::Sim)))?;
    let kubectl = Kubectl::to(program, cluster.access())?;
    play(&kubectl)?;
    let unsupported = runtime.block_on(cluster.unsupported())?;
    if unsupported.is_empty() { Ok(()) } else { Err(format!("refused as unsupported: {unsupported:#?}").into()) }
}

impl Kubectl {
    /// With a token.
    pub(crate) fn to(program: &Path, access: &Access) -> Checked<Self> {
        let folder = tempfile::tempdir()?;
        let ca = folder.path().join("ca.crt");
        std::fs::write(&ca, &access.ca_pem)?;
        let flag = |name: &str, value: &str| OsString::from(format!("--{name}={value}"));
        let authority = flag("certificate-authority", &ca.display().to_string());
        let reach = vec![flag("server", &access.server), flag("token", &access.subject_token), authority];
        Ok(Self { program: program.to_owned(), reach, folder })
    }

    /// With a kubeconfig.
    pub(crate) fn with(program: &Path, kubeconfig: &Path) -> Checked<Self> {
        let reach = vec![format!("--kubeconfig={}", kubeconfig.display()).into()];
        Ok(Self { program: program.to_owned(), reach, folder: tempfile::tempdir()? })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        // Nothing of the user's own is read or written.
        command.env("HOME", self.folder.path()).env_remove("KUBECONFIG");
        command.env("KUBECACHEDIR", self.folder.path().join("cache"));
        command.args(&self.reach).args(words);
        command
    }

    /// Runs it to its end, with this as its input and these variables; what it prints.
    pub(crate) fn run(&self, words: &[&str], input: &str, variables: &[(&str, &str)]) -> Checked<(bool, String)> {
        let mut command = self.command(words);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        child.stdin.take().ok_or("it has an input")?.write_all(input.as_bytes())?;
        let output = child.wait_with_output()?;
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        Ok((output.status.success(), text))
    }

    /// Runs it with this input; it must succeed.
    pub(crate) fn fed(&self, line: &str, input: &str) -> Checked<String> {
        let words = shlex::split(line).ok_or("unbalanced quotes")?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match self.run(&words, input, &[])? {
            (true, text) => Ok(text),
            (false, text) => Err(format!("`kubectl {line}` failed:\n{text}").into()),
        }
    }

    /// Runs it; it must succeed.
    pub(crate) fn ok(&self, line: &str) -> Checked<String> {
        self.fed(line, "")
    }

    /// Runs it; it must succeed and print this.
    pub(crate) fn says(&self, line: &str, what: &str) -> Checked {
        let text = self.ok(line)?;
        if text.contains(what) {
            return Ok(());
        }
        Err(format!("`kubectl {line}` did not print `{what}`:\n{text}").into())
    }

    /// Runs it; it must fail and print this.
    pub(crate) fn fails(&self, line: &str, input: &str, what: &str) -> Checked<String> {
        let words = shlex::split(line).ok_or("unbalanced quotes")?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match self.run(&words, input, &[])? {
            (false, text) if text.contains(what) => Ok(text),
            (_, text) => Err(format!("`kubectl {line}` did not fail with `{what}`:\n{text}").into()),
        }
    }

    /// Edits by this command, which gets the file's name as its last word.
    pub(crate) fn edits(&self, line: &str, editor: &str) -> Checked<String> {
        let words: Vec<&str> = line.split(' ').collect();
        match self.run(&words, "", &[("KUBE_EDITOR", editor)])? {
            (true, text) => Ok(text),
            (false, text) => Err(format!("`kubectl {line}` failed:\n{text}").into()),
        }
    }

    /// Starts it, to be read while it runs.
    pub(crate) fn start(&self, line: &str) -> Checked<Child> {
        let words: Vec<&str> = line.split(' ').collect();
        Ok(self.command(&words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?)
    }

    /// What a field of an object is.
    pub(crate) fn field(&self, object: &str, path: &str) -> Checked<String> {
        self.ok(&format!("get {object} -o 'jsonpath={{{path}}}'"))
    }

    /// Fails unless a field of an object is this.
    pub(crate) fn has(&self, object: &str, path: &str, wanted: &str) -> Checked {
        let found = self.field(object, path)?;
        if found == wanted { Ok(()) } else { Err(format!("{path} of {object} is {found:?}, not {wanted:?}").into()) }
    }
}
