//! What the operator's settings mean for ConfigMaps and Secrets.

use super::{Profile, RestartSettings, SecretChecksums};
use crate::references::ConfigKind;

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

    /// Whether Reloader's flags say that configs of this kind restart nothing.
    fn ignores(&self, kind: ConfigKind) -> bool {
        match kind {
            ConfigKind::ConfigMap => self.reloader.ignores_config_maps,
            ConfigKind::Secret => self.reloader.ignores_secrets,
        }
    }
}
