//! Searches for programs on which two controllers differ: random cases, steered towards new
//! behaviour, and shrunk if they differ.
//!
//! **Architecture Invariant:** it runs nothing: it makes programs and evaluates results, and its
//! random numbers come from a seed.
//!
//! * `program` is a case as the search generates it: typed, so that parts of it can be changed, and
//!   written as ordinary YAML. `initial` has its initial state, `op` its operations and what goes
//!   wrong in the middle of them, `pod_profile` the traits of pods.
//! * `area` names the areas of the case language, to which a search can be limited.
//! * `generate` creates a random program, with `pod_setup` where pods are chosen; `mutate` changes
//!   one. Both use a [`SeededRng`](kube_apimachinery::SeededRng), from which `random` makes
//!   numbers.
//! * `corpus` extracts the keys from a timeline by which a program counts as new, stores the
//!   programs that had new behaviour, and chooses which to mutate next.
//! * `compare` compares recordings of a program and finds the first decision by which they differ;
//!   from several runs of both sides it determines whether the controller or chance explains it.
//! * `shrink` lists programs that are a little smaller than one that differs.
//! * `fuzzer` is the search as a whole, without running anything: it chooses programs and evaluates
//!   results.
//!
//! [`explore`] runs orders of events of one case, and [`infer`] makes a case of a recording.

mod area;
mod compare;
mod corpus;
pub mod explore;
mod fuzzer;
mod generate;
pub mod infer;
mod initial;
mod mutate;
mod op;
mod pod_profile;
mod pod_setup;
mod program;
mod random;
mod shrink;

pub use area::{Area, Areas};
pub use compare::{Repeats, SideComparison, compare, repeats};
pub use fuzzer::{Feedback, Fuzzer, PlayedProgram, SearchFinding, Shrinking, describe_repeats};
pub use generate::generate;
pub use initial::Focus;
pub(crate) use op::Disruption;
pub use program::CaseProgram;
