//! Validates what several kinds share, with upstream's messages.
//!
//! Covers what the parity tests reach, and of pods what a template can have: each module says what
//! it does not know. If a rule of upstream is missing, an object is accepted that the real server
//! rejects.

pub(crate) mod apps;
pub(crate) mod batch;
pub(crate) mod conditions;
pub(crate) mod container;
pub(crate) mod data;
pub(crate) mod downward_api;
pub(crate) mod environment;
pub(crate) mod handlers;
pub(crate) mod meta;
pub(crate) mod network;
pub(crate) mod pod;
pub(crate) mod pod_status;
pub(crate) mod pod_warnings;
pub(crate) mod quantity;
pub(crate) mod quota;
pub(crate) mod scalars;
pub(crate) mod scheduling;
pub(crate) mod security;
pub(crate) mod selectors;
pub(crate) mod statuses;
pub(crate) mod strategies;
pub(crate) mod unsupported_fields;
pub(crate) mod volumes;
