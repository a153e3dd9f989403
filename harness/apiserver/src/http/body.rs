//! Request bodies: media type, JSON, declared kind, and patches, with upstream's messages for
//! undecodable ones.

use serde_json::{Value, json};

use crate::go::json_errors;
use crate::http::limits::MAX_DEPTH;
use crate::http::request::{ApiRequest, ResourceRequest};
use crate::http::status_error::{ApiResult, StatusError};
use crate::http::{json_patch, query, yaml};
use crate::types::field_error::FieldError;
use crate::types::strict::{self, TextType};
use crate::types::table::TYPES;
use crate::types::{merge, protobuf};

/// Checks that the content type is JSON or protobuf; YAML is converted to JSON before.
pub(crate) fn check_content_type(request: &ApiRequest) -> ApiResult<()> {
    let media_type = request.media_type();
    if matches!(media_type, "application/json" | "" | protobuf::MEDIA_TYPE) {
        return Ok(());
    }
    Err(StatusError::unsupported_media_type("application/json, application/yaml, application/vnd.kubernetes.protobuf"))
}

/// Decodes a body, and checks that apiVersion and kind are strings or absent.
///
/// # Errors
/// The message of upstream's decoder.
pub(crate) fn interpret(request: &ApiRequest) -> Result<Value, String> {
    if request.is_protobuf() {
        return protobuf::decode(&request.body).map_err(|error| error.to_string());
    }
    json_of(&request.body).map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))
}

fn json_of(text: &[u8]) -> Result<Value, String> {
    const HEAD: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
    let body: Value = read(text).map_err(|error| json_errors::syntax_error(text).unwrap_or(error.to_string()))?;
    match &body {
        Value::Object(fields) => {
            // Only this decoder ignores case.
            let of = |known: &str, name: &str| name.eq_ignore_ascii_case(known);
            for (name, value) in fields.iter().filter(|(_, value)| !value.is_string() && !value.is_null()) {
                if let Some(known) = ["apiVersion", "kind"].into_iter().find(|known| of(known, name)) {
                    let kind = json_errors::go_type_name(value);
                    return Err(format!("json: cannot unmarshal {kind} into Go struct field .{known} of type string"));
                }
            }
            Ok(body)
        }
        Value::Null => Ok(json!({})),
        other => {
            Err(format!("json: cannot unmarshal {} into Go value of type {HEAD}", json_errors::go_type_name(other)))
        }
    }
}

/// Parses JSON. Checking UTF-8 once for the whole text is faster than for each string.
fn read(text: &[u8]) -> serde_json::Result<Value> {
    std::str::from_utf8(text).map_or_else(|_| serde_json::from_slice(text), serde_json::from_str)
}

/// The decoded body of a request for a kind.
pub(crate) fn object_of(request: &ResourceRequest<'_>, kind: &str) -> ApiResult<Value> {
    if request.http.method == http::Method::PUT {
        query::write(request.http)?;
        check_content_type(request.http)?;
    } else {
        check_content_type(request.http)?;
        query::write(request.http)?;
    }
    interpret(request.http).map_err(|why| unrecognized(request.http, kind, &why))
}

/// The error for a body without a recognizable type.
pub(crate) fn unrecognized(request: &ApiRequest, kind: &str, why: &str) -> StatusError {
    const QUOTED_BYTES: usize = 30;
    let body = request.as_sent();
    let more = if body.len() > QUOTED_BYTES { " ..." } else { "" };
    let first = &body[..body.len().min(QUOTED_BYTES)];
    let shown = match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(first).into_owned() + more,
        Some(_) => first.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + more,
    };
    StatusError::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why} ({shown})"))
}

/// Whether a patch may touch `managedFields`: if it mentions them, or is a JSON patch, which can
/// move the object that contains them.
pub(crate) fn reads_managed_fields(request: &ApiRequest) -> bool {
    let name = b"managedFields";
    request.media_type() == "application/json-patch+json" || request.body.windows(name.len()).any(|part| part == name)
}

