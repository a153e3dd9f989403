//! What requests do to objects: the state of the server, the dispatcher, the verbs, and the rules
//! of kinds. The state and what decodes and prepares objects lie below the verbs, and the verbs
//! below the dispatcher.
//!
//! It imports all rooms of data (`types`, `http`, `fields`, `storage`, `schema`) and the plugins of
//! `admission`. It must not know sockets, clocks and tests: the time comes with each request.

pub(crate) mod access_reviews;
pub(crate) mod apiextensions;
pub(crate) mod apps;
pub(crate) mod autoscaling;
pub(crate) mod batch;
pub(crate) mod conversion;
pub(crate) mod coordination;
pub(crate) mod core;
pub(crate) mod custom;
pub(crate) mod decode;
pub(crate) mod defaults;
pub(crate) mod discovery;
pub(crate) mod dispatch;
pub(crate) mod etcd_keys;
pub(crate) mod events;
pub(crate) mod field_ownership;
pub(crate) mod kinds;
pub(crate) mod networking;
pub(crate) mod owner_references;
pub(crate) mod policy;
pub(crate) mod prepare;
pub(crate) mod rbac;
pub(crate) mod resource_list;
pub(crate) mod restore;
pub(crate) mod scheduling;
pub(crate) mod state;
pub(crate) mod strategy;
pub(crate) mod validate;
pub(crate) mod verbs;
