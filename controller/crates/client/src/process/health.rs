//! Answers the probes: whether this process is live, and whether it is ready.
//!
//! Live means that a restart would not help. Only a leader that can neither renew nor stop is not
//! live; one whose API server is unavailable is. Ready means that the caches are filled and no
//! informer has been failing for a minute. A standby process is ready, too: it could take over at
//! once, and a rollout of this controller itself must not wait for a second leader.

use std::fmt::Write;
use std::sync::Arc;

use super::elector::Leadership;
use crate::clock;
use crate::runtime::Controllers;

/// Answers probes; clones share the state.
#[derive(Clone)]
pub(super) struct Health {
    controllers: Arc<Controllers>,
    leadership: Option<Leadership>,
}

/// The name of one check, and its result.
type HealthCheck = (&'static str, Result<(), String>);

impl Health {
    pub(super) fn new(controllers: Arc<Controllers>, leadership: Option<Leadership>) -> Self {
        Self { controllers, leadership }
    }

    /// The liveness, and the probe's response.
    pub(super) fn live(&self) -> (bool, String) {
        summary("livez", &[self.leader_election()])
    }

    /// The readiness, and the probe's response.
    pub(super) fn ready(&self) -> (bool, String) {
        let lists = self.controllers.is_synced().then_some(()).ok_or("the first lists are not complete yet".to_owned());
        summary("readyz", &[self.leader_election(), ("caches-synced", lists), self.informers()])
    }

    fn informers(&self) -> HealthCheck {
        let problems = self.controllers.problems();
        ("informers", if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) })
    }

    fn leader_election(&self) -> HealthCheck {
        ("leader-election", self.leadership.as_ref().map_or(Ok(()), |leadership| leadership.check(clock::instant())))
    }
}

/// In the format of Kubernetes' components.
fn summary(probe: &str, checks: &[HealthCheck]) -> (bool, String) {
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
    use crate::api::NamespacedName;
    use crate::metrics::Metrics;
    use crate::runtime::{CachedKind, Controller, SharedState, SyncedCallback, Task, run_controllers};
    use crate::settings::ClientSettings;

    /// A controller that needs the kinds of a rollout and does nothing.
    struct IdleController;

    impl Controller for IdleController {
        fn cached_kinds(&self) -> &'static [CachedKind] {
            &[CachedKind::Deployments, CachedKind::ReplicaSets, CachedKind::Pods]
        }

        fn background_tasks(self: Arc<Self>, _on_synced: &dyn Fn() -> SyncedCallback) -> Vec<Task> {
            Vec::new()
        }

        fn worker_tasks(self: Arc<Self>) -> Vec<Task> {
            Vec::new()
        }

        fn start(&self, _all: Vec<NamespacedName>) {}

        fn resync(&self, _all: Vec<NamespacedName>) {}

        fn stop(&self) {}

        fn close(&self) -> Option<String> {
            None
        }
    }

    /// A server without objects; it refuses watches of pods while `refuses` is set.
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
    async fn informer_failing_for_a_minute_is_not_ready() {
        let refuses = Arc::new(AtomicBool::new(false));
        let answers = refuses.clone();
        let client = Client::new(tower::service_fn(move |request| answer(request, answers.clone())), "default");
        let shared = Arc::new(SharedState::new(ClientSettings::default(), Metrics::default()));
        let controllers = Controllers::new(&client, shared, vec![Arc::new(IdleController)]);
        let health = Health::new(controllers.clone(), None);
        let (is_ready, text) = health.ready();
        assert!(!is_ready && text.contains("[-]caches-synced failed"), "{text}");
        tokio::spawn(run_controllers(controllers, Vec::new(), pending::<()>(), pending::<()>()));
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
    fn summary_names_failed_checks() {
        assert_eq!(summary("livez", &[("a", Ok(()))]), (true, "ok".to_owned()));
        let (fine, text) = summary("readyz", &[("a", Ok(())), ("b", Err("not yet".to_owned()))]);
        assert!(!fine);
        assert_eq!(text, "[+]a ok\n[-]b failed: not yet\nreadyz check failed\n");
    }
}
