//! Errors of the storage that a test reads and writes.

use std::fmt;

/// Why an object cannot be stored, or a resource cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StorageError {
    /// The resource is not served.
    UnknownResource(String),
    /// The kind is not served.
    UnknownKind {
        /// The apiVersion of the object, empty if absent.
        api_version: String,
        /// The kind of the object, empty if absent.
        kind: String,
    },
    /// The object lacks this field.
    Missing(&'static str),
    /// A field has a value of the wrong type.
    Undecodable(String),
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownResource(name) => write!(f, "the resource {name:?} is not served"),
            Self::UnknownKind { api_version, kind } => {
                write!(f, "the kind {kind:?} of the version {api_version:?} is not served")
            }
            Self::Missing(field) => write!(f, "a stored object needs {field}"),
            Self::Undecodable(why) => write!(f, "the object cannot be decoded: {why}"),
        }
    }
}

impl std::error::Error for StorageError {}
