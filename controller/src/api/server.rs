//! The API server, as raw JSON: the few requests that this controller makes.
//!
//! Raw, because a typed client drops the fields that it does not know. No retries: what a failure
//! means is the caller's to say.

use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt};
use kube::Client;
use kube::api::{DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::Request;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::answer::{self, AnswerError};
use super::bare::Bare;
use super::error::RequestError;
use super::resource::Resource;
use super::throttle::Throttle;
use crate::clock;
use crate::metrics::Metrics;
use crate::model::any_json::AnyJson;
use crate::settings::Settings;

/// How long the answer to a write is waited for: as long as the server itself works on one, for
/// what it did then must be found out.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long an answer is waited for that can as well be asked for again.
const PATIENCE_TO_READ: Duration = Duration::from_secs(30);
/// How long the server keeps one watch open.
const WATCH_SECONDS: u32 = 290;

/// An API server, or the part of it that is looked after.
#[derive(Clone)]
pub(crate) struct ApiServer {
    client: Client,
    /// What is listed and watched; `None`: all namespaces.
    namespace: Option<String>,
    throttle: Option<Arc<Throttle>>,
}

/// A page of a list.
#[derive(Debug, Deserialize)]
pub(crate) struct List<T> {
    pub(crate) metadata: ListMeta,
    #[serde(default = "Vec::new")]
    pub(crate) items: Vec<T>,
}

/// Where a list stands.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ListMeta {
    /// Version that the list is true of.
    pub(crate) resource_version: String,
    /// Where the next page begins; empty on the last.
    #[serde(rename = "continue")]
    pub(crate) next: String,
}

type Built = Result<http::Request<Vec<u8>>, kube::core::request::Error>;

