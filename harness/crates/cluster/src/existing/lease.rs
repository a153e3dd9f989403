//! Admits one harness at a time to a cluster that other machines can reach: a Lease in the
//! harness's namespace.
//!
//! On one machine a file lock does that, and the kernel releases it when its holder dies. Across
//! machines there is only the cluster itself. A harness that finds the lease taken observes it by
//! its own clock: if it is renewed, its holder is alive and the harness gives up; if it is not
//! renewed for its whole duration, its holder is dead and the lease is taken over. A holder whose
//! renewals fail gives up before another harness may take over.
//!
//! Not with kube-lease-manager (0.13), which compares another machine's `renewTime` with this one's
//! clock, renews without the version that it has read, hides failed renewals, and waits for the
//! lease where a second harness must be refused with the holder's name.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease as Object;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, Patch, PatchParams, PostParams};
use lockstep_support::clock;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::TenancyError;
use crate::ClusterError;
use crate::ownership::{COMPONENT_LABEL, HOME_COMPONENT, MANAGED_BY, MANAGER, ownership_labels};

/// The namespace that stays while a harness uses the cluster.
pub(super) const NAMESPACE: &str = "lockstep-environment";
const NAME: &str = "lockstep";
/// The holder of a lease that is not renewed for this long is dead.
const LEASE_DURATION: Duration = Duration::from_secs(30);
/// The time between two renewals, and the time limit of one.
const RENEW_INTERVAL: Duration = Duration::from_secs(5);
/// A holder that cannot renew for this long gives up, well before another harness takes over.
const GIVE_UP_AFTER: Duration = Duration::from_secs(15);
/// The time between two reads of another holder's lease.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The time limit for removing a namespace of an earlier run.
const TIMEOUT: Duration = Duration::from_secs(90);

/// The right to use the cluster, renewed until this is dropped.
#[derive(Debug)]
pub(super) struct ClusterLease {
    /// Whether the namespace existed before, from a run that was killed.
    pub(super) namespace_existed: bool,
    lost: watch::Receiver<Option<String>>,
    renewal: AbortHandle,
}

impl ClusterLease {
    /// Acquires the lease. `holder_id` names a lock of this machine that the caller holds, so
    /// another holder with the same id is dead.
    pub(super) async fn acquire(client: &kube::Client, holder_id: &str) -> Result<Self, ClusterError> {
        let holder = format!("{}/{}/{holder_id}", hostname(), std::process::id());
        let leases: Api<Object> = Api::namespaced(client.clone(), NAMESPACE);
        let since = clock::instant();
        let (mut namespace_existed, mut observer) = (false, LeaseObserver::default());
        loop {
            let ready = ensure_namespace(client, &mut namespace_existed).await?;
            let existing = if ready { read_lease(&leases).await? } else { None };
            let taken = match (&existing, ready) {
                (_, false) => None,
                (None, true) => ignore_race(leases.create(&PostParams::default(), &lease_object(&holder, None)).await)?,
                (Some(existing), true) => match observer.observe(existing, holder_id, since.elapsed()) {
                    LeaseDecision::Take => ignore_race(
                        leases.replace(NAME, &PostParams::default(), &lease_object(&holder, Some(existing))).await,
                    )?,
                    LeaseDecision::Wait => None,
                    LeaseDecision::Refuse => {
                        return Err(TenancyError::InUse { holder: describe_holder(&existing.holder) }.into());
                    }
                },
            };
            if let Some(taken) = taken {
                if namespace_existed {
                    adopt_namespace(client).await?;
                }
                let (loss, lost) = watch::channel(None);
                let version = taken.metadata.resource_version.unwrap_or_default();
                let renewal = tokio::spawn(run_renewal(leases, holder, version, loss)).abort_handle();
                return Ok(Self { namespace_existed, lost, renewal });
            }
            if since.elapsed() > TIMEOUT {
                let condition = format!("namespace {NAMESPACE} could not be made ready");
                let why = "it is still terminating; `kubectl describe namespace` says what it waits for".to_owned();
                return Err(TenancyError::TimedOut { condition, seconds: TIMEOUT.as_secs(), why }.into());
            }
            clock::pause(POLL_INTERVAL).await;
        }
    }

    /// Receives the reason when the lease is lost.
    pub(super) fn loss(&self) -> watch::Receiver<Option<String>> {
        self.lost.clone()
    }
}

