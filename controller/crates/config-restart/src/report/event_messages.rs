//! The texts of Events: which configs and keys restart a workload, or why it does not restart. They
//! contain names, and checksums of ConfigMaps, but never a value and never a Secret's checksum.

use std::time::Duration;

use rollout_model::names::restart as names;
use rollout_model::{Event, EventKind};

use crate::model::key_selection::split_checksum;
use crate::model::pending::BlockReason;
use crate::model::plan::{BlockedRestart, PlannedRestart, RestartCause};
use crate::names::{ConfigKind, ConfigName, Deferral, WorkloadName};

/// The most keys to name; if there are more, only their number is given.
const MAX_KEYS: usize = 10;
/// The most configs to name.
const MAX_CONFIGS: usize = 5;
/// The most workloads to name.
const MAX_WORKLOADS: usize = 3;

/// A restart that was written, or that a dry run left out.
pub fn restart_event(restart: &PlannedRestart, dry_run: bool) -> Event {
    let why = describe_causes(&restart.causes);
    let merged = match restart.merged {
        0 | 1 => String::new(),
        merged => format!("; {merged} changes merged into one restart"),
    };
    let (reason, message) = match restart.deferral {
        _ if dry_run => (names::WOULD_RESTART, format!("Would restart (dry run): {why}{merged}")),
        None => (names::RESTARTED, format!("Restarting: {why}{merged}")),
        Some(Deferral::Paused) => {
            (names::DEFERRED, format!("Restart deferred until the Deployment is resumed: {why}{merged}"))
        }
        Some(Deferral::OnDelete) => {
            (names::DEFERRED, format!("Restart deferred until pods are deleted (OnDelete): {why}{merged}"))
        }
    };
    Event { kind: EventKind::Normal, reason, message }
}

/// A restart of profile `reloader`.
pub fn reload_event(config: &ConfigName, dry_run: bool) -> Event {
    let why = format!("{} {} changed", config.kind.kind_name(), config.name);
    let (reason, message) = match dry_run {
        true => (names::WOULD_RESTART, format!("Would restart (dry run): {why}")),
        false => (names::RELOADED, format!("Restarting: {why}")),
    };
    Event { kind: EventKind::Normal, reason, message }
}

/// Says that a reload failed.
pub fn reload_failure_event(error: &str) -> Event {
    Event {
        kind: EventKind::Warning,
        reason: names::RELOAD_FAILED,
        message: format!("Could not restart this workload: {error}"),
    }
}

/// Says that a workload's budget is spent.
pub fn throttle_event(wait: Duration) -> Event {
    let message = format!(
        "Not restarted yet: the restart budget of this workload is spent; looking again in {} s (--restart-budget)",
        wait.as_secs().max(1)
    );
    Event { kind: EventKind::Warning, reason: names::THROTTLED, message }
}