impl ApiServer {
    /// All of it, and no limit.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, namespace: None, throttle: None }
    }

    /// The namespace and the limit that an operator has chosen.
    pub(crate) fn chosen(client: Client, settings: &Settings, metrics: &Metrics) -> Self {
        let throttle = settings.rate_limit.map(|limit| Arc::new(Throttle::new(limit, metrics.clone())));
        Self { client, namespace: settings.namespace.clone(), throttle }
    }

    pub(crate) async fn get(&self, resource: Resource, namespace: &str, name: &str) -> Result<Value, RequestError> {
        let request = resource.within(namespace).get(name, &GetParams::default());
        self.send(namespace, what("GET", resource, namespace, name), request).await.map(value)
    }

    pub(crate) async fn create(
        &self,
        resource: Resource,
        namespace: &str,
        body: &Value,
    ) -> Result<Value, RequestError> {
        self.create_as(resource, namespace, body).await.map(value)
    }

    /// The same, and of the answer only a part is read.
    pub(crate) async fn create_as<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: &str,
        body: &Value,
    ) -> Result<T, RequestError> {
        let request = resource.within(namespace).create(&PostParams::default(), bytes(body));
        let text = |pointer| body.pointer(pointer).and_then(Value::as_str);
        let name = text("/metadata/name").or_else(|| text("/metadata/generateName")).unwrap_or_default();
        self.send(namespace, what("POST", resource, namespace, name), request).await
    }

    pub(crate) async fn replace(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        body: &Value,
    ) -> Result<Value, RequestError> {
        let request = resource.within(namespace).replace(name, &PostParams::default(), bytes(body));
        self.send(namespace, what("PUT", resource, namespace, name), request).await.map(value)
    }

    /// The body is an object with its new status, as JSON.
    pub(crate) async fn replace_status<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        body: Vec<u8>,
    ) -> Result<T, RequestError> {
        let post = PostParams::default();
        let request = resource.within(namespace).replace_subresource("status", name, &post, body);
        self.send(namespace, what("PUT status of", resource, namespace, name), request).await
    }

    /// A strategic merge patch.
    pub(crate) async fn patch(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Value, RequestError> {
        self.patch_as(resource, namespace, name, patch).await.map(value)
    }

    /// The same, and of the answer only a part is read.
    pub(crate) async fn patch_as<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<T, RequestError> {
        self.send_patch(resource, namespace, name, &Patch::Strategic(patch)).await
    }

    /// A JSON merge patch.
    pub(crate) async fn merge_patch(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Value, RequestError> {
        self.send_patch(resource, namespace, name, &Patch::Merge(patch)).await.map(value)
    }

    async fn send_patch<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        patch: &Patch<&Value>,
    ) -> Result<T, RequestError> {
        let request = resource.within(namespace).patch(name, &PatchParams::default(), patch);
        self.send(namespace, what("PATCH", resource, namespace, name), request).await
    }

    pub(crate) async fn delete(&self, resource: Resource, namespace: &str, name: &str) -> Result<(), RequestError> {
        let request = resource.within(namespace).delete(name, &DeleteParams::default());
        self.send::<IgnoredAny>(namespace, what("DELETE", resource, namespace, name), request).await.map(drop)
    }

    /// The same, and what it owns is deleted after it.
    pub(crate) async fn delete_in_background(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
    ) -> Result<(), RequestError> {
        let request = resource.within(namespace).delete(name, &DeleteParams::background());
        self.send::<IgnoredAny>(namespace, what("DELETE", resource, namespace, name), request).await.map(drop)
    }

    /// One page of all objects of a kind that are looked after, of at most this many objects.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        resource: Resource,
        page: Option<String>,
        objects: u32,
    ) -> Result<List<T>, RequestError> {
        let params = ListParams { limit: Some(objects), continue_token: page, ..ListParams::default() };
        self.send_at_once(format!("LIST {}", resource.plural()), self.scope(resource).list(&params)).await
    }

    /// All changes of a kind that is looked after, after a resourceVersion.
    pub(crate) async fn watch<T: DeserializeOwned + Clone>(
        &self,
        resource: Resource,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<T>, RequestError>> + use<T>, RequestError> {
        let params = WatchParams { timeout: Some(WATCH_SECONDS), bookmarks: true, ..WatchParams::default() };
        let what = format!("WATCH {}", resource.plural());
        let request = self.scope(resource).watch(&params, version).map_err(|error| refused(&what, error))?;
        match clock::within(PATIENCE_TO_READ, answer::events::<T>(&self.client, request)).await {
            Some(Ok(events)) => Ok(events.map(move |event| event.map_err(|error| failed(what.clone(), error)))),
            Some(Err(error)) => Err(failed(what, error)),
            None => Err(RequestError::NoAnswer { what, seconds: PATIENCE_TO_READ.as_secs() }),
        }
    }

    /// What a group and version serves.
    pub(crate) async fn discover(&self) -> Result<Vec<String>, kube::Error> {
        let list = self.client.list_api_group_resources("apps/v1").await?;
        Ok(list.resources.into_iter().map(|resource| resource.name).collect())
    }

    fn scope(&self, resource: Resource) -> Request {
        self.namespace.as_deref().map_or_else(|| resource.everywhere(), |namespace| resource.within(namespace))
    }

    async fn send<T: DeserializeOwned>(
        &self,
        namespace: &str,
        what: String,
        request: Built,
    ) -> Result<T, RequestError> {
        let _turn = match (&self.throttle, &request) {
            (Some(throttle), Ok(request)) => throttle.turn(request.method().as_str(), namespace).await,
            _ => None,
        };
        self.send_at_once(what, request).await
    }

    async fn send_at_once<T: DeserializeOwned>(&self, what: String, request: Built) -> Result<T, RequestError> {
        let request = request.map_err(|error| refused(&what, error))?;
        let patience = if request.method() == http::Method::GET { PATIENCE_TO_READ } else { PATIENCE };
        // Read here: the client's own reading would log an answer that it cannot read, and there
        // are Secrets among them.
        match clock::within(patience, answer::whole(&self.client, request)).await {
            Some(Ok(body)) => serde_json::from_slice(&body)
                .map_err(|error| RequestError::Server { what, source: Box::new(kube::Error::SerdeError(error)) }),
            Some(Err(error)) => Err(failed(what, error)),
            None => Err(RequestError::NoAnswer { what, seconds: patience.as_secs() }),
        }
    }
}

fn failed(what: String, error: AnswerError) -> RequestError {
    match error {
        AnswerError::TooLarge(most) => RequestError::TooLarge { what, most },
        AnswerError::Failed(source) => RequestError::Server { what, source: Box::new(source) },
    }
}

fn refused(what: &str, error: kube::core::request::Error) -> RequestError {
    RequestError::Server { what: what.to_owned(), source: Box::new(kube::Error::BuildRequest(error)) }
}

fn what(verb: &str, resource: Resource, namespace: &str, name: &str) -> String {
    format!("{verb} {} {namespace}/{name}", resource.plural())
}

/// A whole answer.
fn value(AnyJson(Bare(answer)): AnyJson<Bare>) -> Value {
    answer
}

/// JSON as the body of a request.
pub(crate) fn bytes(body: &Value) -> Vec<u8> {
    serde_json::to_vec(body).expect("the keys of a JSON value are strings")
}
