//! OpenAPI documents of the served kinds, generated from the type table.
//!
//! `/openapi/v3` has one document for each group version, `/openapi/v2` one for everything. Paths,
//! names, types, required fields, defaults, enum values and list types equal upstream's.
//! Descriptions are omitted, except those of custom resource definitions, and so are upstream's
//! deprecated `watch/` paths.
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

use crate::http::request::JSON;
use crate::http::response::ApiResponse;
use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::kinds::KINDS;
use crate::schema::openapi::paths::path_of;
use crate::schema::openapi::v2::minor;
use crate::types::kinds::{Kinds, ResourceKind};

/// The path of the v3 documents.
const V3: &str = "/openapi/v3";

/// The documents of the built-in groups, by path.
static BUILT_IN: LazyLock<BTreeMap<String, Bytes>> = LazyLock::new(|| documents(&KINDS));

/// Responds to a path below `/openapi`.
pub(crate) fn respond(kinds: &Kinds, path: &str, accept: &str) -> ApiResult<ApiResponse> {
    if path == "/openapi/v2" {
        let all: Vec<&'static ResourceKind> = kinds.all().collect();
        let document = v2::document(&all);
        if accept.contains(v2::PROTOBUF_ACCEPTED) {
            return Ok(document_response(v2::encode(&document).into(), v2::PROTOBUF));
        }
        return Ok(document_response(document.to_string().into(), JSON));
    }
    if accept.contains("proto-openapi") && !accept.contains("json") {
        return Err(StatusError::unsupported(format!("OpenAPI in another form than JSON, as {accept} asks for")));
    }
    let custom: Vec<&'static ResourceKind> = kinds.all().filter(|kind| kind.custom.is_some()).collect();
    let custom = documents(&custom);
    // Paths are unique: a group is either built-in or custom.
    let mut all = BUILT_IN.iter().chain(&custom);
    if path == V3 {
        let paths: BTreeMap<&String, Value> = all
            .map(|(path, text)| (path, json!({"serverRelativeURL": format!("{V3}/{path}?hash={:016X}", hash(text))})))
            .collect();
        return Ok(document_response(json!({"paths": paths}).to_string().into(), JSON));
    }
    let group_path = path.strip_prefix("/openapi/v3/").unwrap_or_default();
    match all.find(|(path, _)| *path == group_path) {
        Some((_, text)) => Ok(document_response(text.clone(), JSON)),
        None => Err(StatusError::unsupported(format!("the path {path}"))),
    }
}

fn document_response(body: Bytes, content_type: &'static str) -> ApiResponse {
    ApiResponse::Complete { code: StatusCode::OK, body, warnings: Vec::new(), content_type }
}

/// A document for each group version, by its path without the leading slash.
fn documents(kinds: &[&'static ResourceKind]) -> BTreeMap<String, Bytes> {
    let mut groups: BTreeMap<String, Vec<&'static ResourceKind>> = BTreeMap::new();
    for kind in kinds {
        groups.entry(path_of(kind)).or_default().push(kind);
    }
    let document = |(path, kinds): (String, Vec<&'static ResourceKind>)| {
        let schemas = schemas::of(&kinds, schemas::OpenApiVersion::V3);
        let paths = paths::of(&kinds);
        let token = json!({"type": "apiKey", "name": "authorization", "in": "header"});
        let document = json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": minor()}, "paths": paths,
            "components": {"schemas": schemas, "securitySchemes": {"BearerToken": token}}});
        (path, document.to_string().into())
    };
    groups.into_iter().map(document).collect()
}

/// The hash by which clients detect a changed document: FNV-1a.
fn hash(text: &[u8]) -> u64 {
    text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests;
