//! What probes ask: is this process well, and is it ready?
//!
//! Well: it would be no better for being started anew. Only a leader that can neither renew nor end
//! is not; one whose API server is away is. Ready: its caches are filled, and no informer has been
//! failing for a minute. One that stands by is ready, too: it could take over at once, and a
//! rollout of this controller itself must not wait for a second leader.

use std::fmt::Write;
use std::sync::Arc;

use super::elector::Seat;
use crate::clock;
use crate::runtime::Controllers;

/// Answers probes; clones are the same.
#[derive(Clone)]
pub(super) struct Health {
    controllers: Arc<Controllers>,
    seat: Option<Seat>,
}

/// One thing that was looked at, and what is wrong with it.
type Check = (&'static str, Result<(), String>);

impl Health {
    pub(super) fn new(controllers: Arc<Controllers>, seat: Option<Seat>) -> Self {
        Self { controllers, seat }
    }

    /// Whether it is well, and the words for it.
    pub(super) fn live(&self) -> (bool, String) {
        summary("livez", &[self.leader_election()])
    }

    /// Whether it is ready, and the words for it.
    pub(super) fn ready(&self) -> (bool, String) {
        let lists = self.controllers.is_synced().then_some(()).ok_or("the first lists are not complete yet".to_owned());
        summary("readyz", &[self.leader_election(), ("caches-synced", lists), self.informers()])
    }

    fn informers(&self) -> Check {
        let complaints = self.controllers.complaints();
        ("informers", if complaints.is_empty() { Ok(()) } else { Err(complaints.join("; ")) })
    }

    fn leader_election(&self) -> Check {
        ("leader-election", self.seat.as_ref().map_or(Ok(()), |seat| seat.check(clock::instant())))
    }
}

/// As Kubernetes' own components say it.
fn summary(probe: &str, checks: &[Check]) -> (bool, String) {
    if checks.iter().all(|(_, result)| result.is_ok()) {
        return (true, "ok".to_owned());
    }
    let mut text = String::new();
    for (name, result) in checks {
        let _ = match result {
            Ok(()) => writeln!(text, "[+]{name} ok"),
            Err(why) => writeln!(text, "[-]{name} failed: {why}"),
        };
    }
    let _ = writeln!(text, "{probe} check failed");
    (false, text)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::pending;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;

    use super::*;
    use crate::deployment::{Planner, plan};
    use crate::metrics::Metrics;
    use crate::runtime::run_controllers;
    use crate::settings::Settings;

    /// A server without objects; it refuses every watch as soon as it is told to.
    async fn answer(request: Request<Body>, refuses: Arc<AtomicBool>) -> Result<Response<Body>, Infallible> {
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let list = r#"{"metadata": {"resourceVersion": "1"}, "items": []}"#;
        let refusal = r#"{"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"}"#;
        let is_pods = request.uri().path().ends_with("/pods");
        Ok(match () {
            () if !is_watch => Response::new(Body::from(list.as_bytes().to_vec())),
            () if refuses.load(Ordering::Relaxed) && is_pods => {
                let mut response = Response::new(Body::from(refusal.as_bytes().to_vec()));
                *response.status_mut() = http::StatusCode::FORBIDDEN;
                response
            }
            () => {
                // It ends after a while, as watches do.
                clock::sleep(Duration::from_secs(20)).await;
                Response::new(Body::empty())
            }
        })
    }

    #[tokio::test(start_paused = true)]
    async fn an_informer_that_fails_for_a_minute_is_not_ready() {
        let refuses = Arc::new(AtomicBool::new(false));
        let answers = refuses.clone();
        let client = Client::new(tower::service_fn(move |request| answer(request, answers.clone())), "default");
        let settings = Settings::default();
        let planner: Planner = Arc::new(plan);
        let (controllers, reports) = Controllers::new(&client, settings, &planner, Metrics::default());
        let health = Health::new(controllers.clone(), None);
        let (is_ready, text) = health.ready();
        assert!(!is_ready && text.contains("[-]caches-synced failed"), "{text}");
        tokio::spawn(run_controllers(controllers, reports, pending::<()>(), pending::<()>()));
        clock::sleep(Duration::from_secs(100)).await;
        assert_eq!(health.ready(), (true, "ok".to_owned()));

        refuses.store(true, Ordering::Relaxed);
        clock::sleep(Duration::from_secs(59)).await;
        assert_eq!(health.ready(), (true, "ok".to_owned()), "it has not failed for a minute");
        clock::sleep(Duration::from_secs(32)).await;
        let (is_ready, text) = health.ready();
        assert!(!is_ready && text.contains("[-]informers failed: pods of the rollout cache: "), "{text}");
        assert!(health.live().0, "a new start would not help");

        refuses.store(false, Ordering::Relaxed);
        clock::sleep(Duration::from_secs(62)).await;
        assert_eq!(health.ready(), (true, "ok".to_owned()));
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(summary("livez", &[("a", Ok(()))]), (true, "ok".to_owned()));
        let (fine, text) = summary("readyz", &[("a", Ok(())), ("b", Err("not yet".to_owned()))]);
        assert!(!fine);
        assert_eq!(text, "[+]a ok\n[-]b failed: not yet\nreadyz check failed\n");
    }
}
