//! Cases about a workload: the harness uses Deployments, the server stores the workload.
//!
//! The harness's client translates. To create a Deployment, it first asks the server in a dry run
//! what it would store. So a Deployment that the server refuses is refused, and the workload has
//! all defaults that the server would have filled in. To patch one, the client reads the object,
//! applies the patch, validates the result in the same way, and writes it with the version that it
//! read.
//!
//! If a cluster has no CustomResourceDefinition of the workload, [`define`] creates one: it accepts
//! any fields, and has a status and a scale. A kind that the workload owns in place of ReplicaSets
//! is read and written in the same way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::{Method, Request, Response, StatusCode};
use kube::client::Body;
use lockstep_support::clock;
use lockstep_workload::{Workload, patch_deployment, split_group};
use serde_json::{Value, json};

const APPS: &str = "/apis/apps/v1/";
/// The query parameter for unknown fields.
const VALIDATION: &str = "fieldValidation=";
/// What a Deployment is called in a dry run that only completes it.
const DRY_RUN: &str = "lockstep-dry-run";
/// How often a patch is retried after a conflict.
const ATTEMPTS: usize = 10;

type Error = Box<dyn std::error::Error + Send + Sync>;
type BoxedResponse = Response<UnsyncBoxBody<Bytes, Error>>;

/// A client that reads and writes this workload as a Deployment.
#[must_use]
pub(crate) fn client(inner: kube::Client, workload: Arc<Workload>) -> kube::Client {
    let namespace = inner.default_namespace().to_owned();
    let service = tower::service_fn(move |request: Request<Body>| {
        let translating = TranslatingClient { inner: inner.clone(), workload: Arc::clone(&workload) };
        async move { translating.handle(request).await }
    });
    kube::Client::new(service, namespace)
}

struct TranslatingClient {
    inner: kube::Client,
    workload: Arc<Workload>,
}

/// A request whose path is about Deployments or ReplicaSets that are stored as another kind.
struct TranslatedRequest {
    /// The path on the server.
    path: String,
    /// Whether it concerns a single object, and not a subresource of it.
    is_object: bool,
    /// Whether it concerns a scale or a status.
    subresource: bool,
}

impl TranslatingClient {
    async fn handle(&self, request: Request<Body>) -> Result<BoxedResponse, Error> {
        let (mut parts, body) = request.into_parts();
        let sent = body.collect().await?.to_bytes();
        let target = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
        let is_watch = parts.uri.query().is_some_and(|query| query.split('&').any(|one| one == "watch=true"));
        let Some(about) = self.parse_target(&target) else {
            let body = self.translated(&sent, Workload::as_workload);
            return self.send(Request::from_parts(parts, Body::from(body)), is_watch).await;
        };
        if about.subresource {
            parts.uri = about.path.parse()?;
            return self.send(Request::from_parts(parts, Body::from(sent)), is_watch).await;
        }
        if parts.method == Method::POST {
            return self.create(&target, &about.path, &sent).await;
        }
        if parts.method == Method::PATCH && about.is_object {
            let content_type = parts.headers.get("content-type").and_then(|it| it.to_str().ok()).unwrap_or_default();
            return self.patch(&target, &about.path, content_type, &serde_json::from_slice(&sent)?).await;
        }
        parts.uri = about.path.parse()?;
        let body = self.translated(&sent, Workload::as_workload);
        self.send(Request::from_parts(parts, Body::from(body)), is_watch).await
    }

    /// Parses a path about a kind that is stored as another one.
    fn parse_target(&self, target: &str) -> Option<TranslatedRequest> {
        let rest = target.strip_prefix(APPS)?;
        let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        let mut words: Vec<&str> = path.split('/').collect();
        let at = if words.first() == Some(&"namespaces") { 2 } else { 0 };
        let resource = words.get_mut(at)?;
        let (api_version, plural) = self.workload.stored_as(resource)?;
        *resource = plural;
        let after = words.len() - at - 1;
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        let path = format!("/apis/{api_version}/{}{query}", words.join("/"));
        Some(TranslatedRequest { path, is_object: after == 1, subresource: after > 1 })
    }

