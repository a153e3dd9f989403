//! Serves discovery, the version and health: what clients request before objects.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::StatusCode;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::http::media_types::{Encoding, ResponseFormat};
use crate::http::response::{ApiResponse, json_response};
use crate::http::route::RequestInfo;
use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::kinds::REVIEWS;
use crate::schema::openapi;
use crate::types::kinds::{Kinds, ResourceKind, version_rank};
use crate::types::protobuf;
use crate::types::table::VERSION;

/// The media types of aggregated discovery.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const AGGREGATED_PROTOBUF: &str =
    "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Paths that the real server serves and this one does not.
const UNSUPPORTED: [&str; 4] = ["/metrics", "/logs", "/debug", "/.well-known"];

/// Responds to a path that names no resource.
pub(crate) fn respond(kinds: &Kinds, path: &str, accept: &str) -> ApiResult<ApiResponse> {
    let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
    if UNSUPPORTED.iter().any(|unsupported| path.starts_with(unsupported)) {
        return Err(StatusError::unsupported(format!("the path {path}")));
    }
    if path.starts_with("/openapi/") {
        return openapi::respond(kinds, path, accept);
    }
    if let (Some(encoding), "/api" | "/apis") = (ResponseFormat::aggregated(accept), path) {
        return aggregated(kinds, path == "/api", encoding);
    }
    match path {
        path if is_health(path) => {
            let (code, content_type) = (StatusCode::OK, "text/plain; charset=utf-8");
            Ok(ApiResponse::Complete { code, body: "ok".into(), warnings: Vec::new(), content_type })
        }
        path => match body(kinds, path) {
            Some(body) => Ok(json_response(StatusCode::OK, &body)),
            // For a served group the 404 has another form.
            None if kinds.built_in_groups().any(|group| path.starts_with(&format!("/apis/{group}/"))) => {
                Err(StatusError::no_path())
            }
            None => Ok(not_found_response()),
        },
    }
}

/// Whether a path is a health check.
pub(crate) fn is_health(path: &str) -> bool {
    matches!(path.trim_end_matches('/'), "/healthz" | "/livez" | "/readyz")
}

/// All groups below a path in one document (aggregated discovery).
fn aggregated(kinds: &Kinds, core: bool, encoding: Encoding) -> ApiResult<ApiResponse> {
    let in_scope = groups(kinds).into_iter().filter(|group| group.is_empty() == core);
    let items: Vec<Value> = in_scope.map(|group| discovered(kinds, group)).collect();
    let list = json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items});
    let (body, content_type) = match encoding {
        Encoding::Protobuf => {
            let encoded = protobuf::encode(&list).map_err(|error| StatusError::internal(&error.to_string()))?;
            (encoded.into(), AGGREGATED_PROTOBUF)
        }
        _ => (list.to_string().into(), AGGREGATED),
    };
    Ok(ApiResponse::Complete { code: StatusCode::OK, body, warnings: Vec::new(), content_type })
}

/// The response to a path of an unknown group.
pub(crate) fn not_found_response() -> ApiResponse {
    let (code, content_type) = (StatusCode::NOT_FOUND, "text/plain; charset=utf-8");
    ApiResponse::Complete { code, body: "404 page not found\n".into(), warnings: Vec::new(), content_type }
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
            let in_scope = groups(kinds).into_iter().filter(|group| !group.is_empty());
            let groups: Vec<Value> = in_scope.map(group).collect();
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
        path => {
            let name = path.strip_prefix("/apis/").unwrap_or_default();
            let (name, requested_version) =
                name.split_once('/').map_or((name, None), |(name, version)| (name, Some(version)));
            let found = groups(kinds).into_iter().find(|group| !group.is_empty() && *group == name);
            match (found, requested_version) {
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

/// Responds for a kind that is not served: 501, unless the real server does not serve it either.
pub(crate) fn absent(info: &RequestInfo) -> ApiResult<ApiResponse> {
    let target =
        if info.group.is_empty() { info.resource.clone() } else { format!("{}.{}", info.resource, info.group) };
    if info.group.contains('.') && !info.group.ends_with(".k8s.io") {
        return Ok(not_found_response());
    }
    Err(StatusError::unsupported(format!("the resource {target}")))
}

/// The order of the groups. Upstream: `apiVersionPriorities`.
const ORDER: [&str; 20] = [
    "",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
];

/// All groups, the core group first.
fn groups(kinds: &Kinds) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for kind in kinds.all().chain(&REVIEWS) {
        if !names.contains(&kind.group) {
            names.push(kind.group);
        }
    }
    // Custom resources come last, by name.
    names.sort_unstable_by_key(|name| (ORDER.iter().position(|one| one == name).unwrap_or(ORDER.len()), *name));
    names
}

/// The versions of a group, the preferred one first: v2, v1, v1beta1.
fn versions(kinds: &Kinds, group: &str) -> Vec<&'static str> {
    let all = kinds.all().chain(&REVIEWS);
    let mut all: Vec<&str> = all.filter(|kind| kind.group == group).map(|kind| kind.version).collect();
    all.sort_by_key(|version| std::cmp::Reverse(version_rank(version)));
    all.dedup();
    all
}

/// The kinds of a group version, by plural.
fn of_version(kinds: &Kinds, group: &str, version: &str) -> Vec<&'static ResourceKind> {
    let all = kinds.all().chain(&REVIEWS);
    let mut kinds: Vec<&ResourceKind> = all.filter(|kind| kind.group == group && kind.version == version).collect();
    kinds.sort_unstable_by_key(|kind| kind.plural);
    kinds
}

