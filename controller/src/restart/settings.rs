//! What an operator can choose about restarts.

use super::budget::Budget;
use super::keyed::SecretChecksums;
use super::references::ConfigKind;
use super::window::Window;

/// Whose choices are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// xing's controller v1.3.0, its defects included, save that it neither crashes over an annotation that is `null` nor hangs when a
    /// write fails while it ends.
    Xing,
    /// No restart is missed, and adopting a workload does not roll it out.
    #[default]
    Safe,
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
    /// Whether to write nothing but reports of what would be written.
    pub dry_run: bool,
}

impl RestartSettings {
    /// How the checksums of Secrets are made: keyed in the safe profile, plain in xing's, and never otherwise.
    pub(crate) fn secret_checksums(&self) -> &SecretChecksums {
        match (self.profile, &self.secrets) {
            (Profile::Safe, SecretChecksums::Keyed(_)) | (Profile::Xing, SecretChecksums::Unkeyed) => &self.secrets,
            _ => &SecretChecksums::None,
        }
    }

    /// Whether configs of this kind restart workloads.
    pub(crate) fn follows(&self, kind: ConfigKind) -> bool {
        kind == ConfigKind::ConfigMap || *self.secret_checksums() != SecretChecksums::None
    }
}
