//! Content negotiation: JSON, YAML or protobuf; full objects, partial metadata, or tables.
//!
//! The server works in JSON. This module parses the `Accept` header, and transforms responses at
//! the end. Upstream: `endpoints/handlers/negotiation` and `responsewriters`.

use std::borrow::Cow;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::request::ApiRequest;
use super::server::{ApiResponse, JSON};
use super::status_error::{ApiResult, StatusError};
use super::table::{self, Include, TableOptions};
use super::{autoscalers, yaml};
use crate::request_info::{RequestInfo, Verb};
use crate::types::kinds::{EVENTS, Kinds, ResourceKind};
use crate::types::protobuf::{self, WireEvent};

/// The format of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResponseFormat {
    pub(crate) encoding: Encoding,
    pub(crate) representation: Representation,
}

/// The encoding of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    Yaml,
    Protobuf,
}

/// The representation of objects; versions are those of `meta.k8s.io`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Representation {
    Whole,
    /// `as=PartialObjectMetadata`.
    Metadata(MetaVersion),
    /// `as=PartialObjectMetadataList`.
    ListOfMetadata(MetaVersion),
    /// `as=Table`, with this part of each object.
    Table(MetaVersion, Include),
}

/// The formats that a request supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SupportedFormats {
    All,
    /// Bindings have no table.
    NoTable,
    /// Watches do not support YAML.
    Stream,
}

/// A version of `meta.k8s.io`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    V1,
    V1Beta1,
}

/// An `Accept` header for an unsupported kind of protobuf.
pub(crate) const UNSUPPORTED_PROTOBUF: &str = "application/vnd.kubernetes.protobuf;as=None";

const META: &str = "meta.k8s.io";
const PARTIAL: &str = "PartialObjectMetadata";

impl MetaVersion {
    fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

impl ResponseFormat {
    /// The format for a client without an `Accept` header.
    pub(crate) const PLAIN: Self = Self { encoding: Encoding::Json, representation: Representation::Whole };

    /// Checks that the client accepts a supported format.
    pub(crate) fn check(request: &ApiRequest, supported: SupportedFormats) -> ApiResult<()> {
        // Upstream's routes accept each media type and `*/*`, but not `application/*`.
        let named = |clause: &Clause<'_>| clause.subtype != "*" || clause.kind == "*";
        let found = Self::accepted(&request.accept, supported);
        if found.is_some() && !request.accept.trim().is_empty() && !clauses(&request.accept).iter().any(named) {
            return Err(no_known_type(request));
        }
        found.map(drop).ok_or_else(|| not_acceptable(request, supported))
    }

    /// The format of the response to a request.
    pub(crate) fn of(request: &ApiRequest, supported: SupportedFormats) -> ApiResult<Self> {
        let found = Self::accepted(&request.accept, supported).ok_or_else(|| not_acceptable(request, supported))?;
        Ok(match found.representation {
            Representation::Table(version, _) => {
                let include = Include::of(request.param("includeObject"))?;
                Self { representation: Representation::Table(version, include), ..found }
            }
            _ => found,
        })
    }

    /// The most preferred supported format of the header.
    fn accepted(header: &str, supported: SupportedFormats) -> Option<Self> {
        if header.trim().is_empty() {
            return Some(Self::PLAIN);
        }
        let formats = clauses(header).into_iter().filter_map(|clause| clause.format());
        formats.into_iter().find(|format| match supported {
            SupportedFormats::All => true,
            SupportedFormats::NoTable => !matches!(format.representation, Representation::Table(..)),
            SupportedFormats::Stream => format.encoding != Encoding::Yaml,
        })
    }

    /// The format of an error, which is never transformed; JSON by default.
    pub(crate) fn of_error(header: &str) -> Self {
        let plain = clauses(header)
            .into_iter()
            .filter_map(|clause| clause.format())
            .find(|format| format.representation == Representation::Whole);
        plain.unwrap_or(Self::PLAIN)
    }

    /// The encoding of aggregated discovery, if the header prefers that to everything else.
    pub(crate) fn aggregated(header: &str) -> Option<Encoding> {
        for clause in clauses(header) {
            let encoding = clause.encoding().filter(|encoding| *encoding != Encoding::Yaml);
            match (clause.parameter("as"), clause.parameter("g"), clause.parameter("v"), encoding) {
                (None, ..) => return None,
                (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2"), Some(encoding)) => {
                    return Some(encoding);
                }
                _ => {}
            }
        }
        None
    }

    /// The media type of a complete response.
    fn media_type(self) -> &'static str {
        match self.encoding {
            Encoding::Json => JSON,
            Encoding::Yaml => yaml::MEDIA_TYPE,
            Encoding::Protobuf => protobuf::MEDIA_TYPE,
        }
    }

