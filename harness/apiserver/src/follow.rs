//! The changes of a resource as values, for code in the server's process. They come when a watch
//! would deliver them.
//!
//! [`Watches`](crate::Watches) and the latency model treat it as a watch.

use std::future::poll_fn;

use serde_json::Value;

use crate::object::ManagedFields;
use crate::response::Watch;
use crate::service::ApiServer;
use crate::stored::StoredError;
use crate::watch::{Event, Order};

pub use crate::watch::What;

/// What happened to an object, and how it is now, or was last. It has its type and no
/// `managedFields`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Seen {
    /// What happened.
    pub what: What,
    /// The object.
    pub object: Value,
    /// The same as text.
    pub text: String,
}

/// The changes of one resource in all namespaces; [`ApiServer::follow`] makes it.
#[derive(Debug)]
pub struct Follow(Watch);

impl ApiServer {
    /// Follows a resource, such as `pods` or `deployments.apps`, from now on; the group may be
    /// omitted.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() {
    /// use kube_apiserver_sim::{ApiServer, What};
    /// use serde_json::json;
    ///
    /// let server = ApiServer::new();
    /// let mut maps = server.follow("configmaps").unwrap();
    /// let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "default", "name": "a"}});
    /// server.put_stored(map).unwrap();
    /// let seen = maps.next().await.unwrap();
    /// assert_eq!((seen.what, &seen.object["metadata"]["name"]), (What::Added, &json!("a")));
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
                Some(Event::Shown(what, object)) => {
                    let text = object.text(ManagedFields::LeftOut);
                    let text = String::from_utf8(text).expect("JSON is written as UTF-8");
                    Some(Seen { what, object: object.typed_body(), text })
                }
                Some(Event::Line(_)) => None,
                None if self.0.go_on() => continue,
                None => None,
            };
        }
    }
}
