//! The timelines that lie beside a case.
//!
//! `NAME.timeline` is what upstream did on the server of the default version, and holds on every other server too, unless there is
//! `NAME.on-v1.33.timeline`: what the same controller did on servers of that minor. Such a file exists only where upstream's own
//! recordings differ.
//!
//! Where upstream itself does several things, each of these files is the most frequent outcome and has others beside it: see [`outcomes`].

pub mod outcomes;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::case;
use crate::cluster::{DEFAULT_VERSION, minor};
use crate::rules::Expectation;
use crate::timeline::{Blessed, Timeline, TimelineError, digest_of_case};

/// Blessed timelines by server.
#[derive(Debug, Default)]
pub struct Shelf {
    everywhere: Option<Blessed>,
    on: BTreeMap<String, Blessed>,
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
        let mut shelf = Self { everywhere: outcomes::blessed(&case.with_extension("timeline"))?, on: BTreeMap::new() };
        let stem = case.file_stem().unwrap_or_default().to_string_lossy().into_owned() + ".on-";
        let folder = case.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let failed = |source| ShelfError::File { path: folder.to_owned(), source };
        for entry in folder.read_dir().map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let minor = name.strip_prefix(&stem).and_then(|rest| rest.strip_suffix(".timeline"));
            let Some(minor) = minor.filter(|_| outcomes::number(&path).is_none()) else { continue };
            shelf.on.extend(outcomes::blessed(&path)?.map(|blessed| (minor.to_owned(), blessed)));
        }
        Ok(shelf)
    }

    /// What holds on a server, given as it calls itself: `kube-apiserver v1.33.13`.
    pub fn for_server(&self, server: &str) -> Option<&Blessed> {
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

/// A timeline that holds nobody to anything, or a case without one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stray {
    /// The timeline is of another version of its case.
    Stale(PathBuf, PathBuf),
    /// There is no case for this timeline.
    Orphaned(PathBuf),
    /// The case has no timeline.
    Unblessed(PathBuf),
    /// The timeline cannot be read; why.
    Unreadable(PathBuf, String),
    /// The timeline is an outcome that nobody comes to, as another number is missing before it: which file.
    Gap(PathBuf, PathBuf),
    /// The timeline is one of several outcomes, and its case has but one.
    Unasked(PathBuf, PathBuf),
    /// A file that looks like a case, and is not taken for one.
    Overlooked(PathBuf),
}

impl Stray {
    /// The file that is told of.
    pub fn path(&self) -> &Path {
        match self {
            Self::Stale(path, _)
            | Self::Orphaned(path)
            | Self::Unblessed(path)
            | Self::Unreadable(path, _)
            | Self::Gap(path, _)
            | Self::Unasked(path, _)
            | Self::Overlooked(path) => path,
        }
    }
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path().display();
        match self {
            Self::Stale(_, case) => {
                let case = case.display();
                write!(f, "stale       {path}: its case has changed since; `lockstep bless {case}`")
            }
            Self::Orphaned(_) => {
                write!(f, "orphaned    {path}: no case stands beside it; remove it, or bring the case back")
            }
            Self::Unblessed(_) => write!(f, "unblessed   {path}: `lockstep bless {path}`"),
            Self::Unreadable(_, why) => write!(f, "unreadable  {path}: {why}"),
            Self::Gap(_, before) => {
                let before = before.display();
                write!(
                    f,
                    "unreached   {path}: {before} is not there, and outcomes are numbered from or-2 without a gap"
                )
            }
            Self::Unasked(_, case) => {
                let case = case.display();
                write!(f, "unasked     {path}: {case} has one outcome; remove it, or say `expectation: outcomes`")
            }
            Self::Overlooked(_) => write!(f, "overlooked  {path}: a case is called *.yaml"),
        }
    }
}

