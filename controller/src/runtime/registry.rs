//! Builds the controllers that the settings name; the only module that knows all of them.

use std::sync::Arc;

use kube::Client;

use super::controller::Controller;
use super::deployment_reconciler::DeploymentReconciler;
use super::queue_controller::{QueueController, Reconcile};
use super::replica_set_reconciler::ReplicaSetReconciler;
use super::restart_controller::RestartController;
use super::shared_state::SharedState;
use crate::api::{ApiServer, EventQueue};
use crate::deployment::Planner;
use crate::settings::ControllerName;

/// The event queues of all controllers, each with the client that writes its events.
pub(crate) type EventQueues = Vec<(ApiServer, EventQueue)>;

/// Builds the controllers in the order of their names; `planner` decides for Deployments.
pub(super) fn build_controllers(
    client: &Client,
    shared: &Arc<SharedState>,
    planner: &Planner,
) -> (Vec<Arc<dyn Controller>>, EventQueues) {
    let (mut controllers, mut event_queues) = (Vec::new(), Vec::new());
    for name in &shared.settings.controllers {
        let (controller, events) = match name {
            ControllerName::Deployment => queued(DeploymentReconciler::new(planner.clone()), client, shared),
            ControllerName::ReplicaSet => queued(ReplicaSetReconciler::default(), client, shared),
            ControllerName::ConfigRestart => {
                let (restarts, events) = RestartController::new(client, shared);
                (restarts as Arc<dyn Controller>, events)
            }
        };
        controllers.push(controller);
        event_queues.extend(events);
    }
    (controllers, event_queues)
}

fn queued(
    reconciler: impl Reconcile,
    client: &Client,
    shared: &Arc<SharedState>,
) -> (Arc<dyn Controller>, EventQueues) {
    let (controller, events) = QueueController::new(reconciler, client, shared);
    (Arc::new(controller), vec![events])
}
