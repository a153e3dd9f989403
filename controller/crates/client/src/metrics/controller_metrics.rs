//! Metrics that a controller defines itself, computed when metrics are read.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

/// A controller with its own metrics.
pub trait EncodeMetrics: Send + Sync + 'static {
    /// Encodes all of them.
    ///
    /// # Errors
    /// If the encoder fails.
    fn encode(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result;
}

/// The registered controllers; a later one of the same name replaces an earlier one. A dropped
/// controller has no metrics.
#[derive(Default)]
pub(super) struct ControllerMetrics(Mutex<BTreeMap<&'static str, Weak<dyn EncodeMetrics>>>);

impl ControllerMetrics {
    pub(super) fn register(&self, controller: &'static str, metrics: &Arc<impl EncodeMetrics>) {
        let metrics: Weak<dyn EncodeMetrics> = Arc::downgrade(&(metrics.clone() as Arc<dyn EncodeMetrics>));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(controller, metrics);
    }
}

impl Collector for ControllerMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // Encoded after unlocking, because encoders may lock their own state.
        let all: Vec<_> =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).values().filter_map(Weak::upgrade).collect();
        all.iter().try_for_each(|metrics| metrics.encode(&mut encoder))
    }
}

impl fmt::Debug for ControllerMetrics {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("ControllerMetrics").finish_non_exhaustive()
    }
}
