//! Finds problems with golden timelines: files that are not used, and cases without one.

use std::fmt;
use std::path::{Path, PathBuf};

use lockstep_case::rules::Expectation;
use lockstep_case::{self as case, Case, EXTENSIONS};
use lockstep_support::collection;
use lockstep_support::sanitize::quote;
use lockstep_timeline::digest_of_case;

use super::outcomes::{self, GoldenError, TimelineLabel};
use super::{GoldenTimelines, covers};

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
                let case = quote(&case.display().to_string());
                write!(f, "stale       {path}: its case has changed since; `lockstep bless {case}`")
            }
            Self::Orphaned(_) => {
                write!(f, "orphaned    {path}: it has no case; remove it, or restore the case")
            }
            Self::Superfluous(_, default) => {
                write!(f, "superfluous {path}: says what {} does; remove it", default.display())
            }
            Self::Unblessed(_) => {
                write!(f, "unblessed   {path}: `lockstep bless {}`", quote(&path.to_string()))
            }
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
            "timeline" => problems.extend(find_gap(&path)),
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

/// Reports an outcome that is never read: its number is malformed, or the one before is missing.
fn find_gap(path: &Path) -> Option<GoldenProblem> {
    let number = outcomes::number(path)?;
    let before = outcomes::previous_path(path);
    (number.is_none() || !before.is_file()).then(|| GoldenProblem::Gap(path.to_owned(), before))
}

#[cfg(test)]
mod tests {
    use lockstep_recording::controllers::ControllerSet;
    use lockstep_timeline::Timeline;
    use lockstep_timeline::versions::{self, Minor};

    use super::*;

    const ONE: &str = include_str!("../../../../cases/recreate/three.timeline");

    #[test]
    fn commands_of_problems_quote_the_path() {
        let case = PathBuf::from("my own/new.yaml");
        let unblessed = GoldenProblem::Unblessed(case.clone()).to_string();
        assert_eq!(unblessed, "unblessed   my own/new.yaml: `lockstep bless 'my own/new.yaml'`");
        let stale = GoldenProblem::Stale("new.timeline".into(), case).to_string();
        assert!(stale.ends_with("`lockstep bless 'my own/new.yaml'`"), "{stale}");
    }

    #[test]
    fn finds_problems_of_golden_timelines() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let case = include_str!("../../../../cases/recreate/three.yaml");
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
}
