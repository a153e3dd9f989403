//! Settings of the config-restart controller, and what they mean for kinds of configs, kinds of
//! workloads and namespaces.
//!
//! Cases: `config-restart/xing/s07-daemon-set`, `config-restart/safe/s07-daemon-set`,
//! `config-restart/reloader/job-ignored-by-flag`, `config-restart/reloader/rollout-without-flag`.

use std::str::FromStr;
use std::time::Duration;

use rollout_model::beginning;

use crate::names::{ConfigKind, WorkloadKind};
use crate::settings::checksum_keys::SecretChecksums;
use crate::settings::reloader::ReloaderSettings;
use crate::settings::webhook::Webhook;

/// Whose choices are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// xing's controller v1.3.0 including its defects, except that it neither crashes on an
    /// annotation that is `null` nor hangs when a write fails during shutdown.
    Xing,
    /// No restart is missed, and adopting a workload does not roll it out.
    #[default]
    Safe,
    /// Stakater's Reloader v1.4.21, by its annotations, including the changes that it loses.
    Reloader,
}

/// Settings of the config-restart controller.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RestartSettings {
    /// Whose choices are followed.
    pub profile: Profile,
    /// Whether Secrets restart workloads, and how their checksums are computed.
    pub secrets: SecretChecksums,
    /// How long changes are gathered.
    pub window: Window,
    /// How often one workload may be restarted; ignored in profile xing.
    pub budget: Budget,
    /// How long a restart waits after the change if no annotation decides; profile safe only.
    pub delay: Duration,
    /// How many workloads of a group are restarted at the same time; profile safe only.
    pub turns: GroupSettings,
    /// Parts of error messages that do not end the controller (profile xing), or that are not
    /// reported (profile safe).
    pub ignored_errors: Vec<String>,
    /// Further settings of profile `reloader`.
    pub reloader: ReloaderSettings,
    /// Where restarts are also reported; not in a dry run.
    pub webhook: Option<Webhook>,
    /// Whether to report what would be written instead of writing it.
    pub dry_run: bool,
}

/// How long changes are gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// xing's RESTART_CHECK_PERIOD.
    pub check_period: Duration,
    /// xing's RESTART_GRACE_PERIOD.
    pub grace_period: Duration,
    /// Longest time for which a sliding window is extended.
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
    /// Restarts within the period; 0 for no limit.
    pub restarts: u32,
    /// The period.
    pub period: Duration,
}

impl Default for Budget {
    fn default() -> Self {
        Self { restarts: 10, period: Duration::from_secs(3600) }
    }
}

/// How many workloads of a group are restarted at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupSettings {
    /// How many workloads may be unavailable if no annotation decides; `None` for any number.
    pub limit: Option<Limit>,
    /// After how long a rollout without a deadline of its own has failed.
    pub deadline: Duration,
}

impl Default for GroupSettings {
    fn default() -> Self {
        Self { limit: None, deadline: Duration::from_secs(600) }
    }
}

/// How many workloads of a group may be unavailable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// This number.
    Workloads(usize),
    /// A percentage, rounded down, at least one.
    Percent(usize),
}

impl Limit {
    /// The number for a group of this size.
    pub fn of(self, size: usize) -> usize {
        match self {
            Self::Workloads(number) => number,
            Self::Percent(percent) => (size * percent / 100).max(1),
        }
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let quoted = beginning(text, 100);
        let wrong = || format!("{quoted:?} is not a number from 1 on or a percentage from 1% to 100%");
        let (digits, is_percent) = text.strip_suffix('%').map_or((text, false), |digits| (digits, true));
        let is_plain = !digits.is_empty() && digits.len() < 7 && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number = digits.parse().ok().filter(|number| is_plain && *number > 0).ok_or_else(wrong)?;
        match is_percent {
            true if number > 100 => Err(wrong()),
            true => Ok(Self::Percent(number)),
            false => Ok(Self::Workloads(number)),
        }
    }
}

impl RestartSettings {
    /// How the checksums of Secrets are made: keyed in the safe profile and plain in the two
    /// others. With any other setting, Secrets are not followed.
    pub fn secret_checksums(&self) -> &SecretChecksums {
        match (self.profile, &self.secrets) {
            (Profile::Safe, SecretChecksums::Keyed(_))
            | (Profile::Xing | Profile::Reloader, SecretChecksums::Unkeyed) => &self.secrets,
            _ => &SecretChecksums::None,
        }
    }

    /// Whether configs of this kind restart workloads.
    pub fn follows(&self, kind: ConfigKind) -> bool {
        if self.profile == Profile::Reloader && self.ignores(kind) {
            return false;
        }
        kind == ConfigKind::ConfigMap || *self.secret_checksums() != SecretChecksums::None
    }

    /// Whether workloads of this kind are restarted.
    pub fn restarts(&self, kind: WorkloadKind) -> bool {
        let is_reloader = self.profile == Profile::Reloader;
        match kind {
            WorkloadKind::Deployment | WorkloadKind::StatefulSet => true,
            WorkloadKind::DaemonSet => self.profile != Profile::Xing,
            WorkloadKind::CronJob => is_reloader && !self.reloader.ignores_cron_jobs,
            WorkloadKind::Job => is_reloader && !self.reloader.ignores_jobs,
            WorkloadKind::Rollout => is_reloader && self.reloader.rollouts,
        }
    }

    /// Whether to watch namespaces: for their restart windows, unless this controller is limited to
    /// one namespace and so may not list them, or for Reloader's selector.
    pub fn follows_namespaces(&self, watches_all_namespaces: bool) -> bool {
        match self.profile {
            Profile::Safe => watches_all_namespaces,
            Profile::Xing => false,
            Profile::Reloader => self.reloader.namespace_labels().is_some(),
        }
    }

    /// Whether Reloader's flags say that configs of this kind restart nothing.
    fn ignores(&self, kind: ConfigKind) -> bool {
        match kind {
            ConfigKind::ConfigMap => self.reloader.ignores_config_maps,
            ConfigKind::Secret => self.reloader.ignores_secrets,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1", Some(1))]
    #[case("12", Some(12))]
    #[case("25%", Some(2))]
    #[case("1%", Some(1))]
    #[case("100%", Some(10))]
    #[case("0", None)]
    #[case("0%", None)]
    #[case("101%", None)]
    #[case("-1", None)]
    #[case("+1", None)]
    #[case("", None)]
    #[case("%", None)]
    #[case("one", None)]
    #[case("99999999999", None)]
    fn percentage_of_a_group_of_ten(#[case] text: &str, #[case] expected: Option<usize>) {
        assert_eq!(text.parse::<Limit>().ok().map(|limit| limit.of(10)), expected);
    }
}
