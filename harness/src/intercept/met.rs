//! A request that a command is about, on both sides: the interceptor, which waits to be told what
//! is to become of it, and whoever gave the command.

use hyper::body::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::Route;
use super::command::{Act, Side};

/// A request that a command was about. One that is held goes on when this is dropped.
#[derive(Debug)]
pub struct Met {
    /// The request.
    pub route: Route,
    /// What it sends; empty unless it is held before the server sees it.
    pub body: Bytes,
    /// What the server said, if it has.
    pub status: Option<u16>,
    fate: Option<oneshot::Sender<Fate>>,
}

/// What becomes of a request that was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Pass,
    Cut,
}

/// What a request is in for.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) act: Act,
    met: mpsc::UnboundedSender<Met>,
}

impl Order {
    pub(super) fn new(act: Act, met: &mpsc::UnboundedSender<Met>) -> Self {
        Self { act, met: met.clone() }
    }

    /// Tell whoever gave the command; nothing is held.
    pub(super) fn tell(&self, route: &Route, status: Option<u16>) {
        let met = Met { route: route.clone(), body: Bytes::new(), status, fate: None };
        // Nobody listens any more: then nobody cares.
        let _ = self.met.send(met);
    }

    /// Tell whoever gave the command, and wait for what is to become of it.
    pub(super) async fn hold(&self, route: &Route, body: Bytes, status: Option<u16>) -> Fate {
        let (fate, told) = oneshot::channel();
        match self.met.send(Met { route: route.clone(), body, status, fate: Some(fate) }) {
            Ok(()) => told.await.unwrap_or(Fate::Pass),
            Err(_) => Fate::Pass,
        }
    }
}

impl Met {
    /// Let it go on.
    pub fn pass(self) {
        drop(self);
    }

    /// Break it off: before the server sees it, or with its answer lost.
    pub fn cut(mut self) {
        if let Some(fate) = self.fate.take() {
            let _ = fate.send(Fate::Cut);
        }
    }

    /// On which side of the server's action it was met.
    pub fn side(&self) -> Side {
        if self.status.is_none() { Side::Before } else { Side::After }
    }
}
