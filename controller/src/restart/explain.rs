//! What users are told: which configs and keys made a workload restart, or why it did not. Names,
//! and of ConfigMaps checksums; never values, and never a Secret's checksum.

use std::time::Duration;

use super::obstacle::Obstacle;
use super::plan::{Cause, Restart, Shut};
use super::references::{ConfigKind, ConfigName};
use super::selection::parts;
use super::workload::{Held, WorkloadName};
use crate::model::names::restart as names;
use crate::model::{Event, EventKind};

/// Keys that are named; of more, only the number is told.
const KEYS: usize = 10;
/// Configs that are named.
const CONFIGS: usize = 5;
/// Workloads that are named.
const WORKLOADS: usize = 3;

/// A restart that was written, or in a dry run would have been.
pub(super) fn restarted(restart: &Restart, dry_run: bool) -> Event {
    let why = causes(&restart.causes);
    let merged = match restart.merged {
        0 | 1 => String::new(),
        merged => format!("; {merged} changes merged into one restart"),
    };
    let (reason, message) = match restart.held {
        _ if dry_run => (names::WOULD_RESTART, format!("Would restart (dry run): {why}{merged}")),
        None => (names::RESTARTED, format!("Restarting: {why}{merged}")),
        Some(Held::Paused) => {
            (names::DEFERRED, format!("Restart deferred until the Deployment is resumed: {why}{merged}"))
        }
        Some(Held::OnDelete) => {
            (names::DEFERRED, format!("Restart deferred until pods are deleted (OnDelete): {why}{merged}"))
        }
    };
    Event { kind: EventKind::Normal, reason, message }
}

/// A restart of profile `reloader`.
pub(super) fn reloaded(config: &ConfigName, dry_run: bool) -> Event {
    let why = format!("{} {} changed", config.kind.title(), config.name);
    let (reason, message) = match dry_run {
        true => (names::WOULD_RESTART, format!("Would restart (dry run): {why}")),
        false => (names::RELOADED, format!("Restarting: {why}")),
    };
    Event { kind: EventKind::Normal, reason, message }
}

/// One that failed.
pub(super) fn reload_failed(error: &str) -> Event {
    Event {
        kind: EventKind::Warning,
        reason: names::RELOAD_FAILED,
        message: format!("Could not restart this workload: {error}"),
    }
}

/// The budget is spent.
pub(super) fn throttled(wait: Duration) -> Event {
    let message = format!(
        "Not restarted yet: the restart budget of this workload is spent; looking again in {} s (--restart-budget)",
        wait.as_secs().max(1)
    );
    Event { kind: EventKind::Warning, reason: names::THROTTLED, message }
}

/// It is due and waits.
pub(super) fn shut(shut: &Shut) -> Event {
    let why = causes(&shut.causes);
    let (kind, reason, message) = match &shut.obstacle {
        Obstacle::Delay(until) => (
            EventKind::Normal,
            names::RESTART_PENDING,
            format!("Restart pending until {until}, when its delay ends: {why}"),
        ),
        Obstacle::Window(until) => {
            let message = format!("Restart pending until {until}, when the restart window opens: {why}");
            (EventKind::Normal, names::RESTART_PENDING, message)
        }
        Obstacle::Unreadable(annotation, problem) => {
            let message = format!("Restart pending until {annotation} can be read ({problem}): {why}");
            (EventKind::Warning, names::RESTART_PENDING, message)
        }
        Obstacle::Turn(others) => {
            let message = format!("Restart pending until the rollout of {} is complete: {why}", named(others));
            (EventKind::Normal, names::RESTART_PENDING, message)
        }
        Obstacle::Stopped(failed) => {
            let message = format!(
                "Restart stopped, because the rollout of {failed} has failed: it goes on once that workload is available, \
                 or has no annotation {} any more: {why}",
                names::ENABLED
            );
            (EventKind::Warning, names::STOPPED, message)
        }
    };
    Event { kind, reason, message }
}

