//! What keeps pods of cases off the user's nodes, and the proof that it does.
//!
//! A Deployment controller places pods without being let create one: it writes a template, and the
//! cluster's own ReplicaSet controller creates what stands in it. So the API server has to refuse
//! such pods whoever creates them:
//!
//! ```text
//! pod security `baseline` (a label of each namespace)   no privileges, nothing of a node's: hostPath, hostNetwork, hostPID, …
//! admission policy on pods and on their bindings        no node but the harness's own, which no kubelet runs
//! ```
//!
//! Neither is believed: in a namespace with the labels of every other, the server is asked (as a
//! dry run, by the harness and by the subject) to make such pods, and must refuse all of them, and
//! must not refuse an ordinary one. Where it does not refuse, the run is refused, unless its user
//! accepts that in so many words.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use super::TenancyError;
use super::rights::Rights;
use crate::clock;
use crate::cluster::ClusterError;
use crate::cluster::installation::installation;
use crate::cluster::ours::{INSTALLATION, MANAGER, OURS, labels, namespace_labels};
use crate::controllers::{Controller, Controllers};

/// What the names of the harness's nodes begin with.
const NODES: &str = "lockstep-";
/// A node of somebody else's; that there is none of this name decides nothing.
const FOREIGN: &str = "somebody-elses-node";
/// Admission learns of policies by watches of its own, and a new namespace gets its service account
/// from a controller.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

/// Make the policies. A server that knows none (before v1.30), or that does not let the user make
/// one, shows in the proof.
pub(super) async fn lay(client: &kube::Client) -> Result<(), ClusterError> {
    for (what, resources, node) in
        [("pods", ["pods"].as_slice(), "spec.nodeName"), ("bindings", &["pods/binding", "bindings"], "target.name")]
    {
        let name = format!("lockstep-{what}-{}", installation());
        let made = make::<ValidatingAdmissionPolicy>(client, policy(&name, resources, node)).await?;
        if made {
            let deny = json!({"metadata": {"name": name, "labels": labels()},
                "spec": {"policyName": name, "validationActions": ["Deny"]}});
            make::<ValidatingAdmissionPolicyBinding>(client, deny).await?;
        }
    }
    Ok(())
}

/// In the harness's own namespaces, a node is one of the harness's, or none yet.
fn policy(name: &str, resources: &[&str], node: &str) -> Value {
    let field = format!("object.{node}");
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": resources});
    json!({
        "metadata": {"name": name, "labels": labels()},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "namespaceSelector": {"matchLabels": {OURS: MANAGER, INSTALLATION: installation()}},
                "resourceRules": [rule],
            },
            "validations": [{
                "expression": format!("!has({field}) || {field} == '' || {field}.startsWith('{NODES}')"),
                "message": "lockstep lets pods of cases on nodes of its own alone",
                "reason": "Forbidden",
            }],
        },
    })
}

/// Whether it was made; the server may not know the kind, or not let the user make one.
async fn make<K>(client: &kube::Client, object: Value) -> Result<bool, ClusterError>
where
    K: kube::Resource<DynamicType = ()> + Clone + serde::de::DeserializeOwned + serde::Serialize + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).expect("a literal of the right shape");
    match Api::all(client.clone()).create(&PostParams::default(), &object).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => {
            tracing::debug!(%status, "an admission policy cannot be made");
            Ok(false)
        }
        Err(error) => Err(ClusterError::request("making an admission policy")(error)),
    }
}

/// The server refuses, to harness and subject alike, every pod that reaches a node of the user's;
/// the first that it lets pass, in words.
pub(super) async fn proved(
    client: &kube::Client,
    subject: &kube::Client,
    rights: &Rights,
    under_test: &Controllers,
) -> Result<Option<String>, ClusterError> {
    let name = format!("ls-proof-{:x}", clock::now().as_nanosecond());
    let namespace = json!({"metadata": {"name": name, "labels": namespace_labels(Some(installation()))}});
    let namespace: Namespace = serde_json::from_value(namespace).expect("a literal of the right shape");
    let made = Api::all(client.clone()).create(&PostParams::default(), &namespace).await;
    made.map_err(ClusterError::request("making a namespace for the proof"))?;
    rights.admit(client, subject, &name).await?;
    // First what must pass: before that, everything is refused, for the lack of a service account.
    let of = |client: &kube::Client| Api::<Pod>::namespaced(client.clone(), &name);
    let (harness, subject) = (of(client), of(subject));
    let makes_pods = under_test.has(Controller::ReplicaSet);
    for (whose, pods) in [("the harness", &harness), ("the subject", &subject)] {
        if (whose == "the harness" || makes_pods) && !until(pods, &ordinary(), Answer::Passed).await? {
            let what = format!("an ordinary pod of {whose}'s is refused in a namespace of the harness's");
            let why = "the API server says why; `kubectl create --dry-run=server` shows it".to_owned();
            return Err(TenancyError::Patience { what, seconds: PATIENCE.as_secs(), why }.into());
        }
    }
    for (whose, pods) in [("the cluster's ReplicaSet controller", &harness), ("the subject", &subject)] {
        for (what, pod) in forbidden() {
            if !until(pods, &pod, Answer::Refused).await? {
                return Ok(Some(format!("{whose} make {what}")));
            }
        }
        if !until_unbound(pods).await? {
            return Ok(Some(format!("{whose} bind a pod to a node of yours")));
        }
    }
    Ok(None)
}

