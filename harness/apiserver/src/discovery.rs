//! Discovery, the version and health: what clients ask before they ask for objects.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::StatusCode;
use serde_json::{Value, json};

use super::kinds::{DEFINITION, KINDS, Kind, Kinds};
use super::media::{Coding, Form};
use super::problem::{Outcome, Problem};
use super::server::{Answer, whole};
use super::{openapi, protobuf, reviews};
use crate::route::Route;
use sha2::{Digest, Sha256};

/// The version of kube-apiserver that this server answers as.
pub const VERSION: &str = "v1.36.3";

/// The media types of aggregated discovery.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const AGGREGATED_PROTOBUF: &str =
    "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Paths that the real server serves and this one does not.
const UNSUPPORTED: [&str; 4] = ["/metrics", "/logs", "/debug", "/.well-known"];

/// The answer to a path that names no resource.
pub(super) fn answer(kinds: &Kinds, path: &str, accept: &str) -> Outcome<Answer> {
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    if UNSUPPORTED.iter().any(|unsupported| path.starts_with(unsupported)) {
        return Err(Problem::unsupported(format!("the path {path}")));
    }
    if path.starts_with("/openapi/") {
        return openapi::answer(kinds, path, accept);
    }
    if let (Some(coding), "/api" | "/apis") = (Form::aggregated(accept), path) {
        return aggregated(kinds, path == "/api", coding);
    }
    match path {
        path if is_health(path) => {
            let (code, form) = (StatusCode::OK, "text/plain; charset=utf-8");
            Ok(Answer::Whole { code, body: "ok".into(), warnings: Vec::new(), form })
        }
        path => match body(kinds, path) {
            Some(body) => Ok(whole(StatusCode::OK, &body)),
            // A served group answers 404 in another form.
            None if built_in().any(|group| path.starts_with(&format!("/apis/{group}/"))) => Err(Problem::no_path()),
            None => Ok(nothing()),
        },
    }
}

/// Whether a path says how the server is.
pub(super) fn is_health(path: &str) -> bool {
    matches!(path.trim_end_matches('/'), "/healthz" | "/livez" | "/readyz")
}

/// All of a path's groups in one answer.
fn aggregated(kinds: &Kinds, core: bool, coding: Coding) -> Outcome<Answer> {
    let named = groups(kinds).into_iter().filter(|group| group.is_empty() == core);
    let items: Vec<Value> = named.map(|group| discovered(kinds, group)).collect();
    let list = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    let (body, form) = match coding {
        Coding::Protobuf => {
            let written = protobuf::encode(&list).map_err(|error| Problem::internal(&error.to_string()))?;
            (written.into(), AGGREGATED_PROTOBUF)
        }
        _ => (list.to_string().into(), AGGREGATED),
    };
    Ok(Answer::Whole { code: StatusCode::OK, body, warnings: Vec::new(), form })
}

/// The answer to a path of no group.
fn nothing() -> Answer {
    let (code, form) = (StatusCode::NOT_FOUND, "text/plain; charset=utf-8");
    Answer::Whole { code, body: "404 page not found\n".into(), warnings: Vec::new(), form }
}

fn body(kinds: &Kinds, path: &str) -> Option<Value> {
    let group = |name: &str| {
        let version = |version: &str| json!({"groupVersion": format!("{name}/{version}"), "version": version});
        let all: Vec<Value> = versions(kinds, name).into_iter().map(version).collect();
        json!({"name": name, "versions": all, "preferredVersion": all.first()})
    };
    match path {
        "/api" => Some(json!({"kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]})),
        "/apis" => {
            let named = groups(kinds).into_iter().filter(|group| !group.is_empty());
            let groups: Vec<Value> = named.map(group).collect();
            Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        "/api/v1" => Some(resources(kinds, "", "v1")),
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
            let found = groups(kinds).into_iter().find(|group| !group.is_empty() && *group == name);
            match (found, version_asked) {
                (Some(name), None) => {
                    let mut group = group(name);
                    group["kind"] = "APIGroup".into();
                    group["apiVersion"] = "v1".into();
                    Some(group)
                }
                (Some(name), Some(version)) if versions(kinds, name).contains(&version) => {
                    Some(resources(kinds, name, version))
                }
                _ => None,
            }
        }
    }
}

/// A kind that is not served here: unsupported, unless the real server does not serve it either.
pub(super) fn absent(route: &Route) -> Outcome<Answer> {
    let target =
        if route.group.is_empty() { route.resource.clone() } else { format!("{}.{}", route.resource, route.group) };
    if route.group.contains('.') && !route.group.ends_with(".k8s.io") {
        return Ok(nothing());
    }
    Err(Problem::unsupported(format!("the resource {target}")))
}

/// The order of the groups. Upstream: `apiVersionPriorities`.
const ORDER: [&str; 12] = [
    "",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "networking.k8s.io",
    "policy",
    "apiextensions.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
];

/// The groups, the core one first.
fn groups(kinds: &Kinds) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for kind in kinds.all().chain(&reviews::REVIEWS) {
        if !names.contains(&kind.group) {
            names.push(kind.group);
        }
    }
    // Custom resources come last, by name.
    names.sort_unstable_by_key(|name| (ORDER.iter().position(|one| one == name).unwrap_or(ORDER.len()), *name));
    names
}

/// The groups that are built in, without the core one.
fn built_in() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.group).filter(|group| !group.is_empty())
}

