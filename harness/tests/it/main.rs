//! Tests that need only Rust: commands as users type them, and files that they read and write.
//!
//! They have Rust's own `main`. Trials that start the supervisor or the servers of a cluster from
//! their own executable need another one, and are in `tests/cluster`.

mod bad_input;
mod campaign;
mod commands;
mod explain;
mod fuzz_corpus;
mod installed;
mod live;
mod programs;
mod random_pods;
mod release;
mod reports;
mod schema;
#[cfg(feature = "terminal")]
mod terminal;
mod trials;
mod watch;
