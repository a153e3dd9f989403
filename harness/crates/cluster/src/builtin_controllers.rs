//! Reads which controllers a cluster's own controller manager runs, from the command line of its
//! pod, if that is visible.
//!
//! This is not the proof that no other controller handles Deployments, which is the probe's task.
//! It gives a reason that a user can act on, and leaves nothing behind.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use lockstep_recording::controllers::{Controller, ControllerSet};
use serde_json::Value;

use super::ClusterError;

/// The pod's labels in clusters of kubeadm and kops.
const LABELS: [&str; 2] = ["component=kube-controller-manager", "k8s-app=kube-controller-manager"];

/// What the command line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BuiltinControllerStatus {
    /// No pod is visible, as on a cluster with a managed control plane.
    Unseen,
    /// All controllers under test are off.
    Off,
    /// A controller under test is on.
    On {
        controller: Controller,
        pod: String,
        /// The value of its `--controllers`.
        controllers: String,
    },
}

/// Reads the command line of every controller manager of the cluster: the controllers in `without`
/// must be off.
pub(super) async fn inspect(
    client: &kube::Client,
    without: &ControllerSet,
) -> Result<BuiltinControllerStatus, ClusterError> {
    let resource = ApiResource::erase::<Pod>(&());
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "kube-system", &resource);
    let mut pods = Vec::new();
    for labels in LABELS {
        match api.list(&ListParams::default().labels(labels)).await {
            Ok(list) => pods.extend(list.items),
            Err(kube::Error::Api(status)) if status.code == 403 => {}
            Err(error) => return Err(ClusterError::request("reading the controller manager's pod")(error)),
        }
    }
    Ok(evaluate(&pods, without))
}

fn evaluate(pods: &[DynamicObject], without: &ControllerSet) -> BuiltinControllerStatus {
    if pods.is_empty() {
        return BuiltinControllerStatus::Unseen;
    }
    for pod in pods {
        let controllers = flag(pod).unwrap_or_else(|| "*".to_owned());
        if let Some(controller) = without.iter().find(|one| is_on(&controllers, one.as_str())) {
            let pod = pod.metadata.name.clone().unwrap_or_default();
            return BuiltinControllerStatus::On { controller, pod, controllers };
        }
    }
    BuiltinControllerStatus::Off
}

/// The value of the `--controllers` flag: written as one word, as two, or in a shell's command
/// line.
fn flag(pod: &DynamicObject) -> Option<String> {
    let containers = pod.data.pointer("/spec/containers")?.as_array()?;
    let lists = containers.iter().flat_map(|one| [&one["command"], &one["args"]]);
    let words = lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str);
    let words: Vec<_> = words.flat_map(str::split_whitespace).collect();
    let mut values = words.iter().enumerate().filter_map(|(at, word)| match word.strip_prefix("--controllers")? {
        "" => words.get(at + 1).copied(),
        rest => rest.strip_prefix('='),
    });
    values.next_back().map(str::to_owned)
}

/// Whether a controller is on, by upstream's rules: its own entry decides, then `*`.
fn is_on(controllers: &str, name: &str) -> bool {
    let words: Vec<_> = controllers.split(',').map(str::trim).collect();
    let is = |word: &str| word == name || word.strip_suffix("-controller") == Some(name);
    if words.iter().any(|word| is(word)) {
        return true;
    }
    let off = words.iter().any(|word| word.strip_prefix('-').is_some_and(is));
    !off && words.contains(&"*")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("*,bootstrapsigner,tokencleaner", true)]
    #[case("*,bootstrapsigner,tokencleaner,-deployment", false)]
    #[case("*,-deployment-controller", false)]
    #[case("replicaset,namespace", false)]
    #[case("deployment", true)]
    #[case("*,-replicaset", true)]
    fn flag_follows_upstreams_rules(#[case] controllers: &str, #[case] on: bool) {
        assert_eq!(is_on(controllers, "deployment"), on);
    }

    fn pod(command: &[&str]) -> DynamicObject {
        let container = json!({"name": "manager", "command": command});
        serde_json::from_value(json!({"metadata": {"name": "manager-a"}, "spec": {"containers": [container]}})).unwrap()
    }

    #[rstest]
    #[case(&["kube-controller-manager", "--controllers=*,-deployment"], Some("*,-deployment"))]
    #[case(&["kube-controller-manager", "--controllers", "*,-deployment", "--v=2"], Some("*,-deployment"))]
    #[case(&["sh", "-c", "exec kube-controller-manager --controllers=*,-deployment --v=2"], Some("*,-deployment"))]
    #[case(&["kube-controller-manager", "--controllers=a", "--controllers=b"], Some("b"))]
    #[case(&["kube-controller-manager", "--controllers-extra=a"], None)]
    #[case(&["kube-controller-manager"], None)]
    fn finds_flag_in_every_form(#[case] command: &[&str], #[case] value: Option<&str>) {
        assert_eq!(flag(&pod(command)).as_deref(), value);
    }

    #[test]
    fn every_controller_manager_is_checked() {
        let off = pod(&["kube-controller-manager", "--controllers=*,-deployment"]);
        let on = pod(&["kube-controller-manager"]);
        let (one, other) = (ControllerSet::default(), ControllerSet::from_iter([Controller::ReplicaSet]));
        assert_eq!(evaluate(&[], &one), BuiltinControllerStatus::Unseen);
        assert_eq!(evaluate(std::slice::from_ref(&off), &one), BuiltinControllerStatus::Off);
        let found = |controller: Controller, controllers: &str| BuiltinControllerStatus::On {
            controller,
            pod: "manager-a".to_owned(),
            controllers: controllers.to_owned(),
        };
        assert_eq!(evaluate(&[off.clone(), on], &one), found(Controller::Deployment, "*"));
        assert_eq!(evaluate(&[off], &other), found(Controller::ReplicaSet, "*,-deployment"));
    }
}
