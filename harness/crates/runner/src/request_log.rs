//! The part of the interceptor's log that concerns one case.
//!
//! The interceptor logs all requests of the subject, in any namespace. A case records those in its
//! own namespace, and those that the server refused elsewhere. Settling needs the number of writes
//! so far without consuming the log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lockstep_intercept::{InterceptedRequest, InterceptorLog, LogReader};
use lockstep_recording::SubjectRequest;
use lockstep_workload::Workload;

use crate::observe::namespace::{CASE_PREFIX, PROBE_PREFIX};

/// The subject's requests about one namespace.
pub(super) struct RequestLog {
    reader: LogReader,
    namespace: String,
    inner: Mutex<LoggedRequests>,
}

#[derive(Default)]
struct LoggedRequests {
    requests: Vec<InterceptedRequest>,
    writes: u64,
    answers: u64,
}

/// What the server refused a subject, in its cases and outside of them.
#[derive(Default)]
pub(super) struct RefusalCounts(Mutex<Refusals>);

#[derive(Default)]
struct Refusals {
    /// How often each request was refused, by its description.
    times: BTreeMap<String, u64>,
    /// The requests counted so far: several cases may see the same one.
    requests: BTreeSet<u64>,
}

impl RefusalCounts {
    /// Count those of the requests that were refused.
    pub(super) fn add<'a>(&self, requests: impl IntoIterator<Item = &'a InterceptedRequest>) {
        let Refusals { times, requests: counted } = &mut *self.lock();
        for request in requests.into_iter().filter(|request| request.is_refused()) {
            if counted.insert(request.seq) {
                *times.entry(request.to_string()).or_default() += 1;
            }
        }
    }

    /// How often each request was refused, by its description.
    pub(super) fn totals(&self) -> BTreeMap<String, u64> {
        self.lock().times.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Refusals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestLog {
    /// A log that begins now. Drops what the interceptor has logged before for no other case,
    /// except for refused requests.
    pub(super) fn open(log: &InterceptorLog, namespace: &str) -> Self {
        let reader = log.reader(namespace);
        let requests = log.drain().into_iter().filter(is_relevant_elsewhere).collect();
        let inner = Mutex::new(LoggedRequests { requests, writes: 0, answers: 0 });
        Self { reader, namespace: namespace.to_owned(), inner }
    }

    /// A request as the recording has it, with its namespace if that is not the case's, and about
    /// Deployments and ReplicaSets where a workload stands in for them.
    pub(super) fn to_recorded(
        &self,
        request: InterceptedRequest,
        workload: Option<&Workload>,
        at: u64,
    ) -> SubjectRequest {
        let translated = workload.and_then(|it| it.deployment_resource(&request.group, &request.resource));
        SubjectRequest {
            patch: request.patch.filter(|_| request.namespace == self.namespace),
            elsewhere: (request.namespace != self.namespace).then_some(request.namespace),
            verb: request.verb.as_str().to_owned(),
            resource: translated.map_or(request.resource, ToOwned::to_owned),
            subresource: request.subresource,
            name: request.name,
            status: request.status.unwrap_or(0),
            message: request.message,
            ignored_status: request.ignored_status,
            at,
        }
    }

    /// The number of successful writes so far, without Events.
    pub(super) fn writes(&self) -> u64 {
        self.read().writes
    }

    /// The number of requests answered so far, including reads.
    pub(super) fn answers(&self) -> u64 {
        self.read().answers
    }

    /// The number of requests without an answer, not counting Events.
    pub(super) fn in_flight(&self) -> u64 {
        self.reader.log().pending(&self.namespace)
    }

    /// Whether the subject may still wait before it retries a request, as the interceptor's answer
    /// asked it to.
    pub(super) fn has_pending_retry(&self) -> bool {
        self.reader.log().may_retry(&self.namespace)
    }

    /// The requests since the last call, in the order in which they were answered.
    pub(super) fn drain(&self) -> Vec<InterceptedRequest> {
        std::mem::take(&mut self.read().requests)
    }

    fn read(&self) -> MutexGuard<'_, LoggedRequests> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for request in self.reader.drain() {
            if request.namespace != self.namespace {
                if is_relevant_elsewhere(&request) {
                    inner.requests.push(request);
                }
                continue;
            }
            inner.writes += u64::from(request.is_successful_write() && request.resource != "events");
            inner.answers += 1;
            inner.requests.push(request);
        }
        inner
    }
}

/// Whether a request matters to a case although it is not about the case's namespace: a message to
/// the webhook, or a refusal that may explain why nothing happens in the case. Refusals in an
/// earlier case's namespace do not count, because the server refuses to create anything while it is
/// being deleted. Nor do refusals in a probe's namespace, which the harness owns: the subject may
/// start before its permissions there have taken effect.
pub(super) fn is_relevant_elsewhere(request: &InterceptedRequest) -> bool {
    let is_of_ours = [CASE_PREFIX, PROBE_PREFIX].iter().any(|prefix| request.namespace.starts_with(prefix));
    request.is_refused() && !is_of_ours || request.resource == SubjectRequest::WEBHOOK
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    #[test]
    fn does_not_count_refusals_in_the_harness_own_namespaces() {
        let log = InterceptorLog::default();
        for namespace in ["lockstep-probe-1b", "lockstep-probe-1b-2", "ls-rolling-rollover-0-1", "kube-system"] {
            let path = format!("/api/v1/namespaces/{namespace}/pods");
            log.passed(&Request::post(path).body(()).unwrap(), 403);
        }
        let refused = RefusalCounts::default();
        refused.add(log.drain().iter().filter(|request| is_relevant_elsewhere(request)));
        assert_eq!(refused.totals(), BTreeMap::from([("create pods in kube-system".to_owned(), 1)]));
    }
}
