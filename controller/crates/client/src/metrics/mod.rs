//! Counts and measurements, as Prometheus metrics.
//!
//! Names and labels are those that operators of Kubernetes already have dashboards and alerts for:
//! `workqueue_*`, `rest_client_*` and `leader_election_*` as in client-go's components, `process_*`
//! as in every Prometheus client. Only a metric without such a name is called
//! `rollout_controller_*`. A [`Metrics`] is a value, not a global: two controllers in one process
//! do not share counts.
//!
//! Counts and times come in, text goes out. Nothing here knows a controller, decides anything or
//! makes requests. A controller defines its own metrics by [`EncodeMetrics`]; expensive values are
//! computed only when metrics are read.

mod controller_metrics;
mod informers;
mod queue;
mod requests;
mod usage;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use controller_metrics::EncodeMetrics;
use informers::InformerFamilies;
pub use informers::InformerMetrics;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use queue::{QueueFamilies, QueueName};
pub use queue::{QueueLoad, QueueMetrics, ReportLoad};
use requests::RequestFamilies;
pub use requests::{CountedRequests, RequestCountLayer};

/// The metrics of this process; clones share the counts.
#[derive(Clone)]
pub struct Metrics(Arc<Families>);

struct Families {
    registry: Registry,
    queues: QueueFamilies,
    requests: Arc<RequestFamilies>,
    informers: InformerFamilies,
    controllers: Arc<controller_metrics::ControllerMetrics>,
    syncs: Family<SyncLabels, Counter>,
    stale_skips: Family<KindLabels, Counter>,
    leading: Family<LeaseLabels, Gauge>,
    slow_renewals: Family<LeaseLabels, Counter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SyncResult {
    /// Done.
    Success,
    /// The decision was based on outdated objects, or a name was in use; retried.
    Conflict,
    /// Failed, and is retried.
    Error,
    /// Failed too often in a row; set aside for the longest wait, or until something changes.
    Dropped,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SyncLabels {
    controller: &'static str,
    result: SyncResult,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    group: &'static str,
    resource: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LeaseLabels {
    name: String,
}

impl Metrics {
    /// Metrics of a process with one API server; `host` is its host and port, for the labels of
    /// requests.
    pub fn new(host: &str) -> Self {
        let mut registry = Registry::default();
        let build = [("version", env!("CARGO_PKG_VERSION")), ("compatibility", "v1.36")];
        registry.register("rollout_controller_build", "What this program is", Info::new(build.to_vec()));
        registry.register_collector(Box::new(usage::Usage));
        let queues = QueueFamilies::register(&mut registry);
        let requests = Arc::new(RequestFamilies::register(host, &mut registry));
        let informers = InformerFamilies::register(&mut registry);
        let controllers = Arc::new(controller_metrics::ControllerMetrics::default());
        registry.register_collector(Box::new(controllers.clone()));
        let (syncs, leading, slow_renewals) = (Family::default(), Family::default(), Family::default());
        let help = "Syncs of one object, by controller and result";
        registry.register("rollout_controller_syncs", help, Family::clone(&syncs));
        let stale_skips = Family::default();
        let help = "Syncs of a ReplicaSet that were skipped because a cache was behind this controller's own writes";
        registry.register("replicaset_controller_stale_sync_skips", help, Family::clone(&stale_skips));
        let help = "Whether this process holds the lease, 1, or stands by, 0; the name is the lease's";
        registry.register("leader_election_master_status", help, Family::clone(&leading));
        let help = "Renewals that had to read the lease first; the name is the lease's";
        registry.register("leader_election_slowpath", help, Family::clone(&slow_renewals));
        Self(Arc::new(Families {
            registry,
            queues,
            requests,
            informers,
            controllers,
            syncs,
            stale_skips,
            leading,
            slow_renewals,
        }))
    }

    /// All metrics as OpenMetrics text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.0.registry).expect("a string takes all that is written to it");
        text
    }

    /// A layer that counts a client's requests.
    pub fn requests(&self) -> RequestCountLayer {
        RequestCountLayer::new(self.0.requests.clone())
    }

    pub(crate) fn queue(&self, controller: &'static str) -> QueueMetrics {
        self.0.queues.of(QueueName { name: controller })
    }

    /// The metrics of the informer of one kind, which feeds one cache.
    pub(crate) fn informer(&self, cache: &'static str, resource: &'static str) -> InformerMetrics {
        self.0.informers.of(cache, resource)
    }

    /// Includes the load of a queue for as long as the queue lives.
    pub(crate) fn register_queue(&self, controller: &'static str, queue: &Arc<impl ReportLoad>) {
        self.0.queues.register_queue(QueueName { name: controller }, queue);
    }

    /// Includes a controller's own metrics for as long as it lives.
    pub fn register(&self, controller: &'static str, metrics: &Arc<impl EncodeMetrics>) {
        self.0.controllers.register(controller, metrics);
    }

    /// Observes how long a request waited for the rate limit.
    pub(crate) fn observe_throttle(&self, method: &str, wait: Duration) {
        self.0.requests.observe_throttle(method, wait);
    }

    pub(crate) fn count_sync(&self, controller: &'static str, result: SyncResult) {
        self.0.syncs.get_or_create(&SyncLabels { controller, result }).inc();
    }

    /// Counts a sync of a ReplicaSet that was skipped because the cache of a kind was behind.
    pub fn count_stale_skip(&self, group: &'static str, resource: &'static str) {
        self.0.stale_skips.get_or_create(&KindLabels { group, resource }).inc();
    }

    /// Sets whether this process holds a lease.
    pub(crate) fn set_leading(&self, lease: &str, leads: bool) {
        self.0.leading.get_or_create(&LeaseLabels { name: lease.to_owned() }).set(i64::from(leads));
    }

    /// Counts a renewal that had to read the lease first.
    pub(crate) fn count_slow_renewal(&self, lease: &str) {
        self.0.slow_renewals.get_or_create(&LeaseLabels { name: lease.to_owned() }).inc();
    }
}

impl Default for Metrics {
    /// Metrics of a process whose API server has no name.
    fn default() -> Self {
        Self::new("")
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl EncodeLabelValue for SyncResult {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        let text = match self {
            Self::Success => "success",
            Self::Conflict => "conflict",
            Self::Error => "error",
            Self::Dropped => "dropped",
        };
        EncodeLabelValue::encode(&text, encoder)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[derive(Debug)]
    struct BusyQueue;

    impl ReportLoad for BusyQueue {
        fn load(&self) -> QueueLoad {
            QueueLoad { depth: 3, unfinished: Duration::from_millis(1500), longest: Duration::from_secs(1) }
        }
    }

    /// Every metric that a dashboard may use, with upstream's labels.
    #[rstest]
    #[case("workqueue_depth{name=\"deployment\"} 3")]
    #[case("workqueue_adds_total{name=\"deployment\"} 1")]
    #[case("workqueue_retries_total{name=\"deployment\"} 1")]
    #[case("workqueue_queue_duration_seconds_count{name=\"deployment\"} 1")]
    #[case("workqueue_queue_duration_seconds_bucket{le=\"1e-8\",name=\"deployment\"} 0")]
    #[case("workqueue_work_duration_seconds_sum{name=\"deployment\"} 0.25")]
    #[case("workqueue_unfinished_work_seconds{name=\"deployment\"} 1.5")]
    #[case("workqueue_longest_running_processor_seconds{name=\"deployment\"} 1.0")]
    #[case("rest_client_requests_total{code=\"200\",method=\"PUT\",host=\"10.0.0.1:443\"} 1")]
    #[case("rest_client_request_duration_seconds_bucket{le=\"0.025\",verb=\"PUT\",host=\"10.0.0.1:443\"} 1")]
    #[case("rest_client_rate_limiter_duration_seconds_sum{verb=\"PUT\",host=\"10.0.0.1:443\"} 2.0")]
    #[case("leader_election_master_status{name=\"lock\"} 1")]
    #[case("leader_election_slowpath_total{name=\"lock\"} 1")]
    #[case("rollout_controller_syncs_total{controller=\"deployment\",result=\"conflict\"} 1")]
    #[case("replicaset_controller_stale_sync_skips_total{group=\"apps\",resource=\"replicasets\"} 1")]
    #[case("rollout_controller_informer_last_list_timestamp_seconds{cache=\"rollout\",resource=\"pods\"} 1.5")]
    #[case("rollout_controller_informer_last_event_timestamp_seconds{cache=\"rollout\",resource=\"pods\"} 0.0")]
    #[case("rollout_controller_informer_failures_total{cache=\"rollout\",resource=\"pods\",verb=\"list\"} 0")]
    #[case("rollout_controller_informer_failures_total{cache=\"rollout\",resource=\"pods\",verb=\"watch\"} 1")]
    #[case("rollout_controller_build_info{version=\"0.1.0\",compatibility=\"v1.36\"} 1")]
    #[case("# EOF")]
    fn text_contains_metric(#[case] line: &str) {
        let metrics = Metrics::new("10.0.0.1:443");
        let busy = Arc::new(BusyQueue);
        metrics.register_queue("deployment", &busy);
        let queue = metrics.queue("deployment");
        queue.adds.inc();
        queue.retries.inc();
        queue.waits.observe(0.125);
        queue.works.observe(0.25);
        metrics.0.requests.observe_request("PUT", Some(200), Some(Duration::from_millis(10)));
        metrics.observe_throttle("PUT", Duration::from_secs(2));
        metrics.set_leading("lock", true);
        metrics.count_slow_renewal("lock");
        metrics.count_sync("deployment", SyncResult::Conflict);
        metrics.count_stale_skip("apps", "replicasets");
        let informer = metrics.informer("rollout", "pods");
        informer.last_list.set(1.5);
        informer.failed_watches.inc();
        let text = metrics.text();
        assert!(text.lines().any(|shown| shown == line), "{text}");
    }

    #[test]
    fn dropped_queue_has_no_metrics() {
        let metrics = Metrics::default();
        let busy = Arc::new(BusyQueue);
        metrics.register_queue("deployment", &busy);
        drop(busy);
        assert!(!metrics.text().contains("workqueue_depth{"));
    }
}
