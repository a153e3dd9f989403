//! Config-restart controllers of other projects: xing's kubernetes-deployment-restart-controller
//! and Stakater's Reloader, from which the golden timelines of their profiles are recorded.
//!
//! The user gives the project's own program. It runs as a process, in real time, and is started
//! with the project's own flags and variables for a case's options. Both programs listen on fixed
//! ports, so only one of a kind can run on a machine at a time: a file lock separates those of one
//! user.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lockstep_case::{RestartOptions, RestartProfile, RestartWebhook};
use lockstep_cluster as cluster;
use lockstep_intercept::WEBHOOK;
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_support::private_fs;

use crate::{InterceptorEndpoint, SubjectError, command};

/// Another project's config-restart controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// xing's kubernetes-deployment-restart-controller.
    Xing,
    /// Stakater's Reloader.
    Reloader,
}

impl Reference {
    /// Every reference controller.
    pub(crate) const ALL: [Self; 2] = [Self::Xing, Self::Reloader];

    /// The subject's name on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Xing => "xing",
            Self::Reloader => "reloader",
        }
    }

    /// The port on which the program always listens.
    const fn port(self) -> u16 {
        match self {
            Self::Xing => 10254,
            Self::Reloader => 9090,
        }
    }

    /// The restart profile of the cases that it decides.
    #[must_use]
    pub const fn profile(self) -> RestartProfile {
        match self {
            Self::Xing => RestartProfile::Xing,
            Self::Reloader => RestartProfile::Reloader,
        }
    }

    /// The controller that decides cases of a profile, if there is one.
    #[must_use]
    pub fn of(profile: RestartProfile) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.profile() == profile)
    }

    /// The controllers that it brings.
    #[must_use]
    pub fn controllers() -> ControllerSet {
        ControllerSet::from_iter([Controller::ConfigRestart])
    }

    /// Why it does not support these options, if it does not.
    #[must_use]
    pub(crate) fn lacks(self, options: &RestartOptions) -> Option<String> {
        let RestartOptions {
            profile,
            grace_period: grace,
            max_wait: longest,
            budget,
            ignored_errors,
            dry_run,
            webhook,
            flags,
        } = options;
        if *profile != self.profile() {
            return Some(format!(
                "the case is of restart profile {profile}, and {} of {}",
                self.as_str(),
                self.profile()
            ));
        }
        let its_own = match self {
            Self::Xing => flags.is_empty() && webhook.is_none() && grace.is_none_or(|grace| grace.subsec_nanos() == 0),
            Self::Reloader => grace.is_none() && ignored_errors.is_empty() && *webhook != Some(RestartWebhook::Json),
        };
        let others = longest.is_some() || budget.is_some() || *dry_run;
        (others || !its_own).then(|| format!("the case sets restart options that {} does not have", self.as_str()))
    }

    /// The environment variables for these options: where Reloader sends alerts. `base` is the
    /// interceptor's URL.
    fn environment(self, options: &RestartOptions, base: &str) -> BTreeMap<String, String> {
        let sink = options.webhook.filter(|webhook| self == Self::Reloader && *webhook != RestartWebhook::Instead);
        let variables = sink.map(|sink| {
            let sink = sink.as_str().to_owned();
            [("ON_RELOAD", "true".to_owned()), ("SINK", sink), ("WEBHOOK_URL", format!("{base}{WEBHOOK}"))]
        });
        let variables = variables.into_iter().flatten();
        variables.map(|(name, value)| (format!("ALERT_{name}"), value)).collect()
    }

    /// The flags for these options.
    fn flags(self, options: &RestartOptions, base: &str) -> Vec<String> {
        match self {
            Self::Xing => {
                let grace = options.grace_period.map(|grace| format!("--restart-grace-period={}", grace.as_secs()));
                let ignored = options.ignored_errors.iter().map(|part| format!("--ignored-errors={part}"));
                grace.into_iter().chain(ignored).collect()
            }
            Self::Reloader => {
                let instead = options.webhook.filter(|webhook| *webhook == RestartWebhook::Instead);
                let instead = instead.map(|_| format!("--webhook-url={base}{WEBHOOK}"));
                options.flags.iter().cloned().chain(instead).collect()
            }
        }
    }

    /// Finds the program; also returns its name and version.
    pub(super) async fn find(self, program: &str) -> Result<(PathBuf, String), SubjectError> {
        let path = command::find(program)?;
        let title = match self {
            Self::Xing => command::version(&path).await.split(' ').take(2).collect::<Vec<_>>().join(" "),
            // It does not print its version, and connects to a cluster before it reads its flags.
            Self::Reloader => "reloader".to_owned(),
        };
        Ok((path, title))
    }

    /// The flags and variables of a process, from a case's options.
    pub(super) fn process_options(
        self,
        options: &RestartOptions,
        interceptor: &InterceptorEndpoint,
        folder: &Path,
    ) -> std::io::Result<(Vec<String>, BTreeMap<String, String>)> {
        let first = match self {
            Self::Xing => vec!["--verbose=1".to_owned()],
            Self::Reloader => Vec::new(),
        };
        let mut environment = self.environment(options, &interceptor.url);
        if options.webhook.is_some() {
            // The project's webhook client trusts the system's CAs, which this variable replaces in
            // Go.
            let file = folder.join("interceptor.pem");
            private_fs::write(&file, interceptor.ca_pem.as_bytes())?;
            environment.insert("SSL_CERT_FILE".to_owned(), file.display().to_string());
        }
        Ok((first.into_iter().chain(self.flags(options, &interceptor.url)).collect(), environment))
    }

    pub(super) async fn lock_port(self) -> Result<cluster::FileLock, SubjectError> {
        Ok(cluster::lock_in_user_dir(&format!("port-{}.lock", self.port())).await?)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn options_become_flags_where_the_project_has_them() {
        let grace = Some(Duration::from_secs(30));
        let options = RestartOptions {
            profile: RestartProfile::Xing,
            grace_period: grace,
            ignored_errors: vec!["denied".to_owned()],
            ..RestartOptions::default()
        };
        assert_eq!(Reference::Xing.lacks(&options), None);
        assert_eq!(
            Reference::Xing.flags(&options, "https://x"),
            ["--restart-grace-period=30", "--ignored-errors=denied"]
        );
        let other = RestartOptions { dry_run: true, ..options.clone() };
        assert!(Reference::Xing.lacks(&other).is_some_and(|why| why.contains("options")));
        assert!(Reference::Reloader.lacks(&options).is_some_and(|why| why.contains("profile xing")));
        let flags = vec!["--reload-strategy=annotations".to_owned()];
        let options = RestartOptions { profile: RestartProfile::Reloader, flags: flags.clone(), ..Default::default() };
        let of = Reference::Reloader;
        assert_eq!((of.lacks(&options), of.flags(&options, "https://x")), (None, flags));
        let options = |webhook| RestartOptions {
            profile: RestartProfile::Reloader,
            webhook: Some(webhook),
            ..RestartOptions::default()
        };
        let instead = options(RestartWebhook::Instead);
        assert_eq!(of.flags(&instead, "https://x"), ["--webhook-url=https://x/lockstep/webhook"]);
        assert_eq!(of.environment(&instead, "https://x"), BTreeMap::new());
        let alerts = [("ON_RELOAD", "true"), ("SINK", "slack"), ("WEBHOOK_URL", "https://x/lockstep/webhook")];
        let alerts = alerts.map(|(name, value)| (format!("ALERT_{name}"), value.to_owned()));
        assert_eq!(of.environment(&options(RestartWebhook::Slack), "https://x"), alerts.into());
        assert_eq!(of.flags(&options(RestartWebhook::Slack), "https://x"), Vec::<String>::new());
        assert!(of.lacks(&options(RestartWebhook::Json)).is_some());
    }
}
