//! Which container gets the trigger: the first that uses the config.
//!
//! Volumes come before the environment, and only the first volume of the config counts. What an
//! init container uses puts the trigger into the first container proper, and so does a config that
//! is named and not used.
//!
//! Cases: `config-restart/reloader-by-volume`, `config-restart/reloader-by-init-container`,
//! `config-restart/reloader-named-not-referenced`, `config-restart/reloader-auto-not-referenced`.

use super::super::references::ConfigName;
use super::annotations::Wanted;
use super::facts::{Container, Facts};

/// The container; `None`: none uses the config, and the workload is left alone.
pub(super) fn target<'a>(facts: &'a Facts, config: &ConfigName, wanted: Wanted) -> Option<&'a Container> {
    let of = (config.kind, config.name.clone());
    let first = facts.containers.first();
    if let Some(volume) = facts.volumes.iter().find(|volume| volume.configs.contains(&of)) {
        let mounts = |container: &&Container| container.mounts.contains(&volume.name);
        if let Some(container) = facts.containers.iter().find(mounts) {
            return Some(container);
        }
        if facts.init_containers.iter().any(|container| mounts(&container)) {
            return first;
        }
    }
    let reads = |container: &&Container| container.environment.contains(&of);
    if let Some(container) = facts.containers.iter().find(reads) {
        return Some(container);
    }
    let is_used = facts.init_containers.iter().any(|container| reads(&container));
    first.filter(|_| is_used || wanted == Wanted::Named)
}
