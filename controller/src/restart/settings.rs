//! What an operator's choices about restarts mean for ConfigMaps and Secrets.

use super::references::ConfigKind;
use crate::settings::{Profile, RestartSettings, SecretChecksums};

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
