//! Keeps pods of cases off the user's nodes, and proves that it does.
//!
//! A Deployment controller causes pods without permission to create them: it writes a template, and
//! the cluster's ReplicaSet controller creates the pods. So the API server must refuse forbidden
//! pods from every creator:
//!
//! ```text
//! pod security `baseline` (namespace label)   no privileges, hostPath, hostNetwork, hostPID, …
//! admission policy on pods and bindings       no nodes but the harness's, which have no kubelet
//! ```
//!
//! Neither is trusted without proof: in a namespace with the usual labels, the harness and the
//! subject each try to create such pods as a dry run. The server must refuse all of them and accept
//! an ordinary pod. If it does not, the run is refused, unless the user accepts the risk
//! explicitly.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, ApiResource, DynamicObject, ListParams, PostParams};
use kube::{Resource, ResourceExt};
use lockstep_recording::controllers::{Controller, ControllerSet};
use lockstep_support::clock;
use serde_json::{Value, json};

use super::TenancyError;
use super::rights::Rights;
use super::sweep::objects;
use crate::ClusterError;
use crate::ownership::{INSTALLATION_LABEL, MANAGED_BY, MANAGER, installation, namespace_labels, ownership_labels};

/// The prefix of the harness's node names.
const NODE_PREFIX: &str = "lockstep-";
/// The name of a node that is not the harness's. It need not exist.
const FOREIGN_NODE: &str = "foreign-node";
/// Admission learns of policies through its own watches, and a controller creates the service
/// account of a new namespace.
const TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Creates the policies. If the server does not support them (before v1.30) or refuses them to the
/// user, the proof fails later.
pub(super) async fn create_policies(client: &kube::Client) -> Result<(), ClusterError> {
    for (what, resources, node) in
        [("pods", ["pods"].as_slice(), "spec.nodeName"), ("bindings", &["pods/binding", "bindings"], "target.name")]
    {
        let name = format!("lockstep-{what}-{}", installation());
        let created = create_object::<ValidatingAdmissionPolicy>(client, policy(&name, resources, node)).await?;
        if created {
            let deny = json!({"metadata": {"name": name, "labels": ownership_labels()},
                "spec": {"policyName": name, "validationActions": ["Deny"]}});
            create_object::<ValidatingAdmissionPolicyBinding>(client, deny).await?;
        }
    }
    Ok(())
}

/// The policy: in the harness's namespaces, a pod's node is unset or one of the harness's.
fn policy(name: &str, resources: &[&str], node: &str) -> Value {
    let field = format!("object.{node}");
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": resources});
    json!({
        "metadata": {"name": name, "labels": ownership_labels()},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {MANAGED_BY: MANAGER, INSTALLATION_LABEL: installation()}},
                "resourceRules": [rule],
            },
            "validations": [{
                "expression": format!("!has({field}) || {field} == '' || {field}.startsWith('{NODE_PREFIX}')"),
                "message": "lockstep lets pods of cases on nodes of its own alone",
                "reason": "Forbidden",
            }],
        },
    })
}

/// Returns whether the object was created: the server may not know the kind, or refuse it to the
/// user.
async fn create_object<K>(client: &kube::Client, mut object: Value) -> Result<bool, ClusterError>
where
    K: Resource<DynamicType = ()>,
{
    object["apiVersion"] = K::api_version(&()).into();
    object["kind"] = K::kind(&()).into();
    let object: DynamicObject = serde_json::from_value(object).expect("a literal of the right shape");
    match objects::<K>(client).create(&PostParams::default(), &object).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => {
            tracing::debug!(%status, "an admission policy cannot be created");
            Ok(false)
        }
        Err(error) => Err(ClusterError::request("making an admission policy")(error)),
    }
}

