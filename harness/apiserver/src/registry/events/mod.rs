//! The group `events.k8s.io`, whose Events are stored as those of core.

pub(crate) mod event;
