//! README.md lists what kube-apiserver serves and this server serves or refuses.
//!
//! `served/upstream.txt` has upstream's resources. Each is requested from this server: what it does
//! not serve it must refuse with 501. `LOCKSTEP_DOCS=overwrite` writes the lists instead of
//! comparing them.

use std::collections::BTreeMap;

use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use kube_apiserver_sim::ApiServer;
use serde_json::Value;

const UPSTREAM: &str = include_str!("served/upstream.txt");
const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/README.md");
const START: &str = "<!-- served -->\n";
const END: &str = "<!-- end of served -->";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A resource of upstream.
#[derive(Debug, Clone, Copy)]
struct Resource<'a> {
    /// Such as `apps/v1` or `v1`.
    version: &'a str,
    /// Such as `pods` or `pods/log`.
    name: &'a str,
    kind: &'a str,
    verbs: &'a str,
    is_namespaced: bool,
}

impl<'a> Resource<'a> {
    fn all() -> impl Iterator<Item = Resource<'a>> {
        UPSTREAM.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let mut words = line.split(' ');
            let mut next = || words.next().unwrap_or_default();
            let (version, name, kind, verbs) = (next(), next(), next(), next());
            Resource { version, name, kind, verbs, is_namespaced: next() == "namespaced" }
        })
    }

    fn group_path(&self) -> String {
        format!("/{}/{}", if self.version.contains('/') { "apis" } else { "api" }, self.version)
    }

    /// The path of the collection, or of the subresource of an object.
    fn path(&self) -> String {
        let namespace = if self.is_namespaced { "namespaces/default/" } else { "" };
        let name = self.name.replace('/', "/a/");
        format!("{}/{namespace}{name}", self.group_path())
    }

    fn method(&self) -> &'static str {
        let verb = self.verbs.split(',').find(|verb| ["get", "list"].contains(verb));
        match verb.or_else(|| self.verbs.split(',').next()) {
            Some("get" | "list") => "GET",
            Some("create") => "POST",
            Some("update") => "PUT",
            other => panic!("{}: no method for {other:?}", self.name),
        }
    }
}

struct Answer {
    code: StatusCode,
    content_type: String,
    body: Value,
}

async fn request(server: &ApiServer, method: &str, path: &str, accept: &str) -> Answer {
    let text = if method == "GET" { "" } else { "{}" };
    let request = Request::builder().method(method).uri(path).header("accept", accept);
    let request = request.header("content-type", "application/json").body(Full::<bytes::Bytes>::from(text));
    let response = server.handle(request.expect("a request")).await;
    let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let code = response.status();
    let body = response.into_body().collect().await.expect("a body never fails").to_bytes();
    Answer { code, content_type, body: serde_json::from_slice(&body).unwrap_or_default() }
}

/// The verbs of a resource that the server's discovery lists, if it does.
async fn served_verbs(server: &ApiServer, resource: &Resource<'_>) -> Option<Vec<String>> {
    let list = request(server, "GET", &resource.group_path(), "application/json").await.body;
    let found = list["resources"].as_array()?.iter().find(|one| one["name"] == resource.name)?;
    Some(found["verbs"].as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// A served resource.
#[derive(Default)]
struct Row {
    kind: String,
    verbs: String,
    subresources: Vec<String>,
    formats: &'static str,
}

#[derive(Default)]
struct Lists {
    /// By version and resource.
    served: BTreeMap<(String, String), Row>,
    /// Resources by version.
    refused: BTreeMap<String, Vec<String>>,
    /// Subresources of served resources.
    refused_subresources: Vec<String>,
}

impl Lists {
    async fn of(server: &ApiServer) -> Self {
        let mut lists = Self::default();
        let mut unanswered = Vec::new();
        for resource in Resource::all() {
            let (owner, subresource) = resource.name.split_once('/').unwrap_or((resource.name, ""));
            let key = (resource.version.to_owned(), owner.to_owned());
            let answer = request(server, resource.method(), &resource.path(), "application/json").await;
            let is_refused = answer.code == StatusCode::NOT_IMPLEMENTED;
            let verbs = served_verbs(server, &resource).await.filter(|_| !is_refused);
            if verbs.is_none() && !is_refused {
                unanswered.push(format!("{} {}: {}", resource.method(), resource.path(), answer.code));
            }
            match (verbs, subresource, lists.served.get_mut(&key)) {
                (Some(verbs), "", _) => drop(lists.served.insert(key, Row::of(server, &resource, &verbs).await)),
                (Some(_), subresource, Some(owner)) => owner.subresources.push(format!("`{subresource}`")),
                (None, "", _) => lists.refused.entry(key.0).or_default().push(format!("`{owner}`")),
                (None, _, Some(_)) => lists.refused_subresources.push(format!("`{}`", resource.name)),
                // It is refused with its owner.
                (_, _, None) => {}
            }
        }
        assert_eq!(unanswered, Vec::<String>::new(), "these are neither served nor refused");
        lists
    }

    fn markdown(&self) -> String {
        let mut text = "| version | kind | resource | verbs | subresources | formats |\n".to_owned();
        text += "| --- | --- | --- | --- | --- | --- |\n";
        for ((version, resource), Row { kind, verbs, subresources, formats }) in &self.served {
            let subresources = subresources.join(", ");
            text += &format!("| `{version}` | {kind} | `{resource}` | {verbs} | {subresources} | {formats} |\n");
        }
        text += "\nOf what kube-apiserver v1.36 serves, these are refused with 501:\n\n";
        for (version, resources) in &self.refused {
            text += &format!("* `{version}`: {}\n", resources.join(", "));
        }
        text + &format!("* subresources: {}\n", self.refused_subresources.join(", "))
    }
}

impl Row {
    async fn of(server: &ApiServer, resource: &Resource<'_>, verbs: &[String]) -> Self {
        let has_all = resource.verbs.split(',').all(|verb| verbs.iter().any(|served| served == verb));
        let verbs = if has_all { "all".to_owned() } else { verbs.join(", ") };
        let answer = request(server, resource.method(), &resource.path(), PROTOBUF).await;
        let is_protobuf = answer.code.is_success() && answer.content_type == PROTOBUF;
        let formats = match (is_protobuf, resource.verbs.contains("list")) {
            (true, true) => "JSON, YAML, protobuf, tables",
            (true, false) => "JSON, YAML, protobuf",
            (false, true) => "JSON, YAML, tables",
            (false, false) => "JSON, YAML",
        };
        Self { kind: resource.kind.to_owned(), verbs, subresources: Vec::new(), formats }
    }
}

#[tokio::test]
async fn readme_lists_what_is_served_and_refused() {
    let fresh = Lists::of(&ApiServer::new()).await.markdown();
    let readme = std::fs::read_to_string(README).expect("the crate has a README");
    let (before, rest) = readme.split_once(START).expect("README has the lists");
    let (listed, after) = rest.split_once(END).expect("README has the end of the lists");
    if std::env::var_os("LOCKSTEP_DOCS").is_some_and(|value| value == "overwrite") {
        std::fs::write(README, format!("{before}{START}{fresh}{END}{after}")).expect("README can be written");
    } else {
        assert_eq!(listed, fresh, "LOCKSTEP_DOCS=overwrite cargo test --package kube-apiserver-sim --test it served");
    }
}
