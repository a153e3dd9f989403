//! One harness at a time on a cluster that others can reach too: a Lease in a namespace of the
//! harness's own.
//!
//! On one machine a lock on a file does that, and the kernel lets it go when its holder dies.
//! Across machines there is only the cluster itself. Whoever finds the lease held watches it by the
//! clock of its own: renewed in the meantime, its holder lives, and the cluster is left to it; not
//! renewed for the lease's whole length, its holder is dead, and the lease is taken over. A holder
//! whose renewals do not get through gives up by itself before anybody may think so.
//!
//! Written by hand: kube-lease-manager (0.13) compares another machine's `renewTime` with this
//! one's time of day, renews without the version that it has read, hides failed renewals, and waits
//! for the lease where a second harness is to be refused by name.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease as Object;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::TenancyError;
use crate::clock;
use crate::cluster::ClusterError;
use crate::cluster::ours::{HOME, MANAGER, OURS, PART, labels};

/// The namespace that stays for as long as a harness uses the cluster.
pub(super) const NAMESPACE: &str = "lockstep-environment";
const NAME: &str = "lockstep";
/// Not renewed for so long, its holder is dead.
const LENGTH: Duration = Duration::from_secs(30);
/// Between two renewals, and how long one may take.
const RENEWAL: Duration = Duration::from_secs(5);
/// Without a renewal for so long, its holder gives up: well before somebody else takes it over.
const HOPE: Duration = Duration::from_secs(15);
/// Between two looks at somebody else's.
const LOOK: Duration = Duration::from_millis(500);
/// How long a namespace of an earlier run may take to go.
const PATIENCE: Duration = Duration::from_secs(90);

/// The right to use the cluster, renewed until it is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    /// Whether the namespace was there before: of a run that was killed.
    pub(super) found: bool,
    lost: watch::Receiver<Option<String>>,
    renewal: AbortHandle,
}

impl Lease {
    /// Take it. `place` names what only one harness at a time can have on its machine: a holder of
    /// the same place is dead.
    pub(super) async fn take(client: &kube::Client, place: &str) -> Result<Self, ClusterError> {
        let holder = format!("{}/{}/{place}", host(), std::process::id());
        let leases: Api<Object> = Api::namespaced(client.clone(), NAMESPACE);
        let since = clock::instant();
        let (mut found, mut suspicion) = (false, Suspicion::default());
        loop {
            let ready = home(client, &mut found).await?;
            let there = if ready { read(&leases).await? } else { None };
            let taken = match (&there, ready) {
                (_, false) => None,
                (None, true) => try_to(leases.create(&PostParams::default(), &object(&holder, None)).await)?,
                (Some(there), true) => match suspicion.look(there, place, since.elapsed()) {
                    Judgement::Take => {
                        try_to(leases.replace(NAME, &PostParams::default(), &object(&holder, Some(there))).await)?
                    }
                    Judgement::Wait => None,
                    Judgement::Refuse => return Err(TenancyError::Held { holder: who(&there.holder) }.into()),
                },
            };
            if let Some(taken) = taken {
                if found {
                    adopt(client).await?;
                }
                let (tell, lost) = watch::channel(None);
                let version = taken.metadata.resource_version.unwrap_or_default();
                let renewal = tokio::spawn(renew(leases, holder, version, tell)).abort_handle();
                return Ok(Self { found, lost, renewal });
            }
            if since.elapsed() > PATIENCE {
                let what = format!("namespace {NAMESPACE} could not be made ready");
                let why = "it is still terminating; `kubectl describe namespace` says what it waits for".to_owned();
                return Err(TenancyError::Patience { what, seconds: PATIENCE.as_secs(), why }.into());
            }
            clock::pause(LOOK).await;
        }
    }

