//! What is written so that pods are replaced: a variable of a container, or an annotation of the
//! template.
//!
//! The variable holds the config's checksum, so a change that it holds already restarts nothing; a
//! config that goes takes its variable with it. The annotation names the config and the moment, and
//! is written for every change.
//!
//! A Rollout may ask for its pods to be restarted with the template as it is. Then the moment is
//! written in place of either, and no checksum is kept: each change restarts it, and a config that
//! goes does so with annotations only.
//!
//! Cases: `config-restart/reloader-annotations-strategy-twice`,
//! `config-restart/reloader-deleted-and-flag`, `config-restart/reloader-deleted-and-flag-at-first`,
//! `config-restart/reloader-rollout-restart`, `config-restart/reloader-rollout-restart-deleted`.

use jiff::Timestamp;
use serde::Serialize;

use super::super::references::{ConfigKind, ConfigName};
use super::super::workload_kind::WorkloadKind;
use super::change::Change;
use super::facts::{Container, Facts};
use crate::model::names::restart::{ROLLOUT_STRATEGY, VARIABLE};
use crate::model::whole_second;
use crate::settings::ReloadStrategy;

/// Stands in the annotation for the checksum of a config that has gone: SHA-1 of a text of
/// Reloader's own.
const GONE: &str = "aae45badef99284e4dae01d6046154ea9d99532f";

/// What is written into a pod template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// A variable.
    Variable {
        /// In this container.
        container: String,
        /// Of this name.
        name: String,
        /// With this value.
        value: String,
    },
    /// A variable is removed.
    NoVariable {
        /// From this container.
        container: String,
        /// Of this name.
        name: String,
    },
    /// The annotation that says what the workload was last restarted for, with this value.
    Annotation(String),
    /// The moment from which on a Rollout restarts its pods.
    RestartAt(Timestamp),
}

/// The annotation's value, in this order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Source<'a> {
    r#type: &'a str,
    name: &'a str,
    namespace: &'a str,
    hash: &'a str,
    container_refs: [&'a str; 1],
    observed_at: i64,
}

/// What a change writes; `None`: nothing, for that is there already.
pub(super) fn write(strategy: ReloadStrategy, container: &Container, change: &Change, now: Timestamp) -> Option<Write> {
    match strategy {
        ReloadStrategy::Annotations => Some(Write::Annotation(annotation(container, change, now))),
        ReloadStrategy::EnvVars => {
            let name = variable(&change.config);
            let before = container.variables.get(&name);
            let container = container.name.clone();
            match change.is_gone {
                true => before.map(|_| Write::NoVariable { container, name }),
                false if before == Some(&change.checksum) => None,
                false => Some(Write::Variable { container, name, value: change.checksum.clone() }),
            }
        }
    }
}

/// What is written in its place, where the workload is of a kind that may choose.
pub(super) fn chosen(kind: WorkloadKind, facts: &Facts, write: Write, now: Timestamp) -> Write {
    let asks = facts.annotations.get(ROLLOUT_STRATEGY).is_some_and(|strategy| strategy == "restart");
    if kind == WorkloadKind::Rollout && asks {
        return Write::RestartAt(whole_second(now));
    }
    write
}

fn annotation(container: &Container, change: &Change, now: Timestamp) -> String {
    let source = Source {
        r#type: kind(&change.config),
        name: &change.config.name,
        namespace: &change.config.namespace,
        hash: if change.is_gone { GONE } else { &change.checksum },
        container_refs: [&container.name],
        observed_at: now.as_second(),
    };
    // Texts and numbers only: nothing that JSON cannot hold.
    serde_json::to_string(&source).unwrap_or_default()
}

/// `STAKATER_MY_CONFIG_CONFIGMAP`: whatever is neither letter nor digit becomes one underscore, and
/// none at the front.
fn variable(config: &ConfigName) -> String {
    let mut name = String::from(VARIABLE);
    for c in config.name.to_ascii_uppercase().chars() {
        match c {
            'A'..='Z' | '0'..='9' => name.push(c),
            _ if name.ends_with('_') => {}
            _ => name.push('_'),
        }
    }
    name + "_" + kind(config)
}

/// The kind, as variables and annotations have it.
pub(super) fn kind(config: &ConfigName) -> &'static str {
    match config.kind {
        ConfigKind::ConfigMap => "CONFIGMAP",
        ConfigKind::Secret => "SECRET",
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("c", "STAKATER_C_CONFIGMAP")]
    #[case("my-config.v1", "STAKATER_MY_CONFIG_V1_CONFIGMAP")]
    #[case("a--b", "STAKATER_A_B_CONFIGMAP")]
    #[case("a-", "STAKATER_A__CONFIGMAP")]
    #[case("-a", "STAKATER_A_CONFIGMAP")]
    fn variables(#[case] name: &str, #[case] expected: &str) {
        let config = ConfigName { kind: ConfigKind::ConfigMap, namespace: String::new(), name: name.to_owned() };
        assert_eq!(variable(&config), expected);
    }
}
