//! The golden timelines beside a case.
//!
//! `NAME.timeline` is what upstream did on a server of the default version. It applies to every
//! other server too, unless there is `NAME.on-v1.33.timeline`: what the same controller did on
//! servers of that minor. `NAME.by-v1.15.timeline` is what upstream's controller *of that minor*
//! did on the default server; other versions of upstream are compared with the default timeline,
//! translated to that version's wording ([`versions`]). Such files exist only where upstream's own
//! recordings differ.
//!
//! For config restarts, golden timelines are recorded from the project whose profile a case has
//! ([`lockstep_subject::Reference`]). A case of a file with several profiles has its profile in the
//! name of its timeline: `NAME@xing.timeline`.
//!
//! If upstream itself has several outcomes, each of these files is the most frequent one and has
//! others beside it: see [`outcomes`]. `name` parses and formats file names.
//! has others beside it: see [`outcomes`]. `name` reads and writes what the files are called.

mod name;
pub mod outcomes;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use lockstep_case::rules::Expectation;
use lockstep_case::{self as case, Case, EXTENSIONS};
use lockstep_recording::controllers::ControllerSet;
use lockstep_recording::{Header, SubjectKind};
use lockstep_support::collection;
use lockstep_timeline::versions::{self, Minor};
use lockstep_timeline::{GoldenOutcomes, Timeline, TimelineError, digest_of_case};
use name::TimelineLabel;

/// Golden timelines by controller and server.
#[derive(Debug, Clone, Default)]
pub struct GoldenTimelines {
    all: BTreeMap<TimelineLabel, GoldenOutcomes>,
}

/// Why a timeline cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// The file is not a timeline.
    #[error("{}: {source}; bless it again", path.display())]
    Timeline {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: TimelineError,
    },
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl GoldenTimelines {
    /// Reads all timelines of a case.
    ///
    /// # Errors
    /// One of them is not readable.
    pub fn load(case: &Case) -> Result<Self, GoldenError> {
        Self::load_beside(&case.timeline_base())
    }

    /// Reads all timelines of the only case of this file.
    ///
    /// # Errors
    /// One of them is not readable.
    pub fn load_beside(case: &Path) -> Result<Self, GoldenError> {
        let mut golden = Self::default();
        let stem = case.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = case.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let failed = |source| GoldenError::File { path: folder.to_owned(), source };
        for path in collection::files_in(folder).map_err(failed)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if let Some((_, label)) = TimelineLabel::parse(&name).filter(|(case, _)| *case == stem) {
                golden.all.extend(outcomes::read_outcomes(&path)?.map(|blessed| (label, blessed)));
            }
        }
        Ok(golden)
    }

    /// The timelines for a server, given its title: `kube-apiserver v1.33.13`.
    pub fn for_server(&self, server: &str) -> Option<&GoldenOutcomes> {
        self.all.get(&TimelineLabel::of("", server)).or_else(|| self.all.get(&TimelineLabel::default()))
    }

    /// The timelines with which the subject of a recording is compared: upstream's controllers with
    /// those of their own version, others with the default, or with upstream of the version
    /// `as_version`.
    pub fn for_subject(&self, header: &Header, as_version: Option<Minor>) -> Cow<'_, Self> {
        let own = Minor::of(&header.subject.version).filter(|_| header.kind == SubjectKind::Upstream);
        let golden = match as_version.or(own).filter(|minor| !minor.is_default()) {
            Some(minor) => Cow::Owned(self.for_minor(minor, &header.under_test)),
            None => Cow::Borrowed(self),
        };
        match &header.workload {
            Some(workload) => {
                let shared = |golden: &GoldenOutcomes| golden.map(|timeline| timeline.comparable_with(workload));
                Cow::Owned(Self { all: golden.all.iter().map(|(label, golden)| (*label, shared(golden))).collect() })
            }
            None => golden,
        }
    }

    /// The timelines for controllers of another minor: their own if there are some, else the
    /// default ones, translated to their wording.
    #[must_use]
    pub fn for_minor(&self, minor: Minor, under_test: &ControllerSet) -> Self {
        let own = |label: &TimelineLabel| self.all.get(&TimelineLabel { by: Some(minor), ..*label }).cloned();
        let mut all = BTreeMap::new();
        for (label, blessed) in self.all.iter().filter(|(label, _)| label.by.is_none()) {
            let translated = || blessed.map(|outcome| versions::as_reported_by(outcome, minor, under_test));
            // Recorded on the default server, it says more about these controllers than the default
            // controller's timeline on any other server.
            let timelines = own(label).or_else(|| own(&TimelineLabel::default())).unwrap_or_else(translated);
            all.insert(*label, timelines);
        }
        Self { all }
    }

    /// The timelines that apply if these controllers on this server have none of their own; `None`
    /// if timelines are the default itself, or if the default is not blessed yet.
    pub fn fallback_for(&self, header: &Header) -> Option<GoldenOutcomes> {
        self.default_as(TimelineLabel::of(minor_of(header), &header.cluster.version), &header.under_test)
    }

    fn default_as(&self, label: TimelineLabel, under_test: &ControllerSet) -> Option<GoldenOutcomes> {
        let default = self.all.get(&TimelineLabel::default()).filter(|_| label != TimelineLabel::default())?.clone();
        Some(match label.by {
            Some(minor) => default.map(|outcome| versions::as_reported_by(outcome, minor, under_test)),
            None => default,
        })
    }

    /// The minors whose controllers have timelines of their own.
    pub fn minors(&self) -> impl Iterator<Item = Minor> {
        self.all.keys().filter_map(|label| label.by)
    }

    /// Whether no timeline is blessed.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
}

