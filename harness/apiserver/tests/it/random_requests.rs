//! Sends random requests, most of them malformed: none makes the server panic, and each gets a
//! response.
//!
//! `PROPTEST_CASES=20000 cargo test -p kube-apiserver-sim --test it random_requests::` sends many
//! more. Each request that made the server panic is a test in `shapes.rs`.

mod mangle;
mod objects;

use std::time::{Duration, Instant};

use futures::FutureExt;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use kube_apiserver_sim::{ApiServer, protobuf};
use mangle::{Change, Cut, apply, change, cut, spoil};
use objects::{Sample, other_bodies, samples};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

/// The number of test cases, unless the environment sets it.
const CASES: u32 = 24;
/// The maximum duration of a request, even on a busy machine without optimisation. The slow
/// requests that this test is for take minutes.
const LONGEST: Duration = Duration::from_secs(30);

const MEDIA_TYPES: [&str; 9] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "",
    "text/plain; charset",
];

const ACCEPTED: [&str; 9] = [
    "",
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
    "text/html;q=x,,;",
];

const PARAMETERS: [&str; 40] = [
    "fieldManager=a",
    "fieldManager=a&force=true",
    "fieldManager=kubectl",
    "force=1",
    "dryRun=All",
    "dryRun=x",
    "fieldValidation=Strict",
    "fieldValidation=Ignore",
    "labelSelector=app%3Da",
    "labelSelector=app+in+(a,b),!c",
    "labelSelector=((",
    "labelSelector=a%3E5,b%3C%3D",
    "labelSelector=%FF",
    "fieldSelector=metadata.name%3Da",
    "fieldSelector=spec.colour!%3Dred",
    "fieldSelector=status.phase%3D%3D",
    "fieldSelector=~%3D1",
    "limit=1",
    "limit=-1",
    "limit=99999999999999999999",
    "continue=1:a",
    "continue=x",
    "resourceVersion=0",
    "resourceVersion=1",
    "resourceVersion=18446744073709551616",
    "resourceVersion=1&resourceVersionMatch=Exact",
    "resourceVersionMatch=NotOlderThan&resourceVersion=0",
    "watch=true",
    "watch=1&timeoutSeconds=1",
    "watch=1&timeoutSeconds=18446744073709551615",
    "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    "watch=1&resourceVersion=1",
    "gracePeriodSeconds=0",
    "gracePeriodSeconds=-9223372036854775808",
    "propagationPolicy=Foreground",
    "propagationPolicy=Orphan",
    "orphanDependents=true",
    "includeObject=Object",
    "pretty=true",
    "timeout=1h1",
];

/// The part of an object that a request targets.
#[derive(Debug, Clone, Copy)]
enum Target {
    Collection,
    Object,
    Subresource(u8),
    Other,
}

