//! What Go's standard library reads and prints, and upstream's messages contain: `%q` and `%v`, the
//! errors of its JSON decoder, its times, and its dialect of regular expressions.
//!
//! All of it is seen by clients. `format` prints values in the messages of every refused field,
//! which users read and controllers put into events. `json_errors` explains malformed bodies, which
//! kubectl prints, and which parity tests compare byte for byte. `regexp` decides which custom
//! resources are valid.
//!
//! It knows nothing of Kubernetes, and imports no other room.

pub mod character_classes;
pub mod format;
pub mod json_errors;
pub mod regexp;
pub mod time;
