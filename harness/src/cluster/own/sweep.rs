//! Removing everything of the harness's from a cluster that stays: by label and name, so that what
//! a run that was killed has left goes as well. What carries the harness's label and not this
//! installation's id is told of and stays.

use std::fmt;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams, ListParams};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::TenancyError;
use crate::clock;
use crate::cluster::ClusterError;
use crate::cluster::ours::{delete_namespace, gone, named_ours, others, ours};

/// Where leases of nodes are.
const NODE_LEASES: &str = "kube-node-lease";
const POLICY: &str = "validatingadmissionpolicy";
const POLICY_BINDING: &str = "validatingadmissionpolicybinding";
/// How long namespaces may take to go: what is in them is deleted by the cluster, kind by kind.
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(250);

/// What was removed, and what looks like the harness's and was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    removed: Found,
    left: Found,
}

impl Swept {
    /// Whether nothing was removed.
    pub fn is_empty(&self) -> bool {
        self.removed.0.is_empty()
    }

    /// What carries the harness's label and not this installation's id, and how to remove it;
    /// `None` if there is nothing.
    pub fn left(&self) -> Option<String> {
        let Found(left) = &self.left;
        let commands = left.iter().map(|(kind, names)| format!("kubectl delete {kind} {}", names.join(" ")));
        let commands: Vec<_> = commands.collect();
        (!left.is_empty()).then(|| {
            format!(
                "left alone, as another installation of lockstep created it: {}; if no other run needs it: {}",
                self.left,
                commands.join("; ")
            )
        })
    }

    pub(super) fn add(&mut self, kind: &'static str, name: &str) {
        self.removed.add(kind, name);
    }
}

/// What was removed.
impl fmt::Display for Swept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.removed.fmt(f)
    }
}

/// Names by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Found(Vec<(&'static str, Vec<String>)>);

impl Found {
    fn add(&mut self, kind: &'static str, name: &str) {
        match self.0.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, names)) => names.push(name.to_owned()),
            None => self.0.push((kind, vec![name.to_owned()])),
        }
    }
}

/// `2 namespaces (a, b), 1 node (c)`
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (kind, names)) in self.0.iter().enumerate() {
            let (comma, s) = (if index > 0 { ", " } else { "" }, if names.len() > 1 { "s" } else { "" });
            write!(f, "{comma}{} {kind}{s} ({})", names.len(), names.join(", "))?;
        }
        Ok(())
    }
}

/// Remove all but the namespace that holds the lease. Namespaces are on their way out then,
/// everything else is gone.
pub(super) async fn sweep(client: &kube::Client) -> Result<Swept, ClusterError> {
    let mut swept = Swept::default();
    // First what gives rights, then what things are in.
    remove::<ClusterRoleBinding>(&Api::all(client.clone()), "clusterrolebinding", &mut swept).await?;
    remove::<ClusterRole>(&Api::all(client.clone()), "clusterrole", &mut swept).await?;
    for namespace in namespaces(client, false).await? {
        if namespace.metadata.deletion_timestamp.is_none() {
            let name = namespace.name_any();
            let deleted = delete_namespace(client, &name).await;
            deleted.map_err(ClusterError::request("removing the harness's namespaces"))?;
            swept.add("namespace", &name);
        }
    }
    leave_alone(&Api::<Namespace>::all(client.clone()), "namespace", &mut swept).await?;
    remove::<Node>(&Api::all(client.clone()), "node", &mut swept).await?;
    remove::<ValidatingAdmissionPolicyBinding>(&Api::all(client.clone()), POLICY_BINDING, &mut swept).await?;
    remove::<ValidatingAdmissionPolicy>(&Api::all(client.clone()), POLICY, &mut swept).await?;
    // They belong to the nodes, and are not told of.
    remove::<Lease>(&Api::namespaced(client.clone(), NODE_LEASES), "lease", &mut Swept::default()).await?;
    Ok(swept)
}

