//! Runs `kind` and the container engine: no other file does.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use lockstep_support::output;

use super::KindError;
use super::config::KindConfig;
use crate::ClusterError;
use crate::engine::{Engine, find_on_path, run};
use crate::supervise::{self, ProcessSpec, Supervisor};
use crate::user_dir::{user_temp_dir, write_private_file};

/// The two programs.
#[derive(Debug)]
pub(super) struct KindTool {
    kind: PathBuf,
    engine: Engine,
}

impl KindTool {
    /// Finds both programs without running them.
    pub(super) fn find_on_path() -> Result<(PathBuf, PathBuf), KindError> {
        let program = |variable: &str, default: &str| match std::env::var_os(variable) {
            Some(named) if !named.is_empty() => PathBuf::from(named),
            _ => PathBuf::from(default),
        };
        let engine = Engine::find_on_path(&program("KIND_EXPERIMENTAL_PROVIDER", "docker"))?;
        let kind = find_on_path(&program("LOCKSTEP_KIND", "kind")).ok_or_else(|| {
            missing_program("kind", "install it from kind.sigs.k8s.io, or set LOCKSTEP_KIND to its path")
        })?;
        Ok((kind, engine))
    }

    /// Finds both programs, and checks that the engine answers.
    pub(super) async fn find() -> Result<Self, KindError> {
        let (kind, engine) = Self::find_on_path()?;
        Ok(Self { kind, engine: Engine::find(&engine).await? })
    }

    /// The container engine's program.
    pub(super) fn engine(&self) -> &Path {
        self.engine.program()
    }

    /// The names of all kind clusters on this machine.
    pub(super) async fn clusters(&self) -> Result<Vec<String>, KindError> {
        let names = self.run_kind(["get", "clusters", "--quiet"]).await?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// The admin kubeconfig of a cluster, YAML.
    pub(super) async fn kubeconfig(&self, name: &str) -> Result<String, KindError> {
        self.run_kind(["get", "kubeconfig", "--name", name]).await
    }

    /// Creates a cluster. It is deleted when the supervisor ends, whatever happens to this process.
    pub(super) async fn create(
        &self,
        dir: &Path,
        name: &str,
        image: &str,
        config: &KindConfig,
    ) -> Result<Supervisor, ClusterError> {
        let (file, log) = (dir.join("kind.yaml"), dir.join("kind.log"));
        write_private_file(&file, config.yaml().as_bytes())?;
        let supervisor = Supervisor::start(dir, true)?;
        let creation = async {
            supervisor.finally(self.process_spec(
                "deleting the kind cluster",
                dir,
                ["delete", "cluster", "--name", name],
            ))?;
            let words = ["create", "cluster", "--retain", "--name", name, "--image", image, "--config"];
            let child = supervisor.spawn(self.process_spec(
                "kind",
                dir,
                words.iter().map(OsStr::new).chain([file.as_ref()]),
            ))?;
            if child.wait_exit().await.success() {
                return Ok(());
            }
            let text = String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()).into_owned();
            let no_image =
                text.lines().find(|line| line.contains("failed to pull image") || line.contains("pull access"));
            if let Some(line) = no_image {
                let why = line.trim_start_matches("ERROR: ").to_owned();
                return Err(KindError::Image { image: image.to_owned(), why }.into());
            }
            let logs = self.keep_logs(name).await;
            let mut lines = logs.as_deref().map(fatal_lines).unwrap_or_default();
            lines.extend(output::excerpt(&text));
            Err(KindError::Create { name: name.to_owned(), logs, lines: lines.join("\n") }.into())
        };
        match creation.await {
            Ok(()) => Ok(supervisor),
            Err(error) => {
                supervisor.shutdown().await;
                Err(error)
            }
        }
    }

    /// Deletes a cluster.
    pub(super) async fn delete(&self, name: &str) -> Result<(), KindError> {
        self.run_kind(["delete", "cluster", "--name", name, "--kubeconfig", "/dev/null"]).await.map(drop)
    }

    /// Copies an image of the local engine to a node.
    pub(super) async fn load_image(&self, node: &str, image: &str) -> Result<(), KindError> {
        let name = node.strip_suffix("-control-plane").unwrap_or(node);
        self.run_kind(["load", "docker-image", image, "--name", name, "--nodes", node]).await.map(drop)
    }

