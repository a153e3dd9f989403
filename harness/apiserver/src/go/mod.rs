//! What Go's standard library reads and prints, and upstream's messages contain: `%q` and `%v`, the
//! errors of its JSON decoder, and its dialect of regular expressions.
//!
//! It knows nothing of Kubernetes, and imports no other room.

pub(crate) mod character_classes;
pub(crate) mod format;
pub(crate) mod json_errors;
pub(crate) mod regexp;
