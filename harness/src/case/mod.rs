//! Cases: YAML files that say, step by step, what users and nodes do.
//!
//! A case is read completely before anything runs. All problems are reported at once, each with its
//! line and a caret: an unknown field with a suggestion, two operations in one step, a Deployment
//! that no step creates, a step that is impossible.
//!
//! * `yaml` parses the file, every node with its location; `read` reads typed values from nodes;
//!   `diagnostics` collects problems.
//! * `operations` is the table of operations, one file each; `field` describes the fields of every
//!   mapping.
//! * `file`, `profiles`, `step`, `target`, `pod_selector`, `pod_traits`, `during`, `fault`,
//!   `restart`, `workload_field`, `case_rules` and `shorthand` read the rest of the format;
//!   `names_in_scope` knows which Deployments exist at which step, `feasibility` how many pods
//!   there can be.
//! * `secret` removes the values of Secrets from what is stored of a run.
//! * [`model`] (with `injection`) is the result, which the rest of the harness uses.
//! * [`schema()`] is the format for editors, [`reference()`] for readers: both are generated from
//!   the lists of fields and the table.
//! * [`filter`] selects cases.
//! * [`find()`], [`load`] and [`load_one`] are the only functions that read from disk.
//!
//! The driver adds what belongs to a run: the namespace, the UIDs of owners, `schedulerName`.

mod case_rules;
mod cost;
mod definitions;
mod diagnostics;
mod during;
mod fault;
mod feasibility;
mod field;
mod file;
pub mod filter;
mod find;
mod injection;
pub mod model;
mod names_in_scope;
mod nearest;
mod operations;
mod pod_selector;
mod pod_traits;
mod profiles;
mod read;
mod real_pods;
mod reference;
mod restart;
mod schema;
mod shorthand;
mod step;
mod target;
mod unknown_fields;
mod workload_field;

use crate::yaml;
pub use cost::{Cost, cost};
pub use diagnostics::{CaseError, Diagnostics, LocatedDiagnostic};
pub use file::{parse, parse_all, parse_bytes, parse_recorded};
pub(crate) use find::EXTENSIONS;
pub use find::{check_unique_names, find, load, load_one};
pub use model::{Case, CrdSource, RestartOptions, RestartProfile, RestartWebhook};
pub(crate) use profiles::split_profile;
pub(crate) use read::LONGEST_NAME;
pub use reference::reference;
pub use schema::schema;

#[cfg(test)]
mod tests;
