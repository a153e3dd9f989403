//! ReplicaSets: observe, plan, apply.
//!
//! `triggers` says which ReplicaSets a change wakes. `observe` takes from the caches what the rules
//! look at. [`plan`] decides which pods are its own, and which to make or to delete; [`report`]
//! decides, when that is done, what the status says (`decide.rs`). Both are pure: one file for each
//! group of rules, each naming the function of upstream that it follows. `apply` carries the
//! decisions out and knows what each refusal means.
//!
//! Unlike a Deployment, a ReplicaSet makes objects under names that the server invents, so a sync
//! that runs on a stale cache would make too many. Two memories stand against that: `expectations`,
//! what its requests must still lead to before it acts again, and what was last written for it,
//! which the caches must have seen before it looks at all.
//!
//! An [`Observed`] comes in, a [`Plan`] and a [`Report`] go out, all plain data (`plan.rs`), and
//! through `apply` requests and events. Borders: only `apply` talks to the API server and reads a
//! clock; nothing in here knows a queue, a watch, or another controller.

mod alike;
mod apply;
mod availability;
mod body;
mod burst;
mod claim;
mod conditions;
mod decide;
mod error;
pub(crate) mod expectations;
pub mod kill_order;
mod memory;
mod observe;
mod plan;
mod rank;
mod status;
#[cfg(test)]
mod tests;
pub(crate) mod triggers;
mod victims;

pub(crate) use apply::{Tools, apply};
pub use decide::{plan, report};
pub use error::ApplyError;
pub(crate) use memory::Memory;
pub(crate) use observe::{observe, observe_counts};
pub use plan::{Claim, Observed, Plan, Report, Work};
