//! The files of golden timelines, by their names: `CASE[.by-v1.15][.on-v1.33].timeline`.
//!
//! Of several outcomes, `NAME.timeline` is the most frequent; `NAME.or-2.timeline`,
//! `NAME.or-3.timeline`, … are the others. Numbers must have no gap: reading stops at the first
//! missing one.

use std::path::{Path, PathBuf};

use lockstep_support::collection;
use lockstep_timeline::versions::Minor;
use lockstep_timeline::{GoldenOutcomes, Timeline, TimelineError};

/// The prefix of an outcome's number in a file name.
const OR: &str = "or-";

/// Why a timeline cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// The file is not a timeline.
    #[error("{}: {source}", path.display())]
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

/// The controllers and the server of a timeline, unless they are the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct TimelineLabel {
    /// The controllers' minor.
    pub(super) by: Option<Minor>,
    /// The server's minor.
    pub(super) on: Option<Minor>,
}

impl TimelineLabel {
    /// The label for programs with these titles: `kube-controller-manager v1.15.5`, `kube-apiserver
    /// v1.36.3`.
    pub(super) fn of(controller: &str, server: &str) -> Self {
        let other = |text: &str| Minor::of(text).filter(|minor| !minor.is_default());
        Self { by: other(controller), on: other(server) }
    }

    /// The part between the case's name and `timeline`.
    fn infix(self) -> String {
        let by = self.by.map_or_else(String::new, |minor| format!("by-{minor}."));
        let on = self.on.map_or_else(String::new, |minor| format!("on-{minor}."));
        by + &on
    }

    pub(super) fn beside(self, case: &Path) -> PathBuf {
        case.with_extension(format!("{}timeline", self.infix()))
    }

    /// Parses a file name to the case's name and the label.
    pub(super) fn parse(file: &str) -> Option<(&str, Self)> {
        let mut rest = file.strip_suffix(".timeline")?;
        let mut label = Self::default();
        for (mark, minor) in [(".on-", &mut label.on), (".by-", &mut label.by)] {
            if let Some((before, text)) = rest.rsplit_once(mark)
                && let Ok(found) = text.parse::<Minor>()
                && found.to_string() == text
            {
                (rest, *minor) = (before, Some(found));
            }
        }
        Some((rest, label))
    }
}

/// The file of the outcome with this number, from 1; `base` is that of the first.
pub(crate) fn path(base: &Path, number: usize) -> PathBuf {
    match number {
        0 | 1 => base.to_owned(),
        _ => base.with_extension(format!("{OR}{number}.timeline")),
    }
}

/// Reads a timeline, if its file exists.
fn read(path: &Path) -> Result<Option<Timeline>, GoldenError> {
    match collection::read_to_string(path) {
        Ok(text) => {
            // A subject compared with the rest of a file would have taken steps that are not in it.
            let cut_off =
                || TimelineError { line: text.lines().count().max(1), why: "it is cut off before `events`".to_owned() };
            let is_whole = text.lines().any(|line| line.starts_with("events"));
            let read = Timeline::parse(&text).and_then(|timeline| is_whole.then_some(timeline).ok_or_else(cut_off));
            let read = read.map(|timeline| Some(timeline.sanitize()));
            read.map_err(|source| GoldenError::Timeline { path: path.to_owned(), source })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(GoldenError::File { path: path.to_owned(), source }),
    }
}

/// Reads all outcomes; `base` is the file of the first.
///
/// # Errors
/// One of them is not readable.
pub(super) fn read_outcomes(base: &Path) -> Result<Option<GoldenOutcomes>, GoldenError> {
    let Some(first) = read(base)? else { return Ok(None) };
    let mut others = Vec::new();
    while let Some(other) = read(&path(base, others.len() + 2))? {
        others.push(other);
    }
    Ok(Some(GoldenOutcomes::new(first, others)))
}

/// Writes exactly these outcomes beside their case, and removes other outcomes.
///
/// # Errors
/// A file cannot be written or removed.
pub fn write(base: &Path, blessed: &GoldenOutcomes) -> Result<(), GoldenError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| GoldenError::File { path, source }
    };
    for (number, outcome) in (1..).zip(blessed.outcomes()) {
        let path = path(base, number);
        replace(&path, &outcome.to_string()).map_err(failed(&path))?;
    }
    for number in blessed.count() + 1.. {
        let path = path(base, number);
        match std::fs::remove_file(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => break,
            Err(source) => return Err(GoldenError::File { path, source }),
        }
    }
    Ok(())
}

/// Writes a file. If that is interrupted, the old content stays whole.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let part = path.with_extension("timeline.part");
    std::fs::write(&part, text)?;
    std::fs::rename(&part, path)
}