fn named(workloads: &[WorkloadName]) -> String {
    let mut text: Vec<String> = workloads.iter().take(WORKLOADS).map(ToString::to_string).collect();
    if workloads.len() > WORKLOADS {
        text.push(format!("and {} more", workloads.len() - WORKLOADS));
    }
    text.join(", ")
}

/// The annotation makes no sense.
pub(super) fn unreadable(problem: &str) -> Event {
    let message = format!("Annotation {} is ignored, and written anew without a restart: {problem}", names::CHECKSUMS);
    Event { kind: EventKind::Warning, reason: names::UNREADABLE, message }
}

/// An annotation that a user has set makes no sense.
pub(super) fn bad_annotation(annotation: &str, problem: &str) -> Event {
    let effect = match annotation {
        names::WINDOW | names::DELAY | names::MAX_UNAVAILABLE | names::ORDER => {
            "cannot be read, so changed configs do not restart this workload until it can"
        }
        names::KEYS => "has no effect, so every key that is used restarts this workload",
        _ => "is too large, and only a part of it counts",
    };
    let message = format!("Annotation {annotation} {effect}: {problem}");
    Event { kind: EventKind::Warning, reason: names::ANNOTATION_UNREADABLE, message }
}

/// Checksums of these Secrets, as annotations name them, were made with a key that is not here.
pub(super) fn unknown_key(secrets: &[&str]) -> Event {
    let mut names: Vec<&str> = secrets.iter().take(CONFIGS).copied().collect();
    let more = format!("and {} more", secrets.len().saturating_sub(CONFIGS));
    if secrets.len() > CONFIGS {
        names.push(&more);
    }
    let message = format!(
        "The checksums of {} in annotation {} were made with another key and are written anew without a restart; \
         pods may have older data. Keep the old key as `previous-key` when a key is rotated",
        names.join(", "),
        names::CHECKSUMS
    );
    Event { kind: EventKind::Warning, reason: names::UNREADABLE, message }
}

/// A write failed.
pub(super) fn failed(error: &str, restarts: bool) -> Event {
    let what = if restarts { "restart" } else { "remember the configs of" };
    let message = format!("Could not {what} this workload, trying again: {error}");
    Event { kind: EventKind::Warning, reason: names::FAILED, message }
}

fn causes(causes: &[Cause]) -> String {
    let mut text: Vec<String> = causes.iter().take(CONFIGS).map(cause).collect();
    if causes.len() > CONFIGS {
        text.push(format!("and {} more", causes.len() - CONFIGS));
    }
    text.join(", ")
}

