//! OpenAPI: documents that describe the kinds that are served, made from the table of types.
//!
//! `/openapi/v3` has one document for each version of a group, `/openapi/v2` one for all. Paths,
//! names, types, required fields, defaults, values and how lists merge equal upstream's. They have
//! no descriptions, which are upstream's sentences; a custom resource has those of its definition.
//! Upstream's deprecated `watch/` paths are left out.
//!
//! Upstream: `kube-openapi`.

mod paths;
mod schemas;
mod v2;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};

use super::kinds::{KINDS, Kind, Kinds};
use super::problem::{Outcome, Problem};
use super::server::{Answer, JSON};

/// Where the documents of version 3 are.
const V3: &str = "/openapi/v3";

/// The documents of the built-in groups, by path.
static BUILT_IN: LazyLock<BTreeMap<String, Bytes>> = LazyLock::new(|| documents(&KINDS.iter().collect::<Vec<_>>()));

/// The answer to a path below `/openapi`.
pub(super) fn answer(kinds: &Kinds, path: &str, accept: &str) -> Outcome<Answer> {
    if path == "/openapi/v2" {
        let all: Vec<&'static Kind> = kinds.all().collect();
        let document = v2::document(&all);
        if accept.contains(v2::PROTOBUF_ACCEPTED) {
            return Ok(written(v2::encode(&document).into(), v2::PROTOBUF));
        }
        return Ok(written(document.to_string().into(), JSON));
    }
    if accept.contains("proto-openapi") && !accept.contains("json") {
        return Err(Problem::unsupported(format!("OpenAPI in another form than JSON, as {accept} asks for")));
    }
    let custom: Vec<&'static Kind> = kinds.all().filter(|kind| kind.custom.is_some()).collect();
    let custom = documents(&custom);
    // Later ones take the place of earlier ones: a group is built in, or custom.
    let mut all = BUILT_IN.iter().chain(&custom);
    if path == V3 {
        let paths: BTreeMap<&String, Value> = all
            .map(|(path, text)| (path, json!({"serverRelativeURL": format!("{V3}/{path}?hash={:016X}", hash(text))})))
            .collect();
        return Ok(written(json!({"paths": paths}).to_string().into(), JSON));
    }
    let wanted = path.strip_prefix("/openapi/v3/").unwrap_or_default();
    match all.find(|(path, _)| *path == wanted) {
        Some((_, text)) => Ok(written(text.clone(), JSON)),
        None => Err(Problem::unsupported(format!("the path {path}"))),
    }
}

fn written(body: Bytes, form: &'static str) -> Answer {
    Answer::Whole { code: StatusCode::OK, body, warnings: Vec::new(), form }
}

/// A document for each version of a group, by its path without the first slash.
fn documents(kinds: &[&'static Kind]) -> BTreeMap<String, Bytes> {
    let mut groups: BTreeMap<String, Vec<&'static Kind>> = BTreeMap::new();
    for kind in kinds {
        groups.entry(path_of(kind)).or_default().push(kind);
    }
    let document = |(path, kinds): (String, Vec<&'static Kind>)| {
        let schemas = schemas::of(&kinds, schemas::Draft::V3);
        let paths = paths::of(&kinds);
        let token = json!({"type": "apiKey", "name": "authorization", "in": "header"});
        let document = json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": minor()}, "paths": paths,
            "components": {"schemas": schemas, "securitySchemes": {"BearerToken": token}}});
        (path, document.to_string().into())
    };
    groups.into_iter().map(document).collect()
}

/// `apis/apps/v1`, or `api/v1`.
fn path_of(kind: &Kind) -> String {
    if kind.group.is_empty() {
        format!("api/{}", kind.version)
    } else {
        format!("apis/{}/{}", kind.group, kind.version)
    }
}

/// `1.36`.
fn minor() -> &'static str {
    let version = super::discovery::VERSION.trim_start_matches('v');
    version.rsplit_once('.').map_or(version, |(minor, _)| minor)
}

/// By which a client sees that a document has changed: FNV-1a.
fn hash(text: &[u8]) -> u64 {
    text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests;
