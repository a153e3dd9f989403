//! The limits of what a client may send.

/// The largest accepted body. Upstream: `MaxRequestBodyBytes`.
pub(crate) const MAX_BODY_BYTES: usize = 3 << 20;

/// The deepest nesting of an object. Values are read, written and dropped recursively, and
/// serde_json reads at most 127 levels; the difference is for what contains the object, such as
/// lists and `managedFields`.
pub(crate) const MAX_DEPTH: usize = 100;
