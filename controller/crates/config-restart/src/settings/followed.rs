//! What the operator's settings mean for kinds: of configs, of workloads, and namespaces.
//!
//! Cases: `config-restart/xing/s07-daemon-set`, `config-restart/safe/s07-daemon-set`,
//! `config-restart/reloader/job-ignored-by-flag`, `config-restart/reloader/rollout-without-flag`.

use super::{Profile, RestartSettings, SecretChecksums};
use crate::references::ConfigKind;
use crate::workload_kind::WorkloadKind;

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
