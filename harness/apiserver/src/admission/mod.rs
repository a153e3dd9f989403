//! Admission: the plugins that reject or change an object before it is stored, in upstream's order.
//!
//! It imports the state of `registry` and the rooms of data. It must not import the verbs.

pub(crate) mod limit_ranger;
pub(crate) mod namespace_lifecycle;
pub(crate) mod pod_security;
pub(crate) mod pods;
pub(crate) mod quota;
pub(crate) mod quota_scopes;
pub(crate) mod quota_usage;
