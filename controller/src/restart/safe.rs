//! The rules of the safe profile about one workload.
//!
//! Level-triggered: what the pods have is written on the workload, and whatever differs from it is
//! due. A baseline is written at once and only restarts wait, so a crash can lose a change only
//! between two writes that belong together, and there are none.
//!
//! What a crash can cost is one restart too many: an undo brings the checksums of the old revision
//! back, and a process that is killed before it has recorded the undo comes back to what looks like
//! a change that it missed (scenario 49).
//!
//! Cases: `config-restart/s02-adopted@safe`, `config-restart/s19-two-configs@safe`,
//! `config-restart/s25-safe-config-then-spec`, `config-restart/s28-safe-updated-at-once`,
//! `config-restart/s39-safe-re-created`, `config-restart/s48-foreign-keys@safe`,
//! `config-restart/window-opens-later`, `config-restart/delay`, `config-restart/one-at-a-time`.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;

use super::obstacle::Obstacle;
use super::pending::{self, Note};
use super::plan::{Baseline, Cause, Linked, Observed, Plan, Present, Restart, Shut, Wait, Write};
use super::references::{ConfigKind, ConfigName};
use super::schedule::Closed;
use super::state::{ABSENT, Applied};
use super::trigger::derived;
use super::turn::Turn;
use super::workload::Workload;
use crate::model::names::restart as names;
use crate::settings::RestartSettings;

/// What is to become of one config of a workload.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing.
    Fine,
    /// This is remembered, and nothing else.
    Record(String),
    /// The pods have something else: the checksum before, as far as it is known, and the one now.
    Changed(Option<String>, String),
}

/// What is to become of a config, whatever the time.
pub(super) fn judge(applied: Option<&String>, linked: &Linked) -> Verdict {
    match &linked.present {
        // Its kind was not listed yet, or may not be: what is remembered stays (scenario 34).
        Present::Unknown => Verdict::Fine,
        Present::Missing => missing(applied, linked),
        Present::There { used, whole, equivalent } => match applied {
            Some(before) if before == used => Verdict::Fine,
            // The key was rotated, or other keys are selected, and the data is the same.
            Some(before) if equivalent.contains(before) => Verdict::Record(used.clone()),
            // Remembered by xing's controller, which has no checksum for a part or for binary data.
            Some(before) if before == whole => Verdict::Record(used.clone()),
            _ if linked.rolled_out => Verdict::Record(used.clone()),
            // Pods have waited for it, so they have it as it is (X5, the other way round).
            Some(before) if before == ABSENT && linked.used.required => Verdict::Record(used.clone()),
            Some(before) => Verdict::Changed(Some(before.clone()), used.clone()),
            None => match &linked.baseline {
                Some(Baseline::Checksum(before)) if before != used => {
                    Verdict::Changed(Some(before.clone()), used.clone())
                }
                Some(Baseline::Outdated) => Verdict::Changed(None, used.clone()),
                Some(Baseline::Absent) => Verdict::Changed(Some(ABSENT.to_owned()), used.clone()),
                _ => Verdict::Record(used.clone()),
            },
        },
    }
}

/// One that is gone keeps its checksum: it may come back with the same data or with other
/// (scenarios 38 to 41). One that pods run without is remembered as absent (X5).
fn missing(applied: Option<&String>, linked: &Linked) -> Verdict {
    match applied {
        None if !linked.used.required => Verdict::Record(ABSENT.to_owned()),
        _ => Verdict::Fine,
    }
}

