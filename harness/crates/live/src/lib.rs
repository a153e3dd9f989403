//! Deployments of live clusters: a rollout captured into a recording, one taken from an audit log,
//! and a cluster watched for breaches of the invariants.
//!
//! **Architecture Invariant:** this crate only reads. It writes nothing to a cluster, and plays no
//! case.

pub mod audit;
pub mod capture;
pub mod monitor;
