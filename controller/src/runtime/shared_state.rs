//! What the controllers share: the cache, the settings and the metrics.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::api::Cache;
use crate::metrics::Metrics;
use crate::settings::Settings;

pub(super) struct SharedState {
    cache: Mutex<Cache>,
    pub(super) metrics: Metrics,
    pub(super) settings: Settings,
}

impl SharedState {
    pub(super) fn new(settings: Settings, metrics: Metrics) -> Self {
        Self { cache: Mutex::default(), metrics, settings }
    }

    pub(super) fn cache(&self) -> MutexGuard<'_, Cache> {
        // No code panics while it holds the lock, so the state is consistent.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
