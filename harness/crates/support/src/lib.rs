//! What every part of Lockstep uses and none is about: YAML with locations, output that is safe to
//! print, files on disk, the clock.
//!
//! **Architecture Invariant:** this crate knows nothing of Kubernetes, of cases or of recordings.
//! [`clock`] is the only place of the harness that reads the time.

pub mod clock;
pub mod collection;
pub mod fingerprint;
pub mod outcome;
pub mod output;
mod pluralize;
pub mod private_fs;
pub mod sanitize;
pub mod yaml;

pub use pluralize::pluralize;

// As the simulated server does it: without allocating a string for each component. The judge and
// the driver read fields of upstream's types some hundred times for each request.
pub use kube_apimachinery::pointer;
