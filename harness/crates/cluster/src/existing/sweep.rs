//! Removes the harness's objects from a cluster that stays, by label and name, so that remains of a
//! killed run are removed too. Objects with the harness's label but without this installation's id
//! are reported and kept.

use std::fmt;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams};
use kube::{Resource, ResourceExt};
use lockstep_support::clock;

use super::TenancyError;
use crate::ClusterError;
use crate::ownership::{delete_namespace, foreign_objects, has_lockstep_name, ignore_missing, own_objects};

/// The namespace of node leases.
const NODE_LEASES: &str = "kube-node-lease";
const POLICY: &str = "validatingadmissionpolicy";
const POLICY_BINDING: &str = "validatingadmissionpolicybinding";
/// The time limit for removing namespaces: the cluster deletes their content kind by kind.
const TIMEOUT: Duration = Duration::from_secs(90);
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// The removed objects, and the labelled objects of other installations that were kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepReport {
    removed: NamesByKind,
    foreign: NamesByKind,
}

impl SweepReport {
    /// Whether no object was removed.
    pub fn is_empty(&self) -> bool {
        self.removed.0.is_empty()
    }

    /// The objects of other installations, and how to remove them; `None` if there are none.
    pub fn foreign(&self) -> Option<String> {
        let NamesByKind(foreign) = &self.foreign;
        let commands = foreign.iter().map(|(kind, names)| format!("kubectl delete {kind} {}", names.join(" ")));
        let commands: Vec<_> = commands.collect();
        (!foreign.is_empty()).then(|| {
            format!(
                "left alone, as another installation of lockstep created it: {}; if no other run needs it: {}",
                self.foreign,
                commands.join("; ")
            )
        })
    }

    pub(super) fn add(&mut self, kind: &'static str, name: &str) {
        self.removed.add(kind, name);
    }
}

/// Lists the removed objects.
impl fmt::Display for SweepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.removed.fmt(f)
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct NamesByKind(Vec<(&'static str, Vec<String>)>);

impl NamesByKind {
    fn add(&mut self, kind: &'static str, name: &str) {
        match self.0.iter_mut().find(|(listed, _)| *listed == kind) {
            Some((_, names)) => names.push(name.to_owned()),
            None => self.0.push((kind, vec![name.to_owned()])),
        }
    }
}

/// `2 namespaces (a, b), 1 node (c)`
impl fmt::Display for NamesByKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (kind, names)) in self.0.iter().enumerate() {
            let (comma, s) = (if index > 0 { ", " } else { "" }, if names.len() > 1 { "s" } else { "" });
            write!(f, "{comma}{} {kind}{s} ({})", names.len(), names.join(", "))?;
        }
        Ok(())
    }
}

/// Removes everything but the namespace with the lease. When it returns, namespaces are being
/// removed, and everything else is gone.
pub(super) async fn sweep(client: &kube::Client) -> Result<SweepReport, ClusterError> {
    let mut swept = SweepReport::default();
    // First permissions, then namespaces.
    remove(&objects::<ClusterRoleBinding>(client), "clusterrolebinding", &mut swept).await?;
    remove(&objects::<ClusterRole>(client), "clusterrole", &mut swept).await?;
    for namespace in list_namespaces(client, false).await? {
        if namespace.metadata.deletion_timestamp.is_none() {
            let name = namespace.name_any();
            let deleted = delete_namespace(client, &name).await;
            deleted.map_err(ClusterError::request("removing the harness's namespaces"))?;
            swept.add("namespace", &name);
        }
    }
    record_foreign(&objects::<Namespace>(client), "namespace", &mut swept).await?;
    remove(&objects::<Node>(client), "node", &mut swept).await?;
    remove(&objects::<ValidatingAdmissionPolicyBinding>(client), POLICY_BINDING, &mut swept).await?;
    remove(&objects::<ValidatingAdmissionPolicy>(client), POLICY, &mut swept).await?;
    // Leases belong to their nodes and are not reported.
    let leases = Api::namespaced_with(client.clone(), NODE_LEASES, &ApiResource::erase::<Lease>(&()));
    remove(&leases, "lease", &mut SweepReport::default()).await?;
    Ok(swept)
}

