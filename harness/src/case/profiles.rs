//! Files that stand for several cases: `restart: {profiles: [safe, xing]}` is one case per restart
//! profile.
//!
//! Each is called `area/name@PROFILE`, in reports and as a trial; `cases/area/name.yaml@PROFILE`
//! names one of them on a command line, and the path alone names them all. A file with a single
//! profile stands for one case, whose name is the file's.

use std::path::{Path, PathBuf};

use super::finding::CaseError;
use super::model::{Case, RestartProfile};
use crate::plain;
use crate::rules::Expectation;

/// The name or path of a file, and the profile that stands behind it: `area/name@xing`.
pub(crate) fn split(text: &str) -> (&str, Option<RestartProfile>) {
    let parts = text.rsplit_once('@').and_then(|(file, profile)| Some((file, profile.parse().ok()?)));
    parts.map_or((text, None), |(file, profile)| (file, Some(profile)))
}

/// The file that a path on the command line means, and the profile that is wanted of it, if only
/// one is.
pub(super) fn on_disk(path: &Path) -> (PathBuf, Option<RestartProfile>) {
    match path.to_str().map(split) {
        Some((file, Some(profile))) if !path.exists() => (PathBuf::from(file), Some(profile)),
        _ => (path.to_owned(), None),
    }
}

impl Case {
    /// What names this case alone on a command line: its file's path, with `@PROFILE` if the file
    /// stands for several cases.
    #[must_use]
    pub fn argument(&self) -> String {
        format!("{}{}", self.path, self.suffix())
    }

    /// `@PROFILE`, if its file stands for several cases.
    pub(crate) fn suffix(&self) -> String {
        if self.profiles.is_empty() { String::new() } else { format!("@{}", self.restart.profile) }
    }

    /// One case was asked for, and this one's file stands for several.
    pub(super) fn is_one_of_several(&self) -> CaseError {
        let profiles: Vec<&str> = self.profiles.iter().map(|profile| profile.as_str()).collect();
        let path = plain::line(&self.path).into_owned();
        CaseError::Several { path, profiles: profiles.join(", "), first: self.restart.profile.to_string() }
    }

    /// What its golden timelines are named after: its file, with `@PROFILE` before the extension if
    /// the file stands for several cases.
    #[must_use]
    pub fn timelines_of(&self) -> PathBuf {
        let path = Path::new(&self.path);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if self.profiles.is_empty() {
            return path.to_owned();
        }
        path.with_file_name(format!("{stem}{}.{extension}", self.suffix()))
    }

    /// The case of this profile. Of several, those of other projects have been recorded, and the
    /// others have their rules.
    pub(super) fn with_profile(mut self, profile: RestartProfile) -> Self {
        self.restart.profile = profile;
        if profile.is_recorded() {
            self.expectation = Expectation::Timeline;
        }
        self
    }

    /// One case for each profile of its file, whose name it has so far.
    pub(super) fn each(self) -> Vec<Self> {
        if self.profiles.is_empty() {
            return vec![self];
        }
        let named = |profile: &RestartProfile| {
            let name = format!("{}@{profile}", self.name);
            Self { name, ..self.clone() }.with_profile(*profile)
        };
        self.profiles.iter().map(named).collect()
    }
}
