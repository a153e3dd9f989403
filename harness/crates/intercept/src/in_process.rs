//! The interceptor as a layer of a client in this process, without sockets.

use std::sync::Arc;

use hyper::Request;
use tokio::sync::Notify;

use super::body::stream;
use super::proxy::Proxy;

/// A client whose requests go through the interceptor.
pub(super) fn client(proxy: Arc<Proxy>) -> kube::Client {
    // There is no connection to close: the client gets an error, as when one is closed.
    let connection = Arc::new(Notify::new());
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (proxy, connection) = (Arc::clone(&proxy), Arc::clone(&connection));
        async move { proxy.pass(request.map(stream), &connection).await }
    });
    kube::Client::new(service, "default")
}
