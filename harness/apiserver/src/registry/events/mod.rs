//! The Events of `events.k8s.io`, which are stored as those of core.

pub(crate) mod conversion;
