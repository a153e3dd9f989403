//! The timelines that lie beside a case.
//!
//! `NAME.timeline` is what upstream did on the server of the default version, and holds on every
//! other server too, unless there is `NAME.on-v1.33.timeline`: what the same controller did on
//! servers of that minor. `NAME.by-v1.15.timeline` is what upstream's controller *of that minor*
//! did, on the default server; upstream's other controllers are held to the default as they tell it
//! ([`versions`]). Such files exist only where upstream's own recordings differ.
//!
//! Config restarts have another origin: the controller of the project whose profile a case has
//! ([`crate::subject::Reference`]). A case of a file that stands for several has its profile in the
//! name of its timeline: `NAME@xing.timeline`.
//!
//! Where upstream itself does several things, each of these files is the most frequent outcome and
//! has others beside it: see [`outcomes`]. `name` reads and writes what the files are called.

mod name;
pub mod outcomes;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use name::Label;

use crate::case::{self, Case, EXTENSIONS};
use crate::collection;
use crate::controllers::Controllers;
use crate::recording::{Header, SubjectKind};
use crate::rules::Expectation;
use crate::timeline::{Golden, Timeline, TimelineError, digest_of_case};
use crate::verdict;
use crate::versions::{self, Minor};

/// Golden timelines by controller and server.
#[derive(Debug, Clone, Default)]
pub struct GoldenTimelines {
    all: BTreeMap<Label, Golden>,
}

/// Why a timeline cannot be had from its file.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
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

impl GoldenTimelines {
    /// All timelines of a case.
    ///
    /// # Errors
    /// When one of them is not readable.
    pub fn of(case: &Case) -> Result<Self, GoldenError> {
        Self::beside(&case.timelines_of())
    }

    /// All timelines of the case that alone is in this file.
    ///
    /// # Errors
    /// When one of them is not readable.
    pub fn beside(case: &Path) -> Result<Self, GoldenError> {
        let mut golden = Self::default();
        let stem = case.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = case.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let failed = |source| GoldenError::File { path: folder.to_owned(), source };
        for path in collection::files_in(folder).map_err(failed)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some((_, label)) = Label::parse(&name).filter(|(case, _)| *case == stem) {
                golden.all.extend(outcomes::blessed(&path)?.map(|blessed| (label, blessed)));
            }
        }
        Ok(golden)
    }

    /// What holds on a server, given as it calls itself: `kube-apiserver v1.33.13`.
    pub fn for_server(&self, server: &str) -> Option<&Golden> {
        self.all.get(&Label::of("", server)).or_else(|| self.all.get(&Label::default()))
    }

    /// What the subject of a recording is held to: upstream's controllers to what they did
    /// themselves, everybody else to the default, or to upstream of the version `like`.
    pub fn applicable_to(&self, header: &Header, like: Option<Minor>) -> Cow<'_, Self> {
        let own = Minor::of(&header.subject.version).filter(|_| header.kind == SubjectKind::Upstream);
        let golden = match like.or(own).filter(|minor| !minor.is_default()) {
            Some(minor) => Cow::Owned(self.by(minor, &header.under_test)),
            None => Cow::Borrowed(self),
        };
        match &header.workload {
            Some(workload) => {
                let shared = |golden: &Golden| golden.map(|timeline| timeline.shared_with(workload));
                Cow::Owned(Self { all: golden.all.iter().map(|(label, golden)| (*label, shared(golden))).collect() })
            }
            None => golden,
        }
    }

    /// What controllers of another minor are held to: their own timelines where there are some,
    /// else the default ones as they tell them.
    #[must_use]
    pub fn by(&self, minor: Minor, under_test: &Controllers) -> Self {
        let own = |label: &Label| self.all.get(&Label { by: Some(minor), ..*label }).cloned();
        let mut all = BTreeMap::new();
        for (label, blessed) in self.all.iter().filter(|(label, _)| label.by.is_none()) {
            let told = || blessed.map(|outcome| versions::as_told_by(outcome, minor, under_test));
            // Recorded on the default server, it says more of these controllers than any other
            // server's does.
            let theirs = own(label).or_else(|| own(&Label::default())).unwrap_or_else(told);
            all.insert(*label, theirs);
        }
        Self { all }
    }

    /// What stands in for a timeline of its own of these controllers on this server; `None` where
    /// theirs is the default itself, or where that is not blessed yet.
    pub fn instead_of(&self, header: &Header) -> Option<Golden> {
        self.default_as(Label::of(minor_of(header), &header.cluster.version), &header.under_test)
    }

    fn default_as(&self, label: Label, under_test: &Controllers) -> Option<Golden> {
        let default = self.all.get(&Label::default()).filter(|_| label != Label::default())?.clone();
        Some(match label.by {
            Some(minor) => default.map(|outcome| versions::as_told_by(outcome, minor, under_test)),
            None => default,
        })
    }

    /// The minors of whose controllers there are timelines of their own.
    pub fn minors(&self) -> impl Iterator<Item = Minor> {
        self.all.keys().filter_map(|label| label.by)
    }

    /// Whether nothing is blessed at all.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// The file for what this subject did on this server.