/// Wait until no namespace of the harness's is left.
pub(super) async fn until_gone(client: &kube::Client) -> Result<(), ClusterError> {
    let since = clock::instant();
    loop {
        let left = namespaces(client, true).await?;
        let Some(first) = left.first() else { return Ok(()) };
        if since.elapsed() > PATIENCE {
            let what = format!("namespace {} is still being removed", first.name_any());
            return Err(TenancyError::Patience { what, seconds: PATIENCE.as_secs(), why: reason(first) }.into());
        }
        clock::pause(LOOK).await;
    }
}

async fn namespaces(client: &kube::Client, home_too: bool) -> Result<Vec<Namespace>, ClusterError> {
    let list = Api::<Namespace>::all(client.clone()).list(&ours(home_too)).await;
    let list = list.map_err(ClusterError::request("listing the harness's namespaces"))?;
    Ok(list.items.into_iter().filter(|one| named_ours(&one.name_any())).collect())
}

async fn remove<K>(api: &Api<K>, kind: &'static str, swept: &mut Swept) -> Result<(), ClusterError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + fmt::Debug,
{
    let failed = || ClusterError::request("removing what the harness has made");
    for object in listed(api, kind, &ours(true)).await.map_err(failed())? {
        let name = object.name_any();
        if named_ours(&name) {
            gone(api.delete(&name, &DeleteParams::default()).await).map_err(failed())?;
            swept.add(kind, &name);
        }
    }
    leave_alone(api, kind, swept).await
}

/// Tell of what carries the harness's label and is not this installation's.
async fn leave_alone<K>(api: &Api<K>, kind: &'static str, swept: &mut Swept) -> Result<(), ClusterError>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + fmt::Debug,
{
    let list = listed(api, kind, &others()).await.map_err(ClusterError::request("listing what others have made"))?;
    list.iter().map(ResourceExt::name_any).filter(|name| named_ours(name)).for_each(|name| swept.left.add(kind, &name));
    Ok(())
}

/// All of a kind; no admission policy where the server knows none, or does not let this user look:
/// then none was made.
async fn listed<K>(api: &Api<K>, kind: &str, which: &ListParams) -> kube::Result<Vec<K>>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + fmt::Debug,
{
    match api.list(which).await {
        Ok(list) => Ok(list.items),
        Err(kube::Error::Api(status)) if kind.starts_with(POLICY) && matches!(status.code, 403 | 404) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// What the cluster says about a namespace that does not go.
fn reason(namespace: &Namespace) -> String {
    let conditions = namespace.status.as_ref().and_then(|status| status.conditions.as_ref());
    let said = conditions.into_iter().flatten().filter(|condition| condition.status == "True");
    let said: Vec<_> = said.filter_map(|condition| condition.message.as_deref()).collect();
    if said.is_empty() { "the cluster does not say why".to_owned() } else { said.join("; ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_removed_in_words() {
        let mut swept = Swept::default();
        assert!(swept.is_empty());
        for (kind, name) in [("namespace", "ls-a"), ("node", "lockstep-1"), ("namespace", "ls-b")] {
            swept.add(kind, name);
        }
        assert_eq!(swept.to_string(), "2 namespaces (ls-a, ls-b), 1 node (lockstep-1)");
        assert_eq!(swept.left(), None);
        swept.left.add("namespace", "ls-prod");
        let left = swept.left().unwrap();
        assert!(left.contains("1 namespace (ls-prod)") && left.ends_with("kubectl delete namespace ls-prod"), "{left}");
    }

    #[test]
    fn a_namespace_that_stays_says_why() {
        let says = |status: serde_json::Value| {
            reason(
                &serde_json::from_value(json!({"status": {"conditions": [
                    {"type": "NamespaceDeletionDiscoveryFailure", "status": status, "message": "metrics is down"},
                ]}}))
                .unwrap(),
            )
        };
        assert_eq!(says("True".into()), "metrics is down");
        assert_eq!(says("False".into()), "the cluster does not say why");
    }
}
