//! A deterministic Kubernetes API server in memory, for tests of Kubernetes clients.
//!
//! A test gives its client this server instead of a cluster. The server stores objects, sets
//! defaults, validates, serves watches and runs the garbage collector, all within the test's own
//! process and without sockets. It uses tokio's clock, so where that clock is paused an hour passes
//! at once; and everything random comes from a seed, so a test can be repeated.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::api::{Api, PostParams};
//! use kube_apiserver_sim::ApiServer;
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::new();
//! let client = kube::Client::new(server.clone(), "default");
//! let maps: Api<ConfigMap> = Api::default_namespaced(client);
//! let map = serde_json::from_value(serde_json::json!({"metadata": {"name": "settings"}}))?;
//! maps.create(&PostParams::default(), &map).await?;
//! assert!(maps.get("settings").await?.metadata.creation_timestamp.is_some());
//! assert!(server.unsupported().is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! # Fidelity
//!
//! For supported requests its responses equal those of kube-apiserver v1.36: status, defaults,
//! messages, causes, warnings and the order of watch events; only random names, UIDs, times and
//! versions differ. The parity tests of the `lockstep` crate, in the same repository, send random
//! requests to both servers and compare the responses. An unsupported request is refused with 501
//! and recorded ([`ApiServer::unsupported`]); the server never makes up a plausible response. A
//! test should assert at its end that this list is empty.
//!
//! It serves Namespaces, Nodes, Pods, Events, ConfigMaps, Secrets, ServiceAccounts, ResourceQuotas,
//! Services and LimitRanges of `v1`, Deployments, ReplicaSets, StatefulSets and DaemonSets of
//! `apps/v1`, Jobs and CronJobs of `batch/v1`, Leases of `coordination.k8s.io/v1`, EndpointSlices
//! of `discovery.k8s.io/v1`, PodDisruptionBudgets of `policy/v1`, Ingresses of
//! `networking.k8s.io/v1` and HorizontalPodAutoscalers of `autoscaling/v2` and `autoscaling/v1`;
//! the Events of `v1` also as those of `events.k8s.io/v1`. It serves them in JSON, YAML and
//! protobuf and as tables, with `managedFields` and server-side apply. CustomResourceDefinitions of
//! `apiextensions.k8s.io/v1` add custom resources, in JSON and YAML: those are pruned, defaulted
//! and validated by their structural schema, whose rules in CEL are not evaluated. It does not
//! support conversion webhooks, authentication and authorization.
//!
//! No workload controllers and no kubelet run here: a Deployment gets no ReplicaSets and a pod
//! never starts, unless the test or its subject does it. [`ControllerMode`] lists the built-in
//! controllers.
//!
//! # Controlling the server from a test
//!
//! * [`Builder::objects`] and [`ApiServer::put_stored`] store objects exactly as they are, and
//!   [`ApiServer::storage`] reads what is stored, without a request.
//! * [`ApiServer::on_request`] sees each request, and can refuse, delay or lose it.
//! * [`ApiServer::watches`] pauses, resumes and ends watches, and sends bookmarks.
//! * [`ApiServer::forget`] makes versions too old to watch from.
//!
//! # Features
//!
//! * `kube`: [`ApiServer::client`]. Without it use [`tower::Service`](tower_service::Service),
//!   which works with every version of kube whose requests are of `http` 1.
//! * `listen`: [`ApiServer::listen`], HTTP on a socket for clients in other processes.
//!
//! # Structure
//!
//! ```text
//! client ──► service ──► Server: request + time ──► response
//!               │          ├ request_info, discovery, options, body, yaml, go_json_errors,
//!               │          │ status_error
//!               │          ├ media, table, protobuf: the format of a response
//!               │          ├ openapi, access_reviews: descriptions of kinds, and of rights
//!    latency, clock        ├ kinds, api (the type table), defaults, strategy, admission, quota,
//!                          │ validate
//!                          ├ write, delete, evict, subresources, watch, selector, dry_run
//!                          ├ field_ownership, field_manager: managedFields and server-side apply
//!                          ├ store, object, owner_index: objects, the log of changes, and owners
//!                          └ controllers (garbage collection, service accounts), namespaces
//! ```
//!
//! The server itself is a function without side effects: the time comes with each request, and
//! random numbers come from a seed. Only `service`, `request_hook` and `response` wait, as
//! `latency` or a test says; only `clock` reads the time, and only `listen` opens sockets. A test
//! controls the server through `request_hook`, `watch_control`, `follow` and `resource_storage`.
//! `scripts/api-types` of the repository generates the type table from upstream's declarations.

mod admission;
mod builder;
mod clock;
mod controllers;
mod fields;
mod follow;
mod go;
mod handle;
mod http;
mod latency;
#[cfg(feature = "listen")]
mod listen;
pub mod notify;
pub mod pointer;
mod registry;
mod request_hook;
mod resource_storage;
mod response;
mod rng;
mod schema;
mod service;
mod storage;
#[cfg(test)]
mod tests;
mod transcript;
mod types;
mod watch_control;

pub use crate::http::route::{RequestInfo, Verb};
pub use crate::storage::error::StorageError;
pub use builder::{Builder, ControllerMode};
pub use follow::{ChangeStream, EventType, ObjectChange};
pub use latency::Latency;
#[cfg(feature = "listen")]
pub use listen::{ListenHandle, ListenOptions, NOT_BEFORE_PATH, UNSUPPORTED_PATH};
pub use request_hook::{Disconnected, Reaction};
pub use resource_storage::ResourceStorage;
pub use response::ResponseBody;
pub use rng::SeededRng;
pub use service::ApiServer;
pub use types::api_type::{ApiType, UnknownField, custom_apply_patch};
pub use types::protobuf;
pub use types::table::VERSION;
pub use watch_control::WatchControl;
