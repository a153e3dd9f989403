//! A client for the API server's raw JSON, with the few requests that this controller makes.
//!
//! Raw JSON, because a typed client drops the fields that it does not know. As in client-go, the
//! caller does not see an answer that asks to send the request again later (`Retry-After`), unless
//! it comes too often. Nothing else is sent again: the caller decides what a failure means.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use kube::Client;
use kube::api::{DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::Request;
use rollout_model::any_json::AnyJson;
use rollout_model::to_json_bytes;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::error::RequestError;
use super::managed_fields::WithoutManagedFields;
use super::resource::Resource;
use super::response::{self, ResponseError};
use super::throttle::Throttle;
use crate::clock;
use crate::metrics::Metrics;
use crate::settings::ClientSettings;

/// Timeout of writes: as long as the server itself works on one, because the result must be known.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout of reads, which can be repeated.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// How often one request is sent again because the server asks for that, as in client-go.
const MAX_RESENDS: u32 = 10;
/// How long the server keeps one watch open.
const WATCH_SECONDS: u32 = 290;

/// An API server, or one namespace of it.
#[derive(Clone)]
pub struct ApiServer {
    client: Client,
    /// The namespace to list and watch; `None` for all.
    namespace: Option<String>,
    throttle: Option<Arc<Throttle>>,
}

/// A page of a list.
#[derive(Debug, Deserialize)]
pub struct ListPage<T> {
    /// The metadata of the list.
    pub metadata: ListMeta,
    /// The objects.
    #[serde(default = "Vec::new")]
    pub items: Vec<T>,
}

/// Metadata of a page.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListMeta {
    /// The version at which the list was taken.
    pub(crate) resource_version: String,
    /// Where the next page begins; empty on the last page.
    #[serde(rename = "continue")]
    pub continue_token: String,
}

type BuiltRequest = Result<http::Request<Vec<u8>>, kube::core::request::Error>;

impl ApiServer {
    /// All namespaces, and no rate limit.
    pub fn new(client: Client) -> Self {
        Self { client, namespace: None, throttle: None }
    }

    /// The namespace and the rate limit of the settings.
    pub fn with_settings(client: Client, settings: &ClientSettings, metrics: &Metrics) -> Self {
        let throttle = settings.rate_limit.map(|limit| Arc::new(Throttle::new(limit, metrics.clone())));
        Self { client, namespace: settings.namespace.clone(), throttle }
    }

    /// Reads an object.
    pub async fn get(&self, resource: Resource, namespace: &str, name: &str) -> Result<Value, RequestError> {
        let request = resource.in_namespace(namespace).get(name, &GetParams::default());
        self.send(namespace, describe("GET", resource, namespace, name), request).await.map(into_value)
    }

    /// Creates an object.
    pub async fn create(&self, resource: Resource, namespace: &str, body: &Value) -> Result<Value, RequestError> {
        self.create_as(resource, namespace, body).await.map(into_value)
    }

