//! A parsed HTTP request.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, USER_AGENT};
use http::{Method, Request};
use jiff::Timestamp;
use serde_json::Value;

use crate::go::json_errors;
use crate::http::limits::{MAX_BODY_BYTES, MAX_DEPTH};
use crate::http::route::{PathError, RequestInfo, is_true, percent_decode};
use crate::http::status_error::{ApiResult, StatusError};
use crate::types::kinds::ResourceKind;

/// Rejects JSON that is nested too deeply. Text that is not JSON is rejected elsewhere.
pub(crate) fn check_depth(text: &[u8]) -> ApiResult<()> {
    // Counting the brackets of a short text takes a fraction of the time of reading it.
    let brackets = text.iter().filter(|byte| matches!(byte, b'{' | b'[')).count();
    if brackets > MAX_DEPTH && json_errors::depth(text) > MAX_DEPTH && json_errors::syntax_error(text).is_none() {
        return Err(StatusError::too_deep());
    }
    Ok(())
}

/// The error for a path that is not UTF-8.
pub(crate) const NOT_UTF8: &str = "kube-apiserver-sim does not support a path that is not UTF-8";

/// An HTTP request with its body.
#[derive(Debug, Clone)]
pub(crate) struct ApiRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) content_type: String,
    pub(crate) accept: String,
    pub(crate) user_agent: String,
    pub(crate) body: Bytes,
    /// The original body, if it was YAML.
    pub(crate) yaml_body: Option<Bytes>,
    pub(crate) managed_fields: ManagedFieldsPolicy,
}

impl ApiRequest {
    /// A query parameter, empty if absent.
    pub(crate) fn param(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    /// The body's media type.
    pub(crate) fn media_type(&self) -> &str {
        self.content_type.split(';').next().unwrap_or_default().trim()
    }

    /// The body as the client sent it, for messages that quote it.
    pub(crate) fn as_sent(&self) -> &Bytes {
        self.yaml_body.as_ref().unwrap_or(&self.body)
    }

    /// Checks the length of the body and its nesting. Applied configurations are YAML, which is
    /// checked once parsed.
    pub(crate) fn check_body(&self) -> ApiResult<()> {
        if self.as_sent().len() > MAX_BODY_BYTES {
            return Err(StatusError::body_too_large(&format!("limit is {MAX_BODY_BYTES}")));
        }
        let is_json = !self.is_protobuf() && self.media_type() != APPLY;
        if is_json { check_depth(&self.body) } else { Ok(()) }
    }

    pub(crate) fn is_protobuf(&self) -> bool {
        self.media_type() == crate::types::protobuf::MEDIA_TYPE
    }

    /// The field manager: `fieldManager`, or the name of the client. Upstream:
    /// `managerOrUserAgent`.
    pub(crate) fn manager(&self) -> String {
        const LONGEST: usize = 128;
        let given = self.param("fieldManager");
        if !given.is_empty() {
            return given.to_owned();
        }
        let mut name = String::new();
        for letter in self.user_agent.split('/').next().unwrap_or_default().chars().filter(|one| !one.is_control()) {
            if name.len() + letter.len_utf8() > LONGEST {
                break;
            }
            name.push(letter);
        }
        name
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.query.get(name).is_some_and(|value| is_true(value))
    }
}

/// Parses a request.
pub(crate) fn parse(request: Request<Bytes>, managed_fields: ManagedFieldsPolicy) -> Result<ApiRequest, PathError> {
    let (parts, body) = request.into_parts();
    let header =
        |name: HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let path = percent_decode(parts.uri.path())?;
    Ok(ApiRequest {
        path,
        query: query(parts.uri.query().unwrap_or_default()),
        content_type: content_type(&parts.method, header(CONTENT_TYPE)),
        accept: header(ACCEPT),
        user_agent: header(USER_AGENT),
        method: parts.method,
        body,
        yaml_body: None,
        managed_fields,
    })
}

/// The media type of a body. For a patch it is taken literally; otherwise case is ignored, and
/// parameters must have values. Upstream: Go's `ParseMediaType`.
pub(crate) fn content_type(method: &Method, header: String) -> String {
    if *method == Method::PATCH {
        return header;
    }
    let mut parts = header.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
    let rest: Vec<&str> = parts.collect();
    let (last, others) = rest.split_last().map_or(("", &[][..]), |(last, others)| (*last, others));
    let fits = |part: &&str| part.split_once('=').is_some_and(|(name, value)| !name.is_empty() && !value.is_empty());
    if others.iter().all(fits) && (last.is_empty() || fits(&last)) { media_type } else { "malformed".to_owned() }
}

/// The decoded query parameters.
fn query(text: &str) -> BTreeMap<String, String> {
    let mut parameters: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(text.as_bytes()) {
        // The first value counts, except for `dryRun`, which is a list and is joined by newlines.
        match parameters.get_mut(name.as_ref()) {
            Some(all) if name == "dryRun" => *all += &format!("\n{value}"),
            Some(_) => {}
            None => {
                parameters.insert(name.into_owned(), value.into_owned());
            }
        }
    }
    parameters
}

/// A request for a served kind.
pub(crate) struct ResourceRequest<'a> {
    pub(crate) kind: &'static ResourceKind,
    pub(crate) info: &'a RequestInfo,
    pub(crate) http: &'a ApiRequest,
    pub(crate) now: Timestamp,
}

impl ResourceRequest<'_> {
    /// The resourceVersion of the query; `None` for "" and "0", which mean any.
    ///
    /// # Errors
    /// If it is not a number.
    pub(crate) fn resource_version(&self) -> Result<Option<u64>, String> {
        match self.http.param("resourceVersion") {
            "" | "0" => Ok(None),
            text => text.parse().map(Some).map_err(|_| {
                let why = format!("strconv.ParseUint: parsing \"{text}\": invalid syntax");
                crate::types::field_error::FieldError::invalid("resourceVersion", text, why).to_string()
            }),
        }
    }

    /// The time of the request, formatted for metadata.
    pub(crate) fn timestamp_value(&self) -> Value {
        timestamp_value(self.now)
    }
}

/// A time, formatted for metadata.
pub(crate) fn timestamp_value(time: Timestamp) -> Value {
    crate::clock::rfc3339(time).into()
}

/// The media type of most responses.
pub(crate) const JSON: &str = "application/json";

/// The media type of server-side apply.
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// Whether responses include `managedFields`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ManagedFieldsPolicy {
    #[default]
    Include,
    Omit,
}
