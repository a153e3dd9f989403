//! The gate's log, seen from one case.
//!
//! The gate logs whatever the subject asks, about any namespace. A case wants what concerns its own, and settling wants to
//! know how many writes there were so far without taking them out.

use std::sync::{Mutex, MutexGuard};

use crate::gate::{GateLog, GateRequest};

/// The subject's requests about one namespace.
pub(super) struct Ledger {
    log: GateLog,
    namespace: String,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    requests: Vec<GateRequest>,
    writes: u64,
}

impl Ledger {
    /// A ledger that begins now; what the gate has logged before is forgotten.
    pub(super) fn open(log: &GateLog, namespace: &str) -> Self {
        log.drain();
        Self { log: log.clone(), namespace: namespace.to_owned(), inner: Mutex::default() }
    }

    /// Successful writes so far, Events aside.
    pub(super) fn writes(&self) -> u64 {
        self.read().writes
    }

    /// Requests that have no answer yet, Events aside.
    pub(super) fn under_way(&self) -> u64 {
        self.log.under_way(&self.namespace)
    }

    /// The requests since the last call, in the order in which they were answered.
    pub(super) fn take(&self) -> Vec<GateRequest> {
        std::mem::take(&mut self.read().requests)
    }

    fn read(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for request in self.log.drain().into_iter().filter(|request| request.namespace == self.namespace) {
            let done = request.status.is_some_and(|status| (200..300).contains(&status));
            inner.writes += u64::from(done && request.verb.is_write() && request.resource != "events");
            inner.requests.push(request);
        }
        inner
    }
}
