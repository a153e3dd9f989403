//! Metrics that a controller defines itself: it is asked for them when somebody reads.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

/// Something with metrics of its own.
pub(crate) trait Shown: Send + Sync + 'static {
    /// Writes all of them.
    ///
    /// # Errors
    /// If the encoder fails.
    fn encode(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result;
}

/// All of these, by controller; of two with one name, the later is shown. What is gone shows
/// nothing.
#[derive(Default)]
pub(super) struct AllShown(Mutex<BTreeMap<&'static str, Weak<dyn Shown>>>);

impl AllShown {
    pub(super) fn show(&self, controller: &'static str, shown: &Arc<impl Shown>) {
        let shown: Weak<dyn Shown> = Arc::downgrade(&(shown.clone() as Arc<dyn Shown>));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(controller, shown);
    }
}

impl Collector for AllShown {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        // Asked after the lock is let go: what is shown may take locks of its own.
        let all: Vec<_> =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).values().filter_map(Weak::upgrade).collect();
        all.iter().try_for_each(|shown| shown.encode(&mut encoder))
    }
}

impl fmt::Debug for AllShown {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("AllShown").finish_non_exhaustive()
    }
}
