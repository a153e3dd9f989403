//! The timelines that lie beside a case.
//!
//! `NAME.timeline` is what upstream did on the server of the default version, and holds on every other server too, unless there is
//! `NAME.on-v1.33.timeline`: what the same controller did on servers of that minor. Such a file exists only where upstream's own
//! recordings differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::cluster::{DEFAULT_VERSION, minor};
use crate::timeline::{Timeline, TimelineError};

/// Blessed timelines by server.
#[derive(Debug, Default)]
pub struct Shelf {
    everywhere: Option<Timeline>,
    on: BTreeMap<String, Timeline>,
}

/// Why a timeline cannot be had from its file.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// It is not a timeline.
    #[error("{}: {source}; bless it again", path.display())]
    Timeline {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: TimelineError,
    },
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

impl Shelf {
    /// All timelines of the case in this file.
    ///
    /// # Errors
    /// When one of them is not readable.
    pub fn beside(case: &Path) -> Result<Self, ShelfError> {
        let mut shelf = Self { everywhere: read(&case.with_extension("timeline"))?, on: BTreeMap::new() };
        let stem = case.file_stem().unwrap_or_default().to_string_lossy().into_owned() + ".on-";
        let folder = case.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let failed = |source| ShelfError::File { path: folder.to_owned(), source };
        for entry in folder.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let minor = name.strip_prefix(&stem).and_then(|rest| rest.strip_suffix(".timeline"));
            let Some(minor) = minor else { continue };
            shelf.on.extend(read(&path)?.map(|timeline| (minor.to_owned(), timeline)));
        }
        Ok(shelf)
    }

    /// What holds on a server, given as it calls itself: `kube-apiserver v1.33.13`.
    pub fn for_server(&self, server: &str) -> Option<&Timeline> {
        minor(server).and_then(|minor| self.on.get(&minor)).or(self.everywhere.as_ref())
    }

    /// Whether nothing is blessed at all.
    pub fn is_empty(&self) -> bool {
        self.everywhere.is_none() && self.on.is_empty()
    }
}

/// The file for what upstream did on this server.
pub fn path(case: &Path, server: &str) -> PathBuf {
    match minor(server) {
        Some(other) if minor(DEFAULT_VERSION).is_none_or(|default| default != other) => {
            case.with_extension(format!("on-{other}.timeline"))
        }
        _ => case.with_extension("timeline"),
    }
}

fn read(path: &Path) -> Result<Option<Timeline>, ShelfError> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            Timeline::parse(&text).map(Some).map_err(|source| ShelfError::Timeline { path: path.to_owned(), source })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ShelfError::File { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = include_str!("../../cases/recreate/three.timeline");

    #[test]
    fn a_servers_own_timeline_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let case = folder.path().join("a.yaml");
        assert!(Shelf::beside(&case).unwrap().is_empty());
        std::fs::write(path(&case, "kube-apiserver v1.36.3"), ONE).unwrap();
        std::fs::write(path(&case, "kube-apiserver v1.33.13"), ONE.replace("app:1", "app:0")).unwrap();
        std::fs::write(folder.path().join("another.on-v1.33.timeline"), "none of this case's").unwrap();
        let shelf = Shelf::beside(&case).unwrap();
        let image = |server: &str| shelf.for_server(server).unwrap().edges[0].label.contains("image=app:0");
        assert!(image("kube-apiserver v1.33.1, real pods"));
        assert!(!image("kube-apiserver v1.36.3") && !image("kube-apiserver v1.35.0"));
    }

    #[test]
    fn what_is_no_timeline_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let case = folder.path().join("a.yaml");
        std::fs::write(case.with_extension("on-v1.33.timeline"), "nonsense").unwrap();
        let error = Shelf::beside(&case).unwrap_err().to_string();
        assert!(error.contains("a.on-v1.33.timeline") && error.contains("bless it again"), "{error}");
    }
}
