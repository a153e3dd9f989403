//! Search for a program on which two controllers differ: random cases, steered towards behaviour that
//! was not seen before, and shrunk where they differ.
//!
//! * `program` is a case as the search writes it: typed, so that it can be changed in parts, and
//!   written as the YAML that everybody reads.
//! * `generate` draws one, `mutate` changes one, both from a [`Chance`](kube_apiserver_sim::Chance).
//! * `behaviour` says what a timeline shows: the keys by which a program counts as new.
//! * `corpus` keeps the programs that showed something new, and chooses what is changed next.
//! * `differ` compares two recordings of a program, and says by which decision they differ first.
//! * `shrink` lists the programs that are a little smaller than one that differs.
//!
//! Pure. Who plays the programs, and how many, is `cli`'s to say.

mod behaviour;
mod corpus;
mod differ;
mod generate;
mod mutate;
mod program;
mod shrink;

pub use behaviour::behaviour;
pub use corpus::Corpus;
pub use differ::{Answer, Differing, differ};
pub use generate::generate;
pub use mutate::mutate;
pub use program::{Bound, Deployment, Op, Program, Step, Strategy};
pub use shrink::smaller;
