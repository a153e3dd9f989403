//! What clients ask before they ask for objects: which groups and kinds there are, the version, and whether the server is well.

use serde_json::{Value, json};

use super::kinds::KINDS;
use super::problem::{Outcome, Problem};
use crate::route::Route;

/// The version that this server is like.
pub(super) const VERSION: &str = "v1.36.3";

/// The answer to a path that names no kind.
pub(super) fn answer(path: &str) -> Outcome<Value> {
    let group = |name: &str| {
        let version = json!({"groupVersion": format!("{name}/v1"), "version": "v1"});
        json!({"name": name, "versions": [version], "preferredVersion": version})
    };
    match path.trim_end_matches('/') {
        "/api" => Ok(json!({"kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]})),
        "/apis" => {
            let groups: Vec<Value> = groups().map(group).collect();
            Ok(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
        }
        "/api/v1" => Ok(resources("")),
        "/version" => {
            let (major, minor) = VERSION[1..].split_once('.').unwrap_or(("1", ""));
            let minor = minor.split('.').next().unwrap_or_default();
            Ok(json!({"major": major, "minor": minor, "gitVersion": VERSION, "gitCommit": "", "gitTreeState": "clean",
                "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": ""}))
        }
        "/healthz" | "/livez" | "/readyz" => Ok(json!("ok")),
        other => {
            let name = other.strip_prefix("/apis/").unwrap_or_default();
            let (name, version_asked) =
                name.split_once('/').map_or((name, None), |(name, version)| (name, Some(version)));
            match (groups().find(|group| *group == name), version_asked) {
                (Some(name), None) => {
                    let mut group = group(name);
                    group["kind"] = "APIGroup".into();
                    group["apiVersion"] = "v1".into();
                    Ok(group)
                }
                (Some(name), Some("v1")) => Ok(resources(name)),
                _ => Err(Problem::no_path()),
            }
        }
    }
}

/// A kind that is not served here. What the real server would serve is not denied.
pub(super) fn absent(route: &Route) -> Problem {
    let target =
        if route.group.is_empty() { route.resource.clone() } else { format!("{}.{}", route.resource, route.group) };
    if route.group.contains('.') && !route.group.ends_with(".k8s.io") {
        return Problem::no_path();
    }
    Problem::beyond(format!("the resource {target}"))
}

fn groups() -> impl Iterator<Item = &'static str> {
    ["apps", "coordination.k8s.io"].into_iter()
}

fn resources(group: &str) -> Value {
    const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    let mut list = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.group == group) {
        list.push(json!({"name": kind.plural, "singularName": kind.kind.to_lowercase(), "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": VERBS}));
        for sub in kind.subresources {
            let (kind_of, verbs): (&str, &[&str]) = match *sub {
                "binding" => ("Binding", &["create"]),
                "scale" => ("Scale", &["get", "patch", "update"]),
                "finalize" => (kind.kind, &["update"]),
                _ => (kind.kind, &["get", "patch", "update"]),
            };
            list.push(
                json!({"name": format!("{}/{sub}", kind.plural), "singularName": "", "namespaced": kind.namespaced,
                "kind": kind_of, "verbs": verbs}),
            );
        }
    }
    let version = if group.is_empty() { "v1".to_owned() } else { format!("{group}/v1") };
    json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": list})
}