#[derive(Debug, Clone)]
struct RandomRequest {
    method: &'static str,
    sample: Index,
    target: Target,
    /// Whether the body is derived from a valid one.
    fits: bool,
    changes: Vec<Change>,
    media_type: &'static str,
    accept: &'static str,
    parameters: Vec<&'static str>,
    cuts: Vec<Cut>,
    operations: Vec<(&'static str, Index, Index, Index)>,
}

fn request() -> impl Strategy<Value = RandomRequest> {
    let of = |collection, object, subresource| {
        prop_oneof![
            collection => Just(Target::Collection),
            object => Just(Target::Object),
            subresource => any::<u8>().prop_map(Target::Subresource),
            1 => Just(Target::Other),
        ]
    };
    let requested = prop_oneof![
        1 => of(3, 6, 2).prop_map(|target| ("GET", target)),
        5 => of(9, 1, 3).prop_map(|target| ("POST", target)),
        6 => of(1, 9, 6).prop_map(|target| ("PUT", target)),
        9 => of(1, 9, 6).prop_map(|target| ("PATCH", target)),
        1 => of(1, 9, 1).prop_map(|target| ("DELETE", target)),
    ];
    let operations = vec!["add", "remove", "replace", "move", "copy", "test", "x"];
    let operation = (select(operations), any::<Index>(), any::<Index>(), any::<Index>());
    let forms = (
        prop_oneof![9 => Just(""), 1 => select(&MEDIA_TYPES[..])],
        prop_oneof![9 => Just(""), 1 => select(&ACCEPTED[..])],
    );
    (
        (requested, any::<Index>(), prop::bool::weighted(0.8)),
        prop::collection::vec(change(), 0..4),
        forms,
        prop::collection::vec(select(&PARAMETERS[..]), 0..3),
        prop_oneof![9 => Just(Vec::new()), 1 => prop::collection::vec(cut(), 1..3)],
        prop::collection::vec(operation, 0..4),
    )
        .prop_map(
            |(((method, target), sample, fits), changes, (media_type, accept), parameters, cuts, operations)| {
                RandomRequest {
                    method,
                    sample,
                    target,
                    fits,
                    changes,
                    media_type,
                    accept,
                    parameters,
                    cuts,
                    operations,
                }
            },
        )
}

impl RandomRequest {
    fn path(&self, sample: &Sample) -> String {
        let name = sample.object["metadata"]["name"].as_str().unwrap_or("a");
        let path = match self.target {
            Target::Collection => sample.path.to_owned(),
            Target::Object => format!("{}/{name}", sample.path),
            Target::Subresource(which) => match sample.subresources {
                [] => format!("{}/{name}/status", sample.path),
                all => format!("{}/{name}/{}", sample.path, all[usize::from(which) % all.len()]),
            },
            Target::Other => match self.sample.index(4) {
                0 => "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews".to_owned(),
                1 => "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews".to_owned(),
                2 => format!("{}/{name}", sample.path.replace("/namespaces/default", "")),
                _ => format!("{}//{name}/%", sample.path),
            },
        };
        if self.parameters.is_empty() { path } else { format!("{path}?{}", self.parameters.join("&")) }
    }

    /// The media type of the body: a suitable one unless set.
    fn media_type(&self) -> &'static str {
        match (self.media_type, self.method) {
            ("", "PATCH") => MEDIA_TYPES[3 + self.sample.index(4)],
            ("", _) => "application/json",
            (given, _) => given,
        }
    }

    /// The valid body: the stored object, a new object, or what the subresource accepts.
    async fn fitting(&self, server: &ApiServer, sample: &Sample) -> Value {
        let others = other_bodies();
        let mut value = sample.object.clone();
        let path = self.path(sample);
        let path = path.split('?').next().unwrap_or_default();
        match self.target {
            _ if !self.fits => return self.sample.get(&others).clone(),
            _ if self.method == "DELETE" => return others[3].clone(),
            Target::Subresource(_) if path.ends_with("/binding") => return others[1].clone(),
            Target::Subresource(_) if path.ends_with("/eviction") => return others[2].clone(),
            Target::Collection => {
                value["metadata"]["name"] = format!("b{}", self.sample.index(1_000_000)).into();
                return value;
            }
            Target::Other => return self.sample.get(&others).clone(),
            Target::Object | Target::Subresource(_) => {}
        }
        let request = Request::get(path).body(Full::<bytes::Bytes>::default()).expect("a request");
        let response = server.handle(request).await;
        let text = response.into_body().collect().await.expect("a whole answer").to_bytes();
        serde_json::from_slice(&text).unwrap_or(value)
    }

    async fn body(&self, server: &ApiServer, sample: &Sample) -> Vec<u8> {
        let mut value = self.fitting(server, sample).await;
        let media_type = self.media_type();
        if media_type == "application/json-patch+json" {
            let places = [
                "/metadata",
                "/metadata/labels",
                "/metadata/labels/app",
                "/spec",
                "/spec/replicas",
                "/status",
                "/metadata/managedFields",
                "/metadata/managedFields/0/fieldsV1",
                "/spec/template",
                "/metadata/name",
                "/kind",
                "/a/b",
                "/",
                "",
                "/spec/~2",
                "/spec/template/spec/containers/-",
                "/spec/template/spec/containers/0",
                "/data",
                "x",
            ];
            let operations = self.operations.iter().map(|(op, path, from, with)| {
                let mut values = vec![json!(null), json!(1), json!("a"), json!({}), json!([]), value.clone()];
                values.extend(["metadata", "spec", "status"].map(|name| value[name].clone()));
                json!({"op": op, "path": path.get(&places), "from": from.get(&places), "value": with.get(&values)})
            });
            value = operations.collect();
        }
        for change in &self.changes {
            apply(&mut value, change);
        }
        let mut text = match media_type {
            "application/yaml" => serde_yaml::to_string(&value).expect("JSON is YAML").into(),
            "application/vnd.kubernetes.protobuf" => {
                protobuf::encode(&value).unwrap_or_else(|_| value.to_string().into())
            }
            _ => value.to_string().into(),
        };
        for cut in &self.cuts {
            spoil(&mut text, cut);
        }
        text
    }
}

