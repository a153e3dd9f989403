//! A request that a command applies to: the interceptor's side, which may wait for a decision, and
//! the side of the command's owner.

use hyper::body::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::RequestInfo;
#[cfg(test)]
use super::command::InterceptPoint;
use super::command::RequestAction;

/// A request that a command applies to. A held request continues when this is dropped.
#[derive(Debug)]
pub struct Intercepted {
    /// The request.
    pub route: RequestInfo,
    /// Its body; empty unless it is held before the server sees it.
    pub body: Bytes,
    /// The status of the server's answer, if there is one.
    pub status: Option<u16>,
    disposition: Option<oneshot::Sender<Disposition>>,
}

/// The decision about a held request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disposition {
    Pass,
    Cut,
}

/// A command that applies to a request.
#[derive(Debug)]
pub(super) struct ArmedCommand {
    pub(super) action: RequestAction,
    sender: mpsc::UnboundedSender<Intercepted>,
}

impl ArmedCommand {
    pub(super) fn new(action: RequestAction, sender: &mpsc::UnboundedSender<Intercepted>) -> Self {
        Self { action, sender: sender.clone() }
    }

    /// Notifies the command's owner; the request is not held.
    pub(super) fn notify(&self, route: &RequestInfo, status: Option<u16>) {
        let intercepted = Intercepted { route: route.clone(), body: Bytes::new(), status, disposition: None };
        // The owner may have dropped its end.
        let _ = self.sender.send(intercepted);
    }

    /// Notifies the command's owner, and waits for its decision.
    pub(super) async fn hold(&self, route: &RequestInfo, body: Bytes, status: Option<u16>) -> Disposition {
        let (disposition, decision) = oneshot::channel();
        match self.sender.send(Intercepted { route: route.clone(), body, status, disposition: Some(disposition) }) {
            Ok(()) => decision.await.unwrap_or(Disposition::Pass),
            Err(_) => Disposition::Pass,
        }
    }
}

impl Intercepted {
    /// Lets it continue.
    pub fn pass(self) {
        drop(self);
    }

    /// Cuts it off, before the server sees it or losing its answer.
    pub fn cut(mut self) {
        if let Some(disposition) = self.disposition.take() {
            let _ = disposition.send(Disposition::Cut);
        }
    }

    /// Whether it was intercepted before or after the server acted.
    #[cfg(test)]
    pub(crate) fn point(&self) -> InterceptPoint {
        if self.status.is_none() { InterceptPoint::Before } else { InterceptPoint::After }
    }
}
