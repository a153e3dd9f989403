//! Errors of reading an object that an API server sent.

use thiserror::Error;

/// Why an object or a part of it could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ModelError {
    /// A field that rules need has another shape than the API defines.
    #[error("{part} of {kind} {name} does not have the shape of apps/v1: {reason}; is this API server newer than v1?")]
    Shape {
        /// Kind of the object.
        kind: &'static str,
        /// Its name, or `?` if that could not be read.
        name: String,
        /// The part: `metadata`, `spec` or `status`.
        part: &'static str,
        /// The message of the parser.
        reason: String,
    },
    /// A label selector uses an unknown operator, or values with an operator that takes none.
    #[error("invalid label selector: {0}")]
    Selector(String),
    /// `maxSurge` or `maxUnavailable` is neither an integer nor a percentage.
    #[error("invalid value for a bound: {0:?} is neither a number nor a percentage such as \"25%\"")]
    Bound(String),
    /// `maxSurge` is absent.
    #[error("maxSurge is absent, and API server defaults were not applied")]
    NoBound,
}