    async fn create(&self, target: &str, path: &str, sent: &[u8]) -> Result<BoxedResponse, Error> {
        let mut object: Value = serde_json::from_slice(sent)?;
        match self.as_stored(target, &object).await? {
            Ok(spec) => object["spec"] = spec,
            Err(refusal) => return Ok(refusal),
        }
        self.workload.as_workload(&mut object);
        let path = path.split(VALIDATION).next().unwrap_or_default();
        self.send(json_request(Method::POST, path, &object)?, false).await
    }

    async fn patch(
        &self,
        target: &str,
        path: &str,
        content_type: &str,
        change: &Value,
    ) -> Result<BoxedResponse, Error> {
        // The query of the patch does not apply to the requests that replace it.
        let without_query = |path: &str| path.split('?').next().unwrap_or_default().to_owned();
        let (own, theirs) = (without_query(path), without_query(target));
        let collection = theirs.rsplit_once('/').map_or("", |(collection, _)| collection);
        for _ in 0..ATTEMPTS {
            let read = self.inner.send(Request::get(&own).body(Body::empty())?).await?;
            if !read.status().is_success() {
                return Ok(read.map(|body| body.map_err(Error::from).boxed_unsync()));
            }
            let mut object: Value = serde_json::from_slice(&read.into_body().collect().await?.to_bytes())?;
            self.workload.as_deployment(&mut object);
            if let Err(why) = patch_deployment(&mut object, content_type, change) {
                return refusal(StatusCode::UNPROCESSABLE_ENTITY, &why);
            }
            let mut renamed = object.clone();
            if self.workload.is_deployment() {
                // A dry run of a creation is refused where the object exists.
                renamed["metadata"]["name"] = DRY_RUN.into();
            }
            match self.as_stored(collection, &renamed).await? {
                Ok(spec) => object["spec"] = spec,
                Err(refusal) => return Ok(refusal),
            }
            self.workload.as_workload(&mut object);
            let written = self.send(json_request(Method::PUT, &own, &object)?, false).await?;
            if written.status() != StatusCode::CONFLICT {
                return Ok(written);
            }
        }
        refusal(StatusCode::CONFLICT, "the object changes more often than it can be patched")
    }

    /// The spec that the server would store for this Deployment, or its refusal.
    async fn as_stored(&self, collection: &str, object: &Value) -> Result<Result<Value, BoxedResponse>, Error> {
        let mut asked = object.clone();
        if let Some(metadata) = asked["metadata"].as_object_mut() {
            metadata.retain(|key, _| ["name", "labels", "annotations"].contains(&key.as_str()));
        }
        if let Some(fields) = asked.as_object_mut() {
            fields.remove("status");
        }
        let (path, query) = collection.split_once('?').unwrap_or((collection, ""));
        // A Deployment's fields are validated here, those of the workload are not.
        let validation = query.split('&').find(|one| one.starts_with(VALIDATION));
        let path = format!("{path}?dryRun=All&{}", validation.unwrap_or_default());
        let answer = self.inner.send(json_request(Method::POST, &path, &asked)?).await?;
        if !answer.status().is_success() {
            return Ok(Err(answer.map(|body| body.map_err(Error::from).boxed_unsync())));
        }
        let mut stored: Value = serde_json::from_slice(&answer.into_body().collect().await?.to_bytes())?;
        Ok(Ok(stored["spec"].take()))
    }

    /// Sends a request, and translates the answer to a Deployment's.
    async fn send(&self, request: Request<Body>, is_watch: bool) -> Result<BoxedResponse, Error> {
        let (mut parts, body) = self.inner.send(request).await?.into_parts();
        parts.headers.remove("content-length");
        if !is_watch || !parts.status.is_success() {
            let body = self.translated(&body.collect().await?.to_bytes(), Workload::as_deployment);
            return Ok(Response::from_parts(parts, full_body(body)));
        }
        let workload = Arc::clone(&self.workload);
        let mut rest = Vec::new();
        let lines = body.into_data_stream().map_ok(move |bytes| {
            rest.extend_from_slice(&bytes);
            let Some(end) = rest.iter().rposition(|byte| *byte == b'\n') else { return Bytes::new() };
            let whole: Vec<u8> = rest.drain(..=end).collect();
            whole.split_inclusive(|byte| *byte == b'\n').flat_map(|line| translate_event(&workload, line)).collect()
        });
        // A watch ends with a complete line.
        let body = StreamBody::new(lines.map_ok(Frame::data).map_err(Error::from));
        Ok(Response::from_parts(parts, body.boxed_unsync()))
    }