/// Checks that the server refuses every pod with access to a user's node, to the harness and to the
/// subject; returns the first that it accepts, in words.
pub(super) async fn find_unguarded(
    client: &kube::Client,
    subject: &kube::Client,
    rights: &Rights,
    under_test: &ControllerSet,
) -> Result<Option<String>, ClusterError> {
    let name = format!("ls-proof-{:x}", clock::now().as_nanosecond());
    let namespace = json!({"metadata": {"name": name, "labels": namespace_labels(Some(installation()))}});
    let namespace: Namespace = serde_json::from_value(namespace).expect("a literal of the right shape");
    let created = Api::all(client.clone()).create(&PostParams::default(), &namespace).await;
    created.map_err(ClusterError::request("making a namespace for the proof"))?;
    rights.grant(client, subject, &name).await?;
    // First what must be accepted: until the namespace has a service account, everything is
    // refused.
    let resource = ApiResource::erase::<Pod>(&());
    let of = |client: &kube::Client| Api::namespaced_with(client.clone(), &name, &resource);
    let (harness, subject) = (of(client), of(subject));
    let makes_pods = under_test.has(Controller::ReplicaSet);
    for (whose, pods) in [("the harness", &harness), ("the subject", &subject)] {
        if (whose == "the harness" || makes_pods)
            && !wait_for_admission(pods, &ordinary_pod(), Admission::Allowed).await?
        {
            let condition = format!("an ordinary pod of {whose}'s is refused in a namespace of the harness's");
            let why = "the API server says why; `kubectl create --dry-run=server` shows it".to_owned();
            return Err(TenancyError::TimedOut { condition, seconds: TIMEOUT.as_secs(), why }.into());
        }
    }
    for (whose, pods) in [("the cluster's ReplicaSet controller", &harness), ("the subject", &subject)] {
        for (what, pod) in forbidden_pods() {
            if !wait_for_admission(pods, &pod, Admission::Refused).await? {
                return Ok(Some(format!("{whose} make {what}")));
            }
        }
        if !wait_until_binding_refused(pods).await? {
            return Ok(Some(format!("{whose} bind a pod to a node of yours")));
        }
    }
    Ok(None)
}

/// A pod as in cases.
fn ordinary_pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "proof"},
        "spec": {"schedulerName": "lockstep", "automountServiceAccountToken": false,
            "containers": [{"name": "c", "image": "app:1"}]},
    })
}

/// Pods with access to a user's node, each with a description.
fn forbidden_pods() -> Vec<(&'static str, Value)> {
    let with = |path: &str, value: Value| {
        let mut pod = ordinary_pod();
        pod["spec"][path] = value;
        pod
    };
    let container = json!([{"name": "c", "image": "app:1", "securityContext": {"privileged": true}}]);
    vec![
        ("a privileged pod", with("containers", container)),
        ("a pod with a path of the node's", with("volumes", json!([{"name": "v", "hostPath": {"path": "/"}}]))),
        ("a pod in the node's network", with("hostNetwork", true.into())),
        ("a pod that sees the node's processes", with("hostPID", true.into())),
        ("a pod on a node of yours", with("nodeName", FOREIGN_NODE.into())),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Admission {
    Allowed,
    Refused,
}

/// The server's decision on a request. A missing or already bound pod (404, 409) is past admission.
/// A server that permits privileges to no pod (`--allow-privileged=false`) refuses before
/// admission, with 422.
fn admission<T>(result: kube::Result<T>) -> Result<Admission, ClusterError> {
    match result {
        Ok(_) => Ok(Admission::Allowed),
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 422) => Ok(Admission::Refused),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Admission::Allowed),
        Err(error) => Err(ClusterError::request("proving that pods are kept off your nodes")(error)),
    }
}

/// Waits until the server decides as expected.
async fn wait_for_admission(pods: &Api<DynamicObject>, pod: &Value, expected: Admission) -> Result<bool, ClusterError> {
    let pod: DynamicObject = serde_json::from_value(pod.clone()).expect("a literal of the right shape");
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let since = clock::instant();
    while admission(pods.create(&dry, &pod).await)? != expected {
        if since.elapsed() > TIMEOUT {
            return Ok(false);
        }
        clock::pause(POLL_INTERVAL).await;
    }
    Ok(true)
}

