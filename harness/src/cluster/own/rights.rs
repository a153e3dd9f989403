//! What the controller under test may do on a cluster of somebody's: read what every Deployment
//! controller reads, and write in the harness's own namespaces alone. The API server itself refuses
//! the rest, whatever the controller tries.
//!
//! ```text
//! ServiceAccount ── ClusterRoleBinding ── ClusterRole (read)     cluster-wide: get, list, watch
//!        └───────── RoleBinding ───────── ClusterRole (write)    one in each namespace of the harness's
//! ```
//!
//! Pods are made and deleted only by a subject that brings the ReplicaSet controller; what may
//! stand in them is for `guard`. What may be read is what upstream's roles
//! `system:controller:deployment-controller` and `…:replicaset-controller` let those two read. What
//! may be written is what both may write, and with `update` also `patch` and the other way round:
//! which of the two a controller uses is not judged, and the roles themselves are not used, so that
//! a cluster without them, or with others of that name, will do. None of it is believed: reviews by
//! the server, asked for with the subject's own token, say when it holds, and that the token can do
//! nothing elsewhere.

use std::time::Duration;

use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding};
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};

use super::{TenancyError, lease::NAMESPACE};
use crate::clock;
use crate::cluster::ClusterError;
use crate::cluster::accounts;
use crate::cluster::installation::installation;
use crate::cluster::ours::{gone, labels};
use crate::controllers::{Controller, Controllers};

/// The account's name, up to the installation: roles that another one has left are bound to another
/// account.
const ACCOUNT: &str = "lockstep-subject";
const GROUP: &str = "rbac.authorization.k8s.io";
/// Authorizers learn of roles by watches of their own.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(10);

/// The subject's account, and the role that is bound to it in each namespace of the harness's.
#[derive(Clone)]
pub(super) struct Rights {
    /// The account's bearer token.
    pub(super) token: String,
    write: String,
}

impl Rights {
    /// Make the account and its roles for a subject that brings these controllers, in a namespace
    /// that is there.
    pub(super) async fn make(client: &kube::Client, under_test: &Controllers) -> Result<Self, ClusterError> {
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
        // One of an earlier run would do, but its tokens would still do as well.
        let deleted = gone(accounts.delete(&account_name(), &DeleteParams::default()).await);
        deleted.map_err(ClusterError::request("removing an earlier run's service account"))?;
        let account = json!({"metadata": {"name": account_name(), "labels": labels()}});
        let account = serde_json::from_value(account).expect("a literal of the right shape");
        accounts
            .create(&PostParams::default(), &account)
            .await
            .map_err(ClusterError::request("making the subject's service account"))?;
        let read = role(client, "lockstep-subject-read-", &reading()).await?;
        let write = role(client, "lockstep-subject-write-", &writing(under_test)).await?;
        let binding: ClusterRoleBinding = binding(&json!({"name": read, "labels": labels()}), &read);
        Api::all(client.clone())
            .create(&PostParams::default(), &binding)
            .await
            .map_err(ClusterError::request("letting the subject read"))?;
        Ok(Self { token: accounts::token(&accounts, &account_name()).await?, write })
    }

    /// Let the subject write in a namespace of the harness's, and wait until it can.
    pub(super) async fn admit(
        &self,
        client: &kube::Client,
        subject: &kube::Client,
        namespace: &str,
    ) -> Result<(), ClusterError> {
        let binding: RoleBinding = binding(&json!({"name": ACCOUNT, "labels": labels()}), &self.write);
        Api::namespaced(client.clone(), namespace)
            .create(&PostParams::default(), &binding)
            .await
            .map_err(ClusterError::request("letting the subject write in the harness's namespace"))?;
        until_it_may(subject, "delete", "replicasets", namespace).await
    }
}

/// The subject can read everywhere and write nowhere.
pub(super) async fn prove_confined(subject: &kube::Client) -> Result<(), ClusterError> {
    until_it_may(subject, "watch", "deployments", "").await?;
    for namespace in ["", "default", "kube-system"] {
        for (verb, resource) in [("update", "deployments"), ("create", "replicasets"), ("delete", "replicasets")] {
            if may(subject, verb, resource, namespace).await? {
                let place = if namespace.is_empty() { "any namespace" } else { namespace };
                return Err(TenancyError::Unconfined { what: format!("{verb} {resource} in {place}") }.into());
            }
        }
    }
    Ok(())
}

async fn until_it_may(subject: &kube::Client, verb: &str, resource: &str, namespace: &str) -> Result<(), ClusterError> {
    let since = clock::instant();
    while !may(subject, verb, resource, namespace).await? {
        if since.elapsed() > PATIENCE {
            let what = format!("the subject's account was not let {verb} {resource}");
            let why =
                "the server does not act on the harness's role binding; is its --authorization-mode without RBAC?";
            let (seconds, why) = (PATIENCE.as_secs(), why.to_owned());
            return Err(TenancyError::Patience { what, seconds, why }.into());
        }
        clock::pause(LOOK).await;
    }
    Ok(())
}

