//! The cost of a run, which is reported beside the verdict but not judged.

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};

use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_recording::{Recording, RecordingEntry, SubjectRequest, WriterRole};

/// The cost of one recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunMetrics {
    /// The subject's requests about the case's namespace by verb; a watch counts once.
    pub requests: BTreeMap<String, u64>,
    /// The same requests by verb and status code; 0 if there was no answer.
    pub answers: BTreeMap<String, BTreeMap<u16, u64>>,
    /// The last requests that were answered with an error, the latest last.
    pub failures: Vec<FailedRequest>,
    /// The number of requests that were answered with a conflict (409).
    pub conflicts: u64,
    /// The number of requests that were answered with another error, or not at all.
    pub errors: u64,
    /// Requests that the server denied, 401 or 403, about the case's namespace or not, and how
    /// often.
    pub refused: BTreeMap<String, u64>,
    /// Writes of an object that meant to change its status, which the server ignores there, and how
    /// often.
    pub ignored_status: BTreeMap<String, u64>,
    /// Requests that are the work of a controller which the subject was not declared to bring: the
    /// controller, the requests, and how often.
    pub undeclared: BTreeMap<Controller, BTreeMap<String, u64>>,
    /// How many versions the controller beside the subject wrote.
    pub written_beside: u64,
    /// From the first entry to the last, in milliseconds.
    pub wall: u64,
    /// How much of it was spent waiting for the namespace to settle, in milliseconds.
    pub settling: u64,
}

/// A request that the server answered with an error, once or several times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRequest {
    /// The request: `update replicasets/status`.
    pub request: String,
    /// The object of the last one; empty for a collection.
    pub name: String,
    /// The status code.
    pub status: u16,
    /// The message of the last one.
    pub message: Option<String>,
    /// How often.
    pub times: u64,
}

/// The number of failed requests that are kept.
const LAST_FAILURES: usize = 5;

impl FailedRequest {
    /// Whether a request failed. Neither a lookup of an object that does not exist nor an expired
    /// watch is a failure.
    fn is_failure(request: &SubjectRequest) -> bool {
        let looked = request.verb == "get" && request.status == 404;
        let expired = matches!(request.verb.as_str(), "watch" | "list") && request.status == 410;
        request.status >= 400 && !looked && !expired
    }

    /// Counts a request with those of its kind, which become the latest.
    fn record(all: &mut Vec<Self>, request: &SubjectRequest) {
        let what = request.to_string();
        let known = all.iter().position(|known| known.request == what && known.status == request.status);
        let times = known.map_or(0, |at| all.remove(at).times) + 1;
        let (name, message) = (request.name.clone(), request.message.clone());
        all.push(Self { request: what, name, status: request.status, message, times });
    }
}

/// The controller whose work a request is, if the subject was not declared to bring that one.
fn undeclared(request: &SubjectRequest, under_test: &ControllerSet) -> Option<Controller> {
    let of_status = request.subresource == "status" && matches!(request.verb.as_str(), "update" | "patch");
    let controller = match (request.resource.as_str(), request.verb.as_str()) {
        ("pods", "create") if request.subresource.is_empty() => Controller::ReplicaSet,
        ("replicasets", _) if of_status => Controller::ReplicaSet,
        ("replicasets", "create") => Controller::Deployment,
        ("deployments", _) if of_status => Controller::Deployment,
        _ => return None,
    };
    (!under_test.has(controller)).then_some(controller)
}