    /// Saves the logs of a cluster's nodes; the next failure overwrites them.
    pub(super) async fn keep_logs(&self, name: &str) -> Option<PathBuf> {
        let folder = user_temp_dir().ok()?.join(format!("failed-kind-{name}"));
        if folder.exists() {
            std::fs::remove_dir_all(&folder).ok()?;
        }
        let path = folder.to_string_lossy().into_owned();
        // The command fails if a single log is missing, but exports the others.
        self.run_kind(["export", "logs", &path, "--name", name]).await.ok();
        folder.exists().then_some(folder)
    }

    async fn run_kind<'a>(&self, words: impl IntoIterator<Item = &'a str> + Clone) -> Result<String, KindError> {
        let output = run(&self.kind, words.clone()).await?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let command = words.into_iter().fold("kind".to_owned(), |command, word| command + " " + word);
        Err(KindError::Failed { command, why: output::reason(&output.stderr) })
    }

    /// kind under supervision, with a separate kubeconfig: the user's is not changed.
    fn process_spec<W: AsRef<OsStr>>(&self, name: &str, dir: &Path, words: impl IntoIterator<Item = W>) -> ProcessSpec {
        let mut env: std::collections::BTreeMap<_, _> = supervise::own_environment().collect();
        env.insert("KUBECONFIG".to_owned(), dir.join("kind.kubeconfig").display().to_string());
        ProcessSpec {
            name: name.to_owned(),
            program: self.kind.clone(),
            args: words.into_iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect(),
            env,
            log: dir.join("kind.log"),
        }
    }
}

/// Why the programs on a cluster's nodes exited, from the logs that `kind export logs` has written.
/// kind itself reports only that it has waited for them.
fn fatal_lines(logs: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in walkdir::WalkDir::new(logs).max_depth(3).sort_by_file_name().into_iter().flatten() {
        let path = entry.path();
        let is_container = path.parent().is_some_and(|folder| folder.ends_with("containers"));
        if !entry.file_type().is_file() || !is_container && !path.ends_with("kubelet.log") {
            continue;
        }
        let Ok(log) = std::fs::read(path) else { continue };
        // Logs are named `kube-apiserver-node_kube-system_…` for a container, and `kubelet`.
        let program = entry.file_name().to_string_lossy();
        let program = program.split(['.', '_']).next().unwrap_or_default();
        let fatal = output::find_fatal(&String::from_utf8_lossy(&log));
        lines.extend(fatal.into_iter().map(|line| format!("{program}: {line}")));
    }
    lines
}

fn missing_program(program: &str, remedy: &'static str) -> KindError {
    KindError::Missing { program: program.to_owned(), remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_why_programs_on_a_node_exited() {
        let logs = tempfile::tempdir().unwrap();
        let node = logs.path().join("x-control-plane");
        std::fs::create_dir_all(node.join("containers")).unwrap();
        let kubelet = "Nov 26 04:20:01 node kubelet[215]: E1126 04:20:01.000002     215 run.go:72] \"command failed\" err=\"cgroup v1\"\n";
        std::fs::write(node.join("kubelet.log"), kubelet.repeat(3)).unwrap();
        std::fs::write(node.join("containerd.log"), "level=fatal msg=\"not read\"\n").unwrap();
        let server = "2026-11-26T04:20:01.1Z stderr F I1126 04:20:01.000002       1 a.go:1] starting\n\
                      2026-11-26T04:20:01.2Z stderr F Error: unknown flag: --bogus\n\
                      2026-11-26T04:20:01.2Z stderr F F1126 04:20:01.000002       1 b.go:2] no etcd\n";
        std::fs::write(node.join("containers/kube-apiserver-x-control-plane_kube-system_a-b.log"), server).unwrap();
        assert_eq!(
            fatal_lines(logs.path()),
            [
                "kube-apiserver-x-control-plane: F1126 04:20:01.000002       1 b.go:2] no etcd",
                "kubelet: E1126 04:20:01.000002     215 run.go:72] \"command failed\" err=\"cgroup v1\"",
            ]
        );
    }
}
