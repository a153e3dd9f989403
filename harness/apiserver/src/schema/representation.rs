//! Transforms responses from JSON to the format that a client accepts: tables, partial metadata,
//! YAML and protobuf. Upstream: `endpoints/handlers/responsewriters`.

use std::borrow::Cow;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::http::media_types::{Encoding, MetaVersion, PARTIAL, Representation, ResponseFormat};
use crate::http::request::JSON;
use crate::http::response::ApiResponse;
use crate::http::status_error::{ApiResult, StatusError};
use crate::http::yaml;
use crate::schema::printers::{self, TableOptions, partial_metadata};
use crate::types::kinds::{Kinds, ResourceKind};
use crate::types::protobuf::{self, WireEvent};

impl ResponseFormat {
    /// Transforms a response to this format. Objects of kinds without protobuf stay JSON.
    pub(crate) fn transform(
        self,
        response: ApiResponse,
        kinds: &Kinds,
        requested_kind: Option<&'static ResourceKind>,
        now: Timestamp,
    ) -> ApiResult<ApiResponse> {
        let ApiResponse::Complete { code, body, warnings, content_type } = response else { return Ok(response) };
        let unchanged = |body| ApiResponse::Complete { code, body, warnings: warnings.clone(), content_type };
        if self == Self::PLAIN || content_type != JSON {
            return Ok(unchanged(body));
        }
        let Ok(value) = serde_json::from_slice::<Value>(&body) else { return Ok(unchanged(body)) };
        let field = |name: &str| value[name].as_str().unwrap_or_default();
        let kind = kinds.all().find(|kind| {
            kind.api_version() == field("apiVersion")
                && (kind.kind == field("kind") || kind.list_kind() == field("kind"))
        });
        if let Some(refusal) = self.refusal(&value, kind, requested_kind) {
            return Err(refusal);
        }
        let mut value = self.of_value(&value, (kind, requested_kind), true, now).into_owned();
        if kind.is_none()
            && value["kind"] == "Table"
            && requested_kind.is_some_and(|requested_kind| requested_kind.custom.is_some())
        {
            printers::as_of_custom_scale(&mut value);
        }
        let encoded: Option<Bytes> = match self.encoding {
            Encoding::Json => Some(value.to_string().into()),
            Encoding::Yaml => yaml::write(&value).ok().map(Bytes::from),
            Encoding::Protobuf => protobuf::encode(&value).ok().map(Bytes::from),
        };
        Ok(match encoded {
            Some(body) => ApiResponse::Complete { code, body, warnings, content_type: self.media_type() },
            None => unchanged(body),
        })
    }

    /// Transforms an event of a watch, given as a line of JSON. `first`: whether it is the first
    /// event of the watch.
    pub(crate) fn event(self, line: Bytes, kind: &'static ResourceKind, first: bool, now: Timestamp) -> Bytes {
        if self == Self::PLAIN {
            return line;
        }
        let Ok(mut event) = serde_json::from_slice::<Value>(&line) else { return line };
        if event["type"] != "ERROR" {
            event["object"] =
                self.of_value(&event["object"], (Some(self.source_kind(kind)), Some(kind)), first, now).into_owned();
        }
        match self.encoding {
            Encoding::Json | Encoding::Yaml => format!("{event}\n").into(),
            Encoding::Protobuf => {
                let kind = event["type"].as_str().unwrap_or_default().to_owned();
                // The type table has every watched kind, and their partial metadata.
                let object = protobuf::encode(&event["object"]).unwrap_or_default();
                WireEvent { kind, object }.frame().into()
            }
        }
    }

    /// Why a list or an object cannot have this representation, if so.
    fn refusal(
        self,
        value: &Value,
        kind: Option<&ResourceKind>,
        requested_kind: Option<&ResourceKind>,
    ) -> Option<StatusError> {
        let is_custom = |kind: Option<&ResourceKind>| kind.is_some_and(|kind| kind.custom.is_some());
        let custom = is_custom(kind);
        let list = value["items"].is_array();
        let (requested, is) = match self.representation {
            Representation::Metadata(_) if list => (PARTIAL.to_owned(), "a list"),
            Representation::ListOfMetadata(_) if !list && value["kind"] != "Status" => {
                (format!("{PARTIAL}List"), "not a list")
            }
            _ => return None,
        };
        // Upstream recognizes an unstructured list only by reading its items.
        if custom && requested.ends_with("List") {
            return Some(StatusError::plain_internal("content is not a list".to_owned()));
        }
        // Upstream uses one type for the Events of both groups.
        let stored = kind.and_then(|kind| kind.stored_as);
        let given = value["apiVersion"].as_str().unwrap_or_default().split_once('/').map_or("", |(group, _)| group);
        let group = stored.map_or(given, |stored| stored.group);
        let package = if group.is_empty() { "core" } else { group.split('.').next().unwrap_or_default() };
        let name = value["kind"].as_str().unwrap_or_default();
        let (package, kind) = match (custom, kind) {
            (true, _) => ("unstructured", "UnstructuredList"),
            // The scale of a custom resource has the type that clients use.
            (false, None) if is_custom(requested_kind) => ("v1", name),
            (false, _) => (package, name),
        };
        let why = format!("you requested {requested}, but the requested object is {is} (*{package}.{kind})");
        Some(StatusError::not_acceptable(why))
    }

    /// The representation of a value of a kind for a client that requested another version of it; a
    /// Status is never transformed.
    fn of_value<'a>(
        self,
        value: &'a Value,
        (kind, requested_kind): (Option<&'static ResourceKind>, Option<&'static ResourceKind>),
        headers: bool,
        now: Timestamp,
    ) -> Cow<'a, Value> {
        if value["kind"] == "Status" {
            return Cow::Borrowed(value);
        }
        let partial = |object: &Value, version: MetaVersion| json!({"kind": PARTIAL, "apiVersion": version.api_version(), "metadata": partial_metadata(object)});
        match (self.representation, value["items"].as_array()) {
            (Representation::ListOfMetadata(version), Some(items)) => {
                let items: Vec<Value> = items.iter().map(|object| partial(object, version)).collect();
                // Upstream encodes an empty list as null.
                let items = if items.is_empty() { Value::Null } else { items.into() };
                let mut metadata = value["metadata"].clone();
                // Only lists of custom resources have an empty `continue`.
                if metadata["continue"] == "" {
                    metadata.as_object_mut().and_then(|metadata| metadata.remove("continue"));
                }
                Cow::Owned(json!({"kind": format!("{PARTIAL}List"), "apiVersion": version.api_version(),
                    "metadata": metadata, "items": items}))
            }
            (Representation::Metadata(version), None) => Cow::Owned(partial(value, version)),
            (Representation::Table(version, include), _) => {
                let style = TableOptions { api_version: version.api_version(), include, headers, now, requested_kind };
                Cow::Owned(printers::table(value, kind, style))
            }
            // For watch events, upstream sends objects that it cannot transform unchanged.
            _ => Cow::Borrowed(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_metadata_omits_annotations_that_stand_for_fields() {
        let with =
            |annotations: Value| partial_metadata(&json!({"metadata": {"name": "a", "annotations": annotations}}));
        let (field, note) = ("deprecated.daemonset.template.generation", "note");
        assert_eq!(partial_metadata(&json!({"metadata": {"name": "a"}})), json!({"name": "a"}));
        assert_eq!(with(json!({field: "1"})), json!({"name": "a"}));
        assert_eq!(with(json!({field: "1", note: "x"})), json!({"name": "a", "annotations": {note: "x"}}));
    }
}