    /// The media type of a watch.
    pub(crate) fn watch_media_type(self) -> &'static str {
        match self.encoding {
            Encoding::Json | Encoding::Yaml => JSON,
            Encoding::Protobuf => protobuf::WATCH_MEDIA_TYPE,
        }
    }

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
        let mut value = self.of_value(&value, kind, true, now).into_owned();
        if kind.is_none()
            && value["kind"] == "Table"
            && requested_kind.is_some_and(|requested_kind| requested_kind.custom.is_some())
        {
            table::as_of_custom_scale(&mut value);
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
            event["object"] = self.of_value(&event["object"], Some(kind), first, now).into_owned();
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
        let group = value["apiVersion"].as_str().unwrap_or_default().split_once('/').map_or("core", |(group, _)| group);
        // Upstream uses one type for the Events of both groups.
        let package = if group == EVENTS { "core" } else { group.split('.').next().unwrap_or_default() };
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

    /// The representation of a value; a Status is never transformed.
    fn of_value<'a>(
        self,
        value: &'a Value,
        kind: Option<&'static ResourceKind>,
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
                let style = TableOptions { api_version: version.api_version(), include, headers, now };
                Cow::Owned(table::table(value, kind, style))
            }
            // For watch events, upstream sends objects that it cannot transform unchanged.
            _ => Cow::Borrowed(value),
        }
    }
}

/// The metadata of an object, without annotations that stand for fields of another version:
/// upstream extracts it before the object is converted to the requested version.
pub(crate) fn partial_metadata(object: &Value) -> Value {
    const OF_FIELDS: [&str; 2] = ["deprecated.daemonset.template.generation", "deprecated.deployment.rollback.to"];
    let mut meta = object["metadata"].clone();
    if let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_object_mut) {
        let before = annotations.len();
        annotations.retain(|name, _| !OF_FIELDS.contains(&name.as_str()));
        if !object["spec"]["scaleTargetRef"].is_null() {
            annotations.retain(|name, _| !autoscalers::FIELD_ANNOTATIONS.contains(&name.as_str()));
        }
        if annotations.is_empty() && before > 0 {
            meta.as_object_mut().and_then(|meta| meta.remove("annotations"));
        }
    }
    meta
}

/// The error for a header that accepts no supported format.
fn not_acceptable(request: &ApiRequest, supported: SupportedFormats) -> StatusError {
    if clauses(&request.accept).iter().all(|clause| clause.encoding().is_none()) {
        return no_known_type(request);
    }
    let (formats, streams) = formats();
    let accepted = if supported == SupportedFormats::Stream { streams } else { formats };
    StatusError::not_acceptable(format!("only the following media types are accepted: {accepted}"))
}

/// The error for a header without any known media type; it precedes the lookup of the resource.
fn no_known_type(request: &ApiRequest) -> StatusError {
    let (formats, streams) = formats();
    // Only collections can be watched by their own path.
    let info = RequestInfo::from_decoded(&request.method, &request.path, false);
    let all = if info.verb == Verb::List { format!("{formats}, {streams}") } else { formats };
    StatusError::not_served(format!("406: Not Acceptable\n\nAvailable representations: {all}"))
}

/// The media types of responses, and of watches.
fn formats() -> (String, String) {
    let all = ["application/json", "application/yaml", protobuf::MEDIA_TYPE];
    (all.join(", "), format!("application/json;stream=watch, {}", protobuf::WATCH_MEDIA_TYPE))
}

/// A clause of an `Accept` header.
#[derive(Debug, PartialEq)]
struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: f64,
    parameters: Vec<(&'a str, &'a str)>,
}

/// The clauses, the most preferred first. Upstream: `goautoneg.ParseAccept`.
fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = header.split(',').filter_map(clause).collect();
    let rank = |clause: &Clause<'_>| (clause.kind == "*", clause.subtype == "*");
    clauses.sort_by(|one, other| other.quality.total_cmp(&one.quality).then(rank(one).cmp(&rank(other))));
    clauses
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut words = text.split(';').map(str::trim);
    let (kind, subtype) = match words.next()? {
        "*" => ("*", "*"),
        media => media.split_once('/')?,
    };
    let mut clause = Clause { kind: kind.trim(), subtype: subtype.trim(), quality: 1.0, parameters: Vec::new() };
    for (name, value) in words.filter_map(|word| word.split_once('=')) {
        match name {
            "q" => clause.quality = value.parse().unwrap_or(1.0),
            _ => clause.parameters.push((name, value)),
        }
    }
    Some(clause)
}

