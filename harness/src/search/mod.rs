//! Search for a program on which two controllers differ: random cases, steered towards behaviour
//! that was not seen before, and shrunk where they differ.
//!
//! * `program` is a case as the search writes it: typed, so that it can be changed in parts, and
//!   written as the YAML that everybody reads. `given` has what it begins with, `op` its
//!   operations, `traits` what it says of pods, `trouble` what goes wrong in the middle of an
//!   operation.
//! * `area` names the parts of the language, to which a search can be confined.
//! * `generate` draws one, with the help of `scene` where pods are chosen among and of `rollouts`
//!   where it matters what was before, `mutate` changes one, both from a
//!   [`Chance`](kube_apiserver_sim::Chance), of which `draw` makes numbers.
//! * `behaviour` says what a timeline shows: the keys by which a program counts as new.
//! * `corpus` keeps the programs that showed something new, and chooses what is changed next.
//! * `differ` compares recordings of a program, and says by which decision they differ first;
//!   whether that is the controller's or chance, it says from several plays of both.
//! * `shrink` lists the programs that are a little smaller than one that differs.
//! * `hunt` is the search as a whole, without anybody who plays: programs to play next, and what is
//!   to be said of those that were played.
//!
//! Pure. Who plays the programs, and how many, is `cli`'s to say.

mod area;
mod behaviour;
mod corpus;
mod differ;
mod draw;
mod generate;
mod given;
mod hunt;
mod mutate;
mod op;
mod program;
mod rollouts;
mod scene;
mod shrink;
mod traits;
mod trouble;

pub use area::{Area, Areas};
pub use behaviour::{behaviour, decisions};
pub use corpus::Corpus;
pub use differ::{Answer, Differing, Repeats, differ, repeats};
pub use generate::generate;
pub use given::{About, Bound, Deployment, Family, Strategy};
pub use hunt::{Cause, Hunt, Look, Played, Shown, Shrinking, said};
pub use mutate::{Decisions, mutate};
pub use op::{Field, Op, ToPod, ToSet, Write};
pub use program::{Program, Step};
pub use shrink::smaller;
pub use traits::{Ready, Traits};
pub use trouble::{Disturbance, Failure, Trouble};
