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
//! (`subject::Reference`). A case of a file with several profiles has its profile in the
//! name of its timeline: `NAME@xing.timeline`.
//!
//! If upstream itself has several outcomes, each of these files is the most frequent one and has
//! others beside it: see [`outcomes`], which has the names of all files. `problems` finds files
//! that are not used.

pub mod outcomes;
mod problems;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lockstep_case::Case;
use lockstep_recording::controllers::ControllerSet;
use lockstep_recording::{Header, SubjectKind};
use lockstep_support::collection;
use lockstep_timeline::versions::{self, Minor};
use lockstep_timeline::{GoldenOutcomes, Timeline};
pub use outcomes::GoldenError;
use outcomes::TimelineLabel;
pub use problems::{GoldenProblem, find_orphans, find_problems};

/// Golden timelines by controller and server.
#[derive(Debug, Clone, Default)]
pub struct GoldenTimelines {
    all: BTreeMap<TimelineLabel, GoldenOutcomes>,
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
            let under_test = lockstep_case::load_one(&case).unwrap().controllers;
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
        assert!(error.contains("a.on-v1.33.timeline") && error.contains("bless the case again"), "{error}");
    }

    #[test]
    fn cut_off_timeline_is_refused_at_every_line_before_the_events() {
        let folder = tempfile::tempdir().unwrap();
        let case = folder.path().join("a.yaml");
        let golden = include_str!("../../../../cases/recreate/three.timeline");
        let lines: Vec<&str> = golden.split_inclusive('\n').collect();
        let events = lines.iter().position(|line| line.starts_with("events")).unwrap();
        let read = |count: usize| {
            std::fs::write(case.with_extension("timeline"), lines[..count].concat()).unwrap();
            GoldenTimelines::load_beside(&case)
        };
        for count in 0..=events {
            let error = read(count).unwrap_err().to_string();
            let wanted = format!("line {}: it is cut off before `events`", count.max(1));
            assert!(error.contains(&wanted), "{count}: {error}");
        }
        assert!(read(lines.len()).is_ok());
    }
}
