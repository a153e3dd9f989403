//! The keys of stored objects, which sort them by kind, namespace and name.

use crate::types::kinds::{KindOrder, ResourceKind};

/// The key of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StoreKey {
    /// The sort order of its kind.
    pub(crate) kind: KindOrder,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl StoreKey {
    pub(crate) fn new(kind: &'static ResourceKind, namespace: &str, name: &str) -> Self {
        Self { kind: kind.order(), namespace: namespace.to_owned(), name: name.to_owned() }
    }
}
