//! Systematic exploration: every order, up to a bound, in which a controller can learn what
//! happens.
//!
//! A controller learns by the events of its watches, one stream for each kind, and by the answers
//! to its writes. Each stream keeps its order; which stream is ahead of which is up to the network.
//! An order is *late* at one place when one event, and all behind it in its stream, or one answer,
//! is overtaken by so many others. Without delay nothing is late; the bound says at how many places
//! something may be. Two of them may be in one step, in different streams: there each is overtaken
//! by one other or by all that come, as between all their numbers are too many orders.
//!
//! * `late` is one place, and the text of a case with some of them.
//! * `orders` says which orders come next, from what those before have shown: a place that nothing
//!   comes to, or that no more others overtake, has none behind it.
//! * `state` is what the server holds, whatever things are called: orders after which a step
//!   settles in the same state go on alike, and one of them is explored further.
//! * `outcomes` groups what the plays have shown.
//!
//! Pure. Who plays is `cli`'s to say.

mod late;
mod orders;
mod outcomes;
mod state;

pub use late::{Late, Stream, text};
pub use orders::{Orders, Seen};
pub use outcomes::{Kind, Outcomes};
pub use state::{States, states};
