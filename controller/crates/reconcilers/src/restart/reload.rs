//! Sends the requests of profile `reloader`.
//!
//! A CronJob is not changed; a Job is created from it. A Job is deleted and created again, because
//! its template is immutable. Both are read from the server first, so that the cache need not store
//! them. The same holds for a Rollout that gets a variable: a custom resource does not support
//! strategic merge patches, so the request contains all its containers.
//!
//! Cases: `config-restart/reloader/refused-once`, `config-restart/reloader/rollout`.

use controller_client::api::{ApiServer, RequestError, Resource};
use jiff::Timestamp;
use serde_json::Value;

use crate::decisions::restarts::reloader::{PauseAction, PlannedReload, ReloadAction, TemplateChange, body};
use crate::decisions::restarts::{ReloaderAnnotations, WorkloadFacts, WorkloadKind};

/// How often a write is tried if it conflicts with the writes of others.
const ATTEMPTS: usize = 5;

/// Sends the requests of an action. Returns the response to the last request that changed the
/// workload, if there was one.
pub(super) async fn carry_out(
    api: &ApiServer,
    workload: &WorkloadFacts,
    action: &ReloadAction,
    names: &ReloaderAnnotations,
    now: Timestamp,
) -> Result<Option<Value>, RequestError> {
    let (namespace, name) = (&workload.name.namespace, &workload.name.name);
    let patch = async |resource, patch: Value| api.patch(resource, namespace, name, &patch).await.map(Some);
    let PlannedReload { pause, write, .. } = match action {
        ReloadAction::Refuse(_) => return Ok(None),
        ReloadAction::Resume => return patch(Resource::Deployments, body::resume_patch(names)).await,
        ReloadAction::Restart(restart) => restart,
    };
    match pause {
        Some(PauseAction::Begin(_)) => drop(patch(Resource::Deployments, body::pause_patch(names, now)).await?),
        Some(PauseAction::End) => {
            if let Err(error) = patch(Resource::Deployments, body::resume_patch(names)).await {
                tracing::error!(workload = %workload.name, error = error.message(), "A Deployment stays paused.");
            }
        }
        Some(PauseAction::Continue(_)) | None => {}
    }
    match workload.name.kind {
        WorkloadKind::Deployment => patch(Resource::Deployments, body::patch(write)).await,
        WorkloadKind::StatefulSet => patch(Resource::StatefulSets, body::patch(write)).await,
        WorkloadKind::DaemonSet => patch(Resource::DaemonSets, body::patch(write)).await,
        WorkloadKind::CronJob => {
            let cron_job = api.get(Resource::CronJobs, namespace, name).await?;
            api.create(Resource::Jobs, namespace, &body::job_from_cron_job(&cron_job, write)).await.map(|_| None)
        }
        WorkloadKind::Job => {
            let job = api.get(Resource::Jobs, namespace, name).await?;
            api.delete_in_background(Resource::Jobs, namespace, name).await?;
            api.create(Resource::Jobs, namespace, &body::recreated_job(&job, write)).await.map(Some)
        }
        WorkloadKind::Rollout => match write {
            TemplateChange::SetAnnotation(_) | TemplateChange::SetRestartAt(_) => {
                api.merge_patch(Resource::Rollouts, namespace, name, &body::patch(write)).await.map(Some)
            }
            TemplateChange::SetVariable { .. } | TemplateChange::RemoveVariable { .. } => {
                change_containers(api, workload, write).await.map(Some)
            }
        },
    }
}

/// Changes a variable of a Rollout.
async fn change_containers(
    api: &ApiServer,
    workload: &WorkloadFacts,
    write: &TemplateChange,
) -> Result<Value, RequestError> {
    let (namespace, name) = (&workload.name.namespace, &workload.name.name);
    let mut attempt = 1;
    loop {
        let rollout = api.get(Resource::Rollouts, namespace, name).await?;
        let patch = body::versioned_patch(&rollout, write);
        match api.merge_patch(Resource::Rollouts, namespace, name, &patch).await {
            Err(error) if error.is_conflict() && attempt < ATTEMPTS => attempt += 1,
            answer => return answer,
        }
    }
}
