//! A deterministic Kubernetes API server in memory, for tests of Kubernetes clients.
//!
//! A test gives its client this server instead of a cluster. The server stores objects, fills in
//! defaults, validates, serves watches and runs the garbage collector, all within the test's own
//! process and without sockets. It uses tokio's clock, so where that clock is paused an hour
//! passes in no time; and everything random comes from a seed, so that a test can be repeated.
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
//! # How far it can be trusted
//!
//! In what it supports it gives the answers of kube-apiserver v1.36: status, defaults, messages,
//! causes, warnings and the order of watch events; only random names, UIDs, times and versions
//! differ. The parity tests of the `lockstep` crate, in the same repository, send random requests
//! to both servers and compare the answers. A request that it does not support is
//! refused with 501 and recorded ([`ApiServer::unsupported`]); it never makes up a plausible
//! answer. A test should assert at its end that this list is empty.
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
//! never starts, unless the test or the controller that it tests does it. What runs is listed at
//! [`Controllers`].
//!
//! # What a test steers
//!
//! * [`Builder::objects`] and [`ApiServer::put_stored`] store objects exactly as they are, and
//!   [`ApiServer::stored`] reads what is stored, without a request.
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
//! # How it is built
//!
//! ```text
//! client ──► service ──► Server: request + time ──► answer
//!               │          ├ route, discovery, options, body, yaml, syntax, problem
//!               │          ├ media, table, protobuf: the form of an answer
//!               │          ├ openapi, reviews: what describes kinds, and rights
//!    latency, clock        ├ kinds, api (the table of types), defaults, rules, admit, quota, validate
//!                          ├ write, remove, evict, parts, watch, select, dry
//!                          ├ store, object, owned: objects, their owners, and the log of all changes
//!                          └ controllers (garbage, accounts), namespaces
//! ```
//!
//! The server proper is a function without side effects: the time comes in with each request and
//! random numbers from a seed. Only `service`, `hook` and `response` wait, for as long as `latency`
//! or a test says; only `clock` reads the time, and only `listen` opens sockets. A test steers by
//! `hook`, `watches`, `follow` and `stored`. The table of types is printed from upstream's
//! declarations by `scripts/api-types` of the repository.

mod admit;
mod amounts;
mod api;
mod api_type;
mod apply;
mod autoscalers;
mod body;
mod builder;
mod call;
mod chance;
mod claims;
mod clock;
mod controllers;
mod convert;
mod custom;
mod defaults;
mod discovery;
mod dry;
mod etcd;
mod events;
mod evict;
mod field;
mod follow;
mod go_format;
mod handle;
mod hook;
mod jsonpatch;
mod kinds;
mod labels;
mod latency;
mod limits;
mod list;
#[cfg(feature = "listen")]
mod listen;
mod managed;
mod media;
mod namespaces;
pub mod notify;
mod object;
mod openapi;
mod options;
mod owned;
mod parts;
mod pod_security;
pub mod pointer;
mod problem;
pub mod protobuf;
mod quota;
mod read;
mod remove;
mod response;
mod reviews;
mod route;
mod rules;
mod select;
mod server;
mod service;
mod services;
mod store;
mod stored;
mod syntax;
mod table;
#[cfg(test)]
mod tests;
mod transcript;
mod validate;
mod watch;
mod watches;
mod write;
mod yaml;

pub use api_type::{ApiType, UnknownField, custom_apply_patch};
pub use builder::{Builder, Controllers};
pub use chance::Chance;
pub use discovery::VERSION;
pub use follow::{Follow, Seen, What};
pub use hook::{Disconnected, Reaction};
pub use latency::Latency;
#[cfg(feature = "listen")]
pub use listen::{Listen, Listening, NOT_BEFORE_PATH, UNSUPPORTED_PATH};
pub use response::ResponseBody;
pub use route::{Route, Verb};
pub use service::ApiServer;
pub use stored::{Stored, StoredError};
pub use watches::Watches;
