//! What an operator can choose about restarts.

use std::time::Duration;

use super::checksum_keys::SecretChecksums;
use super::reloader::ReloaderSettings;

/// Whose choices are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// xing's controller v1.3.0, its defects included, save that it neither crashes over an annotation that is `null` nor hangs when a
    /// write fails while it ends.
    Xing,
    /// No restart is missed, and adopting a workload does not roll it out.
    #[default]
    Safe,
    /// Stakater's Reloader v1.4.21, by its annotations, the changes that it loses included.
    Reloader,
}

/// How restarts are decided.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestartSettings {
    /// Whose choices are followed.
    pub profile: Profile,
    /// Whether Secrets restart workloads, and how their checksums are made.
    pub secrets: SecretChecksums,
    /// How long changes are gathered.
    pub window: Window,
    /// How often one workload may be restarted; of no meaning to xing's profile.
    pub budget: Budget,
    /// Parts of errors over which the controller does not end (xing), or that are no news (safe).
    pub ignored_errors: Vec<String>,
    /// What is chosen besides in profile `reloader`, and of no meaning to the others.
    pub reloader: ReloaderSettings,
    /// Whether to write nothing but reports of what would be written.
    pub dry_run: bool,
}

/// How long changes are gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// xing's RESTART_CHECK_PERIOD.
    pub check_period: Duration,
    /// xing's RESTART_GRACE_PERIOD.
    pub grace_period: Duration,
    /// How long a sliding window slides.
    pub longest: Duration,
}

impl Default for Window {
    fn default() -> Self {
        Self {
            check_period: Duration::from_millis(500),
            grace_period: Duration::from_secs(5),
            longest: Duration::from_secs(60),
        }
    }
}

/// How often one workload may be restarted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Restarts within the period; 0: no limit.
    pub restarts: u32,
    /// The period.
    pub period: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self { restarts: 10, period: Duration::from_secs(3600) }
    }
}
