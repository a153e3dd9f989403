//! Where everything meets: a cluster, a subject behind the gate, a case, and out of it a recording.
//!
//! A [`Lab`] is a cluster that is watched. A [`Seat`] is a subject at work on it, after the lab has
//! proved itself without one; a [`Player`] is either one or several such seats, or a subject that
//! gets a simulated cluster for each case. [`Seat::play`] makes a case's steps one by one and
//! writes down what happened; it never decides a verdict: that is `verdict`, which is given the
//! recording and nothing else.

mod events;
mod kinds;
mod lab;
mod ledger;
mod middle;
mod play;
mod player;
mod revive;
mod seat;
mod simulated;

pub use lab::{Lab, LabError};
pub use player::{Player, Seats, Turn};
pub use seat::{Seat, SeatOptions};
pub use simulated::{Simulation, simulated};
