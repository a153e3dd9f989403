//! What is written to replace pods: a variable of a container, or an annotation of the pod
//! template.
//!
//! The variable has the config's checksum as its value, so a change to the data that it already
//! names restarts nothing. When a config is deleted, its variable is removed. The annotation names
//! the config and the time, and is written for every change.
//!
//! A Rollout may ask to restart its pods with an unchanged template. Then the time is written to
//! `restartAt` instead, and no checksum is stored: every change restarts it, and a deleted config
//! does so only with the annotation strategy.
//!
//! Cases: `config-restart/reloader/annotations-strategy-twice`,
//! `config-restart/reloader/deleted-and-flag`, `config-restart/reloader/deleted-and-flag-at-first`,
//! `config-restart/reloader/rollout-restart`, `config-restart/reloader/rollout-restart-deleted`.

use jiff::Timestamp;
use rollout_model::names::restart::{ROLLOUT_STRATEGY, VARIABLE};
use rollout_model::whole_second;
use serde::Serialize;

use crate::engines::reloader::matching::ConfigChange;
use crate::model::reloader_facts::{ContainerFacts, ReloaderFacts};
use crate::names::{ConfigKind, ConfigName, WorkloadKind};
use crate::settings::ReloadStrategy;

/// The hash of a deleted config in the annotation: SHA-1 of a fixed text of Reloader.
const DELETED_HASH: &str = "aae45badef99284e4dae01d6046154ea9d99532f";

/// A change of a workload that replaces its pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateChange {
    /// Sets a variable.
    SetVariable {
        /// The container.
        container: String,
        /// The variable's name.
        name: String,
        /// The variable's value.
        value: String,
    },
    /// Removes a variable.
    RemoveVariable {
        /// The container.
        container: String,
        /// The variable's name.
        name: String,
    },
    /// Sets the annotation that says what the workload was last restarted for, to this value.
    SetAnnotation(String),
    /// Sets the time at which a Rollout restarts its pods.
    SetRestartAt(Timestamp),
}

/// The annotation's value. The order of the fields is Reloader's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReloadSource<'a> {
    r#type: &'a str,
    name: &'a str,
    namespace: &'a str,
    hash: &'a str,
    container_refs: [&'a str; 1],
    observed_at: i64,
}

/// What a change writes; `None`: the template has this value already.
pub(super) fn template_change(
    strategy: ReloadStrategy,
    container: &ContainerFacts,
    change: &ConfigChange,
    now: Timestamp,
) -> Option<TemplateChange> {
    match strategy {
        ReloadStrategy::Annotations => Some(TemplateChange::SetAnnotation(annotation_value(container, change, now))),
        ReloadStrategy::EnvVars => {
            let name = variable_name(&change.config);
            let before = container.variables.get(&name);
            let container = container.name.clone();
            match change.is_deleted {
                true => before.map(|_| TemplateChange::RemoveVariable { container, name }),
                false if before == Some(&change.checksum) => None,
                false => Some(TemplateChange::SetVariable { container, name, value: change.checksum.clone() }),
            }
        }
    }
}

/// Replaces the change by `restartAt` if the workload is a Rollout that asks for it.
pub(super) fn apply_rollout_strategy(
    kind: WorkloadKind,
    facts: &ReloaderFacts,
    write: TemplateChange,
    now: Timestamp,
) -> TemplateChange {
    let wants_restart_at = facts.annotations.get(ROLLOUT_STRATEGY).is_some_and(|strategy| strategy == "restart");
    if kind == WorkloadKind::Rollout && wants_restart_at {
        return TemplateChange::SetRestartAt(whole_second(now));
    }
    write
}

fn annotation_value(container: &ContainerFacts, change: &ConfigChange, now: Timestamp) -> String {
    let source = ReloadSource {
        r#type: kind_label(&change.config),
        name: &change.config.name,
        namespace: &change.config.namespace,
        hash: if change.is_deleted { DELETED_HASH } else { &change.checksum },
        container_refs: [&container.name],
        observed_at: now.as_second(),
    };
    // The fields are texts and numbers, so serialization cannot fail.
    serde_json::to_string(&source).unwrap_or_default()
}

/// The variable of a config, such as `STAKATER_MY_CONFIG_CONFIGMAP`. A run of other characters than
/// letters and digits becomes one underscore, except at the front.
fn variable_name(config: &ConfigName) -> String {
    let mut name = String::from(VARIABLE);
    for c in config.name.to_ascii_uppercase().chars() {
        match c {
            'A'..='Z' | '0'..='9' => name.push(c),
            _ if name.ends_with('_') => {}
            _ => name.push('_'),
        }
    }
    name + "_" + kind_label(config)
}

/// The kind as variables and annotations name it.
pub(super) fn kind_label(config: &ConfigName) -> &'static str {
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
    fn names_variables_like_reloader(#[case] name: &str, #[case] expected: &str) {
        let config = ConfigName { kind: ConfigKind::ConfigMap, namespace: String::new(), name: name.to_owned() };
        assert_eq!(variable_name(&config), expected);
    }
}
