//! Carries out work items: sends the writes, records the events, and interprets the server's
//! errors.

use std::time::Duration;

use controller_client::api::{ApiServer, RequestError};
use jiff::Timestamp;
use rollout_model::{Event, Meta, ModelError};
use thiserror::Error;

use super::reload::carry_out;
use super::wire::workload_resource;
use crate::decisions::restarts::reloader::ReloadAction;
use crate::decisions::restarts::{
    Profile, RestartSettings, WorkAction, WorkItem, WorkloadFacts, WorkloadKind, WorkloadWrite, WriteOutcome, body,
    event_messages,
};

/// What carrying out a work item needs.
#[derive(Clone, Copy)]
pub(crate) struct RestartContext<'a> {
    pub(crate) api: &'a ApiServer,
    /// Records an event about a workload.
    pub(crate) record_event: &'a (dyn Fn(WorkloadKind, &Meta, &Event) + Sync),
    pub(crate) settings: &'a RestartSettings,
    pub(crate) now: Timestamp,
}

/// Why a write failed.
#[derive(Debug, Error)]
pub(crate) enum RestartError {
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// Carries out one work item.
pub(crate) async fn apply(
    context: RestartContext<'_>,
    work: &WorkItem,
) -> (Option<WriteOutcome>, Option<RestartError>) {
    let workload = &work.observed.workload;
    let record_event = |event: &Event| (context.record_event)(workload.name.kind, &workload.meta, event);
    // xing's controller records no Events (case:
    // `config-restart/safe-and-xing/s45-annotation-list@xing`).
    let warn = |event: &Event| {
        if context.settings.profile == Profile::Safe {
            record_event(event);
        }
    };
    match &work.action {
        WorkAction::ReportThrottled(wait) => warn(&event_messages::throttle_event(*wait)),
        WorkAction::ReportBlocked(blocked) => warn(&event_messages::blocked_event(blocked)),
        WorkAction::ReportUnreadableChecksums(problem) => {
            tracing::warn!(workload = %workload.name, problem, "An annotation cannot be read.");
            warn(&event_messages::unreadable_checksums_event(problem));
        }
        WorkAction::ReportBadAnnotations(problems) => {
            for (annotation, problem) in problems {
                tracing::warn!(workload = %workload.name, annotation, problem, "An annotation cannot be read.");
                // In profile `reloader`, only annotations that are too large get here; in profile
                // `xing`, none do.
                record_event(&event_messages::bad_annotation_event(annotation, problem));
            }
        }
        WorkAction::ReportUnknownKey(secrets) => {
            let secrets: Vec<&str> = secrets.iter().map(String::as_str).collect();
            let names = secrets.join(", ");
            tracing::warn!(
                workload = %workload.name,
                secrets = names,
                "The checksums of these Secrets were made with another key; they are written again without a restart."
            );
            warn(&event_messages::unknown_key_event(&secrets));
        }
        WorkAction::Write(write) => return send_write(context, workload, write, &record_event).await,
        WorkAction::Reload(action) => {
            let (outcome, error) = send_reload(context, workload, action, &record_event).await;
            return (Some(outcome), error);
        }
    }
    (None, None)
}

async fn send_write(
    context: RestartContext<'_>,
    workload: &WorkloadFacts,
    write: &WorkloadWrite,
    record_event: &(dyn Fn(&Event) + Sync),
) -> (Option<WriteOutcome>, Option<RestartError>) {
    let explains = context.settings.profile == Profile::Safe;
    if context.settings.dry_run {
        let restart = write.restart.as_ref().map(|restart| event_messages::restart_event(restart, true));
        tracing::info!(workload = %workload.name, restart = restart.is_some(), "Dry run: not written.");
        restart.iter().for_each(record_event);
        return (Some(WriteOutcome::DryRun(write.clone())), None);
    }
    let resource = workload_resource(workload.name.kind);
    let (namespace, name) = (&workload.name.namespace, &workload.name.name);
    match context.api.merge_patch(resource, namespace, name, &body::patch(write)).await {
        Ok(answer) => {
            tracing::info!(workload = %workload.name, restart = write.restart.is_some(), "Written.");
            if let Some(restart) = write.restart.as_ref().filter(|_| explains) {
                record_event(&event_messages::restart_event(restart, false));
            }
            match WorkloadFacts::read(workload.name.kind, &answer) {
                Ok(now) => (Some(WriteOutcome::Updated(Box::new(now))), None),
                Err(error) => (Some(WriteOutcome::Failed(None)), Some(error.into())),
            }
        }
        // The workload was deleted; the watch will report it (scenario 42).
        Err(error) if error.is_not_found() && explains => (Some(WriteOutcome::Failed(None)), None),
        Err(error) => {
            let message = error.message();
            let is_known = context.settings.ignored_errors.iter().any(|part| message.contains(part.as_str()));
            if is_known {
                tracing::warn!(workload = %workload.name, error = message, "A write failed; the error is one to be ignored.");
            } else {
                tracing::error!(workload = %workload.name, error = message, "A write failed.");
                if explains {
                    record_event(&event_messages::write_failure_event(&message, write.restart.is_some()));
                }
            }
            let refused = (!is_known).then_some(RestartError::Refused(message));
            (Some(WriteOutcome::Failed(retry_after(&error))), refused)
        }
    }
}

/// Sends the requests of profile `reloader`.
async fn send_reload(
    context: RestartContext<'_>,
    workload: &WorkloadFacts,
    action: &ReloadAction,
    record_event: &(dyn Fn(&Event) + Sync),
) -> (WriteOutcome, Option<RestartError>) {
    let config = match action {
        ReloadAction::Restart(restart) => Some(&restart.config),
        ReloadAction::Refuse(problem) => {
            // Reloader records no Event for it (case:
            // `config-restart/reloader/pause-period-unreadable`).
            tracing::error!(workload = %workload.name, problem, "Not restarted.");
            return (WriteOutcome::Failed(None), Some(RestartError::Refused(problem.clone())));
        }
        ReloadAction::Resume => None,
    };
    if context.settings.dry_run {
        config.iter().for_each(|config| record_event(&event_messages::reload_event(config, true)));
        return (WriteOutcome::Done, None);
    }
    let names = &context.settings.reloader.annotations;
    match carry_out(context.api, workload, action, names, context.now).await {
        Ok(answer) => {
            tracing::info!(workload = %workload.name, restart = config.is_some(), "Written.");
            config.iter().for_each(|config| record_event(&event_messages::reload_event(config, false)));
            match answer.map(|answer| WorkloadFacts::read(workload.name.kind, &answer)) {
                None => (WriteOutcome::Done, None),
                Some(Ok(now)) => (WriteOutcome::Updated(Box::new(now)), None),
                Some(Err(error)) => (WriteOutcome::Failed(None), Some(error.into())),
            }
        }
        Err(error) => {
            let message = error.message();
            tracing::error!(workload = %workload.name, error = message, "A write failed.");
            if config.is_some() {
                record_event(&event_messages::reload_failure_event(&message));
            }
            (WriteOutcome::Failed(None), Some(RestartError::Refused(message)))
        }
    }
}

/// The server's `Retry-After`.
fn retry_after(error: &RequestError) -> Option<Duration> {
    error.retry_after_seconds().map(Duration::from_secs)
}
