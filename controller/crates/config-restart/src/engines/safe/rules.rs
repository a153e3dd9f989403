//! The rules of the safe profile for one workload.
//!
//! They are level-triggered: the checksums of what the pods have are recorded on the workload, and
//! every config that differs from its record is due. A baseline is recorded at once and only
//! restarts wait. The checksums and the trigger are in one write, so no crash can come between them
//! and lose a change.
//!
//! A crash can cost one restart too many: an undo (`kubectl rollout undo`) restores the checksums
//! of the old revision. A process that is killed before it has recorded the undo finds what looks
//! like a missed change after its start (scenario 49).
//!
//! Cases: `config-restart/safe-and-xing/s02-adopted@safe`,
//! `config-restart/safe-and-xing/s19-two-configs@safe`, `config-restart/safe/s25-config-then-spec`,
//! `config-restart/safe/s28-updated-at-once`, `config-restart/safe/s39-re-created`,
//! `config-restart/safe-and-xing/s48-foreign-keys@safe`, `config-restart/safe/window-opens-later`,
//! `config-restart/safe/delay`, `config-restart/safe/one-at-a-time`.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use rollout_model::names::restart as names;

use crate::model::annotation_codec::{ABSENT, AppliedChecksums};
use crate::model::body::derive_trigger;
use crate::model::pending;
use crate::model::pending::{BlockReason, PendingAnnotation};
use crate::model::plan::{
    Baseline, BlockedRestart, ConfigRef, ConfigState, ObservedWorkload, PlannedRestart, RestartCause, RestartPlan,
    WaitReason, WorkloadWrite,
};
use crate::model::workload::WorkloadFacts;
use crate::names::{ConfigKind, ConfigName};
use crate::pacing::group_permit::GroupPermit;
use crate::pacing::schedule::NextOpening;
use crate::settings::RestartSettings;

/// The decision about one config of a workload.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ConfigDecision {
    /// The record is up to date.
    Unchanged,
    /// Record this checksum without a restart.
    Record(String),
    /// The pods have other data: the checksum before, if it is known, and the current one.
    Changed(Option<String>, String),
}

/// Decides about one config, regardless of the time. `recorded` is its checksum on the workload.
pub(crate) fn decide_config(recorded: Option<&String>, config_ref: &ConfigRef) -> ConfigDecision {
    match &config_ref.state {
        // Its kind has not been listed yet or may not be listed, so the record stays (scenario 34).
        ConfigState::Unknown => ConfigDecision::Unchanged,
        ConfigState::Missing => decide_missing(recorded, config_ref),
        ConfigState::Present { usage_checksum, data_checksum, equivalent } => match recorded {
            Some(before) if before == usage_checksum => ConfigDecision::Unchanged,
            // The key was rotated, or other keys are selected; the data is the same.
            Some(before) if equivalent.contains(before) => ConfigDecision::Record(usage_checksum.clone()),
            // Recorded by xing's controller, which has no checksum for some of the keys or for
            // binary data.
            Some(before) if before == data_checksum => ConfigDecision::Record(usage_checksum.clone()),
            _ if config_ref.is_rolled_out => ConfigDecision::Record(usage_checksum.clone()),
            // The kubelet started no pod before the config existed, so the pods have this data (the
            // reverse of X5).
            Some(before) if before == ABSENT && config_ref.usage.required => {
                ConfigDecision::Record(usage_checksum.clone())
            }
            Some(before) => ConfigDecision::Changed(Some(before.clone()), usage_checksum.clone()),
            None => match &config_ref.baseline {
                Some(Baseline::Checksum(before)) if before != usage_checksum => {
                    ConfigDecision::Changed(Some(before.clone()), usage_checksum.clone())
                }
                Some(Baseline::Outdated) => ConfigDecision::Changed(None, usage_checksum.clone()),
                Some(Baseline::Absent) => ConfigDecision::Changed(Some(ABSENT.to_owned()), usage_checksum.clone()),
                _ => ConfigDecision::Record(usage_checksum.clone()),
            },
        },
    }
}

