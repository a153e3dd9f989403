//! Enumerates the faults that can happen between a subject and its server in one case.
//!
//! A run without faults shows how many writes each step leads to. Each write with each way in which
//! it can fail is a point; so is each kind whose watch may lag. A point becomes a case file of its
//! own: the case's text with one more line at the step. That file is run, so it also reproduces a
//! failure.
//!
//! * `points` lists the points and selects some of them by a seed; `inject` writes the file, which
//!   gives the subject time to recover at the end.
//!
//! Pure. `verdict` decides whether a subject withstood a fault.

mod inject;
mod points;

pub use inject::{add_recovery_time, inject, with_faults};
pub use points::{
    FaultKind, Point, PointLocation, interruptible_steps, points, sample, watched_by, writes, written_by,
};