fn cause(cause: &Cause) -> String {
    let Cause { config, keys, before, after } = cause;
    let keys = match keys.len() {
        0 => "keys not known".to_owned(),
        1 => format!("key {}", keys.first().map_or("", String::as_str)),
        n if n > KEYS => format!("{n} keys"),
        _ => format!("keys {}", keys.iter().map(String::as_str).collect::<Vec<_>>().join(" ")),
    };
    // Events are read by even more than workloads are, and a Secret's checksum helps nobody there.
    let checksums = match config.kind {
        ConfigKind::Secret => String::new(),
        ConfigKind::ConfigMap => {
            let before = before.as_deref().filter(|before| !before.is_empty()).unwrap_or("unknown");
            format!("; {} -> {}", parts(before).1, parts(after).1)
        }
    };
    format!("{} {} changed ({keys}{checksums})", config.kind.title(), config.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn restart(keys: &[&str], held: Option<Held>, merged: u32) -> Restart {
        let config = ConfigName { kind: ConfigKind::ConfigMap, namespace: "ns".to_owned(), name: "token".to_owned() };
        let keys: BTreeSet<_> = keys.iter().map(|key| (*key).to_owned()).collect();
        let cause = Cause { config, keys, before: Some("aa".to_owned()), after: "bb".to_owned() };
        Restart { trigger: String::new(), causes: vec![cause], merged, restarts: None, held }
    }

    /// Scenario 72.
    #[test]
    fn names_configs_keys_and_checksums() {
        let event = restarted(&restart(&["a", "b"], None, 3), false);
        let text = "Restarting: ConfigMap token changed (keys a b; aa -> bb); 3 changes merged into one restart";
        assert_eq!((event.reason, event.message.as_str()), ("ConfigRestart", text));
        let event = restarted(&restart(&[], Some(Held::Paused), 1), false);
        let text =
            "Restart deferred until the Deployment is resumed: ConfigMap token changed (keys not known; aa -> bb)";
        assert_eq!((event.reason, event.message.as_str()), ("ConfigRestartDeferred", text));
        assert!(restarted(&restart(&["a"], None, 1), true).message.starts_with("Would restart"));
    }

    /// Whoever may read Events need not be allowed to read Secrets.
    #[test]
    fn no_event_has_the_checksum_of_a_secret() {
        let mut restart = restart(&["a"], None, 1);
        restart.causes[0].config.kind = ConfigKind::Secret;
        assert_eq!(restarted(&restart, false).message, "Restarting: Secret token changed (key a)");
        assert_eq!(restarted(&restart, true).message, "Would restart (dry run): Secret token changed (key a)");
        restart.causes[0].keys.clear();
        assert_eq!(restarted(&restart, false).message, "Restarting: Secret token changed (keys not known)");
    }

    #[test]
    fn checksums_of_another_key_are_told_of_by_name() {
        let event = unknown_key(&["secret/ns/a"]);
        let text = "The checksums of secret/ns/a in annotation com.xing.deployment-restart.applied-config-checksums \
                    were made with another key and are written anew without a restart; pods may have older data. Keep \
                    the old key as `previous-key` when a key is rotated";
        assert_eq!((event.reason, event.message.as_str()), ("ConfigChecksumsUnreadable", text));
        let many = unknown_key(&["secret/ns/a"; 7]).message;
        assert!(many.contains("secret/ns/a, and 2 more in annotation"), "{many}");
    }

    /// An Event's message has its bounds, and a Secret may have a thousand keys.
    #[test]
    fn of_many_the_number_is_told() {
        let names: Vec<String> = (10..21).map(|n| format!("k{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let of = |keys: &[&str]| restart(keys, None, 1).causes.remove(0);
        assert_eq!(cause(&of(&names)), "ConfigMap token changed (11 keys; aa -> bb)");
        let ten = cause(&of(&names[..10]));
        assert_eq!(ten, "ConfigMap token changed (keys k10 k11 k12 k13 k14 k15 k16 k17 k18 k19; aa -> bb)");
        assert_eq!(cause(&of(&["a"])), "ConfigMap token changed (key a; aa -> bb)");
        let all = |count: usize| causes(&vec![of(&["a"]); count]);
        assert_eq!(all(5), [cause(&of(&["a"])).as_str(); 5].join(", "));
        assert_eq!(all(7), all(5) + ", and 2 more");
        let unknown = Cause { before: Some(String::new()), ..of(&["a"]) };
        assert_eq!(cause(&unknown), "ConfigMap token changed (key a; unknown -> bb)");
    }

    #[test]
    fn what_did_not_happen_is_told_too() {
        let told = |event: Event| (event.reason, event.message);
        let text =
            "Not restarted yet: the restart budget of this workload is spent; looking again in 1 s (--restart-budget)";
        assert_eq!(told(throttled(Duration::from_millis(900))), ("ConfigRestartThrottled", text.to_owned()));
        let text = "Annotation com.xing.deployment-restart.applied-config-checksums is ignored, and written anew without a restart: it is null";
        assert_eq!(told(unreadable("it is null")), ("ConfigChecksumsUnreadable", text.to_owned()));
        let text = |what: &str| format!("Could not {what} this workload, trying again: refused");
        assert_eq!(told(failed("refused", true)), ("ConfigRestartFailed", text("restart")));
        assert_eq!(told(failed("refused", false)), ("ConfigRestartFailed", text("remember the configs of")));
    }
}
