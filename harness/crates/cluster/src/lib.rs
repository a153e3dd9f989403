//! Where cases run: six backends and their common interface.
//!
//! **Architecture Invariant:** it knows processes, containers, files, sockets and the parts of a
//! control plane; it does not know cases, steps or verdicts.
//!
//! | backend | start | prove | connect | teardown |
//! | --- | --- | --- | --- | --- |
//! | `simulated`: `sim`, virtual time | a server in memory for each case | nothing: it is part of this process | calls, no socket | with its last clone |
//! | the same: `sim`, real time | the same server over HTTP, a program | the program reports its address | TLS on loopback, its own tokens | by its supervisor |
//! | `processes`: `control-plane` | etcd, kube-apiserver, kube-controller-manager | the server is ready; the harness wrote the command lines | TLS on loopback, the harness's tokens | by their supervisor |
//! | `containers` | the same three from upstream's images | the same, and the server names its version | a port published on 127.0.0.1 | by their supervisor, which runs the engine's command |
//! | `kind` | `kind create`, or the cluster of that name | its fingerprint, the controller manager's command line, a ready node | two service accounts | by its supervisor; one that stays loses the accounts |
//! | `existing`: `kubeconfig` | the user's cluster, and a lease on it | the controller manager's command line if seen, the subject's rights, what keeps pods off nodes | as the user; the subject with an account | the harness's objects are removed, the cluster stays |
//!
//! On every backend the case drives the pods; on `kind` a kubelet can run them. The test
//! environment's controllers are this project's own beside a simulated server, otherwise a
//! kube-controller-manager: upstream's StatefulSet, DaemonSet, garbage collector, namespace,
//! service account and quota controllers, and of the controllers that can be judged (Deployment,
//! ReplicaSet) those that the subject does not bring. No cluster is trusted to run no second
//! controller of the same kind: the probe (of the runner) proves it.
//!
//! # How it fits together
//!
//! ```text
//! ClusterPlan ──► boot ──► start of a backend ──► Cluster ──► Environment (crate `runner`)
//!            ^                               │  ^
//!     shared, persistent ◄── Handover ◄──────┘  │
//!            └──────────────────────────────────┘ attach
//! ```
//!
//! * Each backend is a module, which starts its cluster and implements the three traits of
//!   `backend`: prove, connect and teardown. `backend` also has the plain data of every cluster:
//!   identity, [`ClusterAccess`], folder, programs, and the excluded controllers.
//! * The three backends whose programs a supervisor runs (`simulated` in real time, `processes`,
//!   `containers`) share one type for the running cluster: `supervised_cluster`, with the handle on
//!   the supervisor.
//! * [`Cluster`] is an enum of the six. Only its file, `dispatch`, matches on it.
//! * `plan` is the requested cluster and the options of its site.
//! * [`boot()`] starts a cluster that belongs to this process and ends with it. [`shared::obtain`]
//!   gives the trials of a nextest run one common cluster; [`PersistentCluster`] is the one that
//!   `lockstep cluster up` leaves running. Both write a [`Handover`], which has fields only for
//!   what another process can use.
//! * [`ClusterAccess`] is address, CA, the harness's credential and the subject's token. The
//!   subject is `cluster-admin` on a disposable server, as permissions are not judged; on a user's
//!   cluster it can write in the harness's namespaces only ([`Cluster::grant_namespace_access`]).
//! * Only one subject at a time may act on a cluster: [`Cluster::lock_for_subject`].
//! * `client` builds every client, with a limit on its responses, and `dialer` connects to the
//!   server, through the proxy that `proxy` chooses, if there is one.
//! * `programs`, `ready` and `certificates` are shared by local processes and containers; `engine`
//!   is the container engine's command. `accounts` has the permissions on a disposable cluster, and
//!   the accounts of one that was not created with the harness's tokens, for which
//!   `builtin_controllers` is too.
//! * Objects that the harness creates have its label, the id of this [`installation()`] and one of
//!   its names (`ownership`), so that a later run finds everything that a killed run left behind,
//!   and nothing else.
//! * `outage` repeats what fails before or after a case while the server cannot be reached.
//! * `user_dir` has the folders, files and locks that only this user can access.
//! * [`supervise`] runs child processes that end with this process.

mod access;
mod accounts;
mod backend;
mod builtin_controllers;
mod certificates;
mod client;
pub mod containers;
mod dialer;
mod dispatch;
mod engine;
mod error;
pub mod error_chain;
pub mod existing;
pub mod kind;
mod outage;
mod ownership;
mod persistent;
mod plan;
mod processes;
mod programs;
mod proxy;
mod ready;
pub mod shared;
mod simulated;
pub mod supervise;
mod supervised_cluster;
pub mod testing;
mod user_dir;

pub(crate) use access::TokenUser;
pub use access::{CONNECT_TIMEOUT, ClusterAccess, Credential, client_from_kubeconfig, kubeconfig};
pub use backend::Handover;
pub use certificates::{Authority, issue_control_plane};
pub use client::{MAX_PAGES, ResponseTooLarge};
pub use dialer::{Dialer, basic_auth_from_userinfo};
pub use dispatch::{Cluster, boot};
pub(crate) use engine::EngineError;
pub use error::ClusterError;
pub use lockstep_timeline::versions::{DEFAULT_VERSION, is_version};
pub use outage::{ignore_existing, repeat_while_unreachable};
pub use ownership::{
    INSTALLATION_LABEL, MANAGED_BY, MANAGER, delete_namespace, has_lockstep_name, installation, namespace_labels,
    own_objects,
};
pub use persistent::PersistentCluster;
pub use plan::{ClusterPlan, Site, SiteName};
pub(crate) use processes::availability;
pub use processes::{
    available, cache_dir, has_controller_manager, is_fetched, obtain_binaries, obtain_controller_manager,
};
pub use simulated::{ROLE as SERVER_ROLE, SimulatedServer};
pub use user_dir::{FileLock, lock_in_user_dir};