    /// Why the lease is lost, once it is.
    pub(super) fn lost(&self) -> watch::Receiver<Option<String>> {
        self.lost.clone()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// A lease as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    holder: String,
    /// Changes with every renewal.
    version: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judgement {
    Take,
    Wait,
    Refuse,
}

/// Whether somebody else's lease is alive, by watching it. Pure: time comes in.
#[derive(Debug, Default)]
struct Suspicion(Option<(Seen, Duration)>);

impl Suspicion {
    fn look(&mut self, seen: &Seen, place: &str, now: Duration) -> Judgement {
        if seen.holder.is_empty() || seen.holder.rsplit('/').next() == Some(place) {
            return Judgement::Take;
        }
        match &self.0 {
            None => {
                self.0 = Some((seen.clone(), now));
                tracing::warn!("{} uses this cluster, or was killed; watching for up to {LENGTH:?}", who(&seen.holder));
                Judgement::Wait
            }
            Some((first, _)) if first != seen => Judgement::Refuse,
            Some((_, since)) if now - *since > LENGTH => Judgement::Take,
            Some(_) => Judgement::Wait,
        }
    }
}

/// The namespace is there and will stay; false while an earlier one is on its way out.
async fn home(client: &kube::Client, found: &mut bool) -> Result<bool, ClusterError> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let there =
        namespaces.get_opt(NAMESPACE).await.map_err(ClusterError::request("looking for the harness's namespace"))?;
    let Some(there) = there else {
        let namespace = serde_json::from_value(json!({"metadata": {"name": NAMESPACE, "labels": home_labels()}}))
            .expect("a literal of the right shape");
        *found = false;
        return match namespaces.create(&PostParams::default(), &namespace).await {
            Err(error) if !is(&error, 409) => Err(ClusterError::request("making the harness's namespace")(error)),
            made => Ok(made.is_ok()),
        };
    };
    let label = |key: &str| there.metadata.labels.as_ref().and_then(|labels| labels.get(key)).map(String::as_str);
    if label(OURS) != Some(MANAGER) || label(PART) != Some(HOME) {
        return Err(TenancyError::NameTaken { name: NAMESPACE, label: format!("{OURS}={MANAGER}") }.into());
    }
    *found = true;
    Ok(there.metadata.deletion_timestamp.is_none())
}

fn home_labels() -> Value {
    let mut all = labels();
    all[PART] = HOME.into();
    all
}

/// The namespace of another installation's whose run is dead belongs to this one with the lease in
/// it.
async fn adopt(client: &kube::Client) -> Result<(), ClusterError> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let ours = Patch::Merge(json!({"metadata": {"labels": home_labels()}}));
    let patched = namespaces.patch(NAMESPACE, &PatchParams::default(), &ours).await;
    patched.map(drop).map_err(ClusterError::request("taking the harness's namespace over"))
}

async fn read(leases: &Api<Object>) -> Result<Option<Seen>, ClusterError> {
    let lease = leases.get_opt(NAME).await.map_err(ClusterError::request("reading the harness's lease"))?;
    Ok(lease.map(|lease| Seen {
        holder: lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default(),
        version: lease.metadata.resource_version.unwrap_or_default(),
    }))
}

/// Nothing where somebody was faster, or the namespace is being removed meanwhile.
fn try_to(written: kube::Result<Object>) -> Result<Option<Object>, ClusterError> {
    match written {
        Err(error) if [403, 404, 409].iter().any(|code| is(&error, *code)) && !is_rights(&error) => Ok(None),
        written => written.map(Some).map_err(ClusterError::request("taking the harness's lease")),
    }
}

fn is(error: &kube::Error, code: u16) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == code)
}

/// A 403 that no waiting helps against; the other one is a namespace's that is being removed.
fn is_rights(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403 && !status.message.contains("being terminated"))
}

