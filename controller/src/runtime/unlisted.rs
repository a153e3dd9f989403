//! What it means for restarts that a kind cannot be listed, for whoever reads the log.
//!
//! Nothing waits for such a kind. Reloader goes on without Rollouts, too, where the cluster has
//! none (case `config-restart/reloader-rollout-not-served`).

use crate::api::Resource;

/// Says it; `is_absent`: the cluster does not have the kind. Otherwise there is no right to list
/// it.
pub(super) fn say(resource: Resource, is_absent: bool) {
    if is_absent {
        tracing::error!(
            "The cluster has no Rollouts (argoproj.io/v1alpha1), and --is-Argo-Rollouts is true: none is restarted until it \
             has, other workloads are. Install Argo Rollouts, or leave out the flag."
        );
        return;
    }
    let what = resource.plural();
    let effect = match resource {
        Resource::Namespaces => "restart windows of namespaces have no effect, those of workloads have",
        Resource::ConfigMaps | Resource::Secrets => "workloads that use them are left as they are, others are not",
        _ => "none of them is restarted, other workloads are",
    };
    tracing::error!(resource = what, "May not be listed; {effect}.");
}