pub(super) fn plan(observed: &Observed, now: Timestamp, settings: &RestartSettings) -> Plan {
    let workload = &observed.workload;
    let before = &workload.applied;
    // What is no longer referred to goes, without a restart.
    let mut recorded: Applied = before.clone();
    let unread = unread(workload, settings).map(ToString::to_string);
    let stays: BTreeSet<String> = observed.configs.keys().map(ToString::to_string).chain(unread).collect();
    recorded.retain(|name, _| stays.contains(name));
    let purges = recorded.len() < before.len();
    let (mut records, mut causes, mut waits) = (workload.rekeyed, Vec::new(), None::<Wait>);
    let mut seen = Vec::new();
    for (config, linked) in &observed.configs {
        let name = config.to_string();
        match judge(workload.known(&name), linked) {
            Verdict::Fine => {}
            Verdict::Record(checksum) if checksum == ABSENT => {
                // It may only be late: another watch brings it.
                let first = linked.seen.map_or(observed.at, |(first, _)| first);
                let due = settings.window.fixed(first);
                if due > observed.at {
                    waits = Some(earlier(waits.as_ref(), due));
                } else {
                    records = true;
                    recorded.insert(name, checksum);
                }
            }
            Verdict::Record(checksum) => {
                records = true;
                recorded.insert(name, checksum);
            }
            Verdict::Changed(was, checksum) => {
                // Until it is acted upon, what the pods have is remembered.
                if let (Some(was), None) = (&was, workload.known(&name)) {
                    records = true;
                    recorded.insert(name, was.clone());
                }
                seen.push((linked.seen.unwrap_or((observed.at, observed.at)), linked.changes.max(1)));
                causes.push(Cause { config: config.clone(), keys: linked.keys.clone(), before: was, after: checksum });
            }
        }
    }
    let note = |after: Option<String>| Note::changing(workload.pending.as_ref(), after);
    let record = |applied: Applied, wait: Option<Wait>, note: Note| {
        let writes = records || (purges && wait.is_none()) || note != Note::Keep;
        Plan { write: writes.then_some(Write { applied, restart: None, note }), wait }
    };
    let (Some(first), Some(last)) =
        (seen.iter().map(|((first, _), _)| *first).min(), seen.iter().map(|((_, last), _)| *last).max())
    else {
        // What is pending may be about a config that is not known yet.
        let is_known = observed.configs.values().all(|linked| linked.present != Present::Unknown);
        let note = if is_known { note(None) } else { Note::Keep };
        return record(recorded, waits, note);
    };
    let due = settings.window.sliding(first, last);
    if due > observed.at {
        return record(recorded, Some(Wait::Window(due)), Note::Keep);
    }
    let first = now.checked_sub(observed.at.saturating_sub(first)).unwrap_or(now);
    let since = pending::since(workload.pending.as_ref(), first);
    let early = too_early(observed, since, now);
    if let (None, Some(wait)) = (&early, settings.budget.wait(&workload.restarts, now)) {
        // A delay that has passed is not waited for once more.
        return record(recorded, Some(Wait::Budget(wait)), Note::Keep);
    }
    if let Some(obstacle) = early.or_else(|| others(&observed.turn)) {
        let mut noted = recorded;
        // It waits for hours, and what is known now may not be found again then: it differs from
        // what the pods have.
        for cause in causes.iter().filter(|cause| cause.before.is_none()) {
            noted.insert(cause.config.to_string(), String::new());
        }
        let configs = causes.iter().map(|cause| cause.config.to_string()).collect();
        let note = note(Some(pending::shown(configs, since, &obstacle)));
        let wait = match obstacle.until() {
            Some(until) => Duration::try_from(until.duration_since(now)).ok(),
            None => observed.turn_changes,
        };
        return record(noted, Some(Wait::Shut(Shut { obstacle, wait, causes })), note);
    }
    let mut applied = recorded;
    applied.extend(causes.iter().map(|cause| (cause.config.to_string(), cause.after.clone())));
    let restart = Restart {
        trigger: derived(workload.trigger.as_deref(), &applied),
        merged: seen.iter().map(|(_, changes)| changes).sum(),
        restarts: Some(settings.budget.spent(&workload.restarts, now)),
        held: workload.held,
        causes,
    };
    Plan { write: Some(Write { applied, restart: Some(restart), note: note(None) }), wait: None }
}

/// Why what waits since a moment is not restarted yet, as far as that is a matter of time.
fn too_early(observed: &Observed, since: Timestamp, now: Timestamp) -> Option<Obstacle> {
    if let Some((annotation, problem)) = &observed.problem {
        return Some(Obstacle::Unreadable(annotation, problem.clone()));
    }
    let delayed = since.checked_add(observed.delay).unwrap_or(Timestamp::MAX);
    match observed.schedule.as_ref().and_then(|schedule| schedule.closed(delayed.max(now))) {
        Some(Closed::Until(opens)) => Some(Obstacle::Window(opens)),
        Some(Closed::Never(problem)) => Some(Obstacle::Unreadable(names::WINDOW, problem)),
        None => (delayed > now).then_some(Obstacle::Delay(delayed)),
    }
}

/// The same, as far as it is a matter of others.
fn others(turn: &Turn) -> Option<Obstacle> {
    match turn {
        Turn::Now => None,
        Turn::After(others) => Some(Obstacle::Turn(others.clone())),
        Turn::Stopped(failed) => Some(Obstacle::Stopped(failed.clone())),
        Turn::Unreadable(problem) => Some(Obstacle::Unreadable(names::MAX_UNAVAILABLE, problem.clone())),
    }
}

fn earlier(wait: Option<&Wait>, due: super::window::Moment) -> Wait {
    match wait {
        Some(Wait::Window(other)) => Wait::Window(due.min(*other)),
        _ => Wait::Window(due),
    }
}

/// Secrets of which the workload shows what the pods have, while there is no key and no Secret is
/// read. That stays as it is: once there is a key, what changed meanwhile is found, and nothing
/// else restarts.
fn unread<'a>(workload: &'a Workload, settings: &RestartSettings) -> impl Iterator<Item = &'a ConfigName> {
    let is_unread = !settings.follows(ConfigKind::Secret);
    workload.references.keys().filter(move |config| is_unread && config.kind == ConfigKind::Secret)
}

/// Whether a config's name is one that a workload or the config itself has opted out of.
pub(super) fn is_ignored(workload: &Workload, config: &ConfigName, says_so_itself: bool) -> bool {
    says_so_itself || workload.ignores.contains(&format!("{}/{}", config.kind.as_str(), config.name))
}