    /// Translates JSON; other bodies stay as they are.
    fn translated(&self, bytes: &[u8], how: fn(&Workload, &mut Value)) -> Vec<u8> {
        let Ok(mut value) = serde_json::from_slice::<Value>(bytes) else { return bytes.to_vec() };
        how(&self.workload, &mut value);
        value.to_string().into_bytes()
    }
}

/// Translates one event of a watch.
fn translate_event(workload: &Workload, line: &[u8]) -> Vec<u8> {
    let Ok(mut event) = serde_json::from_slice::<Value>(line) else { return line.to_vec() };
    workload.as_deployment(&mut event["object"]);
    let mut line = event.to_string().into_bytes();
    line.push(b'\n');
    line
}

fn json_request(method: Method, path: &str, body: &Value) -> Result<Request<Body>, Error> {
    let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
    Ok(request.body(Body::from(body.to_string().into_bytes()))?)
}

fn refusal(code: StatusCode, message: &str) -> Result<BoxedResponse, Error> {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(),
        "reason": if code == StatusCode::CONFLICT { "Conflict" } else { "Invalid" }, "message": message});
    let response = Response::builder().status(code).header("content-type", "application/json");
    Ok(response.body(full_body(status.to_string().into_bytes()))?)
}

fn full_body(body: Vec<u8>) -> UnsyncBoxBody<Bytes, Error> {
    Full::from(body).map_err(|never| match never {}).boxed_unsync()
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// The fields that a scale reads and writes.
const REPLICAS: [&str; 2] = ["/spec/replicas", "/status/replicas"];
/// How long a server may take until it serves a new resource.
const PATIENCE: Duration = Duration::from_secs(20);

/// The cluster does not serve a workload's kind.
#[derive(Debug, thiserror::Error)]
#[error("the cluster does not serve {plural}.{group}: {why}")]
pub struct DefinitionError {
    plural: String,
    group: String,
    why: String,
}

/// Defines the workload's kind, what it owns, and the resources that its controller waits for,
/// unless the cluster has them.
///
/// # Errors
/// The server refuses, or does not serve them in time.
pub(crate) async fn define(client: &kube::Client, workload: &Workload) -> Result<(), DefinitionError> {
    let definitions = definitions_of(workload);
    let failed = |definition: &Definition<'_>, why: String| DefinitionError {
        plural: definition.plural.to_owned(),
        group: split_group(definition.api_version).0.to_owned(),
        why,
    };
    for definition in &definitions {
        if is_served(client, definition).await.map_err(|error| failed(definition, error.to_string()))? {
            continue;
        }
        let body = manifest(definition).to_string().into_bytes();
        let request = Request::post(DEFINITIONS).header("content-type", "application/json").body(body);
        let request = request.map_err(|error| failed(definition, error.to_string()))?;
        match client.request::<Value>(request).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(failed(definition, error.to_string())),
        }
    }
    let since = clock::instant();
    for definition in &definitions {
        while !is_served(client, definition).await.map_err(|error| failed(definition, error.to_string()))? {
            if since.elapsed() > PATIENCE {
                return Err(failed(definition, format!("it was defined {PATIENCE:?} ago")));
            }
            clock::pause(Duration::from_millis(100)).await;
        }
    }
    Ok(())
}

/// A kind that the cluster must serve, and the pointers to its numbers of replicas.
struct Definition<'a> {
    api_version: &'a str,
    kind: &'a str,
    plural: &'a str,
    cluster_scoped: bool,
    replicas: [&'a str; 2],
}

/// The workload's kind, what it owns, and what its controller waits for.
fn definitions_of(workload: &Workload) -> Vec<Definition<'_>> {
    let scaled = |api_version, kind, plural, paths| {
        let replicas = REPLICAS.map(|field| own_path(paths, field));
        Definition { api_version, kind, plural, cluster_scoped: false, replicas }
    };
    let Workload { api_version, kind, plural, paths, .. } = workload;
    let own = scaled(api_version, kind, plural, paths);
    let owned = workload.owns.iter().map(|owned| scaled(&owned.api_version, &owned.kind, &owned.plural, &owned.paths));
    let others = workload.definitions.iter().map(|other| Definition {
        api_version: &workload.api_version,
        kind: &other.kind,
        plural: &other.plural,
        cluster_scoped: other.cluster_scoped,
        replicas: REPLICAS,
    });
    std::iter::once(own).chain(owned).chain(others).collect()
}

