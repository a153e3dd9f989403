//! The types of the API: the table of upstream's declarations with everything that is read from it
//! (decoding, strict decoding, patches, protobuf), and the syntax of names, quantities and formats.
//!
//! It must not know requests, stored objects or rules of single kinds: it imports `go` only.

pub mod addresses;
pub mod api_type;
pub mod decode;
pub mod diff;
pub mod expressions;
pub mod field_error;
pub mod formats;
pub mod list_quantities;
pub mod merge;
pub mod names;
pub mod protobuf;
pub mod quantity;
pub mod strict;
pub mod table;