/// The file for what this subject did on this server.
pub fn path(case: &Case, header: &Header) -> PathBuf {
    TimelineLabel::of(minor_of(header), &header.cluster.version).beside(&case.timeline_base())
}

/// The text that names a subject's minor of Kubernetes; empty for other projects, whose versions
/// are unrelated.
fn minor_of(header: &Header) -> &str {
    if header.kind == SubjectKind::Upstream { &header.subject.version } else { "" }
}

/// Whether each of these outcomes equals one of those already: then no verdict would change without
/// them.
pub fn covers(already: &GoldenOutcomes, blessed: &GoldenOutcomes) -> bool {
    blessed.outcomes().all(|outcome| already.outcomes().any(|already| is_equivalent(already, outcome)))
}

fn is_equivalent(already: &Timeline, timeline: &Timeline) -> bool {
    let breaches = |timeline: &Timeline| {
        let broken = timeline.steps.iter().filter(|step| !step.breaches.is_empty());
        broken.map(|step| (step.id, step.breaches.clone())).collect::<Vec<_>>()
    };
    let same = crate::compare(already, timeline).is_ok_and(|comparison| comparison.is_same());
    same && breaches(already) == breaches(timeline)
}

/// A problem with golden timelines: a file that is not used, or a case without one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum GoldenProblem {
    /// The timeline is of another version of its case.
    Stale(PathBuf, PathBuf),
    /// There is no case for this timeline.
    Orphaned(PathBuf),
    /// The timeline of another version equals the default one.
    Superfluous(PathBuf, PathBuf),
    /// The case has no timeline.
    Unblessed(PathBuf),
    /// The timeline cannot be read, for this reason.
    Unreadable(PathBuf, String),
    /// The timeline is an outcome that is never read, because the file with the number before it is
    /// missing.
    Gap(PathBuf, PathBuf),
    /// The timeline is one of several outcomes, but its case expects a single one.
    UnexpectedOutcome(PathBuf, PathBuf),
}

impl GoldenProblem {
    /// The file with the problem.
    pub fn path(&self) -> &Path {
        match self {
            Self::Stale(path, _)
            | Self::Orphaned(path)
            | Self::Superfluous(path, _)
            | Self::Unblessed(path)
            | Self::Unreadable(path, _)
            | Self::Gap(path, _)
            | Self::UnexpectedOutcome(path, _) => path,
        }
    }
}

impl fmt::Display for GoldenProblem {
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
            Self::UnexpectedOutcome(_, case) => {
                let case = case.display();
                write!(f, "unasked     {path}: {case} has one outcome; remove it, or say `expectation: outcomes`")
            }
        }
    }
}

/// Finds problems with the timelines of these cases.
///
/// # Errors
/// A file or folder cannot be read.
pub fn find_problems(cases: &[PathBuf]) -> Result<Vec<GoldenProblem>, GoldenError> {
    let mut problems = Vec::new();
    for file in cases {
        let text = collection::read(file).map_err(|source| GoldenError::File { path: file.clone(), source })?;
        let text = String::from_utf8_lossy(&text);
        let digest = digest_of_case(&text);
        for case in case::load(file).unwrap_or_default().iter().filter(|case| case.expectation.is_blessed()) {
            problems.extend(problems_of(case, &digest)?);
        }
    }
    Ok(problems)
}

