//! Runs one case against Deployment controllers, edge by edge, and diffs what the ReplicaSets did.

pub mod case;
pub mod clock;
pub mod cluster;
pub mod gate;
pub mod outcome;
pub mod recording;
pub mod report;
pub mod supervise;
pub mod timeline;
pub mod verdict;