/// Sends a request; returns an error if the response is wrong.
async fn send(server: &ApiServer, request: &RandomRequest, samples: &[Sample]) -> Result<(), String> {
    let sample = request.sample.get(samples);
    let (path, body) = (request.path(sample), request.body(server, sample).await);
    let method: Method = request.method.parse().expect("a method");
    let built = Request::builder().method(method).uri(&path).header("content-type", request.media_type());
    let Ok(built) = built.header("accept", request.accept).body(Full::<bytes::Bytes>::from(body.clone())) else {
        return Ok(());
    };
    let about = || {
        let text = String::from_utf8_lossy(&body).into_owned();
        format!("{} {path} {} accept {:?}: {text}", request.method, request.media_type(), request.accept)
    };
    let (response, time) = timed(server.handle(built)).await;
    if time > LONGEST {
        return Err(format!("{time:?}: {}", about()));
    }
    let (code, content_type) =
        (response.status(), response.headers()["content-type"].to_str().unwrap_or_default().to_owned());
    let mut answered = response.into_body();
    if code == 200 && path.contains("watch=") {
        // Read as many events as are available now.
        for _ in 0..100 {
            if answered.frame().now_or_never().is_none() {
                break;
            }
        }
        return Ok(());
    }
    let bytes = answered.collect().await.expect("an answer does not break off").to_bytes();
    let is_whole = match content_type.as_str() {
        "application/json" => {
            serde_json::from_slice::<Value>(&bytes).is_ok_and(|response| response["kind"].is_string())
        }
        "application/yaml" => bytes.windows(6).any(|part| part == b"\nkind:") || bytes.starts_with(b"kind:"),
        "application/vnd.kubernetes.protobuf" => protobuf::decode(&bytes).is_ok(),
        // Requests that are rejected before they reach the API.
        _ => code == 400 || code == 404,
    };
    let shown = String::from_utf8_lossy(&bytes);
    // An object that the server stores must be valid for it.
    if code == 500
        && (shown.contains("caused apiserver to panic") || shown.contains("the server's own object is wrong"))
        || !is_whole
    {
        return Err(format!("{code} {content_type} {shown}: {}", about()));
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "what takes forever is found by the time that it takes")]
async fn timed<T>(future: impl Future<Output = T>) -> (T, Duration) {
    let since = Instant::now();
    let value = future.await;
    (value, since.elapsed())
}

/// A server with the samples, and the errors of those that it rejects.
async fn server(samples: &[Sample]) -> (ApiServer, Vec<String>) {
    let server = ApiServer::builder().epoch(jiff::Timestamp::UNIX_EPOCH).build();
    let mut refused = Vec::new();
    for sample in samples {
        let request = Request::post(sample.path).header("content-type", "application/json");
        let response = server.handle(request.body(sample.object.to_string()).expect("a request")).await;
        let code = response.status();
        let shown = response.into_body().collect().await.expect("a whole answer").to_bytes();
        if code != 201 {
            refused.push(format!("{} {code} {}", sample.path, String::from_utf8_lossy(&shown)));
        }
    }
    (server, refused)
}

#[tokio::test(start_paused = true)]
async fn samples_are_valid() {
    let (_, refused) = server(&samples()).await;
    // Two kinds have a second version.
    assert!(refused.len() == 2 && refused.iter().all(|why| why.contains("already exists")), "{refused:#?}");
}

fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { CASES };
    ProptestConfig { cases, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_request_is_answered(requests in prop::collection::vec(request(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
        let result = runtime.block_on(async {
            let samples = samples();
            let (server, _) = server(&samples).await;
            for request in &requests {
                send(&server, request, &samples).await?;
            }
            let last = Request::get("/api/v1/namespaces/default").body(String::new()).expect("a request");
            let code = server.handle(last).await.status();
            if code == 200 { Ok(()) } else { Err(format!("the server answers {code} afterwards")) }
        });
        prop_assert!(result.is_ok(), "{}", result.unwrap_err());
    }
}