/// Waits until no namespace of the harness is left.
pub(super) async fn wait_until_gone(client: &kube::Client) -> Result<(), ClusterError> {
    let since = clock::instant();
    loop {
        let left = list_namespaces(client, true).await?;
        let Some(first) = left.first() else { return Ok(()) };
        if since.elapsed() > TIMEOUT {
            let condition = format!("namespace {} is still being removed", first.name_any());
            return Err(
                TenancyError::TimedOut { condition, seconds: TIMEOUT.as_secs(), why: stuck_reason(first) }.into()
            );
        }
        clock::pause(POLL_INTERVAL).await;
    }
}

async fn list_namespaces(client: &kube::Client, include_home: bool) -> Result<Vec<Namespace>, ClusterError> {
    let list = Api::<Namespace>::all(client.clone()).list(&own_objects(include_home)).await;
    let list = list.map_err(ClusterError::request("listing the harness's namespaces"))?;
    Ok(list.items.into_iter().filter(|one| has_lockstep_name(&one.name_any())).collect())
}

/// The cluster-wide objects of a kind.
pub(super) fn objects<K: Resource<DynamicType = ()>>(client: &kube::Client) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &ApiResource::erase::<K>(&()))
}

async fn remove(api: &Api<DynamicObject>, kind: &'static str, swept: &mut SweepReport) -> Result<(), ClusterError> {
    let failed = || ClusterError::request("removing what the harness has made");
    for object in list_objects(api, kind, &own_objects(true)).await.map_err(failed())? {
        let name = object.name_any();
        if has_lockstep_name(&name) {
            ignore_missing(api.delete(&name, &DeleteParams::default()).await).map_err(failed())?;
            swept.add(kind, &name);
        }
    }
    record_foreign(api, kind, swept).await
}

/// Records the objects with the harness's label that are not this installation's.
async fn record_foreign(
    api: &Api<DynamicObject>,
    kind: &'static str,
    swept: &mut SweepReport,
) -> Result<(), ClusterError> {
    let list = list_objects(api, kind, &foreign_objects())
        .await
        .map_err(ClusterError::request("listing what others have made"))?;
    list.iter()
        .map(ResourceExt::name_any)
        .filter(|name| has_lockstep_name(name))
        .for_each(|name| swept.foreign.add(kind, &name));
    Ok(())
}

/// Lists the objects of a kind. Admission policies count as none if the server does not know them
/// or refuses to list them, because none was created then.
async fn list_objects(api: &Api<DynamicObject>, kind: &str, selector: &ListParams) -> kube::Result<Vec<DynamicObject>> {
    match api.list(selector).await {
        Ok(list) => Ok(list.items),
        Err(kube::Error::Api(status)) if kind.starts_with(POLICY) && matches!(status.code, 403 | 404) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Why a namespace is not removed, according to the cluster.
fn stuck_reason(namespace: &Namespace) -> String {
    let conditions = namespace.status.as_ref().and_then(|status| status.conditions.as_ref());
    let messages = conditions.into_iter().flatten().filter(|condition| condition.status == "True");
    let messages: Vec<_> = messages.filter_map(|condition| condition.message.as_deref()).collect();
    if messages.is_empty() { "the cluster does not say why".to_owned() } else { messages.join("; ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reports_removed_objects_by_kind() {
        let mut swept = SweepReport::default();
        assert!(swept.is_empty());
        for (kind, name) in [("namespace", "ls-a"), ("node", "lockstep-1"), ("namespace", "ls-b")] {
            swept.add(kind, name);
        }
        assert_eq!(swept.to_string(), "2 namespaces (ls-a, ls-b), 1 node (lockstep-1)");
        assert_eq!(swept.foreign(), None);
        swept.foreign.add("namespace", "ls-prod");
        let foreign = swept.foreign().unwrap();
        assert!(
            foreign.contains("1 namespace (ls-prod)") && foreign.ends_with("kubectl delete namespace ls-prod"),
            "{foreign}"
        );
    }

    #[test]
    fn reports_why_a_namespace_is_not_removed() {
        let reason_for = |status: serde_json::Value| {
            stuck_reason(
                &serde_json::from_value(json!({"status": {"conditions": [
                    {"type": "NamespaceDeletionDiscoveryFailure", "status": status, "message": "metrics is down"},
                ]}}))
                .unwrap(),
            )
        };
        assert_eq!(reason_for("True".into()), "metrics is down");
        assert_eq!(reason_for("False".into()), "the cluster does not say why");
    }
}
