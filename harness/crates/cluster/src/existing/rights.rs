//! The permissions of the controller under test on a user's cluster: read what every Deployment
//! controller reads, and write in the harness's namespaces only. The API server refuses everything
//! else.
//!
//! ```text
//! ServiceAccount ── ClusterRoleBinding ── ClusterRole (read)    cluster-wide: get, list, watch
//!        └───────── RoleBinding ───────── ClusterRole (write)   one in each namespace
//! ```
//!
//! Only a subject that brings the ReplicaSet controller may create and delete pods; `pod_guard`
//! restricts their content. The read permissions are those of upstream's roles
//! `system:controller:deployment-controller` and `…:replicaset-controller`. The write permissions
//! are those of both roles, with `patch` wherever there is `update` and the reverse: which of the
//! two a controller uses is not judged. The roles themselves are not used, so that a cluster
//! without them, or with others of that name, works. Nothing of this is trusted: reviews by the
//! server, requested with the subject's token, show when the permissions take effect, and that the
//! token can do nothing elsewhere.

use std::time::Duration;

use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding};
use kube::api::{Api, DeleteParams, DynamicObject, PostParams};
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_support::clock;
use serde_json::{Value, json};

use super::TenancyError;
use super::lease::NAMESPACE;
use super::sweep::objects;
use crate::ClusterError;
use crate::accounts::{GROUP, request_token};
use crate::outage::ignore_existing;
use crate::ownership::{ignore_missing, installation, ownership_labels};

/// The account's name without the installation's id: roles that another installation left behind
/// are bound to another account.
const ACCOUNT: &str = "lockstep-subject";
/// Authorizers learn of roles through their own watches.
const TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The subject's account, and the role that it gets in each of the harness's namespaces.
#[derive(Clone)]
pub(super) struct Rights {
    /// The account's bearer token.
    pub(super) token: String,
    write_role: String,
}

impl Rights {
    /// Creates the account and its roles for a subject that brings these controllers, in an
    /// existing namespace.
    pub(super) async fn create(client: &kube::Client, under_test: &ControllerSet) -> Result<Self, ClusterError> {
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
        // An account of an earlier run would work, but its old tokens would work too.
        let deleted = ignore_missing(accounts.delete(&account_name(), &DeleteParams::default()).await);
        deleted.map_err(ClusterError::request("removing an earlier run's service account"))?;
        let account = json!({"metadata": {"name": account_name(), "labels": ownership_labels()}});
        let account = serde_json::from_value(account).expect("a literal of the right shape");
        accounts
            .create(&PostParams::default(), &account)
            .await
            .map_err(ClusterError::request("making the subject's service account"))?;
        let read_role = create_role(client, "lockstep-subject-read-", &read_rules()).await?;
        let write_role = create_role(client, "lockstep-subject-write-", &write_rules(under_test)).await?;
        let binding: ClusterRoleBinding =
            binding(&json!({"name": read_role, "labels": ownership_labels()}), &read_role);
        Api::all(client.clone())
            .create(&PostParams::default(), &binding)
            .await
            .map_err(ClusterError::request("letting the subject read"))?;
        Ok(Self { token: request_token(&accounts, &account_name()).await?, write_role })
    }

    /// Lets the subject write in one of the harness's namespaces, and waits until it can.
    pub(super) async fn grant(
        &self,
        client: &kube::Client,
        subject: &kube::Client,
        namespace: &str,
    ) -> Result<(), ClusterError> {
        let binding: RoleBinding = binding(&json!({"name": ACCOUNT, "labels": ownership_labels()}), &self.write_role);
        let bindings = Api::namespaced(client.clone(), namespace);
        ignore_existing(bindings.create(&PostParams::default(), &binding).await)
            .map_err(ClusterError::request("letting the subject write in the harness's namespace"))?;
        wait_until_allowed(subject, "delete", "replicasets", namespace).await
    }
}

/// Checks that the subject can read everywhere and write nowhere.
pub(super) async fn check_confined(subject: &kube::Client) -> Result<(), ClusterError> {
    wait_until_allowed(subject, "watch", "deployments", "").await?;
    for namespace in ["", "default", "kube-system"] {
        for (verb, resource) in [("update", "deployments"), ("create", "replicasets"), ("delete", "replicasets")] {
            if is_allowed(subject, verb, resource, namespace).await? {
                let scope = if namespace.is_empty() { "any namespace" } else { namespace };
                return Err(TenancyError::Unconfined { permission: format!("{verb} {resource} in {scope}") }.into());
            }
        }
    }
    Ok(())
}

