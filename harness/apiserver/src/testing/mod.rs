//! What a test controls: the seed, the clock and the objects of a server, faults of requests,
//! pauses of watches, and what is stored.
//!
//! It imports `service` and all below it; no other room imports it.

pub(crate) mod builder;
pub(crate) mod follow;
pub(crate) mod request_hook;
pub(crate) mod resource_storage;
pub(crate) mod watch_control;