impl Clause<'_> {
    fn encoding(&self) -> Option<Encoding> {
        match (self.kind, self.subtype) {
            ("application" | "*", "json" | "*") => Some(Encoding::Json),
            ("application" | "*", "yaml") => Some(Encoding::Yaml),
            ("application" | "*", "vnd.kubernetes.protobuf") => Some(Encoding::Protobuf),
            _ => None,
        }
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(one, _)| *one == name).map(|(_, value)| *value)
    }

    fn format(&self) -> Option<ResponseFormat> {
        let encoding = self.encoding()?;
        let Some(kind) = self.parameter("as") else {
            return Some(ResponseFormat { encoding, representation: Representation::Whole });
        };
        let version = match self.parameter("v") {
            Some("v1") if self.parameter("g") == Some(META) => MetaVersion::V1,
            Some("v1beta1") if self.parameter("g") == Some(META) => MetaVersion::V1Beta1,
            _ => return None,
        };
        let representation = match kind {
            PARTIAL => Representation::Metadata(version),
            "PartialObjectMetadataList" => Representation::ListOfMetadata(version),
            // Tables do not support protobuf.
            "Table" if encoding != Encoding::Protobuf => Representation::Table(version, Include::Metadata),
            _ => return None,
        };
        Some(ResponseFormat { encoding, representation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const METADATA: &str = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

    #[rstest]
    #[case::nothing("", Encoding::Json, Representation::Whole)]
    #[case::anything("*/*", Encoding::Json, Representation::Whole)]
    #[case::typed_client(
        "application/vnd.kubernetes.protobuf,application/json",
        Encoding::Protobuf,
        Representation::Whole
    )]
    #[case::wanted_less(
        "application/vnd.kubernetes.protobuf;q=0.5, application/json",
        Encoding::Json,
        Representation::Whole
    )]
    #[case::named_before_any("*/*, application/vnd.kubernetes.protobuf", Encoding::Protobuf, Representation::Whole)]
    #[case::watch("application/vnd.kubernetes.protobuf;stream=watch", Encoding::Protobuf, Representation::Whole)]
    #[case::unknown_first("application/cbor, application/json", Encoding::Json, Representation::Whole)]
    fn picks_most_preferred_supported_format(
        #[case] header: &str,
        #[case] encoding: Encoding,
        #[case] representation: Representation,
    ) {
        assert_eq!(
            ResponseFormat::accepted(header, SupportedFormats::All),
            Some(ResponseFormat { encoding, representation })
        );
    }

    #[test]
    fn negotiates_partial_metadata_in_json_and_protobuf() {
        let header =
            format!("application/vnd.kubernetes.protobuf;{METADATA},application/json;{METADATA},application/json");
        let representation = Representation::ListOfMetadata(MetaVersion::V1);
        assert_eq!(
            ResponseFormat::accepted(&header, SupportedFormats::All),
            Some(ResponseFormat { encoding: Encoding::Protobuf, representation })
        );
        assert_eq!(ResponseFormat::of_error(&header), ResponseFormat::PLAIN);
    }

    #[test]
    fn prefers_table_listed_first() {
        let header = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        let representation = Representation::Table(MetaVersion::V1, Include::Metadata);
        assert_eq!(
            ResponseFormat::accepted(header, SupportedFormats::Stream),
            Some(ResponseFormat { encoding: Encoding::Json, representation })
        );
        assert_eq!(ResponseFormat::of_error(header), ResponseFormat::PLAIN);
    }

    #[test]
    fn partial_metadata_omits_annotations_that_stand_for_fields() {
        let with =
            |annotations: Value| partial_metadata(&json!({"metadata": {"name": "a", "annotations": annotations}}));
        let (field, note) = ("deprecated.daemonset.template.generation", "note");
        assert_eq!(partial_metadata(&json!({"metadata": {"name": "a"}})), json!({"name": "a"}));
        assert_eq!(with(json!({field: "1"})), json!({"name": "a"}));
        assert_eq!(with(json!({field: "1", note: "x"})), json!({"name": "a", "annotations": {note: "x"}}));
    }

    #[test]
    fn rejects_unsupported_media_types() {
        assert_eq!(ResponseFormat::accepted("text/html", SupportedFormats::All), None);
        assert_eq!(
            ResponseFormat::accepted(
                "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1",
                SupportedFormats::All
            ),
            None
        );
        assert_eq!(
            ResponseFormat::accepted("application/json;as=Table;g=meta.k8s.io;v=v2", SupportedFormats::All),
            None
        );
        assert_eq!(ResponseFormat::accepted("application/yaml", SupportedFormats::Stream), None);
    }
}
