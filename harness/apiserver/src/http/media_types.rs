//! Content negotiation: JSON, YAML or protobuf; full objects, partial metadata, or tables.
//!
//! The server works in JSON, and transforms responses at the end (`representation`). This module
//! reads the `Accept` header. Upstream: `endpoints/handlers/negotiation`.

use crate::http::request::{ApiRequest, JSON, ResourceRequest};
use crate::http::route::{RequestInfo, Verb};
use crate::http::status_error::{ApiResult, StatusError};
use crate::http::yaml;
use crate::types::field_error::FieldError;
use crate::types::kinds::ResourceKind;
use crate::types::protobuf;

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

pub(crate) const META: &str = "meta.k8s.io";
pub(crate) const PARTIAL: &str = "PartialObjectMetadata";

impl MetaVersion {
    pub(crate) fn api_version(self) -> &'static str {
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

    /// The kind of the objects from which a response in this format is made. Upstream makes tables
    /// and partial metadata of its internal version, and then converts only whole objects.
    pub(crate) fn source_kind(self, requested: &'static ResourceKind) -> &'static ResourceKind {
        if self.representation == Representation::Whole { requested } else { requested.inner() }
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
    pub(crate) fn media_type(self) -> &'static str {
        match self.encoding {
            Encoding::Json => JSON,
            Encoding::Yaml => yaml::MEDIA_TYPE,
            Encoding::Protobuf => protobuf::MEDIA_TYPE,
        }
    }

    pub(crate) fn watch_media_type(self) -> &'static str {
        match self.encoding {
            Encoding::Json | Encoding::Yaml => JSON,
            Encoding::Protobuf => protobuf::WATCH_MEDIA_TYPE,
        }
    }
}

impl ResourceRequest<'_> {
    /// The kind of the objects from which its response is made.
    pub(crate) fn response_kind(&self) -> &'static ResourceKind {
        let format = ResponseFormat::accepted(&self.http.accept, SupportedFormats::All);
        format.unwrap_or(ResponseFormat::PLAIN).source_kind(self.kind)
    }
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

/// The part of its object that a row includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

impl Include {
    /// Parses the parameter `includeObject`.
    pub(crate) fn of(parameter: &str) -> ApiResult<Self> {
        match parameter {
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            "None" => Ok(Self::Nothing),
            other => {
                let why = "must be 'Metadata', 'Object', 'None', or empty";
                let error = FieldError::invalid("includeObject", other, why);
                Err(StatusError::bad_request(format!("Unable to convert to Table as requested: {error}")))
            }
        }
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