/// A subresource's group and version if they differ from its resource's, its kind, and its verbs.
fn sub(kind: &ResourceKind, sub: &str) -> ((&'static str, &'static str), &'static str, &'static [&'static str]) {
    match sub {
        "binding" => (("", ""), "Binding", &["create"]),
        "eviction" => (("policy", "v1"), "Eviction", &["create"]),
        "scale" => (("autoscaling", "v1"), "Scale", &["get", "patch", "update"]),
        "finalize" => (("", ""), kind.kind, &["update"]),
        _ => (("", ""), kind.kind, &["get", "patch", "update"]),
    }
}

fn subresources(kind: &ResourceKind) -> Vec<&'static str> {
    let mut names = kind.subresources.to_vec();
    // Upstream lists those of custom resources as status, scale.
    if kind.custom.is_none() {
        names.sort_unstable();
    }
    names
}

/// Adds short names and categories.
fn with_names(mut resource: Value, kind: &ResourceKind) -> Value {
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

fn discovered_resource(kind: &'static ResourceKind) -> Value {
    let scope = if kind.namespaced { "Namespaced" } else { "Cluster" };
    // For built-in kinds the group and version are left empty.
    let own = if kind.custom.is_some() { (kind.group, kind.version) } else { ("", "") };
    let subresources: Vec<Value> = subresources(kind).into_iter().map(|name| {
        let ((group, version), of, verbs) = sub(kind, name);
        let (group, version) = if group.is_empty() { own } else { (group, version) };
        json!({"subresource": name, "responseKind": {"group": group, "version": version, "kind": of}, "verbs": verbs})
    }).collect();
    let resource = json!({"resource": kind.plural,
        "responseKind": {"group": own.0, "version": own.1, "kind": kind.kind},
        "scope": scope, "singularResource": kind.singular(), "verbs": kind.verbs});
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
            "namespaced": kind.namespaced, "kind": kind.kind, "verbs": kind.verbs});
        // Reviews are not stored.
        if kinds.all().any(|one| std::ptr::eq(one, kind)) {
            resource["storageVersionHash"] = storage_version_hash(kinds.storage_of(kind)).into();
        }
        list.push(with_names(resource, kind));
        for name in subresources(kind) {
            let ((group, version), in_scope, verbs) = sub(kind, name);
            let mut resource = json!({"name": format!("{}/{name}", kind.plural), "singularName": "",
                "namespaced": kind.namespaced, "kind": in_scope, "verbs": verbs});
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
    // The list of the core group has no apiVersion: it predates it.
    if !core {
        resources["apiVersion"] = "v1".into();
    }
    resources
}

/// The hash of the storage version. Upstream: `StorageVersionHash`.
fn storage_version_hash(stored: &ResourceKind) -> String {
    let version = stored.hashed_version.unwrap_or(stored.version);
    let in_scope = format!("{}/{version}/{}", stored.group, stored.kind);
    BASE64_STANDARD.encode(&Sha256::digest(in_scope)[..8])
}
