//! Workloads that own ReplicaSets and are not Deployments, handled as Deployments.
//!
//! **Architecture Invariant:** it is pure: it knows neither clusters nor recordings, and translates
//! JSON that others send.
//!
//! Cases, timelines, invariants and rules are about Deployments. A [`Workload`] is a table that
//! says where another kind has the same things: the bounds of its strategy, the annotations of its
//! controller, the label with the hash of its template. The harness's own client
//! (`workload_client` of the runner) translates by this table: what the harness writes as a
//! Deployment, the API server stores as the workload, and the workload and its ReplicaSets are read
//! back as a Deployment's. No other part of the harness knows about the other kind. The subject has
//! its own connection, and sees only the workload.
//!
//! * `table` is the file that describes a workload, and the built-in descriptions.
//! * `owned` is the kind in place of ReplicaSets, where there is one.
//! * `paths` checks where a kind has its fields.
//! * `view` translates a JSON object in either direction, and applies a patch to a Deployment
//!   outside of a server.
//! * `vocabulary` has the words of `claims`, and `claims` says what is waited for and judged.
//!
//! The description of a workload itself lists what it does not have, and what of its timelines
//! cannot be compared (`lacks`, `paths`, `claims`). Nothing is excluded for any other reason.

mod claims;
mod owned;
mod paths;
pub mod table;
pub(crate) mod view;
pub mod vocabulary;

pub use claims::{Claim, ClaimedShare, Claims, ReportedCounts};
pub use owned::OwnedKind;
pub use paths::split_group;
pub use table::Workload;
pub use view::patch_deployment;