/// The versions of a group, the preferred one first: v2, v1, v1beta1.
fn versions(kinds: &Kinds, group: &str) -> Vec<&'static str> {
    let all = kinds.all().chain(&reviews::REVIEWS);
    let mut all: Vec<&str> = all.filter(|kind| kind.group == group).map(|kind| kind.version).collect();
    let rank = |version: &str| {
        let number = |text: &str| text.parse::<u32>().unwrap_or(0);
        let plain = version.trim_start_matches('v');
        let (stage, major, minor) = match (plain.split_once("alpha"), plain.split_once("beta")) {
            (Some((major, minor)), _) => (1, major, minor),
            (_, Some((major, minor))) => (2, major, minor),
            _ => (3, plain, ""),
        };
        (stage, number(major), number(minor))
    };
    all.sort_by_key(|version| std::cmp::Reverse(rank(version)));
    all.dedup();
    all
}

/// The kinds of a version of a group, by the names of their resources.
fn of_version(kinds: &Kinds, group: &str, version: &str) -> Vec<&'static Kind> {
    let all = kinds.all().chain(&reviews::REVIEWS);
    let mut kinds: Vec<&Kind> = all.filter(|kind| kind.group == group && kind.version == version).collect();
    kinds.sort_unstable_by_key(|kind| kind.plural);
    kinds
}

/// A subresource's group and version where they are not its resource's, its kind, and its verbs.
fn sub(kind: &Kind, sub: &str) -> ((&'static str, &'static str), &'static str, &'static [&'static str]) {
    match sub {
        "binding" => (("", ""), "Binding", &["create"]),
        "eviction" => (("policy", "v1"), "Eviction", &["create"]),
        "scale" => (("autoscaling", "v1"), "Scale", &["get", "patch", "update"]),
        "finalize" => (("", ""), kind.kind, &["update"]),
        _ => (("", ""), kind.kind, &["get", "patch", "update"]),
    }
}

fn subresources(kind: &Kind) -> Vec<&'static str> {
    let mut names = kind.subresources.to_vec();
    // Those of a custom resource stand as upstream adds them: status, scale.
    if kind.custom.is_none() {
        names.sort_unstable();
    }
    names
}

/// Adds the short names and the categories of a kind that has them.
fn with_names(mut resource: Value, kind: &Kind) -> Value {
    for (field, names) in [("shortNames", kind.short_names), ("categories", kind.categories)] {
        match kind.custom {
            Some(custom) if custom.names[field].is_array() => resource[field] = custom.names[field].clone(),
            None if !names.is_empty() => resource[field] = json!(names),
            _ => {}
        }
    }
    resource
}

/// A group in aggregated discovery.
fn discovered(kinds: &Kinds, group: &str) -> Value {
    let version = |version: &str| {
        let resources: Vec<Value> = of_version(kinds, group, version).into_iter().map(discovered_resource).collect();
        json!({"version": version, "resources": resources, "freshness": "Current"})
    };
    let versions: Vec<Value> = versions(kinds, group).into_iter().map(version).collect();
    let metadata = if group.is_empty() { json!({}) } else { json!({"name": group}) };
    json!({"metadata": metadata, "versions": versions})
}

fn discovered_resource(kind: &'static Kind) -> Value {
    let scope = if kind.namespaced { "Namespaced" } else { "Cluster" };
    // What is the group's own is not said, except of custom resources.
    let own = if kind.custom.is_some() { (kind.group, kind.version) } else { ("", "") };
    let subresources: Vec<Value> = subresources(kind).into_iter().map(|name| {
        let ((group, version), of, verbs) = sub(kind, name);
        let (group, version) = if group.is_empty() { own } else { (group, version) };
        json!({"subresource": name, "responseKind": {"group": group, "version": version, "kind": of}, "verbs": verbs})
    }).collect();
    let resource = json!({"resource": kind.plural,
        "responseKind": {"group": own.0, "version": own.1, "kind": kind.kind},
        "scope": scope, "singularResource": kind.singular(), "verbs": kind.verbs()});
    let mut resource = with_names(resource, kind);
    if !subresources.is_empty() {
        resource["subresources"] = subresources.into();
    }
    resource
}

fn resources(kinds: &Kinds, group: &str, version: &str) -> Value {
    let mut list = Vec::new();
    for kind in of_version(kinds, group, version) {
        let mut resource = json!({"name": kind.plural, "singularName": kind.singular(),
            "namespaced": kind.namespaced, "kind": kind.kind, "verbs": kind.verbs()});
        // A review is not stored.
        if kinds.all().any(|one| std::ptr::eq(one, kind)) {
            resource["storageVersionHash"] = storage_version_hash(kinds.stored(kind)).into();
        }
        list.push(with_names(resource, kind));
        for name in subresources(kind) {
            let ((group, version), named, verbs) = sub(kind, name);
            let mut resource = json!({"name": format!("{}/{name}", kind.plural), "singularName": "",
                "namespaced": kind.namespaced, "kind": named, "verbs": verbs});
            if !group.is_empty() {
                resource["group"] = group.into();
                resource["version"] = version.into();
            }
            list.push(resource);
        }
    }
    let core = group.is_empty();
    let version = if core { version.to_owned() } else { format!("{group}/{version}") };
    let mut resources = json!({"kind": "APIResourceList", "groupVersion": version, "resources": list});
    // The core group's list is as old as clients that do not expect it there.
    if !core {
        resources["apiVersion"] = "v1".into();
    }
    resources
}

/// Says in which version a kind is stored. Upstream: `StorageVersionHash`.
fn storage_version_hash(stored: &Kind) -> String {
    // Upstream has no other version of definitions in etcd yet.
    let version = if stored.built_in() == DEFINITION { "v1beta1" } else { stored.version };
    let named = format!("{}/{version}/{}", stored.group, stored.kind);
    BASE64_STANDARD.encode(&Sha256::digest(named)[..8])
}
