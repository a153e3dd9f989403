//! Carries out what profile `reloader` has decided.
//!
//! A CronJob is not changed: a Job is made of it. A Job is deleted and made again, for its template cannot be changed; both are read
//! once more before, so that nothing of them need be kept.
//!
//! Case: `config-restart/reloader-refused-once`.

use super::super::workload::{Workload, WorkloadKind};
use super::body;
use super::changes::Order;
use super::pause::Pause;
use super::plan::Restart;
use crate::api::{ApiServer, RequestError, Resource};
use crate::settings::ReloaderAnnotations;
use jiff::Timestamp;
use serde_json::Value;

/// The requests of an order; what the server answered to the last one that changed the workload, if one did.
pub(in crate::restart) async fn carry_out(
    api: &ApiServer,
    workload: &Workload,
    order: &Order,
    names: &ReloaderAnnotations,
    now: Timestamp,
) -> Result<Option<Value>, RequestError> {
    let (namespace, name) = (&workload.name.namespace, &workload.name.name);
    let patch = async |resource, patch: Value| api.patch(resource, namespace, name, &patch).await.map(Some);
    let Restart { pause, write, .. } = match order {
        Order::Refuse(_) => return Ok(None),
        Order::Resume => return patch(Resource::Deployments, body::resumed(names)).await,
        Order::Restart(restart) => restart,
    };
    match pause {
        Some(Pause::Begin(_)) => drop(patch(Resource::Deployments, body::paused(names, now)).await?),
        Some(Pause::Over) => {
            if let Err(error) = patch(Resource::Deployments, body::resumed(names)).await {
                tracing::error!(workload = %workload.name, error = error.message(), "A Deployment stays paused.");
            }
        }
        Some(Pause::GoesOn(_)) | None => {}
    }
    match workload.name.kind {
        WorkloadKind::Deployment => patch(Resource::Deployments, body::patch(write)).await,
        WorkloadKind::StatefulSet => patch(Resource::StatefulSets, body::patch(write)).await,
        WorkloadKind::DaemonSet => patch(Resource::DaemonSets, body::patch(write)).await,
        WorkloadKind::CronJob => {
            let cron_job = api.get(Resource::CronJobs, namespace, name).await?;
            api.create(Resource::Jobs, namespace, &body::job_of(&cron_job, write)).await.map(|_| None)
        }
        WorkloadKind::Job => {
            let job = api.get(Resource::Jobs, namespace, name).await?;
            api.delete_in_background(Resource::Jobs, namespace, name).await?;
            api.create(Resource::Jobs, namespace, &body::job_again(&job, write)).await.map(Some)
        }
    }
}
