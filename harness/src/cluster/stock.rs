//! A cluster's own controller manager, where its pod can be seen: which controllers it runs, by its
//! command line.
//!
//! Not the proof that nobody looks after Deployments, which is the probe's, but a reason that a
//! person can act on, and a look that leaves nothing behind.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};

use super::ClusterError;
use crate::controllers::{Controller, Controllers};

/// How kubeadm and kops label the pod.
const LABELS: [&str; 2] = ["component=kube-controller-manager", "k8s-app=kube-controller-manager"];

/// What can be seen of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stock {
    /// There is no such pod, or it may not be seen, as where somebody else runs the control plane.
    Unseen,
    /// No controller under test is on.
    Off,
    /// One is.
    On {
        /// Which.
        controller: Controller,
        /// The pod.
        pod: String,
        /// The value of its `--controllers`.
        controllers: String,
    },
}

/// Read the command line of every controller manager on the cluster: those in `without` must be
/// off.
pub(super) async fn look(client: &kube::Client, without: &Controllers) -> Result<Stock, ClusterError> {
    let api: Api<Pod> = Api::namespaced(client.clone(), "kube-system");
    let mut pods = Vec::new();
    for labels in LABELS {
        match api.list(&ListParams::default().labels(labels)).await {
            Ok(list) => pods.extend(list.items),
            Err(kube::Error::Api(status)) if status.code == 403 => {}
            Err(error) => return Err(ClusterError::request("reading the controller manager's pod")(error)),
        }
    }
    Ok(judge(&pods, without))
}

fn judge(pods: &[Pod], without: &Controllers) -> Stock {
    if pods.is_empty() {
        return Stock::Unseen;
    }
    for pod in pods {
        let controllers = flag(pod).unwrap_or_else(|| "*".to_owned());
        if let Some(controller) = without.iter().find(|one| is_on(&controllers, one.as_str())) {
            let pod = pod.metadata.name.clone().unwrap_or_default();
            return Stock::On { controller, pod, controllers };
        }
    }
    Stock::Off
}

/// The value of `--controllers`, if the flag is there: as one word, as two, or in the line of a
/// shell.
fn flag(pod: &Pod) -> Option<String> {
    let containers = &pod.spec.as_ref()?.containers;
    let words = containers.iter().flat_map(|one| one.command.iter().flatten().chain(one.args.iter().flatten()));
    let words: Vec<_> = words.flat_map(|word| word.split_whitespace()).collect();
    let mut values = words.iter().enumerate().filter_map(|(at, word)| match word.strip_prefix("--controllers")? {
        "" => words.get(at + 1).copied(),
        rest => rest.strip_prefix('='),
    });
    values.next_back().map(str::to_owned)
}

/// Whether a controller is on, by upstream's rules: its own name decides, then `*`.
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
    fn upstreams_rules(#[case] controllers: &str, #[case] on: bool) {
        assert_eq!(is_on(controllers, "deployment"), on);
    }

    fn pod(command: &[&str]) -> Pod {
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
    fn the_flag_however_it_is_written(#[case] command: &[&str], #[case] value: Option<&str>) {
        assert_eq!(flag(&pod(command)).as_deref(), value);
    }

    #[test]
    fn every_manager_counts() {
        let off = pod(&["kube-controller-manager", "--controllers=*,-deployment"]);
        let on = pod(&["kube-controller-manager"]);
        let (one, other) = (Controllers::default(), Controllers::from_iter([Controller::ReplicaSet]));
        assert_eq!(judge(&[], &one), Stock::Unseen);
        assert_eq!(judge(std::slice::from_ref(&off), &one), Stock::Off);
        let found = |controller: Controller, controllers: &str| Stock::On {
            controller,
            pod: "manager-a".to_owned(),
            controllers: controllers.to_owned(),
        };
        assert_eq!(judge(&[off.clone(), on], &one), found(Controller::Deployment, "*"));
        assert_eq!(judge(&[off], &other), found(Controller::ReplicaSet, "*,-deployment"));
    }
}
