//! The files that git tracks, read once, and what is wrong in them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::source::Source;

/// A place where a rule does not hold.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Breach {
    /// From the root of the repository.
    pub(crate) path: String,
    /// From 1.
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl Breach {
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

/// All texts of the repository, by path from its root.
#[derive(Debug, Default)]
pub(crate) struct Repository {
    /// Every file that is text.
    pub(crate) texts: BTreeMap<String, String>,
    /// Those of them that are Rust, in tokens.
    pub(crate) sources: Vec<Source>,
}

impl Repository {
    /// The repository that the working directory is in.
    ///
    /// # Errors
    /// When git does not answer, or a file that it tracks cannot be read.
    pub(crate) fn read() -> anyhow::Result<Self> {
        let root = git(&["rev-parse", "--show-toplevel"], Path::new("."))?;
        let root = Path::new(root.trim_end());
        let paths = git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"], root)?;
        let mut texts = BTreeMap::new();
        for path in paths.split('\0').filter(|path| !path.is_empty()) {
            let file = root.join(path);
            // A deleted file that is not committed yet, and a link, whose target is read where it
            // lies.
            if !file.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
                continue;
            }
            let bytes = std::fs::read(&file).with_context(|| format!("reading {path}"))?;
            if let Ok(text) = String::from_utf8(bytes) {
                texts.insert(path.to_owned(), text);
            }
        }
        Ok(Self::new(texts))
    }

    /// Of these texts, by path.
    pub(crate) fn new(texts: BTreeMap<String, String>) -> Self {
        let rust = texts.iter().filter(|(path, _)| path.ends_with(".rs"));
        let sources = rust.map(|(path, text)| Source::read(path, text)).collect();
        Self { texts, sources }
    }

    /// The texts below a folder (`harness/src/`) whose names end like this, in order of path.
    pub(crate) fn below<'a>(&'a self, folder: &'a str, end: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let texts = self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        texts.filter(move |(path, _)| path.starts_with(folder) && path.ends_with(end))
    }
}

/// Write a file of the repository that the working directory is in.
///
/// # Errors
/// When git does not answer, or the file cannot be written.
pub(crate) fn write(path: &str, text: &str) -> anyhow::Result<()> {
    let root = git(&["rev-parse", "--show-toplevel"], Path::new("."))?;
    std::fs::write(Path::new(root.trim_end()).join(path), text).with_context(|| format!("writing {path}"))
}

fn git(arguments: &[&str], folder: &Path) -> anyhow::Result<String> {
    let output = Command::new("git").args(arguments).current_dir(folder).output().context("running git")?;
    anyhow::ensure!(
        output.status.success(),
        "git {}: {}",
        arguments[0],
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