/// What is wrong with the timelines of these cases.
///
/// # Errors
/// When a file or folder cannot be read.
pub fn strays(cases: &[PathBuf]) -> Result<Vec<Stray>, ShelfError> {
    let mut strays = Vec::new();
    for case in cases {
        let text = std::fs::read(case).map_err(|source| ShelfError::File { path: case.clone(), source })?;
        let text = String::from_utf8_lossy(&text);
        let digest = digest_of_case(&text);
        let several = case::rules("", &text).is_ok_and(|(_, expectation)| expectation == Expectation::Outcomes);
        match Shelf::beside(case) {
            Err(ShelfError::Timeline { path, source }) => strays.push(Stray::Unreadable(path, source.to_string())),
            Err(error) => return Err(error),
            Ok(shelf) if shelf.is_empty() => strays.push(Stray::Unblessed(case.clone())),
            Ok(shelf) => {
                let minors = shelf.on.iter().map(|(minor, blessed)| (format!("on-{minor}.timeline"), blessed));
                let all = shelf.everywhere.iter().map(|blessed| ("timeline".to_owned(), blessed)).chain(minors);
                for (name, blessed) in all {
                    let base = case.with_extension(name);
                    let files = || outcomes::files(&base, blessed);
                    let stale = files().filter(|(_, it)| it.case.as_ref().is_some_and(|then| *then != digest));
                    strays.extend(stale.map(|(path, _)| Stray::Stale(path, case.clone())));
                    let unasked = files().skip(if several { usize::MAX } else { 1 });
                    strays.extend(unasked.map(|(path, _)| Stray::Unasked(path, case.clone())));
                }
            }
        }
    }
    Ok(strays)
}

/// Timelines below a folder that have no case, and files that are cases but for their name.
///
/// # Errors
/// When the folder cannot be read.
pub fn orphans(folder: &Path) -> Result<Vec<Stray>, ShelfError> {
    let mut strays = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|error| ShelfError::File { path: folder.to_owned(), source: error.into() })?;
        let path = entry.into_path();
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        match extension.as_str() {
            "timeline" if !has_case(&path) => strays.push(Stray::Orphaned(path)),
            "timeline" => strays.extend(outcomes::unreachable(&path)),
            "yml" => strays.push(Stray::Overlooked(path)),
            _ => {}
        }
    }
    Ok(strays)
}

/// Whether there is a case of which this is a timeline: `a.timeline`, `a.on-v1.33.timeline` belong to `a.yaml`.
fn has_case(timeline: &Path) -> bool {
    let name = timeline.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let dots = name.match_indices('.').map(|(at, _)| &name[..at]).chain([name.as_str()]);
    dots.into_iter().any(|stem| timeline.with_file_name(format!("{stem}.yaml")).is_file())
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
        let image = |server: &str| shelf.for_server(server).unwrap().first().edges[0].label.contains("image=app:0");
        assert!(image("kube-apiserver v1.33.1, real pods"));
        assert!(!image("kube-apiserver v1.36.3") && !image("kube-apiserver v1.35.0"));
    }

    #[test]
    fn strays_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let case = include_str!("../../cases/recreate/three.yaml");
        for (name, text) in [
            ("good.yaml", case),
            ("good.timeline", ONE),
            ("good.on-v1.33.timeline", ONE),
            ("edited.yaml", &case.replace("app:1", "app:0")),
            ("edited.timeline", ONE),
            ("gone.on-v1.33.timeline", ONE),
            ("new.yaml", case),
            ("broken.yaml", case),
            ("broken.timeline", "nonsense"),
            ("other.yml", case),
            ("good.or-2.timeline", ONE),
            ("good.or-4.timeline", ONE),
            ("good.or-x.timeline", ONE),
            ("several.yaml", &format!("{case}expectation: outcomes\n")),
            ("several.timeline", ONE),
            ("several.or-2.timeline", &ONE.replace("a6e2a5ed1f669528", "0123456789abcdef")),
        ] {
            std::fs::write(at(name), text).unwrap();
        }
        let cases = ["good.yaml", "edited.yaml", "new.yaml", "broken.yaml", "several.yaml"].map(at);
        let mut found = strays(&cases).unwrap();
        found.extend(orphans(folder.path()).unwrap());
        let said: Vec<_> = found
            .iter()
            .map(|stray| {
                let word = stray.to_string().split(' ').next().unwrap().to_owned();
                format!("{word} {}", stray.path().file_name().unwrap().to_string_lossy())
            })
            .collect();
        assert_eq!(
            said,
            [
                "unasked good.or-2.timeline",
                "stale edited.timeline",
                "unblessed new.yaml",
                "unreadable broken.timeline",
                "stale several.or-2.timeline",
                "orphaned gone.on-v1.33.timeline",
                "unreached good.or-4.timeline",
                "unreached good.or-x.timeline",
                "overlooked other.yml"
            ]
        );
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
