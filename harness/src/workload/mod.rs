//! Workloads that own ReplicaSets and are not Deployments, read as Deployments.
//!
//! A case, a timeline, an invariant and a rule speak of Deployments. A [`Workload`] is a table that
//! says where another kind has the same things: its strategy's bounds, the annotations of its
//! controller, the label with the hash of its template. With that table the harness's own client
//! ([`client()`]) translates: what the harness writes as a Deployment, the API server stores as the
//! workload, and what it shows of the workload and its ReplicaSets is read as a Deployment's.
//! Nothing else in the harness knows that the kind is another; the subject, which has a connection
//! of its own, sees only the workload.
//!
//! * `table` is the file that describes a workload, and the ones that the program carries.
//! * `view` translates one JSON object in either direction; pure.
//! * `claims` is what of it is waited for and judged; pure.
//! * `patch` applies a patch to a Deployment that no server has; pure.
//! * `client` is the translating client; `definition` makes the CustomResourceDefinitions where a
//!   cluster lacks them.
//!
//! A workload says itself what it has nothing of, and what of its timelines cannot be compared
//! (`lacks`, `paths`, `uncompared`): no comparison is left out for any other reason.

mod claims;
mod client;
mod definition;
mod patch;
mod table;
mod view;

pub use claims::Claims;
pub use client::client;
pub use definition::{DefinitionError, define};
pub use table::{Uncompared, Workload, WorkloadError};