/// A deleted config keeps its checksum, because it may be created again with the same data or with
/// other data (scenarios 38 to 41). A config that pods run without is recorded as absent (X5).
fn decide_missing(recorded: Option<&String>, config_ref: &ConfigRef) -> ConfigDecision {
    match recorded {
        None if !config_ref.usage.required => ConfigDecision::Record(ABSENT.to_owned()),
        _ => ConfigDecision::Unchanged,
    }
}

pub(crate) fn plan(observed: &ObservedWorkload, now: Timestamp, settings: &RestartSettings) -> RestartPlan {
    let workload = &observed.workload;
    let before = &workload.checksums;
    // The checksums of configs that are not referenced any more are removed without a restart.
    let mut recorded: AppliedChecksums = before.clone();
    let unread = unread_secrets(workload, settings).map(ToString::to_string);
    let referenced: BTreeSet<String> = observed.configs.keys().map(ToString::to_string).chain(unread).collect();
    recorded.retain(|name, _| referenced.contains(name));
    let has_removals = recorded.len() < before.len();
    let (mut has_new_records, mut causes, mut record_wait) =
        (workload.has_unkeyed_checksums, Vec::new(), None::<WaitReason>);
    let mut spans = Vec::new();
    for (config, config_ref) in &observed.configs {
        let name = config.to_string();
        match decide_config(workload.known_checksum(&name), config_ref) {
            ConfigDecision::Unchanged => {}
            ConfigDecision::Record(checksum) if checksum == ABSENT => {
                // The config may exist, with its event still to come from another watch.
                let first = config_ref.change_span.map_or(observed.at, |(first, _)| first);
                let due = settings.window.fixed_end(first);
                if due > observed.at {
                    record_wait = Some(earlier_wait(record_wait.as_ref(), due));
                } else {
                    has_new_records = true;
                    recorded.insert(name, checksum);
                }
            }
            ConfigDecision::Record(checksum) => {
                has_new_records = true;
                recorded.insert(name, checksum);
            }
            ConfigDecision::Changed(was, checksum) => {
                // Until the restart, the record says what the pods have.
                if let (Some(was), None) = (&was, workload.known_checksum(&name)) {
                    has_new_records = true;
                    recorded.insert(name, was.clone());
                }
                spans.push((config_ref.change_span.unwrap_or((observed.at, observed.at)), config_ref.changes.max(1)));
                causes.push(RestartCause {
                    config: config.clone(),
                    keys: config_ref.keys.clone(),
                    before: was,
                    after: checksum,
                });
            }
        }
    }
    let pending = |after: Option<String>| PendingAnnotation::between(workload.pending.as_ref(), after);
    let record = |checksums: AppliedChecksums, wait: Option<WaitReason>, pending: PendingAnnotation| {
        let writes = has_new_records || (has_removals && wait.is_none()) || pending != PendingAnnotation::Keep;
        RestartPlan { write: writes.then_some(WorkloadWrite { checksums, restart: None, pending }), wait }
    };
    let (Some(first), Some(last)) =
        (spans.iter().map(|((first, _), _)| *first).min(), spans.iter().map(|((_, last), _)| *last).max())
    else {
        // The pending annotation may be about a config that has not been seen yet.
        let is_known = observed.configs.values().all(|config_ref| config_ref.state != ConfigState::Unknown);
        let pending = if is_known { pending(None) } else { PendingAnnotation::Keep };
        return record(recorded, record_wait, pending);
    };
    let due = settings.window.sliding_end(first, last);
    if due > observed.at {
        return record(recorded, Some(WaitReason::Window(due)), PendingAnnotation::Keep);
    }
    let first = now.checked_sub(observed.at.saturating_sub(first)).unwrap_or(now);
    let since = pending::since(workload.pending.as_ref(), first);
    let early = time_block(observed, since, now);
    if let (None, Some(wait)) = (&early, settings.budget.wait(&workload.restarts, now)) {
        // When the budget allows the restart, the delay does not apply again, because it counts
        // from the first change.
        return record(recorded, Some(WaitReason::Budget(wait)), PendingAnnotation::Keep);
    }
    if let Some(reason) = early.or_else(|| group_block(&observed.permit)) {
        let mut with_unknown_differences = recorded;
        // The restart may wait for hours, and by then the controller may not be able to detect
        // again that the pods have other data. An empty checksum records the difference.
        for cause in causes.iter().filter(|cause| cause.before.is_none()) {
            with_unknown_differences.insert(cause.config.to_string(), String::new());
        }
        let configs = causes.iter().map(|cause| cause.config.to_string()).collect();
        let pending = pending(Some(pending::annotation_text(configs, since, &reason)));
        let wait = match reason.until() {
            Some(until) => Duration::try_from(until.duration_since(now)).ok(),
            None => observed.permit_recheck,
        };
        return record(
            with_unknown_differences,
            Some(WaitReason::Blocked(BlockedRestart { reason, wait, causes })),
            pending,
        );
    }
    let mut checksums = recorded;
    checksums.extend(causes.iter().map(|cause| (cause.config.to_string(), cause.after.clone())));
    let restart = PlannedRestart {
        trigger: derive_trigger(workload.trigger.as_deref(), &checksums),
        merged: spans.iter().map(|(_, changes)| changes).sum(),
        restarts: Some(settings.budget.with_restart_at(&workload.restarts, now)),
        deferral: workload.deferral,
        causes,
    };
    RestartPlan { write: Some(WorkloadWrite { checksums, restart: Some(restart), pending: pending(None) }), wait: None }
}