async fn renew(leases: Api<Object>, holder: String, mut version: String, tell: watch::Sender<Option<String>>) {
    let mut last = clock::instant();
    loop {
        clock::pause(RENEWAL).await;
        let failed = match tokio::time::timeout(RENEWAL, once(&leases, &holder, &mut version)).await {
            Ok(Ok(Ok(()))) => {
                last = clock::instant();
                continue;
            }
            Ok(Err(over)) => {
                tell.send_replace(Some(over));
                return;
            }
            Ok(Ok(Err(error))) => error.to_string(),
            Err(_) => format!("no answer within {RENEWAL:?}"),
        };
        tracing::warn!("the harness's lease on the cluster could not be renewed: {failed}");
        if last.elapsed() > HOPE {
            tell.send_replace(Some(format!("it could not be renewed for {:?}: {failed}", last.elapsed())));
            return;
        }
    }
}

/// Renew it; `Err` says why that will never succeed again.
async fn once(leases: &Api<Object>, holder: &str, version: &mut String) -> Result<kube::Result<()>, String> {
    let patch = json!({"metadata": {"resourceVersion": *version}, "spec": {"renewTime": clock::rfc3339_micros()}});
    match leases.patch(NAME, &PatchParams::default(), &Patch::Merge(patch)).await {
        Ok(lease) => {
            *version = lease.metadata.resource_version.unwrap_or_default();
            Ok(Ok(()))
        }
        Err(error) if is(&error, 404) => Err("somebody deleted it".to_owned()),
        Err(error) if is(&error, 409) => match read(leases).await {
            Ok(Some(found)) if found.holder == holder => {
                *version = found.version;
                Ok(Err(error))
            }
            Ok(Some(found)) => Err(format!("{} has taken it over", who(&found.holder))),
            Ok(None) => Err("somebody deleted it".to_owned()),
            Err(_) => Ok(Err(error)),
        },
        Err(error) => Ok(Err(error)),
    }
}

fn object(holder: &str, there: Option<&Seen>) -> Object {
    let metadata: Value = match there {
        Some(there) => json!({"name": NAME, "labels": {OURS: MANAGER}, "resourceVersion": there.version}),
        None => json!({"name": NAME, "labels": {OURS: MANAGER}}),
    };
    let now = clock::rfc3339_micros();
    let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": LENGTH.as_secs(), "acquireTime": now, "renewTime": now});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).expect("a literal of the right shape")
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().replace('/', "-")
}

/// A holder in words.
fn who(holder: &str) -> String {
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

    fn seen(holder: &str, version: &str) -> Seen {
        Seen { holder: holder.to_owned(), version: version.to_owned() }
    }

    #[test]
    fn nobodys_lease_and_one_of_this_place_are_taken_at_once() {
        assert_eq!(Suspicion::default().look(&seen("", "1"), "here", at(0)), Judgement::Take);
        assert_eq!(Suspicion::default().look(&seen("a/1/here", "1"), "here", at(0)), Judgement::Take);
    }

    #[test]
    fn one_that_is_renewed_is_left_alone() {
        let mut suspicion = Suspicion::default();
        assert_eq!(suspicion.look(&seen("b/1/there", "1"), "here", at(0)), Judgement::Wait);
        assert_eq!(suspicion.look(&seen("b/1/there", "1"), "here", at(4)), Judgement::Wait);
        assert_eq!(suspicion.look(&seen("b/1/there", "2"), "here", at(5)), Judgement::Refuse);
    }

    #[test]
    fn one_that_is_not_is_taken_after_its_length() {
        let mut suspicion = Suspicion::default();
        assert_eq!(suspicion.look(&seen("b/1/there", "1"), "here", at(7)), Judgement::Wait);
        assert_eq!(suspicion.look(&seen("b/1/there", "1"), "here", at(37)), Judgement::Wait);
        assert_eq!(suspicion.look(&seen("b/1/there", "1"), "here", at(38)), Judgement::Take);
    }

    #[test]
    fn holders_in_words() {
        assert_eq!(who("a/1/here"), "process 1 on a");
        assert_eq!(who("me"), "'me'");
    }
}
