//! The server in a process: waits as the latency model says, executes requests under a lock,
//! streams watches, and listens on sockets.
//!
//! It imports `registry` and the rooms of data, and of `testing` nothing. Time and randomness come
//! in here: the rooms below are given both.

pub(crate) mod api_server;
pub(crate) mod handle;
pub(crate) mod latency;
#[cfg(feature = "listen")]
pub(crate) mod listen;
pub(crate) mod lock;
pub(crate) mod reaction;
pub(crate) mod response;
pub(crate) mod tower;
pub(crate) mod transcript;
pub(crate) mod watch_signals;