/// A pod as cases have them.
fn ordinary() -> Value {
    json!({"metadata": {"name": "proof"}, "spec": {"schedulerName": "lockstep", "automountServiceAccountToken": false,
        "containers": [{"name": "c", "image": "app:1"}]}})
}

/// Pods that reach a node of the user's, each with what it is.
fn forbidden() -> Vec<(&'static str, Value)> {
    let with = |path: &str, value: Value| {
        let mut pod = ordinary();
        pod["spec"][path] = value;
        pod
    };
    let container = json!([{"name": "c", "image": "app:1", "securityContext": {"privileged": true}}]);
    vec![
        ("a privileged pod", with("containers", container)),
        ("a pod with a path of the node's", with("volumes", json!([{"name": "v", "hostPath": {"path": "/"}}]))),
        ("a pod in the node's network", with("hostNetwork", true.into())),
        ("a pod that sees the node's processes", with("hostPID", true.into())),
        ("a pod on a node of yours", with("nodeName", FOREIGN.into())),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Passed,
    Refused,
}

/// What the server would say to a request. A pod that is not there, or bound already, is past
/// admission. A server that lets nobody have privileges (`--allow-privileged=false`) says so before
/// admission, with 422.
fn answer<T>(said: kube::Result<T>) -> Result<Answer, ClusterError> {
    match said {
        Ok(_) => Ok(Answer::Passed),
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 422) => Ok(Answer::Refused),
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Answer::Passed),
        Err(error) => Err(ClusterError::request("proving that pods are kept off your nodes")(error)),
    }
}

/// Whether the server comes to answer so.
async fn until(pods: &Api<Pod>, pod: &Value, wanted: Answer) -> Result<bool, ClusterError> {
    let pod: Pod = serde_json::from_value(pod.clone()).expect("a literal of the right shape");
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let since = clock::instant();
    while answer(pods.create(&dry, &pod).await)? != wanted {
        if since.elapsed() > PATIENCE {
            return Ok(false);
        }
        clock::pause(LOOK).await;
    }
    Ok(true)
}

/// Whether the server comes to refuse that a pod is bound to a foreign node.
async fn until_unbound(pods: &Api<Pod>) -> Result<bool, ClusterError> {
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "proof"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": FOREIGN}});
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let since = clock::instant();
    loop {
        let said = pods.create_subresource::<_, Value>("binding", "proof", &dry, &binding).await;
        if answer(said)? == Answer::Refused {
            return Ok(true);
        }
        if since.elapsed() > PATIENCE {
            return Ok(false);
        }
        clock::pause(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_refused_differs_from_what_must_pass_in_one_field() {
        for (what, pod) in forbidden() {
            let (Value::Object(bad), Value::Object(good)) = (&pod["spec"], &ordinary()["spec"]) else { panic!() };
            let differing = bad.iter().filter(|(key, value)| good.get(*key) != Some(value)).count();
            assert_eq!(differing, 1, "{what}: {pod}");
        }
    }

    #[test]
    fn policies_hold_in_this_installations_namespaces_alone() {
        let policy = policy("x", &["pods"], "spec.nodeName");
        let namespaces = &policy["spec"]["matchConstraints"]["namespaceSelector"]["matchLabels"];
        let case = namespace_labels(Some(installation()));
        for (key, value) in namespaces.as_object().unwrap() {
            assert_eq!(&case[key], value, "{key}");
        }
        assert_eq!(namespaces[INSTALLATION], installation());
        assert!(policy["spec"]["validations"][0]["expression"].as_str().unwrap().ends_with(".startsWith('lockstep-')"));
    }
}