async fn wait_until_allowed(
    subject: &kube::Client,
    verb: &str,
    resource: &str,
    namespace: &str,
) -> Result<(), ClusterError> {
    let since = clock::instant();
    while !is_allowed(subject, verb, resource, namespace).await? {
        if since.elapsed() > TIMEOUT {
            let condition = format!("the subject's account was not let {verb} {resource}");
            let why =
                "the server does not act on the harness's role binding; is its --authorization-mode without RBAC?";
            let (seconds, why) = (TIMEOUT.as_secs(), why.to_owned());
            return Err(TenancyError::TimedOut { condition, seconds, why }.into());
        }
        clock::pause(POLL_INTERVAL).await;
    }
    Ok(())
}

/// Whether the client's user may do that to all objects of a resource of the group `apps`, in a
/// namespace or, if it is empty, in all.
async fn is_allowed(subject: &kube::Client, verb: &str, resource: &str, namespace: &str) -> Result<bool, ClusterError> {
    let attributes = json!({"group": "apps", "resource": resource, "verb": verb, "namespace": namespace});
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes}});
    let review: DynamicObject = serde_json::from_value(review).expect("a literal of the right shape");
    let answer = objects::<SelfSubjectAccessReview>(subject).create(&PostParams::default(), &review).await;
    let answer = answer.map_err(ClusterError::request("asking what the subject's account may do"))?;
    Ok(answer.data["status"]["allowed"] == true)
}

fn account_name() -> String {
    format!("{ACCOUNT}-{}", installation())
}

async fn create_role(client: &kube::Client, name: &str, rules: &Value) -> Result<String, ClusterError> {
    let role = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole",
        "metadata": {"generateName": name, "labels": ownership_labels()}, "rules": rules});
    let role: DynamicObject = serde_json::from_value(role).expect("a literal of the right shape");
    let made = objects::<ClusterRole>(client).create(&PostParams::default(), &role).await;
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

fn read_rules() -> Value {
    json!([
        {"apiGroups": ["apps"], "resources": ["deployments", "replicasets"], "verbs": READ},
        {"apiGroups": [""], "resources": ["pods"], "verbs": READ},
        // What every user may read by default.
        {"nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/api", "/api/*", "/apis", "/apis/*"], "verbs": ["get"]},
    ])
}

/// Upstream's Deployment controller may update existing pods; the ReplicaSet controller creates and
/// deletes them.
fn write_rules(under_test: &ControllerSet) -> Value {
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

    /// The cluster-wide permissions.
    #[test]
    fn cluster_wide_role_writes_nothing_and_reads_no_secrets() {
        for rule in rules(read_rules()) {
            assert!(rule.verbs.iter().all(|verb| READ.contains(&verb.as_str())), "{rule:?}");
            let resources = rule.resources.unwrap_or_default();
            assert!(resources.iter().all(|one| ["deployments", "replicasets", "pods"].contains(&one.as_str())));
        }
    }

    /// Upstream's two roles, as rows of resource and verbs; a controller with fewer permissions
    /// would behave differently.
    #[test]
    fn write_role_covers_upstreams_controllers() {
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
            let has = |list: &Option<Vec<String>>, item: &str| list.iter().flatten().any(|one| one == item);
            let all = rules(write_rules(&ControllerSet::from_iter(Controller::UPSTREAM)));
            let rule = all.iter().find(|rule| has(&rule.api_groups, group) && has(&rule.resources, resource)).unwrap();
            assert!(verbs.split(' ').all(|verb| rule.verbs.iter().any(|has| has == verb)), "{group}/{resource}");
        }
    }

    #[test]
    fn only_replicaset_controller_creates_and_deletes_pods() {
        for (under_test, makes) in [(vec![Controller::Deployment], false), (Controller::UPSTREAM.to_vec(), true)] {
            let all = rules(write_rules(&under_test.into_iter().collect()));
            let pods = all.iter().find(|rule| rule.resources.iter().flatten().any(|one| one == "pods")).unwrap();
            for verb in ["create", "delete"] {
                assert_eq!(pods.verbs.iter().any(|has| has == verb), makes, "{verb}");
            }
        }
        let all = rules(write_rules(&ControllerSet::from_iter(Controller::ALL)));
        let bound = all.iter().flat_map(|rule| rule.resources.iter().flatten()).any(|one| one.contains("bind"));
        assert!(!bound, "only a scheduler binds pods");
    }

    #[test]
    fn binding_references_role_and_account() {
        let role_binding: RoleBinding = binding(&json!({"name": "x"}), "role");
        assert_eq!(role_binding.role_ref.name, "role");
        assert_eq!(role_binding.subjects.unwrap()[0].namespace.as_deref(), Some(NAMESPACE));
    }
}
