//! Selects the container that gets the trigger: the first one that uses the config.
//!
//! Volumes come before the environment, and only the first volume with the config counts. If an
//! init container uses the config, or if the config is named and not used, the trigger goes into
//! the first regular container.
//!
//! Cases: `config-restart/reloader/by-volume`, `config-restart/reloader/by-init-container`,
//! `config-restart/reloader/named-not-referenced`, `config-restart/reloader/auto-not-referenced`.

use super::super::references::ConfigName;
use super::annotations::MatchReason;
use super::facts::{ContainerFacts, ReloaderFacts};

/// The container; `None`: none uses the config, so the workload does not restart.
pub(super) fn target_container<'a>(
    facts: &'a ReloaderFacts,
    config: &ConfigName,
    reason: MatchReason,
) -> Option<&'a ContainerFacts> {
    let of = (config.kind, config.name.clone());
    let first = facts.containers.first();
    if let Some(volume) = facts.volumes.iter().find(|volume| volume.configs.contains(&of)) {
        let mounts = |container: &&ContainerFacts| container.mounts.contains(&volume.name);
        if let Some(container) = facts.containers.iter().find(mounts) {
            return Some(container);
        }
        if facts.init_containers.iter().any(|container| mounts(&container)) {
            return first;
        }
    }
    let reads = |container: &&ContainerFacts| container.environment.contains(&of);
    if let Some(container) = facts.containers.iter().find(reads) {
        return Some(container);
    }
    let is_used = facts.init_containers.iter().any(|container| reads(&container));
    first.filter(|_| is_used || reason == MatchReason::ListedByName)
}