/// Waits until the server refuses to bind a pod to a foreign node.
async fn wait_until_binding_refused(pods: &Api<DynamicObject>) -> Result<bool, ClusterError> {
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "proof"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": FOREIGN_NODE}});
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let since = clock::instant();
    loop {
        let result = pods.create_subresource::<_, Value>("binding", "proof", &dry, &binding).await;
        if admission(result)? == Admission::Refused {
            return Ok(true);
        }
        if since.elapsed() > TIMEOUT {
            return Ok(false);
        }
        clock::pause(POLL_INTERVAL).await;
    }
}

/// Warns of the user's DaemonSets that would place pods on the harness's nodes, before the nodes
/// exist; does nothing if the user may not list DaemonSets.
pub(super) async fn warn_about_daemon_sets(client: &kube::Client) {
    let Ok(list) = objects::<DaemonSet>(client).list(&ListParams::default()).await else { return };
    let found: Vec<_> = list.iter().filter(|set| matches_harness_nodes(set)).map(daemon_set_name).collect();
    if !found.is_empty() {
        tracing::warn!(
            "{} selects no nodes and tolerates every taint, and will have a pod that never starts on each of the harness's \
             nodes until they are removed",
            found.join(", ")
        );
    }
}

/// Whether it selects a node without labels and tolerates the harness's taint.
fn matches_harness_nodes(set: &DynamicObject) -> bool {
    let Some(pod) = set.data.pointer("/spec/template/spec") else { return false };
    let required = &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let selects = !required.is_null() || pod["nodeSelector"].as_object().is_some_and(|labels| !labels.is_empty());
    let tolerates = pod["tolerations"].as_array().into_iter().flatten().any(|toleration| {
        let text = |field: &str| toleration[field].as_str().unwrap_or_default();
        text("key").is_empty() && text("operator") == "Exists" && matches!(text("effect"), "" | "NoSchedule")
    });
    tolerates && !selects
}

fn daemon_set_name(set: &DynamicObject) -> String {
    format!("daemonset {}/{}", set.namespace().unwrap_or_default(), set.name_any())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn forbidden_pods_differ_from_ordinary_pod_in_one_field() {
        for (what, pod) in forbidden_pods() {
            let (Value::Object(bad), Value::Object(good)) = (&pod["spec"], &ordinary_pod()["spec"]) else { panic!() };
            let differing = bad.iter().filter(|(key, value)| good.get(*key) != Some(value)).count();
            assert_eq!(differing, 1, "{what}: {pod}");
        }
    }

    #[test]
    fn policies_apply_to_this_installations_namespaces_only() {
        let policy = policy("x", &["pods"], "spec.nodeName");
        let namespaces = &policy["spec"]["matchConstraints"]["namespaceSelector"]["matchLabels"];
        let case = namespace_labels(Some(installation()));
        for (key, value) in namespaces.as_object().unwrap() {
            assert_eq!(&case[key], value, "{key}");
        }
        assert_eq!(namespaces[INSTALLATION_LABEL], installation());
        assert!(policy["spec"]["validations"][0]["expression"].as_str().unwrap().ends_with(".startsWith('lockstep-')"));
    }

    #[rstest]
    #[case(json!({}), false)]
    #[case(json!({"tolerations": [{"operator": "Exists"}]}), true)]
    #[case(json!({"tolerations": [{"operator": "Exists", "effect": "NoSchedule"}]}), true)]
    #[case(json!({"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]}), false)]
    #[case(json!({"tolerations": [{"key": "other", "operator": "Exists"}]}), false)]
    #[case(json!({"tolerations": [{"operator": "Exists"}], "nodeSelector": {"kubernetes.io/os": "linux"}}), false)]
    #[case(json!({"tolerations": [{"operator": "Exists"}], "affinity": {"nodeAffinity":
        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}}}), false)]
    fn unselective_tolerant_daemon_sets_match_harness_nodes(#[case] mut pod: Value, #[case] matches: bool) {
        pod["containers"] = json!([]);
        let spec = json!({"selector": {}, "template": {"spec": pod}});
        let set = serde_json::from_value(json!({"metadata": {"name": "a", "namespace": "b"}, "spec": spec})).unwrap();
        assert_eq!((matches_harness_nodes(&set), daemon_set_name(&set).as_str()), (matches, "daemonset b/a"));
    }
}