/// Whether the client's user may do that to all of a resource of the group `apps`; no namespace: in
/// all of them.
async fn may(subject: &kube::Client, verb: &str, resource: &str, namespace: &str) -> Result<bool, ClusterError> {
    let attributes = json!({"group": "apps", "resource": resource, "verb": verb, "namespace": namespace});
    let review = json!({"spec": {"resourceAttributes": attributes}});
    let review: SelfSubjectAccessReview = serde_json::from_value(review).expect("a literal of the right shape");
    let answer = Api::all(subject.clone()).create(&PostParams::default(), &review).await;
    let answer = answer.map_err(ClusterError::request("asking what the subject's account may do"))?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

fn account_name() -> String {
    format!("{ACCOUNT}-{}", installation())
}

async fn role(client: &kube::Client, name: &str, rules: &Value) -> Result<String, ClusterError> {
    let role = json!({"metadata": {"generateName": name, "labels": labels()}, "rules": rules});
    let role: ClusterRole = serde_json::from_value(role).expect("a literal of the right shape");
    let made = Api::all(client.clone()).create(&PostParams::default(), &role).await;
    Ok(made.map_err(ClusterError::request("making the subject's role"))?.metadata.name.unwrap_or_default())
}

fn binding<T: serde::de::DeserializeOwned>(metadata: &Value, role: &str) -> T {
    let binding = json!({
        "metadata": metadata,
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account_name(), "namespace": NAMESPACE}],
    });
    serde_json::from_value(binding).expect("a literal of the right shape")
}

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 7] = ["get", "list", "watch", "create", "update", "patch", "delete"];

fn reading() -> Value {
    json!([
        {"apiGroups": ["apps"], "resources": ["deployments", "replicasets"], "verbs": READ},
        {"apiGroups": [""], "resources": ["pods"], "verbs": READ},
        // What every user may read, where nobody has taken that away.
        {"nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/api", "/api/*", "/apis", "/apis/*"], "verbs": ["get"]},
    ])
}

/// Of pods, upstream's Deployment controller may write what is there; it is the ReplicaSet
/// controller that makes and deletes them.
fn writing(under_test: &Controllers) -> Value {
    let pods =
        if under_test.has(Controller::ReplicaSet) { &WRITE[..] } else { &["get", "list", "watch", "update", "patch"] };
    let of_deployments = ["deployments", "deployments/status", "deployments/scale", "deployments/finalizers"];
    let of_replica_sets = ["replicasets", "replicasets/status", "replicasets/scale", "replicasets/finalizers"];
    json!([
        {"apiGroups": ["apps"], "resources": of_deployments, "verbs": ["get", "list", "watch", "update", "patch"]},
        {"apiGroups": ["apps"], "resources": of_replica_sets, "verbs": WRITE},
        {"apiGroups": [""], "resources": ["pods"], "verbs": pods},
        {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "update", "patch"]},
    ])
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::rbac::v1::PolicyRule;

    use super::*;

    fn rules(value: Value) -> Vec<PolicyRule> {
        serde_json::from_value(value).unwrap()
    }

    /// The half that holds on the whole cluster.
    #[test]
    fn nothing_is_written_cluster_wide_and_no_secret_is_read() {
        for rule in rules(reading()) {
            assert!(rule.verbs.iter().all(|verb| READ.contains(&verb.as_str())), "{rule:?}");
            let resources = rule.resources.unwrap_or_default();
            assert!(resources.iter().all(|one| ["deployments", "replicasets", "pods"].contains(&one.as_str())));
        }
    }

    /// Upstream's two roles, as rows of resource and verbs; whoever is given less behaves
    /// differently here.
    #[test]
    fn upstreams_own_controllers_may_do_what_they_need() {
        let needed = [
            ("apps", "deployments", "get list watch update"),
            ("apps", "deployments/status", "update"),
            ("apps", "deployments/finalizers", "update"),
            ("apps", "replicasets", "get list watch create update patch delete"),
            ("apps", "replicasets/status", "update"),
            ("apps", "replicasets/finalizers", "update"),
            ("", "pods", "get list watch create update patch delete"),
            ("", "events", "create update patch"),
            ("events.k8s.io", "events", "create update patch"),
        ];
        for (group, resource, verbs) in needed {
            let has = |list: &Option<Vec<String>>, wanted: &str| list.iter().flatten().any(|one| one == wanted);
            let all = rules(writing(&Controllers::from_iter(Controller::UPSTREAM)));
            let rule = all.iter().find(|rule| has(&rule.api_groups, group) && has(&rule.resources, resource)).unwrap();
            assert!(verbs.split(' ').all(|verb| rule.verbs.iter().any(|has| has == verb)), "{group}/{resource}");
        }
    }

    #[test]
    fn only_who_brings_the_replicaset_controller_makes_and_deletes_pods() {
        for (under_test, makes) in [(vec![Controller::Deployment], false), (Controller::UPSTREAM.to_vec(), true)] {
            let all = rules(writing(&under_test.into_iter().collect()));
            let pods = all.iter().find(|rule| rule.resources.iter().flatten().any(|one| one == "pods")).unwrap();
            for verb in ["create", "delete"] {
                assert_eq!(pods.verbs.iter().any(|has| has == verb), makes, "{verb}");
            }
        }
        let all = rules(writing(&Controllers::from_iter(Controller::ALL)));
        let bound = all.iter().flat_map(|rule| rule.resources.iter().flatten()).any(|one| one.contains("bind"));
        assert!(!bound, "binding is for whoever runs the nodes");
    }

    #[test]
    fn a_binding_names_role_and_account() {
        let made: RoleBinding = binding(&json!({"name": "x"}), "role");
        assert_eq!(made.role_ref.name, "role");
        assert_eq!(made.subjects.unwrap()[0].namespace.as_deref(), Some(NAMESPACE));
    }
}
