//! Builds the controllers that the settings name; the only module that knows all of them.

use std::sync::Arc;

use controller_client::metrics::Metrics;
use controller_client::runtime::{Controller, Controllers, EventQueues, QueueController, Reconcile, SharedState};
use controller_reconcilers::deployment::{DeploymentReconciler, Planner};
use controller_reconcilers::replicaset::ReplicaSetReconciler;
use controller_reconcilers::restart::RestartController;
use kube::Client;

use crate::settings::{ControllerName, Settings};

/// Builds the controllers that the settings name, in the order of their names; `planner` decides
/// for Deployments.
pub(crate) fn build_controllers(
    client: &Client,
    settings: &Settings,
    planner: &Planner,
    metrics: Metrics,
) -> (Arc<Controllers>, EventQueues) {
    let shared = Arc::new(SharedState::new(settings.client(), metrics));
    let (mut controllers, mut event_queues) = (Vec::new(), Vec::new());
    for name in &settings.controllers {
        let (controller, events) = match name {
            ControllerName::Deployment => {
                let workers = settings.concurrent_deployment_syncs;
                queued(DeploymentReconciler::new(planner.clone(), settings.rules(), workers), client, &shared)
            }
            ControllerName::ReplicaSet => {
                let workers = settings.concurrent_replicaset_syncs;
                queued(ReplicaSetReconciler::new(settings.rules(), workers), client, &shared)
            }
            ControllerName::ConfigRestart => {
                let (restarts, events) = RestartController::new(client, &settings.restart, &shared);
                (restarts as Arc<dyn Controller>, events)
            }
        };
        controllers.push(controller);
        event_queues.extend(events);
    }
    (Controllers::new(client, shared, controllers), event_queues)
}

fn queued(
    reconciler: impl Reconcile,
    client: &Client,
    shared: &Arc<SharedState>,
) -> (Arc<dyn Controller>, EventQueues) {
    let (controller, events) = QueueController::new(reconciler, client, shared);
    (Arc::new(controller), vec![events])
}