/// Finds problems with the timelines of one case, whose file has this digest.
fn problems_of(case: &Case, digest: &str) -> Result<Vec<GoldenProblem>, GoldenError> {
    let (named, beside) = (PathBuf::from(case.argument()), case.timeline_base());
    let several = case.expectation == Expectation::Outcomes;
    let golden = match GoldenTimelines::load_beside(&beside) {
        Err(GoldenError::Timeline { path, source }) => {
            return Ok(vec![GoldenProblem::Unreadable(path, source.to_string())]);
        }
        Err(error) => return Err(error),
        Ok(golden) if golden.is_empty() => return Ok(vec![GoldenProblem::Unblessed(named)]),
        Ok(golden) => golden,
    };
    let mut problems = Vec::new();
    for (label, blessed) in &golden.all {
        let base = label.beside(&beside);
        let files = || outcomes::files_of(&base, blessed);
        let stale = files().filter(|(_, it)| it.case.as_ref().is_some_and(|then| then != digest));
        let stale: Vec<_> = stale.map(|(path, _)| GoldenProblem::Stale(path, named.clone())).collect();
        let is_fresh = stale.is_empty();
        problems.extend(stale);
        if is_fresh && golden.default_as(*label, &case.controllers).is_some_and(|already| covers(&already, blessed)) {
            problems.push(GoldenProblem::Superfluous(base.clone(), TimelineLabel::default().beside(&beside)));
        }
        let unasked = files().skip(if several { usize::MAX } else { 1 });
        problems.extend(unasked.map(|(path, _)| GoldenProblem::UnexpectedOutcome(path, named.clone())));
    }
    Ok(problems)
}

/// Finds timelines below a folder that have no case, and outcomes with a gap before their number.
///
/// # Errors
/// The folder cannot be read.
pub fn find_orphans(folder: &Path) -> Result<Vec<GoldenProblem>, GoldenError> {
    let mut problems = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.map_err(|error| GoldenError::File { path: folder.to_owned(), source: error.into() })?;
        let path = entry.into_path();
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        match extension.as_str() {
            "timeline" if !has_case(&path) => problems.push(GoldenProblem::Orphaned(path)),
            "timeline" => problems.extend(outcomes::find_gap(&path)),
            _ => {}
        }
    }
    Ok(problems)
}

/// Whether this timeline has a case: `a.timeline` and `a.on-v1.33.or-2.timeline` belong to
/// `a.yaml`.
fn has_case(timeline: &Path) -> bool {
    let name = outcomes::base_path(timeline).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let is_case = |case: &str, extension| timeline.with_file_name(format!("{case}.{extension}")).is_file();
    TimelineLabel::parse(&name).is_some_and(|(case, _)| {
        let (case, _) = case::split_profile(case);
        EXTENSIONS.into_iter().any(|extension| is_case(case, extension))
    })
}

