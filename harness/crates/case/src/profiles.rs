//! Files with several cases: `restart: {profiles: [safe, xing]}` is one case per restart profile.
//!
//! Each case is named `area/name@PROFILE` in reports and trials. On a command line
//! `cases/area/name.yaml@PROFILE` selects one of them, and the path alone selects all. A file with
//! a single profile is one case with the file's name.

use std::path::{Path, PathBuf};

use lockstep_support::sanitize;

use super::diagnostics::CaseError;
use super::model::{Case, RestartProfile};
use crate::rules::Expectation;

/// Splits a name or path into the file and the profile after it: `area/name@xing`.
pub fn split_profile(text: &str) -> (&str, Option<RestartProfile>) {
    let parts = text.rsplit_once('@').and_then(|(file, profile)| Some((file, profile.parse().ok()?)));
    parts.map_or((text, None), |(file, profile)| (file, Some(profile)))
}

/// The file of a path on the command line, and the profile if the path names one.
pub(super) fn file_and_profile(path: &Path) -> (PathBuf, Option<RestartProfile>) {
    match path.to_str().map(split_profile) {
        Some((file, Some(profile))) if !path.exists() => (PathBuf::from(file), Some(profile)),
        _ => (path.to_owned(), None),
    }
}

impl Case {
    /// The argument that selects this case alone on a command line: its file's path, with
    /// `@PROFILE` if the file has several cases.
    #[must_use]
    pub fn argument(&self) -> String {
        format!("{}{}", self.path, self.profile_suffix())
    }

    /// `@PROFILE` if the file has several cases, else an empty string.
    pub fn profile_suffix(&self) -> String {
        if self.profiles.is_empty() { String::new() } else { format!("@{}", self.restart.profile) }
    }

    /// The error if one case is expected and this case's file has several.
    pub(super) fn several_cases_error(&self) -> CaseError {
        let profiles: Vec<&str> = self.profiles.iter().map(|profile| profile.as_str()).collect();
        let path = sanitize::line(&self.path).into_owned();
        CaseError::SeveralCases { path, profiles: profiles.join(", "), first: self.restart.profile.to_string() }
    }

    /// The path from which the names of golden timelines are derived: the case file, with
    /// `@PROFILE` before the extension if the file has several cases.
    #[must_use]
    pub fn timeline_base(&self) -> PathBuf {
        let path = Path::new(&self.path);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if self.profiles.is_empty() {
            return path.to_owned();
        }
        path.with_file_name(format!("{stem}{}.{extension}", self.profile_suffix()))
    }

    /// The case of this profile. In a file with several, a case of another project's profile is
    /// compared with its golden timeline, and the others with their rules.
    pub(super) fn with_profile(mut self, profile: RestartProfile) -> Self {
        self.restart.profile = profile;
        if profile.is_recorded() {
            self.expectation = Expectation::Timeline;
        }
        self
    }

    /// Splits into one case for each profile of the file; until now the case has the file's name.
    pub(super) fn split_by_profile(self) -> Vec<Self> {
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
