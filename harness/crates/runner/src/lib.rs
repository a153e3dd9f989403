//! Runs cases: a cluster, a subject behind the interceptor and a case go in, a recording comes out.
//!
//! **Architecture Invariant:** it never decides a verdict. It writes recordings; whatever is
//! concluded from them is concluded elsewhere.
//!
//! An [`Environment`] is a cluster and its watches. A [`Session`] is a subject that runs on it,
//! after the test environment has proved itself without one. An [`Executor`] is one or several such
//! sessions, or a subject that gets a simulated cluster for each case. [`Session::play`] performs
//! the steps of a case and records what happens. It never decides a verdict: `verdict` does, from
//! the recording alone.
//!
//! * `start` starts a subject, below the session; `subject_lifecycle` has its output, its exits,
//!   and its restart between two cases.
//! * `case_run` performs the steps, with the [`driver`]; `settle` waits after each, and `injection`
//!   disturbs them with what `armed_injection` has armed at the interceptor; `handover` has the two
//!   subjects of a session of which one replaces the other, and `beside` the controller that shares
//!   the subject's work.
//! * `stalls` watches for times in which the server or the harness itself did not run, for which no
//!   subject is to blame.

mod armed_injection;
mod beside;
mod case_run;
mod decision_request;
mod definitions;
pub mod driver;
mod environment;
mod executor;
mod handover;
mod injection;
pub mod observe;
mod options;
mod probes;
mod request_log;
mod role;
pub mod run;
mod session;
mod settle;
mod simulation;
mod stalls;
mod start;
mod subject_lifecycle;
mod workload;

pub use environment::{Environment, EnvironmentError};
pub use executor::Executor;
pub(crate) use executor::{SessionPool, SessionRenewal};
pub use handover::{SubjectPlan, Successor};
pub use options::{SessionOptions, StepHook, SubjectOptions};
pub use role::dispatch_role;
pub use session::Session;
pub use simulation::{Simulation, simulate, simulate_with_output};
