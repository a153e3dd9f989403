//! Finds the user's DaemonSets that would place pods on the harness's nodes, and warns before the
//! nodes exist.

use k8s_openapi::api::apps::v1::DaemonSet;
use kube::ResourceExt;
use kube::api::{Api, ListParams};

/// Warns of them; does nothing if the user may not list DaemonSets.
pub(super) async fn warn_about_matching(client: &kube::Client) {
    let Ok(list) = Api::<DaemonSet>::all(client.clone()).list(&ListParams::default()).await else { return };
    let found: Vec<_> = list.iter().filter(|set| matches_harness_nodes(set)).map(name).collect();
    if !found.is_empty() {
        tracing::warn!(
            "{} selects no nodes and tolerates every taint, and will have a pod that never starts on each of the harness's \
             nodes until they are removed",
            found.join(", ")
        );
    }
}

/// Whether it selects a node without labels and tolerates the harness's taint.
fn matches_harness_nodes(set: &DaemonSet) -> bool {
    let Some(pod) = set.spec.as_ref().and_then(|spec| spec.template.spec.as_ref()) else { return false };
    let affinity = pod.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.is_some_and(|node| node.required_during_scheduling_ignored_during_execution.is_some());
    let selects = required || pod.node_selector.as_ref().is_some_and(|labels| !labels.is_empty());
    let tolerates = pod.tolerations.iter().flatten().any(|toleration| {
        let any_key = toleration.key.as_deref().unwrap_or_default().is_empty();
        let effect = toleration.effect.as_deref().unwrap_or_default();
        any_key && toleration.operator.as_deref() == Some("Exists") && matches!(effect, "" | "NoSchedule")
    });
    tolerates && !selects
}

fn name(set: &DaemonSet) -> String {
    format!("daemonset {}/{}", set.namespace().unwrap_or_default(), set.name_any())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

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
        assert_eq!((matches_harness_nodes(&set), name(&set).as_str()), (matches, "daemonset b/a"));
    }
}