/// Where a kind has this field.
fn own_path<'a>(paths: &'a BTreeMap<String, Option<String>>, field: &'static str) -> &'a str {
    paths.get(field).and_then(Option::as_deref).unwrap_or(field)
}

async fn is_served(client: &kube::Client, definition: &Definition<'_>) -> Result<bool, kube::Error> {
    let path = format!("/apis/{}/{}?limit=1", definition.api_version, definition.plural);
    let request = Request::get(path).body(Vec::new()).map_err(kube::Error::HttpError)?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
        Err(error) => Err(error),
    }
}

fn manifest(definition: &Definition<'_>) -> Value {
    let Definition { api_version, kind, plural, cluster_scoped, replicas } = definition;
    let (group, version) = split_group(api_version);
    let [desired, actual] = replicas.map(|pointer| pointer.replace('/', "."));
    let scope = if *cluster_scoped { "Cluster" } else { "Namespaced" };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
            "versions": [{
                "name": version,
                "served": true,
                "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": desired, "statusReplicasPath": actual},
                },
            }],
        },
    })
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;
    use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
    use kube::core::GroupVersionKind;
    use kube_apiserver_sim::{ApiServer, ControllerMode};

    use super::*;

    /// A client for Deployments that translates, and one for Rollouts that does not.
    async fn both_clients() -> (ApiServer, Api<DynamicObject>, Api<DynamicObject>) {
        let server = ApiServer::builder().controllers(ControllerMode::Off).build();
        let argo: Workload = "argo-rollouts".parse().unwrap();
        define(&server.client(), &argo).await.unwrap();
        let api = |client: kube::Client, group: &str, version: &str, kind: &str| {
            let resource = kube::api::ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
            Api::<DynamicObject>::namespaced_with(client, "default", &resource)
        };
        let rollouts = api(server.client(), "argoproj.io", "v1alpha1", "Rollout");
        let deployments = api(client(server.client(), Arc::new(argo)), "apps", "v1", "Deployment");
        (server, deployments, rollouts)
    }

    fn deployment(app: &str) -> DynamicObject {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {
            "replicas": 3, "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}},
        }});
        serde_json::from_value(object).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn deployment_is_stored_as_rollout_and_read_back() {
        let (_server, deployments, rollouts) = both_clients().await;
        let made = deployments.create(&PostParams::default(), &deployment("web")).await.unwrap();
        assert_eq!(made.types.unwrap().kind, "Deployment");
        let stored = rollouts.get("web").await.unwrap().data;
        assert_eq!(stored["spec"]["strategy"], json!({"canary": {"maxSurge": 1, "maxUnavailable": 0}}));
        // The server's defaults for a Deployment.
        assert_eq!(stored["spec"]["progressDeadlineSeconds"], 600);
        assert_eq!(stored["spec"]["template"]["spec"]["restartPolicy"], "Always");
        let listed = deployments.list(&Default::default()).await.unwrap().items;
        assert_eq!(listed[0].data["spec"]["strategy"]["rollingUpdate"], json!({"maxSurge": 1, "maxUnavailable": 0}));
    }

    #[tokio::test(start_paused = true)]
    async fn patches_apply_to_the_deployment() {
        let (_server, deployments, rollouts) = both_clients().await;
        deployments.create(&PostParams::default(), &deployment("web")).await.unwrap();
        let none = PatchParams::default();
        let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}}});
        deployments.patch("web", &none, &Patch::Strategic(image)).await.unwrap();
        let surge = json!({"spec": {"strategy": {"rollingUpdate": {"maxSurge": 2}}}});
        deployments.patch("web", &none, &Patch::Merge(surge)).await.unwrap();
        deployments.patch_scale("web", &none, &Patch::Merge(json!({"spec": {"replicas": 5}}))).await.unwrap();
        let stored = rollouts.get("web").await.unwrap().data;
        assert_eq!(stored["spec"]["template"]["spec"]["containers"][0]["image"], "app:2");
        assert_eq!(stored["spec"]["strategy"], json!({"canary": {"maxSurge": 2, "maxUnavailable": 0}}));
        assert_eq!(stored["spec"]["replicas"], 5);
    }

    #[tokio::test(start_paused = true)]
    async fn refuses_what_the_server_refuses_of_a_deployment() {
        let (_server, deployments, rollouts) = both_clients().await;
        let refused = deployments.create(&PostParams::default(), &deployment("other")).await.unwrap_err();
        assert!(matches!(&refused, kube::Error::Api(status) if status.code == 422), "{refused}");
        deployments.create(&PostParams::default(), &deployment("web")).await.unwrap();
        let negative = Patch::Merge(json!({"spec": {"replicas": -1}}));
        let refused = deployments.patch("web", &PatchParams::default(), &negative).await.unwrap_err();
        assert!(matches!(&refused, kube::Error::Api(status) if status.code == 422), "{refused}");
        assert_eq!(rollouts.get("web").await.unwrap().data["spec"]["replicas"], 3);
        let missing = deployments.patch("none", &PatchParams::default(), &negative).await.unwrap_err();
        assert!(matches!(&missing, kube::Error::Api(status) if status.code == 404), "{missing}");
    }

    /// A Deployment whose bounds are in an annotation is completed by dry runs beside itself.
    #[tokio::test(start_paused = true)]
    async fn deployment_is_stored_with_bounds_in_an_annotation() {
        let server = ApiServer::builder().controllers(ControllerMode::Off).build();
        let at = "/metadata/annotations/example.com~1strategy#";
        let description = json!({"apiVersion": "apps/v1", "kind": "Deployment", "plural": "deployments",
            "paths": {"/spec/strategy/type": null, "/spec/strategy/rollingUpdate/maxSurge": format!("{at}/surge"),
                "/spec/strategy/rollingUpdate/maxUnavailable": format!("{at}/unavailable")},
            "manifest": {"spec": {"paused": true, "strategy": {"type": "Recreate"}}}});
        let fork = Workload::from_json(description).unwrap();
        define(&server.client(), &fork).await.unwrap();
        let of = |client| Api::<k8s_openapi::api::apps::v1::Deployment>::namespaced(client, "default");
        let (stored, seen) = (of(server.client()), of(client(server.client(), Arc::new(fork))));
        let object: k8s_openapi::api::apps::v1::Deployment =
            serde_json::from_value(serde_json::to_value(deployment("web")).unwrap()).unwrap();
        seen.create(&PostParams::default(), &object).await.unwrap();
        let surge = json!({"spec": {"replicas": 4, "strategy": {"rollingUpdate": {"maxSurge": 2}}}});
        seen.patch("web", &PatchParams::default(), &Patch::Strategic(surge)).await.unwrap();
        let spec = stored.get("web").await.unwrap();
        let strategy = spec.metadata.annotations.unwrap()["example.com/strategy"].clone();
        assert_eq!(strategy, "{\"surge\":2,\"unavailable\":0}");
        let (spec, strategy) = (spec.spec.clone().unwrap(), spec.spec.unwrap().strategy.unwrap());
        assert_eq!((spec.replicas, spec.paused, strategy.type_.as_deref()), (Some(4), Some(true), Some("Recreate")));
        let listed = serde_json::to_value(seen.list(&Default::default()).await.unwrap()).unwrap();
        assert_eq!(
            listed["items"][0]["spec"]["strategy"]["rollingUpdate"],
            json!({"maxSurge": 2, "maxUnavailable": 0})
        );
        assert_eq!(stored.list(&Default::default()).await.unwrap().items.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn watch_shows_deployments() {
        let (_server, deployments, rollouts) = both_clients().await;
        let from = deployments.list(&Default::default()).await.unwrap().metadata.resource_version.unwrap();
        let mut watch = deployments.watch(&WatchParams::default(), &from).await.unwrap().boxed();
        deployments.create(&PostParams::default(), &deployment("web")).await.unwrap();
        let status = json!({"status": {"observedGeneration": "4"}});
        rollouts.patch_status("web", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
        let Some(Ok(WatchEvent::Added(added))) = watch.next().await else { panic!("nothing was added") };
        assert_eq!(added.data["spec"]["strategy"]["rollingUpdate"]["maxSurge"], 1);
        let Some(Ok(WatchEvent::Modified(modified))) = watch.next().await else { panic!("nothing was modified") };
        assert_eq!(modified.data["status"]["observedGeneration"], 4);
    }
}
