//! Carries out what was decided, and knows what a refusal means.

use std::time::Duration;

use jiff::Timestamp;
use thiserror::Error;

use super::plan::Write;
use super::reloader::{self, Order};
use super::work::{Action, Outcome, Work};
use super::workload::{Workload, WorkloadKind};
use super::{body, explain};
use crate::api::{ApiServer, RequestError, Resource};
use crate::model::{Event, Meta, ModelError};
use crate::settings::{Profile, RestartSettings};

/// What carrying out needs besides the work.
#[derive(Clone, Copy)]
pub(crate) struct Tools<'a> {
    pub(crate) api: &'a ApiServer,
    /// Takes an event about a workload.
    pub(crate) tell: &'a (dyn Fn(WorkloadKind, &Meta, &Event) + Sync),
    pub(crate) settings: &'a RestartSettings,
    pub(crate) now: Timestamp,
}

/// Why a write did not come to be.
#[derive(Debug, Error)]
pub(crate) enum ApplyError {
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Carries out one piece of work.
pub(crate) async fn apply(tools: Tools<'_>, work: &Work) -> (Option<Outcome>, Option<ApplyError>) {
    let workload = &work.observed.workload;
    let tell = |event: &Event| (tools.tell)(workload.name.kind, &workload.meta, event);
    // xing's controller writes no Events (cases: `config-restart/s45-annotation-list@xing`).
    let warn = |event: &Event| {
        if tools.settings.profile == Profile::Safe {
            tell(event);
        }
    };
    match &work.action {
        Action::Throttled(wait) => warn(&explain::throttled(*wait)),
        Action::Shut(shut) => warn(&explain::shut(shut)),
        Action::Unreadable(problem) => {
            tracing::warn!(workload = %workload.name, problem, "An annotation cannot be read.");
            warn(&explain::unreadable(problem));
        }
        Action::BadAnnotations(problems) => {
            for (annotation, problem) in problems {
                tracing::warn!(workload = %workload.name, annotation, problem, "An annotation cannot be read.");
                // Profile `reloader` has it for what is too large alone; xing's for nothing.
                tell(&explain::bad_annotation(annotation, problem));
            }
        }
        Action::UnknownKey(secrets) => {
            let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
            let names = secrets.join(", ");
            tracing::warn!(
                workload = %workload.name,
                secrets = names,
                "The checksums of these Secrets were made with another key; they are written anew without a restart."
            );
            warn(&explain::unknown_key(&secrets));
        }
        Action::Write(write) => return write_one(tools, workload, write, &tell).await,
        Action::Reload(order) => return reload(tools, workload, order, &tell).await,
    }
    (None, None)
}

async fn write_one(
    tools: Tools<'_>,
    workload: &Workload,
    write: &Write,
    tell: &(dyn Fn(&Event) + Sync),
) -> (Option<Outcome>, Option<ApplyError>) {
    let explains = tools.settings.profile == Profile::Safe;
    if tools.settings.dry_run {
        let restart = write.restart.as_ref().map(|restart| explain::restarted(restart, true));
        tracing::info!(workload = %workload.name, restart = restart.is_some(), "Dry run: not written.");
        restart.iter().for_each(tell);
        return (Some(Outcome::Pretended(write.clone())), None);
    }
    let resource = match workload.name.kind {
        WorkloadKind::Deployment => Resource::Deployments,
        WorkloadKind::StatefulSet => Resource::StatefulSets,
        WorkloadKind::DaemonSet => Resource::DaemonSets,
        WorkloadKind::CronJob => Resource::CronJobs,
        WorkloadKind::Job => Resource::Jobs,
        WorkloadKind::Rollout => Resource::Rollouts,
    };
    let (namespace, name) = (&workload.name.namespace, &workload.name.name);
    match tools.api.merge_patch(resource, namespace, name, &body::patch(write)).await {
        Ok(answer) => {
            tracing::info!(workload = %workload.name, restart = write.restart.is_some(), "Written.");
            if let Some(restart) = write.restart.as_ref().filter(|_| explains) {
                tell(&explain::restarted(restart, false));
            }
            match Workload::read(workload.name.kind, &answer) {
                Ok(now) => (Some(Outcome::Written(Box::new(now))), None),
                Err(error) => (Some(Outcome::Failed(None)), Some(error.into())),
            }
        }
        // Gone: the watch will say so, too (scenario 42).
        Err(error) if error.is_not_found() && explains => (Some(Outcome::Failed(None)), None),
        Err(error) => {
            let message = error.message();
            let is_known = tools.settings.ignored_errors.iter().any(|part| message.contains(part.as_str()));
            if is_known {
                tracing::warn!(workload = %workload.name, error = message, "A write failed; the error is one to be ignored.");
            } else {
                tracing::error!(workload = %workload.name, error = message, "A write failed.");
                if explains {
                    tell(&explain::failed(&message, write.restart.is_some()));
                }
            }
            let refused = (!is_known).then_some(ApplyError::Refused(message));
            (Some(Outcome::Failed(retry_after(&error))), refused)
        }
    }
}

/// The same in profile `reloader`, which has requests of its own.
async fn reload(
    tools: Tools<'_>,
    workload: &Workload,
    order: &Order,
    tell: &(dyn Fn(&Event) + Sync),
) -> (Option<Outcome>, Option<ApplyError>) {
    let config = match order {
        Order::Restart(restart) => Some(&restart.config),
        Order::Refuse(problem) => {
            // Reloader has no Event for it (case:
            // `config-restart/reloader-pause-period-unreadable`).
            tracing::error!(workload = %workload.name, problem, "Not restarted.");
            return (Some(Outcome::Failed(None)), Some(ApplyError::Refused(problem.clone())));
        }
        Order::Resume => None,
    };
    if tools.settings.dry_run {
        config.iter().for_each(|config| tell(&explain::reloaded(config, true)));
        return (None, None);
    }
    let names = &tools.settings.reloader.annotations;
    match reloader::carry_out(tools.api, workload, order, names, tools.now).await {
        Ok(answer) => {
            tracing::info!(workload = %workload.name, restart = config.is_some(), "Written.");
            config.iter().for_each(|config| tell(&explain::reloaded(config, false)));
            match answer.map(|answer| Workload::read(workload.name.kind, &answer)) {
                None => (Some(Outcome::Made), None),
                Some(Ok(now)) => (Some(Outcome::Written(Box::new(now))), None),
                Some(Err(error)) => (Some(Outcome::Failed(None)), Some(error.into())),
            }
        }
        Err(error) => {
            let message = error.message();
            tracing::error!(workload = %workload.name, error = message, "A write failed.");
            if config.is_some() {
                tell(&explain::reload_failed(&message));
            }
            (Some(Outcome::Failed(None)), Some(ApplyError::Refused(message)))
        }
    }
}

/// How long the server wants to be left alone.
fn retry_after(error: &RequestError) -> Option<Duration> {
    error.retry_after_seconds().map(Duration::from_secs)
}
