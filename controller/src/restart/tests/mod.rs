//! Scenarios of the catalogue against the controller without its shell, in both profiles; their
//! numbers are in the names.

mod agent;
mod both;
mod hostile;
mod keyed;
mod memory;
mod pace;
mod safe;
mod schedule;
mod selection;
mod world;
mod xing;
