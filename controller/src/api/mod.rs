//! The API server and the caches: carries decisions out, and holds what they are based on.
//!
//! [`ApiServer`] makes the requests for each [`Resource`] within this process's rate limit, and
//! reports failures as [`RequestError`]. [`Cache`] holds the watched Deployments, ReplicaSets and
//! pods by [`NamespacedName`]; each [`CacheUpdate`] results in a [`CacheDelta`] with the object
//! before and after it. [`ConsistencyStore`] delays a sync until the cache has the controller's own
//! writes. [`Recorder`] accepts events, and [`write_events`] writes them, correlated as client-go
//! does.
//!
//! Nothing here knows a controller or a rule, starts a task, or decides about retries (only
//! undelivered events are sent again). Cache, consistency store and event correlation are plain
//! data structures; times are arguments.

mod cache;
mod cache_update;
mod consistency;
#[cfg(test)]
mod consistency_test;
mod correlate;
mod error;
mod events;
mod labels;
mod managed_fields;
mod namespaced_name;
mod owned_pods;
mod pager;
mod pods_by_node;
mod resource;
mod response;
#[cfg(test)]
mod response_test;
mod server;
mod split_manifest;
mod templates;
mod throttle;
mod write_response;

pub(crate) use cache::Cache;
pub(crate) use cache_update::{CacheDelta, CacheUpdate};
pub(crate) use consistency::ConsistencyStore;
pub(crate) use error::RequestError;
pub(crate) use events::{EventQueue, EventSource, Recorder, write_events};
pub(crate) use namespaced_name::NamespacedName;
pub(crate) use pager::ListPager;
pub(crate) use resource::Resource;
pub(crate) use server::{ApiServer, ListPage, to_json_bytes};
pub(crate) use split_manifest::SplitManifest;
pub(crate) use throttle::TokenBucket;
pub(crate) use write_response::{WriteResponse, WriteResponseMeta};
