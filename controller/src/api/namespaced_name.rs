//! The key of an object among those of its kind.

/// Namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NamespacedName {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl NamespacedName {
    pub(crate) fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl std::fmt::Display for NamespacedName {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "{}/{}", self.namespace, self.name)
    }
}
