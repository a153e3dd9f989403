//! Systematic exploration: all orders, up to a bound, in which a controller can learn what happens.
//!
//! A controller receives the events of its watches, one stream for each kind, and the answers to
//! its writes. Each stream keeps its order; the network decides which stream is ahead. A *delay* is
//! a point at which one event, with all behind it in its stream, or one answer, is overtaken by a
//! number of other messages. The bound limits the number of delays in an order. Two delays may be
//! in one step, in different streams. There each is overtaken by one other message or by all, as
//! the combinations of all numbers are too many.
//!
//! * `orders` generates the next orders from the results so far: a delay that no message reaches,
//!   or that no more messages overtake, has no successors. It also writes the text of a case with
//!   some delays.
//! * `outcomes` groups the results, and has fingerprints of the server's objects without names. If
//!   a step settles in the same state after several orders, they continue alike, and only one is
//!   explored further.
//!
//! Pure: `cli` runs the cases.

mod orders;
mod outcomes;

pub use orders::{Delay, OrderResult, OrderSearch, text};
pub use outcomes::{OutcomeClass, Outcomes, states};
