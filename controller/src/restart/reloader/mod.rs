//! Profile `reloader`: the choices of Stakater's Reloader v1.4.21, by its annotations and flags.
//!
//! ```text
//!  a config's checksum changes ─► Changes (one after the other) ─► plan, for each workload of the namespace ─► Order ─► apply
//! ```
//!
//! Edge-triggered, as that controller is: a change while it does not run is lost, each change is a
//! restart of its own, and nothing is gathered. What restarts a workload is decided by its
//! annotations at that moment (`annotations`), in which container the trigger goes by what uses the
//! config (`target`), what is written by the strategy (`strategy`), and a Deployment may be paused
//! with it (`pause`). A change is carried out for one workload after the other; where one of them
//! fails the rest waits, and the whole change is tried again, five times at most. Rollouts of Argo
//! Rollouts come last, where a flag says that they are restarted.
//!
//! Three things differ, none of which a case shows: workloads come from a watch, not from a list
//! for each change; changes of ConfigMaps and Secrets are carried out one after the other, not side
//! by side; and of a Rollout only what changes is written, where that controller writes the whole
//! object, without the fields that its version of Argo Rollouts does not know.
//!
//! Cases: `config-restart/reloader-auto`, `config-restart/reloader-four-times`,
//! `config-restart/reloader-changed-while-away`, `config-restart/reloader-rollout`.

mod annotations;
mod apply;
mod body;
mod change;
mod changes;
mod checksum;
mod facts;
mod patterns;
mod pause;
mod plan;
mod strategy;
mod target;
#[cfg(test)]
mod tests;

pub(super) use apply::carry_out;
pub use change::Change;
pub(super) use changes::{Changes, Order};
pub(super) use checksum::{Traits, traits};
pub use facts::{Container, Facts, Volume};
pub use patterns::NamePatterns;
pub use pause::Pause;
pub use plan::{Observed, Plan, Restart, plan};
pub use strategy::Write;
