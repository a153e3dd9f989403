//! Stalls of the test environment: times in which the API server answered no request, or in which
//! the harness itself did not run.
//!
//! A subject is not to blame for what it did not do in such a time, nor for its exit: a controller
//! that cannot renew its lease has to exit. The harness stalls if it is suspended, on a machine
//! that sleeps, or on one without a free processor. Its timers then expire before it has read what
//! the server has sent meanwhile.
//!
//! [`watch_over`] records the stalls of a cluster. A recording is complete before [`StallLog`] is
//! asked about it, since only the end of a stall shows how long it was.

use std::fmt::{self, Display, Formatter};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::join;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use lockstep_recording::{Blame, Trouble};
use lockstep_support::clock::{self, Instant};
use tokio::time::timeout;

/// The least stall: the client of a controller gives up a request after five seconds or more.
const LEAST: Duration = Duration::from_secs(3);
/// How long after a stall a subject may still exit because of it.
const AFTERMATH: Duration = Duration::from_secs(10);
/// The time between two checks.
const LOOK: Duration = Duration::from_millis(500);
/// A request without an answer is sent again after this time, as its connection may be lost.
const LOST: Duration = Duration::from_secs(20);

/// What did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StalledPart {
    /// The API server, or the connection to it.
    Server,
    /// This process.
    Harness,
}

/// A time in which a part of the test environment did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stall {
    part: StalledPart,
    from: Instant,
    until: Instant,
}

/// The stalls of a cluster so far.
#[derive(Debug, Default)]
pub(crate) struct StallLog(Mutex<Vec<Stall>>);

impl StallLog {
    /// The trouble, for which the test environment is to blame if it stalled in this time.
    pub(crate) fn excuse(&self, trouble: Trouble, since: Instant, until: Instant) -> Trouble {
        excuse(trouble, &self.lock(), since, until)
    }

