//! Cases: YAML files that say what the world does, step by step.
//!
//! A case is read in full before anything runs, and everything that is wrong with it is said at
//! once, each with its line and a caret: an unknown field with the one that was probably meant, two
//! operations in one step, a Deployment that nothing makes, a step that cannot happen.
//!
//! * `tree` is the YAML, every node with its place (`malformed`, if it is none); `read` takes typed
//!   values out of it; `finding` shows what is wrong.
//! * `operations` is the table of what a step can do, one file each; `field` is how every mapping
//!   lists its fields.
//! * `file`, `profiles`, `step`, `target`, `moved`, `naming`, `during`, `fault`, `restart`, `kind`,
//!   `ruled` and `short` know the rest of the format; `scope` knows which Deployments are there at
//!   which step, `counts` how many pods there can be.
//! * `secret` takes the values of Secrets out of what is kept of a run.
//! * [`model`] (with `middle`) is the result, and all that the rest of the harness sees.
//! * [`schema()`] is the format for editors, [`reference()`] for readers: both come from the lists
//!   of fields and the table.
//! * [`filter`] chooses among cases.
//! * [`find()`], [`load`] and [`load_one`] are the only functions that touch the disk.
//!
//! The driver adds what belongs to a run: the namespace, owners' uids, `schedulerName`.

mod cost;
mod counts;
mod definitions;
mod during;
mod fault;
mod field;
mod file;
pub mod filter;
mod find;
mod finding;
mod kind;
mod middle;
pub mod model;
mod moved;
mod naming;
mod nearest;
mod operations;
mod profiles;
mod read;
mod real;
mod reference;
mod restart;
mod ruled;
mod schema;
mod scope;
mod short;
mod step;
mod target;
mod unknown_fields;

use crate::tree;
pub use cost::{Cost, cost};
pub use file::{parse, parse_all, parse_bytes, recorded};
pub(crate) use find::EXTENSIONS;
pub use find::{find, load, load_one, told_apart};
pub use finding::{CaseError, Findings, Placed};
pub use model::{Case, Definition, RestartOptions, RestartProfile, RestartWebhook};
pub(crate) use profiles::split;
pub(crate) use read::LONGEST_NAME;
pub use reference::reference;
pub use schema::schema;

#[cfg(test)]
mod tests;
