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
//! of `discovery.k8s.io/v1`, PodDisruptionBudgets of `policy/v1`, Ingresses, IngressClasses and
//! NetworkPolicies of `networking.k8s.io/v1`, Roles, RoleBindings, ClusterRoles and
//! ClusterRoleBindings of `rbac.authorization.k8s.io/v1`, PriorityClasses of
//! `scheduling.k8s.io/v1` and HorizontalPodAutoscalers of `autoscaling/v2` and `autoscaling/v1`;
//! the Events of `v1` also as those of `events.k8s.io/v1`. It serves them in JSON, YAML and
//! protobuf and as tables, with `managedFields` and server-side apply.
//!
//! NetworkPolicies, roles and their bindings are stored and validated, and have no effect: every
//! client may do everything. Upstream's default roles and bindings do not exist. PriorityClasses
//! and IngressClasses only do what admission does with them: the former set the priority of pods,
//! the latter the class of Ingresses that name none.
//!
//! CustomResourceDefinitions of `apiextensions.k8s.io/v1` add custom resources, in JSON and YAML:
//! those are pruned, defaulted and validated by their structural schema, whose rules in CEL are not
//! evaluated. It does not support conversion webhooks, authentication and authorization.
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
//! testing       Builder, on_request, watches, storage, follow
//! service       the tower service: latency, time, locks, streams of watches, sockets
//! controllers   garbage collection, namespaces, service accounts, quotas
//! registry      dispatcher ◄ verbs ◄ state, decoding, defaults, validation, custom resources
//! admission     namespaces, limits, pod security, quotas
//! schema        discovery, OpenAPI, tables, formats of responses
//! storage       objects, the log of changes, owners, positions of watches
//! fields        managedFields and server-side apply
//! http          requests, routes, queries, bodies, selectors, media types, errors
//! types         the served kinds, and schemas of custom resources
//! ```
//!
//! Each room's first paragraph says what it may import. No two files import each other in a circle.
//! Below them is the crate `kube-apimachinery`: the type table with what is read from it, protobuf,
//! quantities and names, and Go's conventions.
//!
//! The server itself (`registry::state::Server`) is a function without side effects: the time comes
//! with each request, and random numbers come from a seed. Only `service` waits, as the latency
//! model or a test says; only `clock` reads the time, and only `service::listen` opens sockets.

mod admission;
mod clock;
mod controllers;
mod fields;
mod http;
pub mod notify;
mod registry;
mod schema;
mod service;
mod storage;
mod testing;
#[cfg(test)]
mod tests;
mod types;

pub use crate::http::route::{RequestInfo, Verb};
use kube_apimachinery::go;
pub use kube_apimachinery::{ApiType, SeededRng, UnknownField, VERSION, custom_apply_patch, pointer, protobuf};
pub use service::api_server::{ApiServer, ControllerMode};
pub use service::latency::Latency;
#[cfg(feature = "listen")]
pub use service::listen::{ListenHandle, ListenOptions, NOT_BEFORE_PATH, UNSUPPORTED_PATH};
pub use service::reaction::{Disconnection, Reaction};
pub use service::response::ResponseBody;
pub use storage::error::StorageError;
pub use storage::watch::EventType;
pub use testing::builder::Builder;
pub use testing::follow::{ChangeStream, ObjectChange};
pub use testing::resource_storage::ResourceStorage;
pub use testing::watch_control::WatchControl;
