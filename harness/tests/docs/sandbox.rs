//! A writable folder like the repository: `cases` is a copy, and read-only inputs are links. Pages
//! add files to it.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::pages::Page;
use super::root;

/// The folder; dropping this removes it.
#[derive(Debug)]
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    /// Creates the sandbox with a page's files.
    pub(crate) fn of(page: &Page) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        if page.blocks().iter().any(|block| block.language == "console") {
            copy(&root().join("cases"), &at("cases"));
            std::fs::create_dir(at("target")).expect("writable");
            for (real, name) in
                [(root().join(".cargo"), ".cargo"), (root().join("harness"), "harness"), (built(), "target/debug")]
            {
                symlink(real, at(name)).expect("a link");
            }
            for block in page.blocks() {
                if let Some(file) = block.file.filter(|file| !root().join(file).exists()) {
                    std::fs::create_dir_all(at(&file).parent().expect("a file is in a folder")).expect("writable");
                    std::fs::write(at(&file), block.text).expect("writable");
                }
            }
        }
        Self { folder }
    }

    /// Runs a command of the page, which may begin with variables; returns standard output (or, if
    /// empty, standard error) and the exit code.
    pub(crate) fn run(&self, words: &[String]) -> Result<(String, i32), String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let variables: Vec<(&str, &str)> = words.iter().map_while(|word| word.split_once('=')).collect();
        match words[variables.len()..].iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["cat", file] => {
                let text = std::fs::read_to_string(self.folder.path().join(file));
                text.map(|text| (text, 0)).map_err(|error| format!("{file}: {error}"))
            }
            ["cargo", "lockstep", arguments @ ..] => {
                let output = self.lockstep(arguments).envs(variables).output().map_err(|error| error.to_string())?;
                let (out, err) = (text(&output.stdout), text(&output.stderr));
                let code = output.status.code().ok_or("it was ended by a signal")?;
                Ok((if out.is_empty() { err } else { out }, code))
            }
            _ => Err("only `cargo lockstep`, `cat FILE` and `echo $?` are run; use a block `sh` for others".to_owned()),
        }
    }

    /// Runs `lockstep`, as cargo's alias does.
    fn lockstep(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockstep"));
        command.current_dir(self.folder.path()).args(arguments);
        command.env("CARGO", "cargo").env("CARGO_MANIFEST_DIR", self.folder.path());
        command.env("XDG_STATE_HOME", self.folder.path().join("state"));
        for name in ["GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "CI", "LOCKSTEP_LOG"] {
            command.env_remove(name);
        }
        command
    }
}

/// The folder of this build's programs: tests are in target/PROFILE/deps.
pub(crate) fn built() -> PathBuf {
    let me = std::env::current_exe().expect("a test has a file");
    me.ancestors().nth(2).expect("it is two folders deep").to_owned()
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("writable");
    for entry in from.read_dir().expect("readable").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}
