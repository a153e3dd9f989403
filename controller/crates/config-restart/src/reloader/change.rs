//! A change of a config, as the rules see it.

use std::collections::BTreeSet;

use super::super::references::ConfigName;

/// A config that was changed, created or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigChange {
    /// The config.
    pub config: ConfigName,
    /// The checksum of its data; after a deletion, the last one.
    pub checksum: String,
    /// Its annotations with the value `true`; no other value counts.
    pub marks: BTreeSet<String>,
    /// Whether it was deleted.
    pub is_deleted: bool,
}
