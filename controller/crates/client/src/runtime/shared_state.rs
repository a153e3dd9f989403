//! What the controllers share: the cache, the settings and the metrics.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::api::Cache;
use crate::metrics::Metrics;
use crate::settings::ClientSettings;

/// What the controllers of one run share.
pub struct SharedState {
    cache: Mutex<Cache>,
    /// Their metrics.
    pub metrics: Metrics,
    /// How they use the API server.
    pub settings: ClientSettings,
}

impl SharedState {
    /// An empty cache, with these settings and metrics.
    pub fn new(settings: ClientSettings, metrics: Metrics) -> Self {
        Self { cache: Mutex::default(), metrics, settings }
    }

    /// The cache. No await may happen while it is locked.
    pub fn cache(&self) -> MutexGuard<'_, Cache> {
        // No code panics while it holds the lock, so the state is consistent.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