    /// The same; parses the response as `T`.
    pub async fn create_as<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: &str,
        body: &Value,
    ) -> Result<T, RequestError> {
        let request = resource.in_namespace(namespace).create(&PostParams::default(), to_json_bytes(body));
        let text = |pointer| body.pointer(pointer).and_then(Value::as_str);
        let name = text("/metadata/name").or_else(|| text("/metadata/generateName")).unwrap_or_default();
        self.send(namespace, describe("POST", resource, namespace, name), request).await
    }

    /// Replaces an object.
    pub async fn replace(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        body: &Value,
    ) -> Result<Value, RequestError> {
        let request = resource.in_namespace(namespace).replace(name, &PostParams::default(), to_json_bytes(body));
        self.send(namespace, describe("PUT", resource, namespace, name), request).await.map(into_value)
    }

    /// Replaces the status; `body` is the object with its new status, as JSON.
    pub async fn replace_status<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        body: Vec<u8>,
    ) -> Result<T, RequestError> {
        let post = PostParams::default();
        let request = resource.in_namespace(namespace).replace_subresource("status", name, &post, body);
        self.send(namespace, describe("PUT status of", resource, namespace, name), request).await
    }

    /// Sends a strategic merge patch.
    pub async fn patch(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Value, RequestError> {
        self.patch_as(resource, namespace, name, patch).await.map(into_value)
    }

    /// The same; parses the response as `T`.
    pub async fn patch_as<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<T, RequestError> {
        self.send_patch(resource, namespace, name, &Patch::Strategic(patch)).await
    }

    /// Sends a JSON merge patch.
    pub async fn merge_patch(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        patch: &Value,
    ) -> Result<Value, RequestError> {
        self.send_patch(resource, namespace, name, &Patch::Merge(patch)).await.map(into_value)
    }

    async fn send_patch<T: DeserializeOwned>(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
        patch: &Patch<&Value>,
    ) -> Result<T, RequestError> {
        let request = resource.in_namespace(namespace).patch(name, &PatchParams::default(), patch);
        self.send(namespace, describe("PATCH", resource, namespace, name), request).await
    }

    /// Deletes an object.
    pub async fn delete(&self, resource: Resource, namespace: &str, name: &str) -> Result<(), RequestError> {
        let request = resource.in_namespace(namespace).delete(name, &DeleteParams::default());
        self.send::<IgnoredAny>(namespace, describe("DELETE", resource, namespace, name), request).await.map(drop)
    }

    /// Deletes with background propagation: the dependents are deleted after the object.
    pub async fn delete_in_background(
        &self,
        resource: Resource,
        namespace: &str,
        name: &str,
    ) -> Result<(), RequestError> {
        let request = resource.in_namespace(namespace).delete(name, &DeleteParams::background());
        self.send::<IgnoredAny>(namespace, describe("DELETE", resource, namespace, name), request).await.map(drop)
    }

    /// One page of at most `objects` objects of a kind.
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        resource: Resource,
        page: Option<String>,
        objects: u32,
    ) -> Result<ListPage<T>, RequestError> {
        let params = ListParams { limit: Some(objects), continue_token: page, ..ListParams::default() };
        self.send_unthrottled(format!("LIST {}", resource.plural()), self.scope(resource).list(&params)).await
    }

    /// All changes of a kind after a resourceVersion.
    pub(crate) async fn watch<T: DeserializeOwned + Clone>(
        &self,
        resource: Resource,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<T>, RequestError>> + use<T>, RequestError> {
        let params = WatchParams { timeout: Some(WATCH_SECONDS), bookmarks: true, ..WatchParams::default() };
        let description = format!("WATCH {}", resource.plural());
        let request = self.scope(resource).watch(&params, version).map_err(|error| build_error(&description, error))?;
        match clock::within(READ_TIMEOUT, response::watch_events::<T>(&self.client, request)).await {
            Some(Ok(events)) => {
                Ok(events.map(move |event| event.map_err(|error| response_error(description.clone(), error))))
            }
            Some(Err(error)) => Err(response_error(description, error)),
            None => Err(RequestError::NoAnswer { request: description, seconds: READ_TIMEOUT.as_secs() }),
        }
    }

    /// The resources that apps/v1 serves.
    pub(crate) async fn discover(&self) -> Result<Vec<String>, kube::Error> {
        let list = self.client.list_api_group_resources("apps/v1").await?;
        Ok(list.resources.into_iter().map(|resource| resource.name).collect())
    }

    fn scope(&self, resource: Resource) -> Request {
        self.namespace
            .as_deref()
            .map_or_else(|| resource.in_all_namespaces(), |namespace| resource.in_namespace(namespace))
    }

    async fn send<T: DeserializeOwned>(
        &self,
        namespace: &str,
        description: String,
        request: BuiltRequest,
    ) -> Result<T, RequestError> {
        let throttle = self.throttle.as_deref().map(|throttle| (throttle, namespace));
        parse(&description, &self.fetch(throttle, &description, request).await?)
    }

    async fn send_unthrottled<T: DeserializeOwned>(
        &self,
        description: String,
        request: BuiltRequest,
    ) -> Result<T, RequestError> {
        parse(&description, &self.fetch(None, &description, request).await?)
    }

    /// Sends a request, and again after each wait that the server asks for; returns the body of the
    /// response. Each time the request takes its turn in the throttle, and has the whole timeout.
    async fn fetch(
        &self,
        throttle: Option<(&Throttle, &str)>,
        description: &str,
        request: BuiltRequest,
    ) -> Result<Bytes, RequestError> {
        let request = request.map_err(|error| build_error(description, error))?.map(Bytes::from);
        let timeout = if request.method() == http::Method::GET { READ_TIMEOUT } else { WRITE_TIMEOUT };
        let mut resends = 0;
        loop {
            let permit = match throttle {
                Some((throttle, namespace)) => throttle.acquire(request.method().as_str(), namespace).await,
                None => None,
            };
            let answer = clock::within(timeout, response::read_body(&self.client, request.clone())).await;
            // Not kept during a wait, which would delay the other requests of the namespace.
            drop(permit);
            match answer {
                Some(Ok(body)) => return Ok(body),
                Some(Err(ResponseError::RetryAfter(wait, error))) if resends < MAX_RESENDS => {
                    tracing::debug!(request = description, %error, ?wait, "Refused for now; sending it again later.");
                    resends += 1;
                    clock::sleep(wait).await;
                }
                Some(Err(error)) => return Err(response_error(description.to_owned(), error)),
                None => {
                    return Err(RequestError::NoAnswer { request: description.to_owned(), seconds: timeout.as_secs() });
                }
            }
        }
    }
}

/// Parsed here: kube's client logs a response that it cannot parse, and it may contain Secrets.
fn parse<T: DeserializeOwned>(description: &str, body: &[u8]) -> Result<T, RequestError> {
    serde_json::from_slice(body).map_err(|error| RequestError::Server {
        request: description.to_owned(),
        source: Box::new(kube::Error::SerdeError(error)),
    })
}

fn response_error(description: String, error: ResponseError) -> RequestError {
    match error {
        ResponseError::TooLarge(limit) => RequestError::TooLarge { request: description, limit },
        ResponseError::RetryAfter(_, source) | ResponseError::Failed(source) => {
            RequestError::Server { request: description, source: Box::new(source) }
        }
    }
}

fn build_error(description: &str, error: kube::core::request::Error) -> RequestError {
    RequestError::Server { request: description.to_owned(), source: Box::new(kube::Error::BuildRequest(error)) }
}

fn describe(verb: &str, resource: Resource, namespace: &str, name: &str) -> String {
    format!("{verb} {} {namespace}/{name}", resource.plural())
}

/// The response without `managedFields`.
fn into_value(AnyJson(WithoutManagedFields(answer)): AnyJson<WithoutManagedFields>) -> Value {
    answer
}
