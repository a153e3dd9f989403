//! One change of a config, as the rules see it.

use std::collections::BTreeSet;

use super::super::references::ConfigName;

/// A config has changed, appeared or gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Which.
    pub config: ConfigName,
    /// The checksum of its data; of one that has gone, the last.
    pub checksum: String,
    /// Its annotations whose value is `true`: no other value counts.
    pub marks: BTreeSet<String>,
    /// Whether it has gone.
    pub is_gone: bool,
}
