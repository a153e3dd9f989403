//! Records core/v1 events as upstream's recorder does. One task writes them in order, so that syncs
//! do not wait for them.
//!
//! An event that the server refuses is dropped, as upstream drops it; one that cannot be delivered
//! is tried twelve times.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rollout_model::{Event, Meta, beginning, whole_second};
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::correlate::{CorrelatedEvent, Correlator, EventReport};
use super::error::RequestError;
use super::resource::Resource;
use super::server::ApiServer;
use crate::clock::{self, Clock};

/// Events that may wait for the task; more are dropped.
const QUEUE_CAPACITY: usize = 1000;
const MAX_ATTEMPTS: u32 = 12;
const RETRY_WAIT: Duration = Duration::from_secs(10);
/// Longest name that an object may have.
const NAME_LIMIT: usize = 253;
/// Bytes of a message; it may quote an admission webhook's answer, and a thousand events may wait.
const MAX_MESSAGE_BYTES: usize = 16 << 10;

/// Accepts events.
#[derive(Debug)]
pub struct Recorder {
    source: EventSource,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    sender: Option<mpsc::Sender<EventReport>>,
    /// Nanosecond in the last event's name, so that no two names are equal.
    last: i128,
}

/// Events to be written by [`write_events`].
pub struct EventQueue {
    source: EventSource,
    reports: mpsc::Receiver<EventReport>,
}

/// The component that reports, and the kind of object that it reports about.
#[derive(Debug, Clone, Copy)]
pub struct EventSource {
    /// The reporting component.
    pub component: &'static str,
    /// The kind of the objects.
    pub kind: &'static str,
    /// Whether another component writes Events about the same objects. An Event is named after its
    /// object and the time, so two Events of one moment would have the same name, and the server
    /// would refuse the second.
    pub shares_objects: bool,
}

impl Recorder {
    /// A recorder for a kind of object, and the queue that it fills.
    pub fn new(source: EventSource, clock: Clock) -> (Self, EventQueue) {
        let (sender, reports) = mpsc::channel(QUEUE_CAPACITY);
        let state = Mutex::new(State { sender: Some(sender), last: 0 });
        (Self { source, clock, state }, EventQueue { source, reports })
    }

    /// Queues an event about an object; it may be dropped.
    pub fn record(&self, object: &Meta, event: &Event) {
        let time = self.clock.now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last = time.as_nanosecond().max(state.last + 1);
        let report = EventReport {
            object: (object.namespace.clone(), object.name.clone(), object.uid.clone()),
            resource_version: object.resource_version.clone(),
            kind: event.kind.as_str(),
            reason: event.reason,
            message: beginning(&event.message, MAX_MESSAGE_BYTES).to_owned(),
            name: event_name(object, state.last, self.source),
            time,
        };
        let of = self.source.kind;
        tracing::debug!(of, object = %object.path(), kind = report.kind, reason = report.reason, "{}", report.message);
        if let Some(sender) = &state.sender
            && sender.try_send(report).is_err()
        {
            tracing::warn!(of, object = %object.path(), "Too many events wait to be written; one is lost.");
        }
    }

    /// Closes the queue; the task ends when it has written the queued events.
    pub fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).sender = None;
    }
}

/// The name of an event; if the object's name is too long, its UID is used.
fn event_name(object: &Meta, nanosecond: i128, source: EventSource) -> String {
    let of = if source.shares_objects { format!(".{}", source.kind.to_lowercase()) } else { String::new() };
    let name = format!("{}.{nanosecond:x}{of}", object.name);
    if name.len() > NAME_LIMIT { format!("{}.{nanosecond:x}{of}", object.uid) } else { name }
}

/// Writes events until the recorder is closed.
pub async fn write_events(api: ApiServer, EventQueue { source, mut reports }: EventQueue) {
    let mut correlator = Correlator::default();
    while let Some(report) = reports.recv().await {
        let Some(event) = correlator.correlate(report) else {
            continue;
        };
        for attempt in 1..=MAX_ATTEMPTS {
            match write(&api, source, &event).await {
                Ok(()) => break,
                Err(error) if error.is_refusal() => {
                    tracing::debug!(event = event.report.name, error = %error.message(), "An event was refused.");
                    break;
                }
                Err(error) => {
                    tracing::debug!(event = event.report.name, attempt, error = %error.message(), "An event was not delivered.");
                    clock::sleep(RETRY_WAIT).await;
                }
            }
        }
    }
}

async fn write(api: &ApiServer, source: EventSource, event: &CorrelatedEvent) -> Result<(), RequestError> {
    let (namespace, name) = (&event.report.object.0, &event.report.name);
    if event.count > 1 {
        let patch = json!({
            "count": event.count,
            "lastTimestamp": seconds(event.report.time),
            "message": event.report.message,
        });
        match api.patch(Resource::Events, namespace, name, &patch).await {
            // Events expire after about an hour; the earlier one has.
            Err(error) if error.is_not_found() => {}
            other => return other.map(drop),
        }
    }
    api.create_as::<IgnoredAny>(Resource::Events, namespace, &body(source, event)).await.map(drop)
}

fn body(source: EventSource, event: &CorrelatedEvent) -> Value {
    let CorrelatedEvent { report, first_time, count } = event;
    let (namespace, name, uid) = &report.object;
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": report.name, "namespace": namespace},
        "involvedObject": {
            "apiVersion": match source.kind {
                "CronJob" | "Job" => "batch/v1",
                "Rollout" => "argoproj.io/v1alpha1",
                _ => "apps/v1",
            },
            "kind": source.kind,
            "namespace": namespace,
            "name": name,
            "uid": uid,
            "resourceVersion": report.resource_version,
        },
        "reason": report.reason,
        "message": report.message,
        "source": {"component": source.component},
        "firstTimestamp": seconds(*first_time),
        "lastTimestamp": seconds(report.time),
        "count": count,
        "type": report.kind,
        "reportingComponent": source.component,
        "reportingInstance": "",
    })
}

/// RFC 3339 without fractions, as the API's times are.
fn seconds(time: Timestamp) -> String {
    whole_second(time).to_string()
}
