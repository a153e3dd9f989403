//! Where everything meets: a cluster, a subject behind the interceptor, a case, and out of it a
//! recording.
//!
//! A [`Environment`] is a cluster that is watched. A [`Session`] is a subject at work on it, after
//! the test environment has proved itself without one; a [`Player`] is either one or several such
//! sessions, or a subject that gets a simulated cluster for each case. [`Session::play`] makes a
//! case's steps one by one and writes down what happened; it never decides a verdict: that is
//! `verdict`, which is given the recording and nothing else.

mod burst;
mod definitions;
mod environment;
mod events;
mod header;
mod hook;
mod ledger;
mod middle;
mod options;
mod output;
mod play;
mod player;
mod probes;
mod rest;
mod revive;
mod role;
mod session;
mod sharing;
mod simulated;
mod start;

pub use environment::{Environment, EnvironmentError};
pub use hook::StepHook;
pub use options::{MOST_SUB_STEPS, ProcessOptions, SessionOptions};
pub use player::{Player, Renewal, Sessions, Turn};
pub use role::main_if_asked;
pub use session::Session;
pub use simulated::{Simulation, simulated, simulated_with_output};