/// Applies a patch to an object; also returns the strict decoding errors of the patch.
pub(crate) fn patched(request: &ResourceRequest<'_>, old: &Value) -> ApiResult<(Value, Vec<String>)> {
    let text = &request.http.body;
    // With field validation upstream decodes the patch a second time, and that decoder reports
    // errors first.
    let validates_fields = matches!(request.http.param("fieldValidation"), "" | "Strict" | "Warn");
    // Text that this parser rejects may still be JSON for Go.
    let parsed = read(text);
    let fault = if parsed.is_ok() { None } else { json_errors::syntax_error(text) };
    let no_patch = |why: String| {
        StatusError::bad_request(if validates_fields { format!("error decoding patch: {why}") } else { why })
    };
    let read = || parsed.map_err(|error| StatusError::internal(&error.to_string()));
    let not_a_map = |value: &Value| {
        format!(
            "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            json_errors::go_type_name(value)
        )
    };
    match request.http.media_type() {
        "application/strategic-merge-patch+json" => {
            if let Some(fault) = fault {
                return Err(StatusError::bad_request(fault));
            }
            match read()? {
                Value::Null => Ok((old.clone(), Vec::new())),
                patch @ Value::Object(_) => {
                    let errors = strict_errors(request, TextType::Any, &patch, false)?;
                    let scale = || TYPES.index_of("Scale").expect("scales are in the table");
                    let type_index =
                        if request.info.subresource == "scale" { scale() } else { request.kind.table_index() };
                    Ok((merge::strategic(type_index, old, &patch).map_err(StatusError::plain_internal)?, errors))
                }
                other => Err(StatusError::bad_request(not_a_map(&other))),
            }
        }
        "application/merge-patch+json" => {
            match fault {
                Some(fault) if validates_fields => return Err(no_patch(fault)),
                Some(_) => return Err(StatusError::bad_request("Invalid JSON Patch".to_owned())),
                None => {}
            }
            let patch = read()?;
            if !patch.is_object() && !patch.is_null() && validates_fields {
                return Err(no_patch(not_a_map(&patch)));
            }
            if !patch.is_object() {
                return Err(StatusError::unsupported("a merge patch that is not an object"));
            }
            let mut new = old.clone();
            ::json_patch::merge(&mut new, &patch);
            Ok((new, strict_errors(request, TextType::Any, &patch, false)?))
        }
        "application/json-patch+json" => {
            if let Some(fault) = fault {
                return Err(no_patch(fault));
            }
            let patch = read()?;
            let list = match &patch {
                Value::Array(list) => list.as_slice(),
                Value::Null => &[],
                other => {
                    let what = if validates_fields { "[]handlers.jsonPatchOp" } else { "jsonpatch.Patch" };
                    let found = json_errors::go_type_name(other);
                    return Err(no_patch(format!("json: cannot unmarshal {found} into Go value of type {what}")));
                }
            };
            let errors = strict_errors(request, TextType::Operations, &patch, true)?;
            let errors = errors.into_iter().map(|error| format!("json patch {error}")).collect();
            Ok((json_patch::apply(list, old)?, errors))
        }
        _ => Err(StatusError::unknown_patch_type()),
    }
}

pub(crate) fn check_patch(request: &ApiRequest) -> ApiResult<()> {
    query::write(request)
}

/// The error for a patch whose result cannot be decoded.
pub(crate) fn patch_error(request: &ResourceRequest<'_>, patched: &Value, why: &str) -> StatusError {
    let shown = if request.http.media_type().contains("strategic") {
        &serde_json::from_slice(&request.http.body).unwrap_or_default()
    } else {
        patched
    };
    StatusError::invalid("", "", "", &[FieldError::invalid("patch", shown.to_string(), why)])
}

/// The policy for unknown and duplicate fields.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl FieldValidation {
    pub(crate) fn of(request: &ApiRequest) -> Self {
        match request.param("fieldValidation") {
            "Ignore" => Self::Ignore,
            "Strict" => Self::Strict,
            _ => Self::Warn,
        }
    }
}

/// The strict decoding errors of the body. `unknown`: whether decoding found unknown fields.
pub(crate) fn strict_errors(
    request: &ResourceRequest<'_>,
    media_type: TextType,
    read: &Value,
    unknown: bool,
) -> ApiResult<Vec<String>> {
    // Only text can contain duplicates, and unknown fields of protobuf are skipped.
    if request.http.is_protobuf() {
        return Ok(Vec::new());
    }
    if !unknown && !json_errors::has_duplicate_names(&request.http.body, read) {
        return Ok(Vec::new());
    }
    let found = strict::strict(&request.http.body, media_type);
    if found.merged {
        return Err(StatusError::unsupported("a body in which two values have one name, and the first counts too"));
    }
    Ok(if FieldValidation::of(request.http) == FieldValidation::Ignore { Vec::new() } else { found.errors })
}

pub(crate) fn strict_decoding_message(errors: &[String]) -> String {
    format!("strict decoding error: {}", errors.join(", "))
}

/// The strict decoding errors for unknown fields of a patched object.
pub(crate) fn unknown_fields(paths: &[String]) -> impl Iterator<Item = String> {
    paths.iter().map(|path| format!("unknown field {path:?}"))
}

/// Upstream's message for an unknown kind.
pub(crate) fn unregistered(version: &str, kind: &str) -> String {
    format!("no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\"")
}

/// The applied configuration, from YAML or JSON.
pub(crate) fn config(request: &ResourceRequest<'_>) -> ApiResult<Value> {
    yaml::check_nesting(&request.http.body)?;
    let decoded = serde_yaml::from_slice::<Value>(&request.http.body);
    let config = decoded.map_err(|error| StatusError::bad_request(format!("error decoding YAML: {error}")))?;
    if json_errors::is_deeper(&config, MAX_DEPTH) {
        return Err(StatusError::too_deep());
    }
    if config.is_object() {
        Ok(config)
    } else {
        Err(StatusError::unsupported("an apply of something that is not an object"))
    }
}