/// Says what blocks a restart.
pub fn blocked_event(blocked: &BlockedRestart) -> Event {
    let why = describe_causes(&blocked.causes);
    let (kind, reason, message) = match &blocked.reason {
        BlockReason::Delay(until) => (
            EventKind::Normal,
            names::RESTART_PENDING,
            format!("Restart pending until {until}, when its delay ends: {why}"),
        ),
        BlockReason::Window(until) => {
            let message = format!("Restart pending until {until}, when the restart window opens: {why}");
            (EventKind::Normal, names::RESTART_PENDING, message)
        }
        BlockReason::Unreadable(annotation, problem) => {
            let message = format!("Restart pending until {annotation} can be read ({problem}): {why}");
            (EventKind::Warning, names::RESTART_PENDING, message)
        }
        BlockReason::Group(others) => {
            let message = format!("Restart pending until the rollout of {} is complete: {why}", workload_list(others));
            (EventKind::Normal, names::RESTART_PENDING, message)
        }
        BlockReason::Stopped(failed) => {
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

fn workload_list(workloads: &[WorkloadName]) -> String {
    let mut text: Vec<String> = workloads.iter().take(MAX_WORKLOADS).map(ToString::to_string).collect();
    if workloads.len() > MAX_WORKLOADS {
        text.push(format!("and {} more", workloads.len() - MAX_WORKLOADS));
    }
    text.join(", ")
}

/// Says that the checksums annotation cannot be read.
pub fn unreadable_checksums_event(problem: &str) -> Event {
    let message = format!("Annotation {} is ignored, and written again without a restart: {problem}", names::CHECKSUMS);
    Event { kind: EventKind::Warning, reason: names::UNREADABLE, message }
}

/// An annotation that a user has set cannot be read or is too large.
pub fn bad_annotation_event(annotation: &str, problem: &str) -> Event {
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

/// The checksums of these Secrets, as annotations name them, were made with an unknown key.
pub fn unknown_key_event(secrets: &[&str]) -> Event {
    let mut names: Vec<&str> = secrets.iter().take(MAX_CONFIGS).copied().collect();
    let more = format!("and {} more", secrets.len().saturating_sub(MAX_CONFIGS));
    if secrets.len() > MAX_CONFIGS {
        names.push(&more);
    }
    let message = format!(
        "The checksums of {} in annotation {} were made with another key and are written again without a restart; \
         pods may have older data. Keep the old key as `previous-key` when a key is rotated",
        names.join(", "),
        names::CHECKSUMS
    );
    Event { kind: EventKind::Warning, reason: names::UNREADABLE, message }
}

/// Says that a write failed.
pub fn write_failure_event(error: &str, restarts: bool) -> Event {
    let action = if restarts { "restart" } else { "remember the configs of" };
    let message = format!("Could not {action} this workload, trying again: {error}");
    Event { kind: EventKind::Warning, reason: names::FAILED, message }
}

fn describe_causes(causes: &[RestartCause]) -> String {
    let mut text: Vec<String> = causes.iter().take(MAX_CONFIGS).map(describe_cause).collect();
    if causes.len() > MAX_CONFIGS {
        text.push(format!("and {} more", causes.len() - MAX_CONFIGS));
    }
    text.join(", ")
}

fn describe_cause(cause: &RestartCause) -> String {
    let RestartCause { config, keys, before, after } = cause;
    let keys = match keys.len() {
        0 => "keys not known".to_owned(),
        1 => format!("key {}", keys.first().map_or("", String::as_str)),
        n if n > MAX_KEYS => format!("{n} keys"),
        _ => format!("keys {}", keys.iter().map(String::as_str).collect::<Vec<_>>().join(" ")),
    };
    // Even more users may read Events than workloads, and a Secret's checksum is of no use to them.
    let checksums = match config.kind {
        ConfigKind::Secret => String::new(),
        ConfigKind::ConfigMap => {
            let before = before.as_deref().filter(|before| !before.is_empty()).unwrap_or("unknown");
            format!("; {} -> {}", split_checksum(before).1, split_checksum(after).1)
        }
    };
    format!("{} {} changed ({keys}{checksums})", config.kind.kind_name(), config.name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn restart(keys: &[&str], deferral: Option<Deferral>, merged: u32) -> PlannedRestart {
        let config = ConfigName { kind: ConfigKind::ConfigMap, namespace: "ns".to_owned(), name: "token".to_owned() };
        let keys: BTreeSet<_> = keys.iter().map(|key| (*key).to_owned()).collect();
        let cause = RestartCause { config, keys, before: Some("aa".to_owned()), after: "bb".to_owned() };
        PlannedRestart { trigger: String::new(), causes: vec![cause], merged, restarts: None, deferral }
    }

    /// Scenario 72.
    #[test]
    fn restart_events_name_configs_keys_and_checksums() {
        let event = restart_event(&restart(&["a", "b"], None, 3), false);
        let text = "Restarting: ConfigMap token changed (keys a b; aa -> bb); 3 changes merged into one restart";
        assert_eq!((event.reason, event.message.as_str()), ("ConfigRestart", text));
        let event = restart_event(&restart(&[], Some(Deferral::Paused), 1), false);
        let text =
            "Restart deferred until the Deployment is resumed: ConfigMap token changed (keys not known; aa -> bb)";
        assert_eq!((event.reason, event.message.as_str()), ("ConfigRestartDeferred", text));
        assert!(restart_event(&restart(&["a"], None, 1), true).message.starts_with("Would restart"));
    }

    /// Users who may read Events need not be allowed to read Secrets.
    #[test]
    fn no_event_has_the_checksum_of_a_secret() {
        let mut restart = restart(&["a"], None, 1);
        restart.causes[0].config.kind = ConfigKind::Secret;
        assert_eq!(restart_event(&restart, false).message, "Restarting: Secret token changed (key a)");
        assert_eq!(restart_event(&restart, true).message, "Would restart (dry run): Secret token changed (key a)");
        restart.causes[0].keys.clear();
        assert_eq!(restart_event(&restart, false).message, "Restarting: Secret token changed (keys not known)");
    }

    #[test]
    fn event_names_the_secrets_whose_checksums_have_an_unknown_key() {
        let event = unknown_key_event(&["secret/ns/a"]);
        let text = "The checksums of secret/ns/a in annotation com.xing.deployment-restart.applied-config-checksums \
                    were made with another key and are written again without a restart; pods may have older data. Keep \
                    the old key as `previous-key` when a key is rotated";
        assert_eq!((event.reason, event.message.as_str()), ("ConfigChecksumsUnreadable", text));
        let many = unknown_key_event(&["secret/ns/a"; 7]).message;
        assert!(many.contains("secret/ns/a, and 2 more in annotation"), "{many}");
    }

    /// An Event's message has a maximum length, and a Secret may have a thousand keys.
    #[test]
    fn long_lists_are_shortened_to_a_number() {
        let names: Vec<String> = (10..21).map(|n| format!("k{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let of = |keys: &[&str]| restart(keys, None, 1).causes.remove(0);
        assert_eq!(describe_cause(&of(&names)), "ConfigMap token changed (11 keys; aa -> bb)");
        let ten = describe_cause(&of(&names[..10]));
        assert_eq!(ten, "ConfigMap token changed (keys k10 k11 k12 k13 k14 k15 k16 k17 k18 k19; aa -> bb)");
        assert_eq!(describe_cause(&of(&["a"])), "ConfigMap token changed (key a; aa -> bb)");
        let all = |count: usize| describe_causes(&vec![of(&["a"]); count]);
        assert_eq!(all(5), [describe_cause(&of(&["a"])).as_str(); 5].join(", "));
        assert_eq!(all(7), all(5) + ", and 2 more");
        let unknown = RestartCause { before: Some(String::new()), ..of(&["a"]) };
        assert_eq!(describe_cause(&unknown), "ConfigMap token changed (key a; unknown -> bb)");
    }

    #[test]
    fn events_report_throttled_unreadable_and_failed_restarts() {
        let reason_and_message = |event: Event| (event.reason, event.message);
        let text =
            "Not restarted yet: the restart budget of this workload is spent; looking again in 1 s (--restart-budget)";
        assert_eq!(
            reason_and_message(throttle_event(Duration::from_millis(900))),
            ("ConfigRestartThrottled", text.to_owned())
        );
        let text = "Annotation com.xing.deployment-restart.applied-config-checksums is ignored, and written again without a restart: it is null";
        assert_eq!(
            reason_and_message(unreadable_checksums_event("it is null")),
            ("ConfigChecksumsUnreadable", text.to_owned())
        );
        let text = |action: &str| format!("Could not {action} this workload, trying again: refused");
        assert_eq!(reason_and_message(write_failure_event("refused", true)), ("ConfigRestartFailed", text("restart")));
        assert_eq!(
            reason_and_message(write_failure_event("refused", false)),
            ("ConfigRestartFailed", text("remember the configs of"))
        );
    }
}