fn read(path: &Path) -> Result<Option<Timeline>, GoldenError> {
    match collection::read_to_string(path) {
        Ok(text) => {
            let read = Timeline::parse(&text).map(|timeline| Some(timeline.sanitize()));
            read.map_err(|source| GoldenError::Timeline { path: path.to_owned(), source })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(GoldenError::File { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use lockstep_recording::{Identity, testing};

    use super::*;

    const ONE: &str = include_str!("../../../cases/recreate/three.timeline");

    #[test]
    fn timeline_of_server_takes_precedence() {
        let folder = tempfile::tempdir().unwrap();
        let case = folder.path().join("a.yaml");
        assert!(GoldenTimelines::load_beside(&case).unwrap().is_empty());
        std::fs::write(TimelineLabel::of("", "kube-apiserver v1.36.3").beside(&case), ONE).unwrap();
        std::fs::write(TimelineLabel::of("", "kube-apiserver v1.33.13").beside(&case), ONE.replace("app:1", "app:0"))
            .unwrap();
        std::fs::write(folder.path().join("another.on-v1.33.timeline"), "none of this case's").unwrap();
        let golden = GoldenTimelines::load_beside(&case).unwrap();
        let image = |server: &str| golden.for_server(server).unwrap().first().steps[0].label.contains("image=app:0");
        assert!(image("kube-apiserver v1.33.1, real pods"));
        assert!(!image("kube-apiserver v1.36.3") && !image("kube-apiserver v1.35.0"));
    }

    /// The header of a recording of this controller on this server.
    fn header(name: &str, version: &str, server: &str) -> Header {
        let mut header = testing::RecordingBuilder::new().end().header;
        header.subject = Identity::new(name, "", version);
        let is_upstream = name.split(':').next() == Some("upstream");
        header.kind = if is_upstream { SubjectKind::Upstream } else { SubjectKind::Command };
        header.cluster.version = server.to_owned();
        header
    }

    #[test]
    fn other_upstream_versions_use_their_own_timelines() {
        let folder = tempfile::tempdir().unwrap();
        let case = folder.path().join("a.yaml");
        let (old, now, new) = ("kube-controller-manager v1.15.5", "kube-controller-manager v1.36.3", "v1.29.15");
        let (here, there) = ("kube-apiserver v1.36.3", "kube-apiserver v1.33.13");
        std::fs::write(TimelineLabel::of(now, here).beside(&case), ONE).unwrap();
        std::fs::write(TimelineLabel::of(now, there).beside(&case), ONE.replace("app:1", "app:0")).unwrap();
        std::fs::write(TimelineLabel::of(old, here).beside(&case), ONE.replace("app:1", "app:15")).unwrap();
        let golden = GoldenTimelines::load_beside(&case).unwrap();
        assert_eq!(golden.minors().collect::<Vec<_>>(), [Minor::new(15)]);
        let compared_with = |name, version, server, reported_as: Option<u32>| {
            let timeline = golden
                .for_subject(&header(name, version, server), reported_as.map(Minor::new))
                .for_server(server)
                .cloned();
            let timeline = timeline.unwrap().first().to_string();
            let image = timeline.split("image=").nth(1).unwrap().split([' ', ';']).next().unwrap().to_owned();
            (image, timeline.contains("to 3 from 0") || timeline.contains("rs1 to 3\""))
        };
        let expected = |image: &str, old: bool| (image.to_owned(), old);
        assert_eq!(compared_with("upstream", now, here, None), expected("app:1", false));
        assert_eq!(compared_with("upstream:v1.15.5", old, here, None), expected("app:15", false));
        assert_eq!(compared_with("upstream:../kcm", old, there, None), expected("app:15", false));
        assert_eq!(compared_with("upstream:v1.29.15", new, here, None), expected("app:1", true));
        assert_eq!(compared_with("upstream:v1.29.15", new, there, None), expected("app:0", true));
        // A user's own program is compared with the default, whatever it calls itself, unless
        // another version is requested.
        assert_eq!(compared_with("command:x", old, here, None), expected("app:1", false));
        assert_eq!(compared_with("command:x", "x", here, Some(15)), expected("app:15", false));
        assert_eq!(compared_with("upstream:v1.15.5", old, here, Some(36)), expected("app:1", false));
    }

    #[test]
    fn finds_problems_of_golden_timelines() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let case = include_str!("../../../cases/recreate/three.yaml");
        let translated =
            versions::as_reported_by(Timeline::parse(ONE).unwrap(), Minor::new(34), &ControllerSet::default())
                .to_string();
        for (name, text) in [
            ("good.yaml", case),
            ("good.timeline", ONE),
            ("good.on-v1.33.timeline", &ONE.replace("rs1 3 -> 0", "rs1 3 -> 1")),
            ("good.by-v1.15.timeline", &ONE.replace("rs1 3 -> 0", "rs1 3 -> 1")),
            ("good.by-v1.34.timeline", &translated),
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
        let mut found = find_problems(&cases).unwrap();
        found.extend(find_orphans(folder.path()).unwrap());
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

    /// Every timeline of another version or server is what its name says, belongs to a case, and
    /// differs from the default one.
    #[test]
    fn overlays_of_collection_differ_from_default() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../cases");
        let mut by = std::collections::BTreeSet::new();
        for entry in walkdir::WalkDir::new(&folder) {
            let path = entry.unwrap().into_path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let Some((case, label)) =
                TimelineLabel::parse(&name).filter(|(_, label)| *label != TimelineLabel::default())
            else {
                continue;
            };
            let case = path.with_file_name(format!("{case}.yaml"));
            let blessed = outcomes::read_outcomes(&path).unwrap().unwrap();
            let timeline = blessed.first();
            let from = timeline.provenance.as_ref().unwrap();
            assert_eq!(TimelineLabel::of(&from.controller, &from.server), label, "{name}");
            let under_test = case::load_one(&case).unwrap().controllers;
            let already = GoldenTimelines::load_beside(&case).unwrap().default_as(label, &under_test).unwrap();
            assert_eq!(already.first().case, timeline.case, "{name} is of another version of its case");
            assert!(!covers(&already, &blessed), "{name} says what the default one says");
            by.extend(label.by);
        }
        assert!(by.contains(&Minor::new(15)), "{by:?}");
    }

    #[test]
    fn error_names_file_that_is_not_a_timeline() {
        let folder = tempfile::tempdir().unwrap();
        let case = folder.path().join("a.yaml");
        std::fs::write(case.with_extension("on-v1.33.timeline"), "nonsense").unwrap();
        let error = GoldenTimelines::load_beside(&case).unwrap_err().to_string();
        assert!(error.contains("a.on-v1.33.timeline") && error.contains("bless it again"), "{error}");
    }
}
