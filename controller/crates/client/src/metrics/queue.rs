//! Metrics of the work queues, under client-go's names.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeGaugeValue, EncodeLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// The metrics that a queue counts.
#[derive(Debug, Clone)]
pub struct QueueMetrics {
    /// Added keys; a key that is queued already does not count.
    pub(crate) adds: Counter,
    /// Delayed keys, for whatever reason.
    pub(crate) retries: Counter,
    /// Seconds that keys waited.
    pub(crate) waits: Histogram,
    /// Seconds that workers had keys.
    pub(crate) works: Histogram,
}

/// A queue's current load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueueLoad {
    /// Queued keys.
    pub(crate) depth: usize,
    /// The total time for which workers have had their current keys.
    pub(crate) unfinished: Duration,
    /// The longest of these times.
    pub(crate) longest: Duration,
}

/// A queue that reports its load.
pub trait ReportLoad: Send + Sync + 'static {
    /// The current load.
    fn load(&self) -> QueueLoad;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct QueueName {
    pub(super) name: &'static str,
}

type QueueHistograms = Family<QueueName, Histogram, fn() -> Histogram>;

/// The metrics of all queues.
pub(super) struct QueueFamilies {
    adds: Family<QueueName, Counter>,
    retries: Family<QueueName, Counter>,
    waits: QueueHistograms,
    works: QueueHistograms,
    loads: Arc<Loads>,
}

/// Queues whose load is computed when metrics are read.
#[derive(Default)]
struct Loads(Mutex<Vec<(QueueName, Weak<dyn ReportLoad>)>>);

impl QueueFamilies {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let adds = Family::default();
        registry.register("workqueue_adds", "Keys that came into the queue", Family::clone(&adds));
        let retries = Family::default();
        registry.register("workqueue_retries", "Keys that were put off", Family::clone(&retries));
        let waits = QueueHistograms::new_with_constructor(durations);
        let help = "How long in seconds a key waits in the queue";
        registry.register("workqueue_queue_duration_seconds", help, waits.clone());
        let works = QueueHistograms::new_with_constructor(durations);
        let help = "How long in seconds a worker has a key";
        registry.register("workqueue_work_duration_seconds", help, works.clone());
        let loads = Arc::new(Loads::default());
        registry.register_collector(Box::new(loads.clone()));
        Self { adds, retries, waits, works, loads }
    }

    pub(super) fn of(&self, name: QueueName) -> QueueMetrics {
        QueueMetrics {
            adds: self.adds.get_or_create_owned(&name),
            retries: self.retries.get_or_create_owned(&name),
            waits: self.waits.get_or_create_owned(&name),
            works: self.works.get_or_create_owned(&name),
        }
    }

    pub(super) fn register_queue(&self, name: QueueName, queue: &Arc<impl ReportLoad>) {
        let queue: Weak<dyn ReportLoad> = Arc::downgrade(&(queue.clone() as Arc<dyn ReportLoad>));
        let mut queues = self.loads.0.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|(_, queue)| queue.strong_count() > 0);
        queues.push((name, queue));
    }
}

/// Buckets from ten nanoseconds to ten seconds, as client-go's.
fn durations() -> Histogram {
    Histogram::new(exponential_buckets(10e-9, 10.0, 10))
}

impl Collector for Loads {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let loads: Vec<(&QueueName, QueueLoad)> =
            queues.iter().filter_map(|(name, queue)| Some((name, queue.upgrade()?.load()))).collect();
        let help = "Keys that wait in the queue.";
        show(&mut encoder, "workqueue_depth", help, &loads, |load| load.depth)?;
        let help = "How long in seconds the workers have had the keys that they have, all together.";
        show(&mut encoder, "workqueue_unfinished_work_seconds", help, &loads, |load| load.unfinished.as_secs_f64())?;
        let name = "workqueue_longest_running_processor_seconds";
        let help = "How long in seconds the worker that is busy for longest has had its key.";
        show(&mut encoder, name, help, &loads, |load| load.longest.as_secs_f64())
    }
}

fn show<G: EncodeGaugeValue>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    loads: &[(&QueueName, QueueLoad)],
    value: impl Fn(&QueueLoad) -> G,
) -> fmt::Result {
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (queue, load) in loads {
        metric.encode_family(*queue)?.encode_gauge(&value(load))?;
    }
    Ok(())
}

impl fmt::Debug for Loads {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Loads").finish_non_exhaustive()
    }
}