    /// Record a stall, or that the last one goes on.
    fn record(&self, stall: Stall) {
        let mut stalls = self.lock();
        match stalls.last_mut().filter(|last| (last.part, last.from) == (stall.part, stall.from)) {
            Some(last) => last.until = stall.until,
            None => stalls.push(stall),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Stall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The trouble, for which the test environment is to blame if it stalled in this time or shortly
/// before. A stall of the harness is named first: the server seems to stall then as well.
fn excuse(trouble: Trouble, stalls: &[Stall], since: Instant, until: Instant) -> Trouble {
    let concerns = |stall: &&Stall| stall.from <= until && stall.until + AFTERMATH >= since;
    match stalls.iter().filter(concerns).max_by_key(|stall| (stall.part, stall.until - stall.from)) {
        Some(stall) => Trouble::new(Blame::Environment, format!("{stall}, which may be the reason: {}", trouble.why)),
        None => trouble,
    }
}

impl Display for Stall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let seconds = (self.until - self.from).as_secs();
        match self.part {
            StalledPart::Server => write!(f, "the API server did not answer for {seconds} s"),
            StalledPart::Harness => write!(f, "the harness itself did not run for {seconds} s"),
        }
    }
}

/// Record the stalls of a cluster. Ends when `goes_on` is false for the time in which the server
/// has not answered.
pub(crate) async fn watch_over(client: &kube::Client, stalls: &StallLog, mut goes_on: impl FnMut(Duration) -> bool) {
    let mut answer = Box::pin(answer_of(client));
    let mut asked = clock::instant();
    let mut silence = Duration::ZERO;
    while goes_on(silence) {
        let (from, time) = (clock::instant(), clock::now());
        let (answered, ()) = join!(timeout(LOOK, &mut answer), clock::pause(LOOK));
        let until = clock::instant();
        // The monotonic clock of Linux stands still while the machine sleeps.
        let slept = Duration::try_from(clock::now().duration_since(time)).unwrap_or_default();
        let took = slept.max(until - from);
        let is_late = took >= LOOK + LEAST;
        if is_late {
            stalls.record(Stall { part: StalledPart::Harness, from: until.checked_sub(took).unwrap_or(from), until });
        }
        if answered.is_ok() {
            answer.set(answer_of(client));
        }
        if answered.is_ok() || is_late {
            asked = until;
        }
        silence = until - asked;
        if silence >= LEAST {
            stalls.record(Stall { part: StalledPart::Server, from: asked, until });
        }
    }
}

/// Returns once the server has answered a request for which it needs its storage.
async fn answer_of(client: &kube::Client) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    loop {
        match timeout(LOST, namespaces.get_metadata_opt("default")).await {
            Ok(Ok(_)) => return,
            Ok(Err(kube::Error::Api(status))) if status.code < 500 => return,
            Ok(Err(_)) | Err(_) => clock::pause(LOOK).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rstest::rstest;

    use super::*;

    const SERVER: &str = "the API server did not answer for 12 s, which may be the reason: did nothing";
    const HARNESS: &str = "the harness itself did not run for 4 s, which may be the reason: did nothing";

    /// A step lasts from second 100 to second 120.
    #[rstest]
    #[case::none(&[], None)]
    #[case::in_the_step(&[(StalledPart::Server, 105, 117)], Some(SERVER))]
    #[case::since_the_step_before(&[(StalledPart::Server, 90, 102)], Some(SERVER))]
    #[case::beyond_the_step(&[(StalledPart::Server, 119, 131)], Some(SERVER))]
    #[case::shortly_before(&[(StalledPart::Server, 80, 92)], Some(SERVER))]
    #[case::long_before(&[(StalledPart::Server, 70, 82)], None)]
    #[case::afterwards(&[(StalledPart::Server, 121, 133)], None)]
    #[case::the_longest(&[(StalledPart::Server, 102, 105), (StalledPart::Server, 106, 118)], Some(SERVER))]
    #[case::of_the_harness(&[(StalledPart::Server, 101, 113), (StalledPart::Harness, 114, 118)], Some(HARNESS))]
    fn trouble_is_the_environments_if_it_stalled(
        #[case] stalls: &[(StalledPart, u64, u64)],
        #[case] excused: Option<&str>,
    ) {
        let start = clock::instant();
        let at = |second| start + Duration::from_secs(second);
        let log = StallLog::default();
        stalls.iter().for_each(|(part, from, until)| {
            log.record(Stall { part: *part, from: at(*from), until: at(*until) });
        });
        let trouble = log.excuse(Trouble::new(Blame::Subject, "did nothing"), at(100), at(120));
        let blame = if excused.is_some() { Blame::Environment } else { Blame::Subject };
        assert_eq!(trouble, Trouble::new(blame, excused.unwrap_or("did nothing")));
    }

    #[test]
    fn a_stall_that_goes_on_is_one_stall() {
        let (log, from) = (StallLog::default(), clock::instant());
        for seconds in [3, 7] {
            log.record(Stall { part: StalledPart::Server, from, until: from + Duration::from_secs(seconds) });
        }
        assert_eq!(*log.lock(), [Stall { part: StalledPart::Server, from, until: from + Duration::from_secs(7) }]);
    }

    /// A server that does not answer while the flag is set, or that has no storage then.
    fn server(stalls: &Arc<AtomicBool>, unavailable: bool) -> kube::Client {
        let stalls = Arc::clone(stalls);
        let serve = move |_: hyper::Request<kube::client::Body>| {
            let stalls = Arc::clone(&stalls);
            async move {
                while stalls.load(Ordering::Relaxed) && !unavailable {
                    clock::pause(Duration::from_millis(10)).await;
                }
                let code = if stalls.load(Ordering::Relaxed) { 503 } else { 404 };
                let status = format!(r#"{{"kind": "Status", "status": "Failure", "code": {code}}}"#);
                let mut response = hyper::Response::new(kube::client::Body::from(status.into_bytes()));
                *response.status_mut() = code.try_into().unwrap();
                Ok::<_, std::convert::Infallible>(response)
            }
        };
        kube::Client::new::<_, kube::client::Body, _>(tower::service_fn(serve), "default")
    }

    /// The stalls that are recorded when the server stalls for so many seconds.
    async fn recorded(seconds: u64, unavailable: bool) -> Vec<(StalledPart, u64)> {
        let (stalls, log) = (Arc::new(AtomicBool::new(false)), StallLog::default());
        let client = server(&stalls, unavailable);
        let script = async {
            clock::pause(Duration::from_secs(20)).await;
            stalls.store(true, Ordering::Relaxed);
            clock::pause(Duration::from_secs(seconds)).await;
            stalls.store(false, Ordering::Relaxed);
            clock::pause(Duration::from_secs(20)).await;
        };
        tokio::select! {
            () = watch_over(&client, &log, |_| true) => {}
            () = script => {}
        }
        log.lock().iter().map(|stall| (stall.part, (stall.until - stall.from).as_secs())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn records_how_long_a_server_does_not_answer() {
        for unavailable in [false, true] {
            assert_eq!(recorded(2, unavailable).await, []);
            let long = recorded(25, unavailable).await;
            assert!(matches!(long[..], [(StalledPart::Server, 24..=25)]), "{long:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn records_how_long_the_harness_does_not_run() {
        let (log, client) = (StallLog::default(), server(&Arc::default(), false));
        let script = async {
            clock::pause(Duration::from_millis(20_200)).await;
            tokio::time::advance(Duration::from_secs(21)).await;
            clock::pause(Duration::from_secs(20)).await;
        };
        let mut longest = Duration::ZERO;
        tokio::select! {
            () = watch_over(&client, &log, |silence| { longest = longest.max(silence); true }) => {}
            () = script => {}
        }
        let stalls: Vec<_> =
            log.lock().iter().map(|stall| (stall.part, (stall.until - stall.from).as_secs())).collect();
        assert_eq!(stalls, [(StalledPart::Harness, 21)]);
        assert!(longest < LEAST, "the server answered whenever it was asked: {longest:?}");
    }
}
