//! The ownership of fields (`managedFields`), and server-side apply: sets of fields, the comparison
//! and the merge of objects by their types, and the entries of managers.
//!
//! It imports `types` only. It must not know requests, the store or the rules of single kinds; it
//! is given the conversion between the versions of a kind.

pub(crate) mod conflict;
pub(crate) mod converter;
pub(crate) mod entries;
pub(crate) mod field_manager;
pub(crate) mod merge;
pub(crate) mod path;
pub(crate) mod scale;
#[cfg(test)]
mod tests;
pub(crate) mod typed;
pub(crate) mod validation;
pub(crate) mod versions;
