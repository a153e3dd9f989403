//! The API server and the caches: carries decisions out, and holds what they are based on.
//!
//! [`ApiServer`] makes the requests for each [`Resource`] within this process's rate limit, and
//! reports failures as [`RequestError`]. [`Cache`] holds the watched Deployments, ReplicaSets and
//! pods by [`NamespacedName`]; each [`CacheUpdate`] results in a [`CacheDelta`] with the object
//! before and after it. [`Recorder`] accepts events, and [`write_events`] writes them,
//! correlated as client-go does.
//!
//! Nothing here knows a controller or a rule, starts a task, or decides about retries (only
//! undelivered events are sent again). Cache and event correlation are plain data
//! structures; times are arguments.

mod cache;
mod cache_update;
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

pub use cache::Cache;
pub use cache_update::{CacheDelta, CacheUpdate};
pub use error::RequestError;
pub use events::{EventQueue, EventSource, Recorder, write_events};
pub use managed_fields::WithoutManagedFields;
pub use namespaced_name::NamespacedName;
pub use pager::ListPager;
pub use resource::Resource;
pub use server::{ApiServer, ListPage};
pub use split_manifest::SplitManifest;
pub use throttle::TokenBucket;
pub use write_response::{WriteResponse, WriteResponseMeta};
