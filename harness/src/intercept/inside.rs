//! The interceptor as a layer of a client in this process: no sockets, the same way through.

use std::sync::Arc;

use hyper::Request;
use tokio::sync::Notify;

use super::body::stream;
use super::passage::Passage;

/// A client all of whose requests go through the interceptor.
pub(super) fn client(passage: Arc<Passage>) -> kube::Client {
    // There is no connection to cut: whoever asked gets an error, as when one ends.
    let connection = Arc::new(Notify::new());
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (passage, connection) = (Arc::clone(&passage), Arc::clone(&connection));
        async move { passage.pass(request.map(stream), &connection).await }
    });
    kube::Client::new(service, "default")
}
