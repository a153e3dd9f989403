//! Removing everything of the harness's from a cluster that stays: by label and name, so that what a run that was killed has left
//! goes as well.

use std::fmt;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Node};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, DeleteParams};
use kube::{Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::{ClusterError, TenancyError};
use crate::clock;
use crate::cluster::ours::{delete_namespace, gone, named_ours, ours};

/// Where leases of nodes are.
const NODE_LEASES: &str = "kube-node-lease";
/// How long namespaces may take to go: what is in them is deleted by the cluster, kind by kind.
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(250);

/// What was removed, kind by kind, by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept(Vec<(&'static str, Vec<String>)>);

impl Swept {
    /// Whether there was nothing.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, names)| names.is_empty())
    }

    pub(super) fn add(&mut self, kind: &'static str, name: &str) {
        match self.0.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, names)) => names.push(name.to_owned()),
            None => self.0.push((kind, vec![name.to_owned()])),
        }
    }
}

/// `2 namespaces (a, b), 1 node (c)`
impl fmt::Display for Swept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.0.iter().filter(|(_, names)| !names.is_empty());
        for (index, (kind, names)) in there.enumerate() {
            let (comma, s) = (if index > 0 { ", " } else { "" }, if names.len() > 1 { "s" } else { "" });
            write!(f, "{comma}{} {kind}{s} ({})", names.len(), names.join(", "))?;
        }
        Ok(())
    }
}

/// Remove all but the namespace that holds the lease. Namespaces are on their way out then, everything else is gone.
pub(super) async fn sweep(client: &kube::Client) -> Result<Swept, ClusterError> {
    let mut swept = Swept::default();
    let all = |what| ClusterError::request(what);
    // First what gives rights, then what things are in.
    remove::<ClusterRoleBinding>(&Api::all(client.clone()), "role binding", &mut swept)
        .await
        .map_err(all("removing the harness's role bindings"))?;
    remove::<ClusterRole>(&Api::all(client.clone()), "role", &mut swept)
        .await
        .map_err(all("removing the harness's roles"))?;
    for namespace in namespaces(client, false).await? {
        if namespace.metadata.deletion_timestamp.is_none() {
            let name = namespace.name_any();
            delete_namespace(client, &name).await.map_err(all("removing the harness's namespaces"))?;
            swept.add("namespace", &name);
        }
    }
    remove::<Node>(&Api::all(client.clone()), "node", &mut swept).await.map_err(all("removing the harness's nodes"))?;
    // They belong to the nodes, and are not told of.
    remove::<Lease>(&Api::namespaced(client.clone(), NODE_LEASES), "lease", &mut Swept::default())
        .await
        .map_err(all("removing the leases of the harness's nodes"))?;
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

async fn remove<K>(api: &Api<K>, kind: &'static str, swept: &mut Swept) -> kube::Result<()>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + fmt::Debug,
{
    for object in api.list(&ours(true)).await? {
        let name = object.name_any();
        if named_ours(&name) {
            gone(api.delete(&name, &DeleteParams::default()).await)?;
            swept.add(kind, &name);
        }
    }
    Ok(())
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
