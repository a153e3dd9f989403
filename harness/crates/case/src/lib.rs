//! Cases: YAML files that say, step by step, what users and nodes do.
//!
//! **Architecture Invariant:** it knows no cluster and no clock: what an operation needs of them is
//! the trait [`Drive`](model::Drive), which the runner implements.
//!
//! A case is read completely before anything runs. All problems are reported at once, each with its
//! line and a caret: an unknown field with a suggestion, two operations in one step, a Deployment
//! that no step creates, a step that is impossible.
//!
//! * `read` reads typed values from the nodes of the YAML, which have their locations;
//!   `diagnostics` collects problems.
//! * `operations` is the table of operations, one file each; `field` describes the fields of every
//!   mapping.
//! * `file`, `profiles`, `step`, `target`, `pod_selector`, `pod_traits`, `during`, `fault`,
//!   `restart`, `workload_field`, `case_rules` and `shorthand` read the rest of the format;
//!   `names_in_scope` knows which Deployments exist at which step, `feasibility` how many pods
//!   there can be.
//! * [`model`] (with `injection`) is the result, which the rest of the harness uses.
//! * [`schema()`] is the format for editors, [`reference()`] for readers: both are generated from
//!   the lists of fields and the table.
//! * [`filter`] selects cases; [`coverage`] reads the table of requirements and their cases.
//! * [`rules`] evaluates rules in CEL on the states of a recording.
//! * [`find()`], [`load`] and [`load_one`] are the only functions that read from disk.
//!
//! The driver adds what belongs to a run: the namespace, the UIDs of owners, `schedulerName`.

mod case_rules;
mod cost;
pub mod coverage;
mod definitions;
mod diagnostics;
mod during;
mod fault;
mod feasibility;
mod field;
mod file;
pub mod filter;
mod find;
pub mod model;
mod names_in_scope;
mod nearest;
mod operations;
mod profiles;
mod read;
mod reference;
mod restart;
pub mod rules;
mod schema;
mod step;
mod unknown_fields;
mod workload_field;

pub use cost::{Cost, cost};
pub use diagnostics::{CaseError, Diagnostics};
pub use file::{parse, parse_bytes, parse_recorded};
pub use find::{EXTENSIONS, check_unique_names, find, load, load_one};
use lockstep_support::yaml;
pub use model::{Case, RestartOptions, RestartProfile, RestartWebhook};
pub use profiles::split_profile;
pub use read::LONGEST_NAME;
pub use reference::reference;
pub use schema::schema;

#[cfg(test)]
mod tests;
