//! The signals of a test to open watches.

use std::collections::BTreeMap;

use crate::types::kinds::KindOrder;

/// The signals of a test to the watches of one kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct WatchSignals {
    /// If paused, the version up to which they deliver.
    pub(crate) paused: Option<u64>,
    /// The number of times that they were ended.
    pub(crate) ends: u64,
    /// The number of bookmarks that were sent.
    pub(crate) bookmarks: u64,
}

pub(crate) type SignalsByKind = BTreeMap<KindOrder, WatchSignals>;
