//! What a subject has asked for since it was started, and whether it is at work yet.
//!
//! A program may take long to start, and one with leader election first waits until its last run's
//! lease has expired. Neither is a wrong decision, so nothing is expected of a subject before it
//! asks for the objects that it looks after.

use std::time::Duration;

use super::request::InterceptedRequest;
use super::{Route, Verb};
use crate::clock::{self, Instant};

/// The resource that leaders are elected by.
const LEASES: &str = "leases";

/// What a subject has asked for since it was started.
#[derive(Debug, Clone)]
pub struct SinceStart {
    /// When it was started.
    started: Instant,
    /// How often it was, this time included.
    starts: u32,
    /// The number of the last request that arrived before.
    before: u64,
    /// Requests that have arrived since.
    requests: u64,
    /// When it first listed or watched objects of all namespaces, or asked about a case's.
    asked: Option<Instant>,
    /// When it first wrote a workload, as no standby does, whichever leases it reads.
    wrote: Option<Instant>,
    lease: Lease,
}

/// How far the subject's leader election is.
#[derive(Debug, Clone, Default)]
enum Lease {
    /// It has asked for none.
    #[default]
    None,
    /// Another process has this one.
    Awaited(String),
    Acquired(Instant),
}

impl Default for SinceStart {
    fn default() -> Self {
        Self {
            started: clock::instant(),
            starts: 0,
            before: 0,
            requests: 0,
            asked: None,
            wrote: None,
            lease: Lease::None,
        }
    }
}

impl SinceStart {
    /// When its work began; `None` while it has not.
    pub fn at_work_since(&self) -> Option<Instant> {
        match self.lease {
            Lease::None => self.asked,
            Lease::Awaited(_) => self.wrote,
            Lease::Acquired(at) => Some(self.asked?.max(at)),
        }
    }

    /// The lease that it waits for.
    pub fn awaited_lease(&self) -> Option<&str> {
        match &self.lease {
            Lease::Awaited(name) if self.wrote.is_none() => Some(name),
            _ => None,
        }
    }

    /// How long ago it was started.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// How many requests of its have arrived since.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Whether it ran before.
    pub fn is_restart(&self) -> bool {
        self.starts > 1
    }

    /// It is being started: what comes from now on is its own.
    pub(super) fn start(&mut self, arrived: u64) {
        *self = Self { starts: self.starts + 1, before: arrived, ..Self::default() };
    }

    /// It runs: its time to come to work begins.
    pub(super) fn run(&mut self) {
        self.started = clock::instant();
    }

    /// A request has arrived.
    pub(super) fn arrived(&mut self, route: &Route, about_a_case: bool) {
        self.requests += 1;
        if self.asked.is_none() && (is_search(route) || about_a_case) && route.resource != LEASES {
            self.asked = Some(clock::instant());
        }
    }

    /// A request was answered. One that arrived before the start is the last run's.
    pub(super) fn answered(&mut self, request: &InterceptedRequest) {
        if request.seq <= self.before {
            return;
        }
        let writes = request.verb.is_write() && matches!(request.status, Some(200..300));
        if writes && request.group == "apps" && self.wrote.is_none() {
            self.wrote = Some(clock::instant());
        }
        if request.resource != LEASES || matches!(self.lease, Lease::Acquired(_)) {
            return;
        }
        match request.status {
            Some(200..300) if writes => self.lease = Lease::Acquired(clock::instant()),
            Some(200..300 | 409) if !request.name.is_empty() => {
                self.lease = Lease::Awaited(format!("{}/{}", request.namespace, request.name));
            }
            _ => {}
        }
    }
}

/// Whether a request looks for objects in all namespaces: not one about the API, or about what a
/// program keeps of its own.
fn is_search(route: &Route) -> bool {
    matches!(route.verb, Verb::List | Verb::Watch) && route.namespace.is_empty() && !route.resource.is_empty()
}

#[cfg(test)]
mod tests {
    use hyper::{Method, Request};
    use rstest::rstest;

    use super::super::log::InterceptorLog;

    /// What has been asked of a log once a subject has made these requests, each with its answer's
    /// status.
    fn asked(requests: &[(Method, &str, u16)]) -> InterceptorLog {
        let log = InterceptorLog::new();
        log.subject_starts();
        for (method, path, status) in requests {
            log.open(&Request::builder().method(method.clone()).uri(*path).body(()).unwrap()).answered(*status);
        }
        log
    }

    const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/mine";
    const DEPLOYMENTS: &str = "/apis/apps/v1/deployments";

    #[rstest]
    #[case::nothing(&[], false)]
    #[case::the_api(&[(Method::GET, "/version", 200), (Method::GET, "/apis", 200)], false)]
    #[case::its_own_settings(&[(Method::GET, "/api/v1/namespaces/kube-system/configmaps", 200)], false)]
    #[case::deployments(&[(Method::GET, DEPLOYMENTS, 200)], true)]
    #[case::a_watch(&[(Method::GET, "/apis/apps/v1/deployments?watch=true", 200)], true)]
    #[case::another_has_the_lease(&[(Method::GET, DEPLOYMENTS, 200), (Method::GET, LEASE, 200)], false)]
    #[case::it_reads_a_lease_and_writes(&[(Method::GET, DEPLOYMENTS, 200), (Method::GET, LEASE, 200), (Method::POST, "/apis/apps/v1/namespaces/a/replicasets", 201)], true)]
    #[case::it_lost_a_race_for_the_lease(&[(Method::GET, DEPLOYMENTS, 200), (Method::PUT, LEASE, 409)], false)]
    #[case::it_has_the_lease(&[(Method::GET, LEASE, 200), (Method::PUT, LEASE, 200), (Method::GET, DEPLOYMENTS, 200)], true)]
    #[case::it_has_the_lease_and_asks_for_nothing(&[(Method::PUT, LEASE, 200)], false)]
    #[case::it_may_not_read_leases(&[(Method::GET, LEASE, 403), (Method::GET, DEPLOYMENTS, 200)], true)]
    fn a_subject_is_at_work_once_it_asks_for_objects_and_has_its_lease(
        #[case] requests: &[(Method, &str, u16)],
        #[case] at_work: bool,
    ) {
        assert_eq!(asked(requests).since_start().at_work_since().is_some(), at_work);
    }

    #[test]
    fn a_start_forgets_the_last_runs_requests() {
        let log = asked(&[(Method::PUT, LEASE, 200), (Method::GET, DEPLOYMENTS, 200)]);
        assert!(!log.since_start().is_restart() && log.since_start().requests() == 2);
        let mut late = log.open(&Request::builder().method(Method::PUT).uri(LEASE).body(()).unwrap());
        log.subject_starts();
        late.answered(200);
        drop(late);
        log.open(&Request::builder().uri(DEPLOYMENTS).body(()).unwrap()).answered(200);
        log.open(&Request::builder().uri(LEASE).body(()).unwrap()).answered(200);
        let since = log.since_start();
        assert!(since.is_restart() && since.requests() == 2 && since.at_work_since().is_none());
    }
}
