//! Logs the consequences for restarts of a kind that cannot be listed.
//!
//! Such a kind does not delay the start. Reloader, too, starts without Rollouts if the cluster has
//! none (case `config-restart/reloader/rollout-not-served`).

use controller_client::api::Resource;

/// `is_absent` means that the cluster does not serve the kind; otherwise the right to list it is
/// missing.
pub(super) fn log(resource: Resource, is_absent: bool) {
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
