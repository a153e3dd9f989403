//! Discovery, the version and health: what clients ask before they ask for objects.

use http::StatusCode;
use serde_json::{Value, json};

use super::kinds::{KINDS, Kind};
use super::problem::{Outcome, Problem};
use super::server::{Answer, whole};
use crate::route::Route;

/// The version of kube-apiserver that this server answers as.
pub const VERSION: &str = "v1.36.3";

/// The media type of aggregated discovery.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Paths that the real server serves and this one does not.
const UNSUPPORTED: [&str; 5] = ["/openapi", "/metrics", "/logs", "/debug", "/.well-known"];

/// The answer to a path that names no resource.
pub(super) fn answer(path: &str, accept: &str) -> Outcome<Answer> {
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    if UNSUPPORTED.iter().any(|unsupported| path.starts_with(unsupported)) {
        return Err(Problem::unsupported(format!("the path {path}")));
    }
    match path {
        "/healthz" | "/livez" | "/readyz" => {
            let (code, form) = (StatusCode::OK, "text/plain; charset=utf-8");
            Ok(Answer::Whole { code, body: "ok".into(), warnings: Vec::new(), form })
        }
        "/api" | "/apis" if aggregates(accept) => {
            let core = path == "/api";
            let items: Vec<Value> = groups().filter(|group| group.is_empty() == core).map(discovered).collect();
            let list = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
            let body = list.to_string().into();
            Ok(Answer::Whole { code: StatusCode::OK, body, warnings: Vec::new(), form: AGGREGATED })
        }
        path => match body(path) {
            Some(body) => Ok(whole(StatusCode::OK, &body)),
            // A served group answers 404 in another form.
            None if groups().any(|group| !group.is_empty() && path.starts_with(&format!("/apis/{group}/"))) => {
                Err(Problem::no_path())
            }
            None => Ok(nothing()),
        },
    }
}

/// The answer to a path of no group.
fn nothing() -> Answer {
    let (code, form) = (StatusCode::NOT_FOUND, "text/plain; charset=utf-8");
    Answer::Whole { code, body: "404 page not found\n".into(), warnings: Vec::new(), form }
}

fn body(path: &str) -> Option<Value> {
    let group = |name: &str| {
        let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
        json!({"name": name, "versions": [version], "preferredVersion": version})
    };
    match path {
        "/api" => Some(json!({"kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]})),
        "/apis" => {
            let groups: Vec<Value> = groups().filter(|group| !group.is_empty()).map(group).collect();
            Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        "/api/v1" => Some(resources("")),
        "/version" => {
            let (major, minor) = VERSION[1..].split_once('.').unwrap_or(("1", ""));
            let minor = minor.split('.').next().unwrap_or_default();
            Some(
                json!({"major": major, "minor": minor, "gitVersion": VERSION, "gitCommit": "", "gitTreeState": "clean",
                "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": ""}),
            )
        }
        other => {
            let name = other.strip_prefix("/apis/").unwrap_or_default();
            let (name, version_asked) =
                name.split_once('/').map_or((name, None), |(name, version)| (name, Some(version)));
            let found = groups().find(|group| !group.is_empty() && *group == name);
            match (found, version_asked) {
                (Some(name), None) => {
                    let mut group = group(name);
                    group["kind"] = "APIGroup".into();
                    group["apiVersion"] = "v1".into();
                    Some(group)
                }
                (Some(name), Some("v1")) => Some(resources(name)),
                _ => None,
            }
        }
    }
}

/// A kind that is not served here: unsupported, unless the real server does not serve it either.
pub(super) fn absent(route: &Route) -> Problem {
    let target =
        if route.group.is_empty() { route.resource.clone() } else { format!("{}.{}", route.resource, route.group) };
    if route.group.contains('.') && !route.group.ends_with(".k8s.io") {
        return Problem::no_path();
    }
    Problem::unsupported(format!("the resource {target}"))
}

/// Whether the header asks for aggregated discovery before other JSON.
fn aggregates(accept: &str) -> bool {
    let form = accept.split(',').map(str::trim).find(|form| form.starts_with("application/json"));
    form.is_some_and(|form| {
        let words: Vec<&str> = form.split(';').map(str::trim).collect();
        ["g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"].iter().all(|word| words.contains(word))
    })
}

/// The groups, the core one first.
fn groups() -> impl Iterator<Item = &'static str> {
    let mut names: Vec<&str> = KINDS.iter().map(|kind| kind.group).collect();
    names.dedup();
    names.into_iter()
}

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// A subresource's group, version, kind and verbs.
fn sub(kind: &Kind, sub: &str) -> ((&'static str, &'static str, &'static str), &'static [&'static str]) {
    match sub {
        "binding" => (("", "v1", "Binding"), &["create"]),
        "scale" => (("autoscaling", "v1", "Scale"), &["get", "patch", "update"]),
        "finalize" => ((kind.group, "v1", kind.kind), &["update"]),
        _ => ((kind.group, "v1", kind.kind), &["get", "patch", "update"]),
    }
}

/// A group in aggregated discovery.
fn discovered(group: &str) -> Value {
    let mut resources = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.group == group) {
        let scope = if kind.namespaced { "Namespaced" } else { "Cluster" };
        let subresources: Vec<Value> = kind.subresources.iter().map(|name| {
            let ((group, version, kind), verbs) = sub(kind, name);
            json!({"subresource": name, "responseKind": {"group": group, "version": version, "kind": kind}, "verbs": verbs})
        }).collect();
        let mut resource = json!({"resource": kind.plural, "responseKind": {"group": group, "version": "v1", "kind": kind.kind},
            "scope": scope, "singularResource": kind.kind.to_lowercase(), "verbs": VERBS});
        if !subresources.is_empty() {
            resource["subresources"] = subresources.into();
        }
        resources.push(resource);
    }
    let mut metadata = json!({"creationTimestamp": null});
    if !group.is_empty() {
        metadata["name"] = group.into();
    }
    json!({"metadata": metadata, "versions": [{"version": "v1", "resources": resources, "freshness": "Current"}]})
}

fn resources(group: &str) -> Value {
    let mut list = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.group == group) {
        list.push(json!({"name": kind.plural, "singularName": kind.kind.to_lowercase(), "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": VERBS}));
        for name in kind.subresources {
            let ((of, version, named), verbs) = sub(kind, name);
            let mut resource = json!({"name": format!("{}/{name}", kind.plural), "singularName": "",
                "namespaced": kind.namespaced, "kind": named, "verbs": verbs});
            if of != group {
                resource["group"] = of.into();
                resource["version"] = version.into();
            }
            list.push(resource);
        }
    }
    let version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": list})
}