pub fn path(case: &Case, header: &Header) -> PathBuf {
    Label::of(minor_of(header), &header.cluster.version).beside(&case.timelines_of())
}

/// What says of which minor of Kubernetes a subject is: other projects' versions are none.
fn minor_of(header: &Header) -> &str {
    if header.kind == SubjectKind::Upstream { &header.subject.version } else { "" }
}

/// Whether each of these outcomes is one of those already: nobody judged by it would be judged
/// otherwise by them.
pub fn is_said(already: &Golden, blessed: &Golden) -> bool {
    blessed.outcomes().all(|outcome| already.outcomes().any(|already| says_the_same(already, outcome)))
}

fn says_the_same(already: &Timeline, timeline: &Timeline) -> bool {
    let breaches = |timeline: &Timeline| {
        let broken = timeline.steps.iter().filter(|step| !step.breaches.is_empty());
        broken.map(|step| (step.id, step.breaches.clone())).collect::<Vec<_>>()
    };
    let same = verdict::compare(already, timeline).is_ok_and(|comparison| comparison.is_same());
    same && breaches(already) == breaches(timeline)
}

/// A timeline that holds nobody to anything, or a case without one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stray {
    /// The timeline is of another version of its case.
    Stale(PathBuf, PathBuf),
    /// There is no case for this timeline.
    Orphaned(PathBuf),
    /// The timeline of another version says what the default does.
    Superfluous(PathBuf, PathBuf),
    /// The case has no timeline.
    Unblessed(PathBuf),
    /// The timeline cannot be read; why.
    Unreadable(PathBuf, String),
    /// The timeline is an outcome that nobody comes to, as another number is missing before it:
    /// which file.
    Gap(PathBuf, PathBuf),
    /// The timeline is one of several outcomes, and its case has but one.
    Unasked(PathBuf, PathBuf),
}

impl Stray {
    /// The file that is told of.
    pub fn path(&self) -> &Path {
        match self {
            Self::Stale(path, _)
            | Self::Orphaned(path)
            | Self::Superfluous(path, _)
            | Self::Unblessed(path)
            | Self::Unreadable(path, _)
            | Self::Gap(path, _)
            | Self::Unasked(path, _) => path,
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
                write!(f, "orphaned    {path}: it has no case; remove it, or restore the case")
            }
            Self::Superfluous(_, default) => {
                write!(f, "superfluous {path}: says what {} does; remove it", default.display())
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
        }
    }
}

/// What is wrong with the timelines of these cases.
///
/// # Errors
/// When a file or folder cannot be read.
pub fn strays(cases: &[PathBuf]) -> Result<Vec<Stray>, GoldenError> {
    let mut strays = Vec::new();
    for file in cases {
        let text = collection::read(file).map_err(|source| GoldenError::File { path: file.clone(), source })?;
        let text = String::from_utf8_lossy(&text);
        let digest = digest_of_case(&text);
        for case in case::load(file).unwrap_or_default().iter().filter(|case| case.expectation.is_blessed()) {
            strays.extend(strays_of(case, &digest)?);
        }
    }
    Ok(strays)
}

/// What is wrong with the timelines of one case, whose file has this digest.
fn strays_of(case: &Case, digest: &str) -> Result<Vec<Stray>, GoldenError> {
    let (named, beside) = (PathBuf::from(case.argument()), case.timelines_of());
    let several = case.expectation == Expectation::Outcomes;
    let golden = match GoldenTimelines::beside(&beside) {
        Err(GoldenError::Timeline { path, source }) => return Ok(vec![Stray::Unreadable(path, source.to_string())]),
        Err(error) => return Err(error),
        Ok(golden) if golden.is_empty() => return Ok(vec![Stray::Unblessed(named)]),
        Ok(golden) => golden,
    };
    let mut strays = Vec::new();
    for (label, blessed) in &golden.all {
        let base = label.beside(&beside);
        let files = || outcomes::files(&base, blessed);
        let stale = files().filter(|(_, it)| it.case.as_ref().is_some_and(|then| then != digest));
        let stale: Vec<_> = stale.map(|(path, _)| Stray::Stale(path, named.clone())).collect();
        let is_fresh = stale.is_empty();
        strays.extend(stale);
        if is_fresh && golden.default_as(*label, &case.controllers).is_some_and(|already| is_said(&already, blessed)) {
            strays.push(Stray::Superfluous(base.clone(), Label::default().beside(&beside)));
        }
        let unasked = files().skip(if several { usize::MAX } else { 1 });
        strays.extend(unasked.map(|(path, _)| Stray::Unasked(path, named.clone())));
    }
    Ok(strays)
}

