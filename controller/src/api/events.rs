//! Records events: core/v1, as upstream's recorder writes them, in order, by one task that holds
//! nobody up.
//!
//! An event that the server refuses is lost, as upstream's is; one that could not be delivered is
//! tried twelve times.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::correlate::{Correlated, Correlator, Report};
use super::error::RequestError;
use super::resource::Resource;
use super::server::ApiServer;
use crate::clock::{self, Clock};
use crate::model::{Event, Meta, beginning, whole_second};

/// Events that wait for the task; more are lost.
const QUEUED: usize = 1000;
const TRIES: u32 = 12;
const WAIT: Duration = Duration::from_secs(10);
/// Longest name of an object.
const NAME_LIMIT: usize = 253;
/// Bytes of a message; it may quote what an admission webhook answers, and a thousand events may
/// wait.
const LONGEST_MESSAGE: usize = 16 << 10;

/// Where events go in.
#[derive(Debug)]
pub(crate) struct Recorder {
    source: Source,
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    sender: Option<mpsc::Sender<Report>>,
    /// Nanosecond that the last name has, so that no two events get the same.
    last: i128,
}

/// Where events come out, for [`write_events`].
pub(crate) struct Reports {
    source: Source,
    reports: mpsc::Receiver<Report>,
}

/// Who tells, and about what kind of object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    pub(crate) component: &'static str,
    pub(crate) kind: &'static str,
    /// Whether another component writes Events about the same objects. An event is called after its
    /// object and the time, so two of one moment would have one name, and the server would refuse
    /// the second.
    pub(crate) is_beside_others: bool,
}

impl Recorder {
    /// One for a kind of object; what it takes comes out of the other end.
    pub(crate) fn new(source: Source, clock: Clock) -> (Self, Reports) {
        let (sender, reports) = mpsc::channel(QUEUED);
        let state = Mutex::new(State { sender: Some(sender), last: 0 });
        (Self { source, clock, state }, Reports { source, reports })
    }

    /// Takes an event about an object; it is written later, or not at all.
    pub(crate) fn record(&self, about: &Meta, event: &Event) {
        let time = self.clock.now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.last = time.as_nanosecond().max(state.last + 1);
        let report = Report {
            about: (about.namespace.clone(), about.name.clone(), about.uid.clone()),
            resource_version: about.resource_version.clone(),
            kind: event.kind.as_str(),
            reason: event.reason,
            message: beginning(&event.message, LONGEST_MESSAGE).to_owned(),
            name: event_name(about, state.last, self.source),
            time,
        };
        let of = self.source.kind;
        tracing::debug!(of, object = %about.path(), kind = report.kind, reason = report.reason, "{}", report.message);
        if let Some(sender) = &state.sender
            && sender.try_send(report).is_err()
        {
            tracing::warn!(of, object = %about.path(), "Too many events wait to be written; one is lost.");
        }
    }

    /// Takes no more events; the task ends when it has written what waits.
    pub(crate) fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).sender = None;
    }
}

/// A name of its own for each event; where the object's leaves no room, its UID stands in.
fn event_name(about: &Meta, nanosecond: i128, source: Source) -> String {
    let of = if source.is_beside_others { format!(".{}", source.kind.to_lowercase()) } else { String::new() };
    let name = format!("{}.{nanosecond:x}{of}", about.name);
    if name.len() > NAME_LIMIT { format!("{}.{nanosecond:x}{of}", about.uid) } else { name }
}

/// Writes events until the recorder is closed.
pub(crate) async fn write_events(api: ApiServer, Reports { source, mut reports }: Reports) {
    let mut correlator = Correlator::default();
    while let Some(report) = reports.recv().await {
        let Some(event) = correlator.correlate(report) else {
            continue;
        };
        for attempt in 1..=TRIES {
            match write(&api, source, &event).await {
                Ok(()) => break,
                Err(error) if error.is_refusal() => {
                    tracing::debug!(event = event.report.name, error = %error.message(), "An event was refused.");
                    break;
                }
                Err(error) => {
                    tracing::debug!(event = event.report.name, attempt, error = %error.message(), "An event was not delivered.");
                    clock::sleep(WAIT).await;
                }
            }
        }
    }
}

async fn write(api: &ApiServer, source: Source, event: &Correlated) -> Result<(), RequestError> {
    let (namespace, name) = (&event.report.about.0, &event.report.name);
    if event.count > 1 {
        let patch = json!({
            "count": event.count,
            "lastTimestamp": seconds(event.report.time),
            "message": event.report.message,
        });
        match api.patch(Resource::Events, namespace, name, &patch).await {
            // Events live for an hour or so; the one that was there is gone.
            Err(error) if error.is_not_found() => {}
            other => return other.map(drop),
        }
    }
    api.create_as::<IgnoredAny>(Resource::Events, namespace, &body(source, event)).await.map(drop)
}

fn body(source: Source, event: &Correlated) -> Value {
    let Correlated { report, first_time, count } = event;
    let (namespace, name, uid) = &report.about;
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
