//! Cases: YAML files that say, step by step, what users and nodes do.
//!
//! **Architecture Invariant:** it knows no cluster and no clock: what an operation needs of them is
//! the trait [`Drive`](model::Drive), which the runner implements.
//!
//! A case is read completely before anything runs. All problems are reported at once, each with its
//! line and a caret: an unknown field with a suggestion, two operations in one step, a Deployment
//! that no step creates, a step that is impossible.
//!
//! * `field` describes the fields of every mapping, with the fragments of their schemas; `read`
//!   reads typed values from the nodes of the YAML, which have their locations; `diagnostics`
//!   collects problems.
//! * [`model`] is the result, which the rest of the harness uses. It defines what a step and an
//!   operation are.
//! * `step` reads a step by the table of operations that it gets, `during` and `fault` what goes
//!   with one; `names_in_scope` knows which Deployments exist at which step.
//! * `operations` is the table of operations, with a file for each.
//! * `file` reads a case as a whole, `definitions`, `workload_field`, `restart` and `case_rules`
//!   its larger fields; `estimate` knows how many pods there can be.
//! * [`schema()`] is the format for editors, [`reference()`] for readers: both are generated from
//!   the lists of fields and the table.
//! * [`filter`] selects cases, [`cost()`] estimates how long one takes, [`CollectionSize`]
//!   counts them; [`coverage`] reads the table of requirements and their cases, [`known_changes`]
//!   that of what versions of upstream decide differently.
//! * [`rules`] evaluates rules in CEL on the states of a recording.
//! * [`find()`], [`load`] and [`load_one`] are the only functions that read from disk.
//!
//! The driver adds what belongs to a run: the namespace, the UIDs of owners, `schedulerName`.

mod case_rules;
mod collection_size;
pub mod coverage;
mod definitions;
mod diagnostics;
mod during;
mod estimate;
mod fault;
mod field;
mod file;
pub mod filter;
mod find;
pub mod known_changes;
pub mod model;
mod names_in_scope;
mod operations;
mod read;
mod reference;
mod restart;
pub mod rules;
mod schema;
mod step;
mod unknown_fields;
mod workload_field;

pub use collection_size::CollectionSize;
pub use diagnostics::{CaseError, Diagnostics};
pub use estimate::{Cost, cost};
pub use file::{parse, parse_bytes, parse_recorded};
pub use find::{EXTENSIONS, check_unique_names, find, load, load_one, locate};
use lockstep_support::yaml;
pub use model::{Case, RestartOptions, RestartProfile, RestartWebhook};
pub use read::LONGEST_NAME;
pub use reference::reference;
pub use restart::split_profile;
pub use schema::schema;

#[cfg(test)]
mod tests;
