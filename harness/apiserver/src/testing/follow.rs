//! Delivers the changes of a resource as values to code in the same process, at the times when a
//! watch would deliver them.
//!
//! [`WatchControl`](crate::WatchControl) and the latency model treat it like a watch.

use std::future::poll_fn;

use serde_json::Value;

use crate::EventType;
use crate::http::request::ManagedFieldsPolicy;
use crate::service::api_server::ApiServer;
use crate::service::response::WatchStream;
use crate::storage::error::StorageError;
use crate::storage::watch::{WatchCursor, WatchEvent};

/// A change of an object, and its new or last state with its type and without `managedFields`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ObjectChange {
    /// The type of the change.
    pub event_type: EventType,
    /// The object.
    pub object: Value,
    /// The object as JSON text.
    pub text: String,
}

/// The changes of one resource in all namespaces; created by [`ApiServer::follow`].
#[derive(Debug)]
pub struct ChangeStream(WatchStream);

impl ApiServer {
    /// Follows a resource, such as `pods` or `deployments.apps`, from now on; the group may be
    /// omitted.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use kube_apiserver_sim::{ApiServer, EventType};
    /// use serde_json::json;
    ///
    /// let server = ApiServer::new();
    /// let mut maps = server.follow("configmaps").unwrap();
    /// let metadata = json!({"namespace": "default", "name": "a"});
    /// let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    /// server.put_stored(map).unwrap();
    /// let change = maps.next().await.unwrap();
    /// assert_eq!(change.event_type, EventType::Added);
    /// assert_eq!(change.object["metadata"]["name"], "a");
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the resource is not served.
    pub fn follow(&self, resource: &str) -> Result<ChangeStream, StorageError> {
        let (kind, version) = {
            let server = self.server();
            (server.kinds.by_resource(resource)?, server.store.version())
        };
        Ok(ChangeStream(WatchStream::open(self.clone(), WatchCursor::all(kind, version))))
    }
}

impl ChangeStream {
    /// The next change; `None` if changes were forgotten before they were delivered.
    pub async fn next(&mut self) -> Option<ObjectChange> {
        loop {
            return match poll_fn(|cx| self.0.poll(cx)).await {
                Some(WatchEvent::Object(event_type, object)) => {
                    let text = object.text(ManagedFieldsPolicy::Omit);
                    let text = String::from_utf8(text).expect("JSON is written as UTF-8");
                    Some(ObjectChange { event_type, object: object.typed_body(), text })
                }
                Some(WatchEvent::Encoded(_)) => None,
                None if self.0.reconnect() => continue,
                None => None,
            };
        }
    }
}