/// Whether this is an outcome's file, by its name: the number, or `None` if it is malformed.
pub(super) fn number(path: &Path) -> Option<Option<usize>> {
    let stem = path.file_stem()?.to_str()?;
    let (_, rest) = stem.rsplit_once('.')?;
    let digits = rest.strip_prefix(OR)?;
    let number = digits.parse().ok().filter(|number: &usize| *number > 1 && number.to_string() == digits);
    Some(number)
}

/// The file of the outcome before this one; that of the first for a malformed number.
pub(super) fn previous_path(path: &Path) -> PathBuf {
    let base = base_path(path);
    number(path).flatten().map_or_else(|| base.clone(), |number| self::path(&base, number - 1))
}

/// The file of the first outcome, given that of any.
pub(super) fn base_path(path: &Path) -> PathBuf {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    match name.rsplit_once('.').filter(|_| number(path).is_some()) {
        Some((base, _)) => path.with_file_name(format!("{base}.timeline")),
        None => path.to_owned(),
    }
}

/// The files of these outcomes, with their timelines.
pub(super) fn files_of<'a>(
    base: &'a Path,
    blessed: &'a GoldenOutcomes,
) -> impl Iterator<Item = (PathBuf, &'a Timeline)> {
    (1..).zip(blessed.outcomes()).map(|(number, outcome)| (path(base, number), outcome))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const ONE: &str = include_str!("../../../../cases/recreate/three.timeline");

    fn timelines(images: &[&str]) -> Vec<Timeline> {
        images.iter().map(|image| Timeline::parse(&ONE.replace("app:1", image)).unwrap()).collect()
    }

    #[test]
    fn writing_outcomes_removes_others() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("a.on-v1.33.timeline");
        assert_eq!(read_outcomes(&base).unwrap(), None);
        let mut all = timelines(&["app:1", "app:2", "app:3"]);
        let three = GoldenOutcomes::new(all.remove(0), all);
        write(&base, &three).unwrap();
        assert!(folder.path().join("a.on-v1.33.or-3.timeline").is_file());
        assert_eq!(read_outcomes(&base).unwrap(), Some(three.clone()));
        let one = GoldenOutcomes::from(three.outcome(2).clone());
        write(&base, &one).unwrap();
        assert_eq!(read_outcomes(&base).unwrap(), Some(one));
        assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    }

    #[test]
    fn old_timeline_is_never_overwritten_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("a.timeline");
        let [old, new] = ["app:1", "app:2"].map(|image| timelines(&[image]).remove(0));
        write(&base, &old.clone().into()).unwrap();
        let reader = std::fs::File::open(&base).unwrap();
        write(&base, &new.clone().into()).unwrap();
        assert_eq!(std::io::read_to_string(reader).unwrap(), old.to_string());
        assert_eq!(std::fs::read_to_string(&base).unwrap(), new.to_string());
    }

    #[test]
    fn outcome_numbers_begin_at_two() {
        let of = |name: &str| number(Path::new(name));
        assert_eq!((of("a.timeline"), of("a.on-v1.33.timeline"), of("or-2.timeline")), (None, None, None));
        assert_eq!((of("a.or-2.timeline"), of("a.on-v1.33.or-12.timeline")), (Some(Some(2)), Some(Some(12))));
        assert_eq!(
            (of("a.or-1.timeline"), of("a.or-02.timeline"), of("a.or-x.timeline")),
            (Some(None), Some(None), Some(None))
        );
        assert_eq!(previous_path(Path::new("x/a.or-3.timeline")), Path::new("x/a.or-2.timeline"));
        assert_eq!(previous_path(Path::new("x/a.on-v1.33.or-2.timeline")), Path::new("x/a.on-v1.33.timeline"));
    }

    #[rstest]
    #[case("kube-controller-manager v1.36.3", "kube-apiserver v1.36.3", "a.timeline")]
    #[case("kube-controller-manager v1.15.5", "kube-apiserver v1.36.3", "a.by-v1.15.timeline")]
    #[case("kube-controller-manager v1.36.3", "kube-apiserver v1.33.13", "a.on-v1.33.timeline")]
    #[case("kube-controller-manager v1.15.5", "simulated v1.33.13", "a.by-v1.15.on-v1.33.timeline")]
    fn names_round_trip(#[case] controller: &str, #[case] server: &str, #[case] name: &str) {
        let label = TimelineLabel::of(controller, server);
        assert_eq!(label.beside(Path::new("x/a.yaml")), Path::new("x").join(name));
        assert_eq!(TimelineLabel::parse(name), Some(("a", label)));
    }

    #[test]
    fn other_names_belong_to_the_case() {
        assert_eq!(TimelineLabel::parse("a.by-hand.timeline"), Some(("a.by-hand", TimelineLabel::default())));
        assert_eq!(TimelineLabel::parse("a.on-v1.33.13.timeline"), Some(("a.on-v1.33.13", TimelineLabel::default())));
        assert_eq!(TimelineLabel::parse("a.yaml"), None);
    }
}
