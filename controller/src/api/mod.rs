//! The API server, and what is known of it: everything that carries a decision out, or takes in
//! what it is made on.
//!
//! [`ApiServer`] makes the requests, a [`Resource`] at a time, within this process's own limit, and
//! says in a [`RequestError`] why one failed. [`Cache`] holds the Deployments, ReplicaSets and pods
//! that watches have shown, by [`Key`]; each [`Change`] that goes in comes out as a [`Changed`],
//! with what was there before. [`Writes`] says how new the cache must be before an object is looked
//! at. [`Recorder`] takes events, and [`write_events`] writes them, correlated as client-go does.
//!
//! Borders: nothing in here knows a controller or a rule, starts a task, or decides when a request
//! is made again (only an event that was not delivered is sent again). The cache, the writes and
//! the correlation are plain data structures; time comes in.

mod answer;
#[cfg(test)]
mod answer_test;
mod bare;
mod cache;
mod change;
mod consistency;
#[cfg(test)]
mod consistency_test;
mod correlate;
mod error;
mod events;
mod key;
mod labels;
mod nodes;
mod owned;
mod pages;
mod parted;
mod resource;
mod server;
mod templates;
mod throttle;
mod written;

pub(crate) use cache::Cache;
pub(crate) use change::{Change, Changed};
pub(crate) use consistency::Writes;
pub(crate) use error::RequestError;
pub(crate) use events::{Recorder, Reports, Source, write_events};
pub(crate) use key::Key;
pub(crate) use pages::Pages;
pub(crate) use parted::Parted;
pub(crate) use resource::Resource;
pub(crate) use server::{ApiServer, List, bytes};
pub(crate) use throttle::Bucket;
pub(crate) use written::{Written, WrittenMeta};
