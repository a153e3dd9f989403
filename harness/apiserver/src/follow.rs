//! Changes as they happen, for who follows a resource within the server's process: what a watch delivers, when it delivers it, as
//! values instead of text.
//!
//! It is a watch like any other for [`Watches`](crate::Watches) and for the latency model.

use std::future::poll_fn;

use serde_json::Value;

use crate::response::Watch;
use crate::service::ApiServer;
use crate::stored::StoredError;
use crate::watch::{Event, Order, What};

/// What happened to an object. Objects have their type and no `managedFields`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Seen {
    /// It is new.
    Added(Value),
    /// It has changed.
    Modified(Value),
    /// It is gone; this was its last state.
    Deleted(Value),
}

/// The changes of one resource in all namespaces; [`ApiServer::follow`] makes it.
#[derive(Debug)]
pub struct Follow(Watch);

impl ApiServer {
    /// Follows a resource, such as `pods` or `deployments.apps`, from now on; the group may be omitted.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use kube_apiserver_sim::{ApiServer, Seen};
    /// use serde_json::json;
    ///
    /// let server = ApiServer::new();
    /// let mut maps = server.follow("configmaps").unwrap();
    /// let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "a"}});
    /// server.put_stored(map).unwrap();
    /// let Some(Seen::Added(map)) = maps.next().await else { panic!("it is new") };
    /// assert_eq!(map["metadata"]["name"], "a");
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the resource is not served.
    pub fn follow(&self, resource: &str) -> Result<Follow, StoredError> {
        let (kind, version) = {
            let server = self.server();
            (server.kinds.of_resource(resource)?, server.store.version())
        };
        Ok(Follow(Watch::open(self.clone(), Order::of_all(kind, version))))
    }
}

impl Follow {
    /// The next change. `None` when changes were forgotten before they were delivered.
    pub async fn next(&mut self) -> Option<Seen> {
        loop {
            return match poll_fn(|cx| self.0.poll(cx)).await {
                Some(Event::Shown(What::Added, object)) => Some(Seen::Added(object.typed_body())),
                Some(Event::Shown(What::Modified, object)) => Some(Seen::Modified(object.typed_body())),
                Some(Event::Shown(What::Deleted, object)) => Some(Seen::Deleted(object.typed_body())),
                Some(Event::Line(_)) => None,
                None if self.0.go_on() => continue,
                None => None,
            };
        }
    }
}
