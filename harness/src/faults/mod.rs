//! What can go wrong between a subject and its server in one case, point by point.
//!
//! A case that went through once tells how many writes each of its steps led to. Each write, and
//! each way in which it can go wrong, is a point; so is each kind whose watch may lag. A point
//! becomes a case file of its own: the case's text with one line more at the step. What is played
//! is that file, and so what failed is repeated by it.
//!
//! * `points` finds the points, `sample` chooses some of them by a seed, `inject` writes the file;
//!   `respite` gives the subject time at the end.
//!
//! Pure. Whether a subject withstood a point is `verdict`'s to say.

mod inject;
mod points;
mod respite;
mod sample;

pub use inject::{inject, with_faults};
pub use points::{Kind, Point, Where, points, steps_with_a_middle, watched_by, writes, written_by};
pub use respite::respite;
pub use sample::sample;
