#![doc = include_str!("../README.md")]
//!
//! # Structure
//!
//! ```text
//! types         the type table, kinds, protobuf, quantities, names, formats
//! go            what Go's library prints and accepts
//! pointer, rng  JSON pointers, and random numbers from a seed
//! ```
//!
//! `types` imports `go`, and `go` nothing. `scripts/api-types` of the repository generates the type
//! table from upstream's declarations.

pub mod go;
pub mod pointer;
mod rng;
pub mod types;

pub use rng::SeededRng;
pub use types::api_type::{ApiType, UnknownField, custom_apply_patch};
pub use types::protobuf;
pub use types::table::VERSION;