impl RunMetrics {
    /// Counts the requests of one recording.
    #[must_use]
    pub fn from_recording(recording: &Recording) -> Self {
        let mut metrics = Self::default();
        for entry in &recording.entries {
            let at = match entry {
                RecordingEntry::Request(request) => {
                    if FailedRequest::is_failure(request) {
                        FailedRequest::record(&mut metrics.failures, request);
                    }
                    if request.is_refused() {
                        *metrics.refused.entry(request.to_string()).or_default() += 1;
                    }
                    if request.elsewhere.is_some() {
                        continue;
                    }
                    *metrics.requests.entry(request.verb.clone()).or_default() += 1;
                    let answers = metrics.answers.entry(request.verb.clone()).or_default();
                    *answers.entry(request.status).or_default() += 1;
                    if request.ignored_status {
                        *metrics.ignored_status.entry(request.to_string()).or_default() += 1;
                    }
                    if let Some(controller) = undeclared(request, &recording.header.under_test) {
                        let times = metrics.undeclared.entry(controller).or_default();
                        *times.entry(request.to_string()).or_default() += 1;
                    }
                    match request.status {
                        409 => metrics.conflicts += 1,
                        0 | 400.. => metrics.errors += 1,
                        _ => {}
                    }
                    request.at
                }
                RecordingEntry::Settled(settling) => {
                    metrics.settling += settling.took;
                    settling.at
                }
                RecordingEntry::Step(mark) => mark.at,
                RecordingEntry::Object(version) => {
                    metrics.written_beside += u64::from(version.by == WriterRole::Beside);
                    version.at
                }
                RecordingEntry::Injected(meeting) => meeting.at,
                RecordingEntry::Header(_)
                | RecordingEntry::PodNames(_)
                | RecordingEntry::Trouble(_)
                | RecordingEntry::Impossible(_)
                | RecordingEntry::End(_) => 0,
            };
            metrics.wall = metrics.wall.max(at);
        }
        let dropped = metrics.failures.len().saturating_sub(LAST_FAILURES);
        metrics.failures.drain(..dropped);
        metrics.wall = metrics.wall.max(recording.end.as_ref().map_or(0, |end| end.at));
        metrics
    }

    /// The number of all requests.
    #[must_use]
    pub(crate) fn total(&self) -> u64 {
        self.requests.values().sum()
    }
}

impl Display for RunMetrics {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03} s", self.wall / 1000, self.wall % 1000)?;
        if self.total() > 0 {
            let verbs: Vec<String> = self.requests.iter().map(|(verb, count)| format!("{count} {verb}")).collect();
            write!(f, "; {} requests ({})", self.total(), verbs.join(", "))?;
            write!(f, ", {} conflicts", self.conflicts)?;
        }
        if self.errors > 0 {
            write!(f, ", {} errors", self.errors)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use lockstep_recording::testing::RecordingBuilder;

    use super::RunMetrics;

    #[test]
    fn failed_requests_are_counted_and_latest_are_kept() {
        let loops = (0..3).fold(RecordingBuilder::new(), |builder, number| {
            builder.request("update", "replicasets", 422).with_message(&format!("invalid, for the {number} time"))
        });
        let builder =
            loops.request("get", "deployments", 404).request("watch", "pods", 410).request("create", "pods", 201);
        let metrics = RunMetrics::from_recording(&builder.refused_request("list", "nodes", "").end());
        let failures: Vec<_> = metrics.failures.iter().map(|it| (it.request.as_str(), it.status, it.times)).collect();
        assert_eq!(failures, [("update replicasets", 422, 3), ("list nodes in all namespaces", 403, 1)]);
        assert_eq!(metrics.failures[0].message.as_deref(), Some("invalid, for the 2 time"));
        let of = |verb: &str| metrics.answers[verb].iter().map(|(code, times)| (*code, *times)).collect::<Vec<_>>();
        assert_eq!((of("update"), of("get"), of("create")), (vec![(422, 3)], vec![(404, 1)], vec![(201, 1)]));
        assert!(!metrics.answers.contains_key("list"));
        let many =
            (400..420).fold(RecordingBuilder::new(), |builder, status| builder.request("create", "pods", status));
        let failures = RunMetrics::from_recording(&many.end()).failures;
        assert_eq!(failures.iter().map(|it| it.status).collect::<Vec<_>>(), [415, 416, 417, 418, 419]);
    }
}
