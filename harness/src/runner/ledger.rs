//! The interceptor's log, seen from one case.
//!
//! The interceptor logs whatever the subject asks, about any namespace. A case wants what concerns
//! its own, and what the server refused elsewhere; settling wants to know how many writes there
//! were so far without taking them out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::play::CASES;
use super::probes::PROBES;
use crate::intercept::{InterceptedRequest, InterceptorLog, LogReader};
use crate::recording::Request;

/// The subject's requests about one namespace.
pub(super) struct Ledger {
    reader: LogReader,
    namespace: String,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    requests: Vec<InterceptedRequest>,
    writes: u64,
    answers: u64,
}

/// What the server refused a subject in all its cases, and outside of them.
#[derive(Default)]
pub(super) struct Refused(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    /// How often, by what was asked.
    times: BTreeMap<String, u64>,
    /// The requests that were counted: several cases may have the same one.
    requests: BTreeSet<u64>,
}

impl Refused {
    /// Count those that were refused.
    pub(super) fn add<'a>(&self, requests: impl IntoIterator<Item = &'a InterceptedRequest>) {
        let Counted { times, requests: counted } = &mut *self.counted();
        for request in requests.into_iter().filter(|request| request.is_refused()) {
            if counted.insert(request.seq) {
                *times.entry(request.to_string()).or_default() += 1;
            }
        }
    }

    /// What was asked, and how often.
    pub(super) fn so_far(&self) -> BTreeMap<String, u64> {
        self.counted().times.clone()
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    /// A ledger that begins now. What the interceptor has logged before for no other ledger is
    /// forgotten, but for what the server refused.
    pub(super) fn open(log: &InterceptorLog, namespace: &str) -> Self {
        let reader = log.reader(namespace);
        let requests = log.drain().into_iter().filter(matters_elsewhere).collect();
        let inner = Mutex::new(Inner { requests, writes: 0, answers: 0 });
        Self { reader, namespace: namespace.to_owned(), inner }
    }

    /// A request as the recording keeps it, with where it was about if not about the case's
    /// namespace.
    pub(super) fn entered(&self, request: InterceptedRequest, at: u64) -> Request {
        Request {
            elsewhere: (request.namespace != self.namespace).then_some(request.namespace),
            verb: request.verb.as_str().to_owned(),
            resource: request.resource,
            subresource: request.subresource,
            name: request.name,
            status: request.status.unwrap_or(0),
            message: request.message,
            ignored_status: request.ignored_status,
            at,
        }
    }

    /// Successful writes so far, Events aside.
    pub(super) fn writes(&self) -> u64 {
        self.read().writes
    }

    /// Requests that were answered so far, reads among them.
    pub(super) fn answers(&self) -> u64 {
        self.read().answers
    }

    /// Requests that have no answer yet, Events aside.
    pub(super) fn under_way(&self) -> u64 {
        self.reader.log().under_way(&self.namespace)
    }

    /// Whether the subject may still wait, as the interceptor told it to, before it tries a request
    /// again.
    pub(super) fn retries_later(&self) -> bool {
        self.reader.log().retries_later(&self.namespace)
    }

    /// The requests since the last call, in the order in which they were answered.
    pub(super) fn take(&self) -> Vec<InterceptedRequest> {
        std::mem::take(&mut self.read().requests)
    }

    fn read(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        for request in self.reader.drain() {
            if request.namespace != self.namespace {
                if matters_elsewhere(&request) {
                    inner.requests.push(request);
                }
                continue;
            }
            let done = request.status.is_some_and(|status| (200..300).contains(&status));
            inner.writes += u64::from(done && request.verb.is_write() && request.resource != "events");
            inner.answers += 1;
            inner.requests.push(request);
        }
        inner
    }
}

/// Whether it is of use to a case although it is not about the case's namespace: a message to the
/// webhook, or what may be why nothing comes of the case. Not what is refused in an earlier case's
/// namespace, in which the server refuses to create anything while it is being deleted, nor in a
/// probe's, which is the harness's own: there the subject may begin before its rights have arrived.
pub(super) fn matters_elsewhere(request: &InterceptedRequest) -> bool {
    let is_of_ours = [CASES, PROBES].iter().any(|prefix| request.namespace.starts_with(prefix));
    request.is_refused() && !is_of_ours || request.resource == Request::WEBHOOK
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    #[test]
    fn refusals_in_the_harness_own_namespaces_are_not_counted() {
        let log = InterceptorLog::empty();
        for namespace in ["lockstep-probe-1b", "lockstep-probe-1b-2", "ls-rolling-rollover-0-1", "kube-system"] {
            let path = format!("/api/v1/namespaces/{namespace}/pods");
            log.passed(&Request::post(path).body(()).unwrap(), 403);
        }
        let refused = Refused::default();
        refused.add(log.drain().iter().filter(|request| matters_elsewhere(request)));
        assert_eq!(refused.so_far(), BTreeMap::from([("create pods in kube-system".to_owned(), 1)]));
    }
}
