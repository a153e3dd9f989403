//! The subject, the controller that is judged: it gets a kubeconfig for the interceptor, and
//! nothing else.
//!
//! **Architecture Invariant:** only its file `ours` names this project's controller. It knows no
//! verdict, and sees nothing of a subject but its requests and its process.
//!
//! A subject is named on the command line ([`SubjectSpec`]) and started ([`SubjectSpec::start`]).
//! The harness sees its requests at the interceptor and its process or pods, never its internals.
//! Two kinds run in virtual time: `ours` as a task, and upstream's controllers in a program whose
//! clock is the simulation's ([`virtual_time`]). On a simulated cluster the same two can run the
//! controllers beside the subject ([`ClusterControllers`]).
//!
//! * `spec` is the subject as named, `context` what it is started with, and `start` the only file
//!   that knows every kind: it starts, watches and ends them.
//! * The kinds are `ours` (with the mutant bank, if this build has it), `upstream`, `reference`,
//!   `deployment` and `virtual_time`; `command` starts those that are child processes, and
//!   `pod_env` has the files in which they look for their cluster.
//! * `log_source` is a subject's output, and `excerpt` the lines of it that are shown.

mod cluster_controllers;
mod command;
mod context;
mod deployment;
mod error;
mod excerpt;
mod log_source;
mod ours;
mod pod_env;
mod reference;
mod spec;
mod start;
mod upstream;
pub mod virtual_time;

pub use cluster_controllers::{ClusterControllers, HEAD_START};
pub use context::{InCluster, StartContext};
pub(crate) use deployment::ManifestError;
pub use error::SubjectError;
pub use log_source::LogSource;
pub use ours::{Mutant, SUBJECT_TARGETS, list_mutants, with_mutant};
pub use pod_env::{InterceptorEndpoint, ServiceAccount};
pub use reference::Reference;
pub use spec::SubjectSpec;
pub use start::RunningSubject;
