//! The types of the API: the table of upstream's declarations with everything that is read from it
//! (decoding, strict decoding, patches, protobuf), the served kinds, and the syntax of names,
//! quantities and formats.
//!
//! It must not know requests, stored objects or rules of single kinds: it imports `go` only.

pub(crate) mod addresses;
pub(crate) mod custom_kind;
pub(crate) mod custom_scale;
pub(crate) mod custom_schema;
pub(crate) mod decode;
pub(crate) mod diff;
pub(crate) mod expressions;
pub(crate) mod field_error;
pub(crate) mod formats;
pub(crate) mod kinds;
pub(crate) mod list_quantities;
pub(crate) mod merge;
pub(crate) mod names;
pub mod protobuf;
pub(crate) mod quantity;
pub(crate) mod strict;
pub(crate) mod table;
