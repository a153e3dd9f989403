//! The group `scheduling.k8s.io`.

pub(crate) mod priority_class;