/// Why a restart that has been due since `since` is too early at this time.
fn time_block(observed: &ObservedWorkload, since: Timestamp, now: Timestamp) -> Option<BlockReason> {
    if let Some((annotation, problem)) = &observed.problem {
        return Some(BlockReason::Unreadable(annotation, problem.clone()));
    }
    let delayed = since.checked_add(observed.delay).unwrap_or(Timestamp::MAX);
    match observed.schedule.as_ref().and_then(|schedule| schedule.next_opening(delayed.max(now))) {
        Some(NextOpening::At(opens)) => Some(BlockReason::Window(opens)),
        Some(NextOpening::Never(problem)) => Some(BlockReason::Unreadable(names::WINDOW, problem)),
        None => (delayed > now).then_some(BlockReason::Delay(delayed)),
    }
}

/// Why the group blocks a restart.
fn group_block(permit: &GroupPermit) -> Option<BlockReason> {
    match permit {
        GroupPermit::Granted => None,
        GroupPermit::WaitFor(others) => Some(BlockReason::Group(others.clone())),
        GroupPermit::StoppedBy(failed) => Some(BlockReason::Stopped(failed.clone())),
        GroupPermit::Unreadable(problem) => Some(BlockReason::Unreadable(names::MAX_UNAVAILABLE, problem.clone())),
    }
}

fn earlier_wait(wait: Option<&WaitReason>, due: crate::pacing::window::Uptime) -> WaitReason {
    match wait {
        Some(WaitReason::Window(other)) => WaitReason::Window(due.min(*other)),
        _ => WaitReason::Window(due),
    }
}

/// Secrets that have a recorded checksum but are not read, because there is no key. Their records
/// stay as they are. Once there is a key, the controller finds what changed in the meantime, and
/// nothing else restarts.
fn unread_secrets<'a>(workload: &'a WorkloadFacts, settings: &RestartSettings) -> impl Iterator<Item = &'a ConfigName> {
    let is_unread = !settings.follows(ConfigKind::Secret);
    workload.references.keys().filter(move |config| is_unread && config.kind == ConfigKind::Secret)
}
