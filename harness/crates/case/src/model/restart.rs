//! How a case of config restarts is to run.

use std::time::Duration;

/// How a config-restart controller must run; unset options have the controller's own defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestartOptions {
    /// Whose behaviour the controller follows.
    pub profile: RestartProfile,
    /// How long changes are gathered.
    pub grace_period: Option<Duration>,
    /// How long changes are gathered at most.
    pub max_wait: Option<Duration>,
    /// The maximum of restarts of one workload within a period.
    pub budget: Option<(u32, Duration)>,
    /// Parts of errors that are ignored.
    pub ignored_errors: Vec<String>,
    /// Whether it writes nothing.
    pub dry_run: bool,
    /// The format of webhook messages, if there are any.
    pub webhook: Option<RestartWebhook>,
    /// Flags in the format of the profile's own project.
    pub flags: Vec<String>,
}

impl RestartOptions {
    /// Whether only the profile is set.
    pub fn is_profile_alone(&self) -> bool {
        *self == Self { profile: self.profile, ..Self::default() }
    }
}

/// What is sent to a webhook, and in which format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartWebhook {
    /// Restarts, as JSON.
    Json,
    /// Restarts, as plain text.
    Raw,
    /// Restarts, as a message for Slack.
    Slack,
    /// Restarts, as a message for Microsoft Teams.
    Teams,
    /// Restarts, as a message for Google Chat.
    GoogleChat,
    /// Changes only, in place of restarts.
    Instead,
}

impl RestartWebhook {
    /// All of them, in the order of the case format.
    pub(crate) const ALL: [Self; 6] =
        [Self::Json, Self::Raw, Self::Slack, Self::Teams, Self::GoogleChat, Self::Instead];

    /// The word in a case.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Raw => "raw",
            Self::Slack => "slack",
            Self::Teams => "teams",
            Self::GoogleChat => "gchat",
            Self::Instead => "instead",
        }
    }

    /// Whether a profile supports it.
    pub(crate) const fn is_supported_by(self, profile: RestartProfile) -> bool {
        match profile {
            RestartProfile::Xing => false,
            RestartProfile::Safe => !matches!(self, Self::Instead),
            RestartProfile::Reloader => !matches!(self, Self::Json),
        }
    }
}

/// Whose behaviour a config-restart controller follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum RestartProfile {
    /// That of xing's controller.
    Xing,
    /// This project's own: it misses no restart, and does not restart workloads when it adopts
    /// them.
    #[default]
    Safe,
    /// That of Stakater's Reloader.
    Reloader,
}

impl RestartProfile {
    /// All profiles.
    pub const ALL: [Self; 3] = [Self::Xing, Self::Safe, Self::Reloader];

    /// The word in a case.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Xing => "xing",
            Self::Safe => "safe",
            Self::Reloader => "reloader",
        }
    }

    /// Whether golden timelines are recorded from another project's controller.
    pub(crate) const fn is_recorded(self) -> bool {
        matches!(self, Self::Xing | Self::Reloader)
    }
}

impl std::fmt::Display for RestartProfile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for RestartProfile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|profile| profile.as_str() == text);
        found.ok_or_else(|| format!("unknown restart profile '{text}': expected xing, safe or reloader"))
    }
}

/// Whose Deployment controller runs beside the subject, if the subject brings none: `with:
/// {deployment: upstream}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompanionController {
    /// That of kube-controller-manager. It is the default on every cluster but the simulated one,
    /// where it needs `--cluster-controllers upstream`.
    Upstream,
    /// This project's own, which is the default on the simulated cluster.
    Ours,
}
