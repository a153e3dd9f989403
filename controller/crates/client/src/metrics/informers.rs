//! Metrics of the informers: when each last listed, when its watch last delivered something, and
//! failures.
//!
//! client-go has no such metrics. The times are Unix times, as `process_start_time_seconds` is, so
//! that an alert is `time() - rollout_controller_informer_last_event_timestamp_seconds > 300`: a
//! server sends a bookmark about every minute, even if nothing changes.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

type TimeGauge = Gauge<f64, AtomicU64>;

/// The metrics of one informer.
#[derive(Debug, Clone)]
pub struct InformerMetrics {
    /// Time of its last complete list.
    pub(crate) last_list: TimeGauge,
    /// Time of its watch's last event or bookmark.
    pub(crate) last_event: TimeGauge,
    pub(crate) failed_lists: Counter,
    pub(crate) failed_watches: Counter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InformerLabels {
    cache: &'static str,
    resource: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FailureLabels {
    cache: &'static str,
    resource: &'static str,
    verb: &'static str,
}

/// The metrics of all informers.
pub(super) struct InformerFamilies {
    lists: Family<InformerLabels, TimeGauge>,
    events: Family<InformerLabels, TimeGauge>,
    failures: Family<FailureLabels, Counter>,
}

impl InformerFamilies {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let (lists, events, failures) = (Family::default(), Family::default(), Family::default());
        let help = "When the informer's last list was complete, Unix time; 0: none was";
        registry.register("rollout_controller_informer_last_list_timestamp_seconds", help, Family::clone(&lists));
        let help = "When the informer's watch last showed an event or a bookmark, Unix time; 0: never";
        registry.register("rollout_controller_informer_last_event_timestamp_seconds", help, Family::clone(&events));
        let help = "Lists and watches of the informer that failed";
        registry.register("rollout_controller_informer_failures", help, Family::clone(&failures));
        Self { lists, events, failures }
    }

    pub(super) fn of(&self, cache: &'static str, resource: &'static str) -> InformerMetrics {
        let labels = InformerLabels { cache, resource };
        let failed = |verb| self.failures.get_or_create_owned(&FailureLabels { cache, resource, verb });
        InformerMetrics {
            last_list: self.lists.get_or_create_owned(&labels),
            last_event: self.events.get_or_create_owned(&labels),
            failed_lists: failed("list"),
            failed_watches: failed("watch"),
        }
    }
}