/// Timelines below a folder that have no case, and files that are cases but for their name.
///
/// # Errors
/// When the folder cannot be read.
pub fn orphans(folder: &Path) -> Result<Vec<Stray>, GoldenError> {
    let mut strays = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|error| GoldenError::File { path: folder.to_owned(), source: error.into() })?;
        let path = entry.into_path();
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        match extension.as_str() {
            "timeline" if !has_case(&path) => strays.push(Stray::Orphaned(path)),
            "timeline" => strays.extend(outcomes::unreachable(&path)),
            _ => {}
        }
    }
    Ok(strays)
}

/// Whether there is a case of which this is a timeline: `a.timeline`, `a.on-v1.33.or-2.timeline`
/// belong to `a.yaml`.
fn has_case(timeline: &Path) -> bool {
    let name = outcomes::base(timeline).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_case = |case: &str, extension| timeline.with_file_name(format!("{case}.{extension}")).is_file();
    Label::parse(&name).is_some_and(|(case, _)| {
        let (case, _) = case::split(case);
        EXTENSIONS.into_iter().any(|extension| is_case(case, extension))
    })
}

fn read(path: &Path) -> Result<Option<Timeline>, GoldenError> {
    match collection::read_to_string(path) {
        Ok(text) => {
            let read = Timeline::parse(&text).map(|timeline| Some(timeline.plain()));
            read.map_err(|source| GoldenError::Timeline { path: path.to_owned(), source })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(GoldenError::File { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Identity;
    use crate::timeline::fixture;

    const ONE: &str = include_str!("../../cases/recreate/three.timeline");

    #[test]
    fn a_servers_own_timeline_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let case = folder.path().join("a.yaml");
        assert!(GoldenTimelines::beside(&case).unwrap().is_empty());
        std::fs::write(Label::of("", "kube-apiserver v1.36.3").beside(&case), ONE).unwrap();
        std::fs::write(Label::of("", "kube-apiserver v1.33.13").beside(&case), ONE.replace("app:1", "app:0")).unwrap();
        std::fs::write(folder.path().join("another.on-v1.33.timeline"), "none of this case's").unwrap();
        let golden = GoldenTimelines::beside(&case).unwrap();
        let image = |server: &str| golden.for_server(server).unwrap().first().steps[0].label.contains("image=app:0");
        assert!(image("kube-apiserver v1.33.1, real pods"));
        assert!(!image("kube-apiserver v1.36.3") && !image("kube-apiserver v1.35.0"));
    }

    /// The header of what this controller did on this server, brought by itself.
    fn header(name: &str, version: &str, server: &str) -> Header {
        let mut header = fixture::Film::new().end().header;
        header.subject = Identity::new(name, "", version);
        let is_upstream = name.split(':').next() == Some("upstream");
        header.kind = if is_upstream { SubjectKind::Upstream } else { SubjectKind::Command };
        header.cluster.version = server.to_owned();
        header
    }

    #[test]
    fn upstreams_other_versions_have_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let case = folder.path().join("a.yaml");
        let (old, now, new) = ("kube-controller-manager v1.15.5", "kube-controller-manager v1.36.3", "v1.29.15");
        let (here, there) = ("kube-apiserver v1.36.3", "kube-apiserver v1.33.13");
        std::fs::write(Label::of(now, here).beside(&case), ONE).unwrap();
        std::fs::write(Label::of(now, there).beside(&case), ONE.replace("app:1", "app:0")).unwrap();
        std::fs::write(Label::of(old, here).beside(&case), ONE.replace("app:1", "app:15")).unwrap();
        let golden = GoldenTimelines::beside(&case).unwrap();
        assert_eq!(golden.minors().collect::<Vec<_>>(), [Minor::new(15)]);
        let held = |name, version, server, like: Option<u32>| {
            let timeline =
                golden.applicable_to(&header(name, version, server), like.map(Minor::new)).for_server(server).cloned();
            let timeline = timeline.unwrap().first().to_string();
            let image = timeline.split("image=").nth(1).unwrap().split([' ', ';']).next().unwrap().to_owned();
            (image, timeline.contains("to 3 from 0") || timeline.contains("rs1 to 3\""))
        };
        let told = |image: &str, old: bool| (image.to_owned(), old);
        assert_eq!(held("upstream", now, here, None), told("app:1", false));
        assert_eq!(held("upstream:v1.15.5", old, here, None), told("app:15", false));
        assert_eq!(held("upstream:../kcm", old, there, None), told("app:15", false));
        assert_eq!(held("upstream:v1.29.15", new, here, None), told("app:1", true));
        assert_eq!(held("upstream:v1.29.15", new, there, None), told("app:0", true));
        // Whatever a program of one's own calls itself, it is held to the default until told
        // otherwise.
        assert_eq!(held("command:x", old, here, None), told("app:1", false));
        assert_eq!(held("command:x", "x", here, Some(15)), told("app:15", false));
        assert_eq!(held("upstream:v1.15.5", old, here, Some(36)), told("app:1", false));
    }

    #[test]
    fn strays_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let case = include_str!("../../cases/recreate/three.yaml");
        let told =
            versions::as_told_by(Timeline::parse(ONE).unwrap(), Minor::new(34), &Controllers::default()).to_string();
        for (name, text) in [
            ("good.yaml", case),
            ("good.timeline", ONE),
            ("good.on-v1.33.timeline", &ONE.replace("rs1 3 -> 0", "rs1 3 -> 1")),
            ("good.by-v1.15.timeline", &ONE.replace("rs1 3 -> 0", "rs1 3 -> 1")),
            ("good.by-v1.34.timeline", &told),
            ("edited.yaml", &case.replace("app:1", "app:0")),
            ("edited.timeline", ONE),
            ("edited.by-v1.15.timeline", ONE),
            ("gone.on-v1.33.timeline", ONE),
            ("gone.by-v1.15.timeline", ONE),
            ("new.yaml", case),
            ("broken.yaml", case),
            ("broken.timeline", "nonsense"),
            ("other.yml", case),
            ("other.timeline", ONE),
            ("good.or-2.timeline", ONE),
            ("good.or-4.timeline", ONE),
            ("good.or-x.timeline", ONE),
            ("several.yaml", &format!("{case}expectation: outcomes\n")),
            ("several.timeline", ONE),
            ("several.or-2.timeline", &ONE.replace("43eb4b520ba22d3d", "0123456789abcdef")),
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
                "superfluous good.by-v1.34.timeline",
                "stale edited.timeline",
                "stale edited.by-v1.15.timeline",
                "unblessed new.yaml",
                "unreadable broken.timeline",
                "stale several.or-2.timeline",
                "orphaned gone.by-v1.15.timeline",
                "orphaned gone.on-v1.33.timeline",
                "unreached good.or-4.timeline",
                "unreached good.or-x.timeline"
            ]
        );
    }

    /// Every timeline of another version, or of another server, is what its name says, belongs to a
    /// case, and says something else than the default one.
    #[test]
    fn overlays_of_the_collection_differ() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases");
        let mut by = std::collections::BTreeSet::new();
        for entry in walkdir::WalkDir::new(&folder) {
            let path = entry.unwrap().into_path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let Some((case, label)) = Label::parse(&name).filter(|(_, label)| *label != Label::default()) else {
                continue;
            };
            let case = path.with_file_name(format!("{case}.yaml"));
            let blessed = outcomes::blessed(&path).unwrap().unwrap();
            let timeline = blessed.first();
            let from = timeline.provenance.as_ref().unwrap();
            assert_eq!(Label::of(&from.controller, &from.server), label, "{name}");
            let under_test = case::load_one(&case).unwrap().controllers;
            let already = GoldenTimelines::beside(&case).unwrap().default_as(label, &under_test).unwrap();
            assert_eq!(already.first().case, timeline.case, "{name} is of another version of its case");
            assert!(!is_said(&already, &blessed), "{name} says what the default one says");
            by.extend(label.by);
        }
        assert!(by.contains(&Minor::new(15)), "{by:?}");
    }

    #[test]
    fn what_is_no_timeline_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let case = folder.path().join("a.yaml");
        std::fs::write(case.with_extension("on-v1.33.timeline"), "nonsense").unwrap();
        let error = GoldenTimelines::beside(&case).unwrap_err().to_string();
        assert!(error.contains("a.on-v1.33.timeline") && error.contains("bless it again"), "{error}");
    }
}
