//! Profile `reloader`: the choices of Stakater's Reloader v1.4.21, with its annotations and flags.
//!
//! ```text
//!  a config's checksum changes ─► ReloaderQueue ─► plan ─► ReloadAction ─► apply
//!                                                  (for each workload of the namespace)
//! ```
//!
//! Like Reloader, the profile is edge-triggered: a change while the controller is not running is
//! lost, each change is a restart of its own, and changes are not merged. A workload's annotations
//! at the time of the change decide whether it restarts, and what uses the config decides which
//! container gets the trigger (`matching`). The strategy decides what is written (`strategy`). A
//! Deployment may be paused with the restart (`pause`). A change is carried out for one workload
//! after the other. If one of them fails, the others wait, and the whole change is retried up to
//! five times. Rollouts of Argo Rollouts come last, and only with a flag.
//!
//! Three things differ from Reloader, and no case shows them. Workloads come from a watch instead
//! of a list for each change. Changes of ConfigMaps and Secrets are carried out one after the other
//! instead of concurrently. Of a Rollout only the changed fields are written, whereas Reloader
//! writes the whole object without the fields that its version of Argo Rollouts does not know.
//!
//! Cases: `config-restart/reloader/auto`, `config-restart/reloader/four-times`,
//! `config-restart/reloader/changed-while-away`, `config-restart/reloader/rollout`.

pub mod body;
pub(crate) mod engine;
mod matching;
mod pause;
pub(crate) mod plan;
pub(crate) mod queue;
mod strategy;
#[cfg(test)]
mod tests;

pub use matching::ConfigChange;
pub use pause::PauseAction;
pub use plan::{ObservedChange, PlannedReload, ReloadDecision, plan};
pub use queue::ReloadAction;
pub use strategy::TemplateChange;

pub use crate::model::name_patterns::NamePatterns;
pub use crate::model::reloader_facts::{ContainerFacts, ReloaderFacts, VolumeFacts};
