//! What can be wrong with an object that an API server sent.

use thiserror::Error;

/// Why an object, or a part of it, could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelError {
    /// A field that rules need has another shape than the API says.
    #[error("{part} of {kind} {name} does not have the shape of apps/v1: {reason}; is this API server newer than v1?")]
    Shape {
        /// Kind of the object.
        kind: &'static str,
        /// `namespace/name`, as far as it could be read.
        name: String,
        /// Which part: `metadata`, `spec` or `status`.
        part: &'static str,
        /// What the parser said.
        reason: String,
    },
    /// A label selector uses an operator that does not exist, or values where none may be.
    #[error("invalid label selector: {0}")]
    Selector(String),
    /// A bound is neither a whole number nor a percentage.
    #[error("invalid value for a bound: {0:?} is neither a number nor a percentage such as \"25%\"")]
    Bound(String),
    /// A bound that the strategy needs is absent.
    #[error("maxSurge is absent, and API server defaults were not applied")]
    NoBound,
}
