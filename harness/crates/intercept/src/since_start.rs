//! Tracks a subject's requests since it was started, and whether it is working yet.
//!
//! A program may take long to start, and one with leader election first waits until its last run's
//! lease has expired. Neither is a wrong decision, so nothing is expected of a subject before it
//! requests the objects that it manages.

use std::time::Duration;

use lockstep_support::clock::{self, Instant};

use super::request::InterceptedRequest;
use super::{RequestInfo, Verb};

/// The resource of leader election.
const LEASES: &str = "leases";

/// The requests of a subject since it was started.
#[derive(Debug, Clone)]
pub struct RequestsSinceStart {
    /// When it was started.
    started: Instant,
    /// The number of starts, including this one.
    starts: u32,
    /// The number of the last request before the start.
    before: u64,
    /// The number of requests since the start.
    requests: u64,
    /// When it first listed or watched objects of all namespaces, or made a request for a case.
    first_query: Option<Instant>,
    /// When it first wrote a workload, which a standby never does, whatever leases it reads.
    first_write: Option<Instant>,
    lease: LeaseState,
}

/// The state of the subject's leader election.
#[derive(Debug, Clone, Default)]
enum LeaseState {
    /// It has requested no lease.
    #[default]
    None,
    /// Another process holds this lease.
    Awaited(String),
    Acquired(Instant),
}

impl Default for RequestsSinceStart {
    fn default() -> Self {
        Self {
            started: clock::instant(),
            starts: 0,
            before: 0,
            requests: 0,
            first_query: None,
            first_write: None,
            lease: LeaseState::None,
        }
    }
}

impl RequestsSinceStart {
    /// When it began to work; `None` if it has not.
    pub fn working_since(&self) -> Option<Instant> {
        match self.lease {
            LeaseState::None => self.first_query,
            LeaseState::Awaited(_) => self.first_write,
            LeaseState::Acquired(at) => Some(self.first_query?.max(at)),
        }
    }

    /// The lease that it waits for, if any.
    pub fn awaited_lease(&self) -> Option<&str> {
        match &self.lease {
            LeaseState::Awaited(name) if self.first_write.is_none() => Some(name),
            _ => None,
        }
    }

    /// The time since it was started.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The number of its requests since the start.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Whether it was started before.
    pub fn is_restart(&self) -> bool {
        self.starts > 1
    }

    /// Records a start: requests from now on are its own.
    pub(super) fn start(&mut self, arrived: u64) {
        *self = Self { starts: self.starts + 1, before: arrived, ..Self::default() };
    }

    /// Records that it runs: the time until it works is measured from here.
    pub(super) fn run(&mut self) {
        self.started = clock::instant();
    }

    /// Records an arrived request.
    pub(super) fn record_arrival(&mut self, route: &RequestInfo, about_a_case: bool) {
        self.requests += 1;
        if self.first_query.is_none() && (is_search(route) || about_a_case) && route.resource != LEASES {
            self.first_query = Some(clock::instant());
        }
    }

    /// Records an answered request. One that arrived before the start belongs to the previous run.
    pub(super) fn record_answer(&mut self, request: &InterceptedRequest) {
        if request.seq <= self.before {
            return;
        }
        let writes = request.is_successful_write();
        if writes && request.group == "apps" && self.first_write.is_none() {
            self.first_write = Some(clock::instant());
        }
        if request.resource != LEASES || matches!(self.lease, LeaseState::Acquired(_)) {
            return;
        }
        match request.status {
            Some(200..300) if writes => self.lease = LeaseState::Acquired(clock::instant()),
            Some(200..300 | 409) if !request.name.is_empty() => {
                self.lease = LeaseState::Awaited(format!("{}/{}", request.namespace, request.name));
            }
            _ => {}
        }
    }
}

/// Whether a request lists or watches objects of all namespaces: not a request about the API, or
/// for a program's own settings.
fn is_search(route: &RequestInfo) -> bool {
    matches!(route.verb, Verb::List | Verb::Watch) && route.namespace.is_empty() && !route.resource.is_empty()
}

#[cfg(test)]
mod tests {
    use hyper::{Method, Request};
    use rstest::rstest;

    use super::super::log::InterceptorLog;

    /// A log after a subject has made these requests, each with its answer's status.
    fn log_of(requests: &[(Method, &str, u16)]) -> InterceptorLog {
        let log = InterceptorLog::default();
        log.subject_starts();
        for (method, path, status) in requests {
            log.open(&Request::builder().method(method.clone()).uri(*path).body(()).unwrap()).record_answer(*status);
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
    fn subject_works_once_it_queries_objects_and_has_its_lease(
        #[case] requests: &[(Method, &str, u16)],
        #[case] at_work: bool,
    ) {
        assert_eq!(log_of(requests).since_start().working_since().is_some(), at_work);
    }

    #[test]
    fn start_forgets_previous_requests() {
        let log = log_of(&[(Method::PUT, LEASE, 200), (Method::GET, DEPLOYMENTS, 200)]);
        assert!(!log.since_start().is_restart() && log.since_start().requests() == 2);
        let mut late = log.open(&Request::builder().method(Method::PUT).uri(LEASE).body(()).unwrap());
        log.subject_starts();
        late.record_answer(200);
        drop(late);
        log.open(&Request::builder().uri(DEPLOYMENTS).body(()).unwrap()).record_answer(200);
        log.open(&Request::builder().uri(LEASE).body(()).unwrap()).record_answer(200);
        let since = log.since_start();
        assert!(since.is_restart() && since.requests() == 2 && since.working_since().is_none());
    }
}
