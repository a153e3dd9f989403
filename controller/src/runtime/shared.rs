//! What the controllers have in common: the cache that the shared watches feed, the settings, and
//! where they count.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::api::Cache;
use crate::metrics::Metrics;
use crate::settings::Settings;

/// Shared by all controllers of one run.
pub(super) struct Shared {
    cache: Mutex<Cache>,
    pub(super) metrics: Metrics,
    pub(super) settings: Settings,
}

impl Shared {
    pub(super) fn new(settings: Settings, metrics: Metrics) -> Self {
        Self { cache: Mutex::default(), metrics, settings }
    }

    pub(super) fn cache(&self) -> MutexGuard<'_, Cache> {
        // No code panics while it holds the lock, so what is behind it is whole.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
