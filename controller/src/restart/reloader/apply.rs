//! Carries out what profile `reloader` has decided.
//!
//! A CronJob is not changed: a Job is made of it. A Job is deleted and made again, for its template
//! cannot be changed. Both are read once more before, so that nothing of them need be kept. So is a
//! Rollout that gets a variable: a custom resource takes no strategic merge patch, so all its
//! containers are sent.
//!
//! Cases: `config-restart/reloader-refused-once`, `config-restart/reloader-rollout`.

use super::super::workload::{Workload, WorkloadKind};
use super::body;
use super::changes::Order;
use super::pause::Pause;
use super::plan::Restart;
use super::strategy::Write;
use crate::api::{ApiServer, RequestError, Resource};
use crate::settings::ReloaderAnnotations;
use jiff::Timestamp;
use serde_json::Value;

/// How often a write is tried where somebody else has written in between.
const ATTEMPTS: usize = 5;

/// The requests of an order; what the server answered to the last one that changed the workload, if
/// one did.
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
        WorkloadKind::Rollout => match write {
            Write::Annotation(_) | Write::RestartAt(_) => {
                api.merge_patch(Resource::Rollouts, namespace, name, &body::patch(write)).await.map(Some)
            }
            Write::Variable { .. } | Write::NoVariable { .. } => {
                change_containers(api, workload, write).await.map(Some)
            }
        },
    }
}

/// Writes a variable into a Rollout.
async fn change_containers(api: &ApiServer, workload: &Workload, write: &Write) -> Result<Value, RequestError> {
    let (namespace, name) = (&workload.name.namespace, &workload.name.name);
    let mut attempt = 1;
    loop {
        let rollout = api.get(Resource::Rollouts, namespace, name).await?;
        let patch = body::patch_of_read(&rollout, write);
        match api.merge_patch(Resource::Rollouts, namespace, name, &patch).await {
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
            answer => return answer,
        }
    }
}
