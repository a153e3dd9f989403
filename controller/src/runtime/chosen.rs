//! The controllers that the settings name: the one place that knows all of them.

use std::sync::Arc;

use kube::Client;

use super::controller::Controller;
use super::deployments::Deployments;
use super::queued::{Keyed, Queued};
use super::replica_sets::ReplicaSets;
use super::restarts::Restarts;
use super::shared::Shared;
use crate::api::{ApiServer, Reports};
use crate::deployment::Planner;
use crate::settings::ControllerName;

/// Events that wait to be written, each kind with what writes them.
pub(crate) type AllReports = Vec<(ApiServer, Reports)>;

/// Makes them, in the order of their names; `planner` decides for Deployments.
pub(super) fn chosen(
    client: &Client,
    shared: &Arc<Shared>,
    planner: &Planner,
) -> (Vec<Arc<dyn Controller>>, AllReports) {
    let (mut controllers, mut all_reports) = (Vec::new(), Vec::new());
    for name in &shared.settings.controllers {
        let (controller, reports) = match name {
            ControllerName::Deployment => queued(Deployments::new(planner.clone()), client, shared),
            ControllerName::ReplicaSet => queued(ReplicaSets::default(), client, shared),
            ControllerName::ConfigRestart => {
                let (restarts, reports) = Restarts::new(client, shared);
                (restarts as Arc<dyn Controller>, reports)
            }
        };
        controllers.push(controller);
        all_reports.extend(reports);
    }
    (controllers, all_reports)
}

fn queued(keyed: impl Keyed, client: &Client, shared: &Arc<Shared>) -> (Arc<dyn Controller>, AllReports) {
    let (controller, reports) = Queued::new(keyed, client, shared);
    (Arc::new(controller), vec![reports])
}