impl Drop for ClusterLease {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// The observed state of a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ObservedLease {
    holder: String,
    /// Changes with every renewal.
    version: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeaseDecision {
    Take,
    Wait,
    Refuse,
}

/// Decides whether another holder's lease is alive. No I/O: the time is an argument.
#[derive(Debug, Default)]
struct LeaseObserver(Option<(ObservedLease, Duration)>);

impl LeaseObserver {
    fn observe(&mut self, observed: &ObservedLease, holder_id: &str, now: Duration) -> LeaseDecision {
        if observed.holder.is_empty() || observed.holder.rsplit('/').next() == Some(holder_id) {
            return LeaseDecision::Take;
        }
        match &self.0 {
            None => {
                self.0 = Some((observed.clone(), now));
                tracing::warn!(
                    "{} uses this cluster, or was killed; watching for up to {LEASE_DURATION:?}",
                    describe_holder(&observed.holder)
                );
                LeaseDecision::Wait
            }
            Some((first, _)) if first != observed => LeaseDecision::Refuse,
            Some((_, since)) if now - *since > LEASE_DURATION => LeaseDecision::Take,
            Some(_) => LeaseDecision::Wait,
        }
    }
}

/// Creates the namespace if needed; returns false while an earlier one is being removed.
async fn ensure_namespace(client: &kube::Client, namespace_existed: &mut bool) -> Result<bool, ClusterError> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let existing =
        namespaces.get_opt(NAMESPACE).await.map_err(ClusterError::request("looking for the harness's namespace"))?;
    let Some(existing) = existing else {
        let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE, "labels": home_labels()}}))
            .expect("a literal of the right shape");
        *namespace_existed = false;
        return match namespaces.create(&PostParams::default(), &namespace).await {
            Err(error) if !has_code(&error, 409) => Err(ClusterError::request("making the harness's namespace")(error)),
            made => Ok(made.is_ok()),
        };
    };
    let label = |key: &str| existing.metadata.labels.as_ref().and_then(|labels| labels.get(key)).map(String::as_str);
    if label(MANAGED_BY) != Some(MANAGER) || label(COMPONENT_LABEL) != Some(HOME_COMPONENT) {
        return Err(TenancyError::NameTaken { name: NAMESPACE, label: format!("{MANAGED_BY}={MANAGER}") }.into());
    }
    *namespace_existed = true;
    Ok(existing.metadata.deletion_timestamp.is_none())
}

fn home_labels() -> Value {
    let mut all = ownership_labels();
    all[COMPONENT_LABEL] = HOME_COMPONENT.into();
    all
}

/// Adopts the namespace of another installation whose run is dead, with the lease in it.
async fn adopt_namespace(client: &kube::Client) -> Result<(), ClusterError> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let ours = Patch::Merge(json!({"metadata": {"labels": home_labels()}}));
    let patched = namespaces.patch(NAMESPACE, &PatchParams::default(), &ours).await;
    patched.map(drop).map_err(ClusterError::request("taking the harness's namespace over"))
}

async fn read_lease(leases: &Api<Object>) -> Result<Option<ObservedLease>, ClusterError> {
    let lease = leases.get_opt(NAME).await.map_err(ClusterError::request("reading the harness's lease"))?;
    Ok(lease.map(|lease| ObservedLease {
        holder: lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default(),
        version: lease.metadata.resource_version.unwrap_or_default(),
    }))
}

/// `None` if another harness was faster, or the namespace is being removed.
fn ignore_race(result: kube::Result<Object>) -> Result<Option<Object>, ClusterError> {
    match result {
        Err(error) if [403, 404, 409].iter().any(|code| has_code(&error, *code)) && !is_missing_permission(&error) => {
            Ok(None)
        }
        result => result.map(Some).map_err(ClusterError::request("taking the harness's lease")),
    }
}

fn has_code(error: &kube::Error, code: u16) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == code)
}

/// Whether a 403 means a missing permission; otherwise its namespace is being removed.
fn is_missing_permission(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403 && !status.message.contains("being terminated"))
}

async fn run_renewal(leases: Api<Object>, holder: String, mut version: String, loss: watch::Sender<Option<String>>) {
    let mut last = clock::instant();
    loop {
        clock::pause(RENEW_INTERVAL).await;
        let failed = match tokio::time::timeout(RENEW_INTERVAL, renew_once(&leases, &holder, &mut version)).await {
            Ok(Ok(Ok(()))) => {
                last = clock::instant();
                continue;
            }
            Ok(Err(reason)) => {
                loss.send_replace(Some(reason));
                return;
            }
            Ok(Ok(Err(error))) => error.to_string(),
            Err(_) => format!("no answer within {RENEW_INTERVAL:?}"),
        };
        tracing::warn!("the harness's lease on the cluster could not be renewed: {failed}");
        if last.elapsed() > GIVE_UP_AFTER {
            loss.send_replace(Some(format!("it could not be renewed for {:?}: {failed}", last.elapsed())));
            return;
        }
    }
}

/// Renews the lease; `Err` says why renewal can never succeed again.
async fn renew_once(leases: &Api<Object>, holder: &str, version: &mut String) -> Result<kube::Result<()>, String> {
    let patch = json!({"metadata": {"resourceVersion": *version}, "spec": {"renewTime": clock::rfc3339_micros()}});
    match leases.patch(NAME, &PatchParams::default(), &Patch::Merge(patch)).await {
        Ok(lease) => {
            *version = lease.metadata.resource_version.unwrap_or_default();
            Ok(Ok(()))
        }
        Err(error) if has_code(&error, 404) => Err("the lease was deleted".to_owned()),
        Err(error) if has_code(&error, 409) => match read_lease(leases).await {
            Ok(Some(found)) if found.holder == holder => {
                *version = found.version;
                Ok(Err(error))
            }
            Ok(Some(found)) => Err(format!("{} has taken it over", describe_holder(&found.holder))),
            Ok(None) => Err("the lease was deleted".to_owned()),
            Err(_) => Ok(Err(error)),
        },
        Err(error) => Ok(Err(error)),
    }
}

fn lease_object(holder: &str, existing: Option<&ObservedLease>) -> Object {
    let metadata: Value = match existing {
        Some(existing) => json!({"name": NAME, "labels": {MANAGED_BY: MANAGER}, "resourceVersion": existing.version}),
        None => json!({"name": NAME, "labels": {MANAGED_BY: MANAGER}}),
    };
    let now = clock::rfc3339_micros();
    let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": LEASE_DURATION.as_secs(), "acquireTime": now, "renewTime": now});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a literal of the right shape")
}

fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().replace('/', "-")
}

/// Describes a holder in words.
fn describe_holder(holder: &str) -> String {
    let mut parts = holder.split('/');
    match (parts.next(), parts.next()) {
        (Some(host), Some(process)) => format!("process {process} on {host}"),
        _ => format!("'{holder}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn observed(holder: &str, version: &str) -> ObservedLease {
        ObservedLease { holder: holder.to_owned(), version: version.to_owned() }
    }

    #[test]
    fn free_lease_and_own_stale_lease_are_taken_at_once() {
        assert_eq!(LeaseObserver::default().observe(&observed("", "1"), "here", at(0)), LeaseDecision::Take);
        assert_eq!(LeaseObserver::default().observe(&observed("a/1/here", "1"), "here", at(0)), LeaseDecision::Take);
    }

    #[test]
    fn renewed_lease_is_refused() {
        let mut observer = LeaseObserver::default();
        assert_eq!(observer.observe(&observed("b/1/existing", "1"), "here", at(0)), LeaseDecision::Wait);
        assert_eq!(observer.observe(&observed("b/1/existing", "1"), "here", at(4)), LeaseDecision::Wait);
        assert_eq!(observer.observe(&observed("b/1/existing", "2"), "here", at(5)), LeaseDecision::Refuse);
    }

    #[test]
    fn unrenewed_lease_is_taken_after_its_duration() {
        let mut observer = LeaseObserver::default();
        assert_eq!(observer.observe(&observed("b/1/existing", "1"), "here", at(7)), LeaseDecision::Wait);
        assert_eq!(observer.observe(&observed("b/1/existing", "1"), "here", at(37)), LeaseDecision::Wait);
        assert_eq!(observer.observe(&observed("b/1/existing", "1"), "here", at(38)), LeaseDecision::Take);
    }

    #[test]
    fn describes_holders() {
        assert_eq!(describe_holder("a/1/here"), "process 1 on a");
        assert_eq!(describe_holder("me"), "'me'");
    }
}
