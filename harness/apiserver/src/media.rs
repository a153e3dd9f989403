//! The media types of answers: JSON, YAML or protobuf; whole objects, their metadata alone, or
//! tables.
//!
//! The server works in JSON. What a client accepts is read from its header here, and an answer is
//! put into that form as it leaves. Upstream: `endpoints/handlers/negotiation` and
//! `responsewriters`.

use std::borrow::Cow;

use bytes::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::autoscalers;
use super::call::Call;
use super::kinds::{EVENTS, Kind, Kinds};
use super::problem::{Outcome, Problem};
use super::protobuf::{self, Event};
use super::server::{Answer, JSON};
use super::table::{self, Include, Style};
use super::yaml;
use crate::route::{Route, Verb};

/// In what form an answer leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) coding: Coding,
    pub(super) part: Part,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Json,
    Yaml,
    Protobuf,
}

/// What of an object is written; the versions are those of `meta.k8s.io`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// `as=PartialObjectMetadata`.
    Metadata(Version),
    /// `as=PartialObjectMetadataList`.
    ListOfMetadata(Version),
    /// `as=Table`, with this of each object.
    Table(Version, Include),
}

/// Which forms the answers to a request can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offered {
    Everything,
    /// A binding has no table.
    NoTable,
    /// A watch has no form in YAML.
    Stream,
}

/// A version of `meta.k8s.io`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V1Beta1,
}

/// A header that accepts protobuf in a form that there is not.
pub(super) const NO_FORM: &str = "application/vnd.kubernetes.protobuf;as=None";

const META: &str = "meta.k8s.io";
const PARTIAL: &str = "PartialObjectMetadata";

impl Version {
    fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

impl Form {
    /// Of a client that does not say what it accepts.
    pub(super) const PLAIN: Self = Self { coding: Coding::Json, part: Part::Whole };

    /// Checks that the client accepts a form that there is.
    pub(super) fn check(call: &Call, offered: Offered) -> Outcome<()> {
        // Upstream's routes know each form and `*/*`, but no `application/*`.
        let named = |clause: &Clause<'_>| clause.subtype != "*" || clause.kind == "*";
        let found = Self::accepted(&call.accept, offered);
        if found.is_some() && !call.accept.trim().is_empty() && !clauses(&call.accept).iter().any(named) {
            return Err(nothing_named(call));
        }
        found.map(drop).ok_or_else(|| not_acceptable(call, offered))
    }

    /// The form of the answer to a request.
    pub(super) fn of(call: &Call, offered: Offered) -> Outcome<Self> {
        let found = Self::accepted(&call.accept, offered).ok_or_else(|| not_acceptable(call, offered))?;
        Ok(match found.part {
            Part::Table(version, _) => {
                let include = Include::of(call.param("includeObject"))?;
                Self { part: Part::Table(version, include), ..found }
            }
            _ => found,
        })
    }

    /// The first form that the header accepts and that this server writes, the most wanted first.
    fn accepted(header: &str, offered: Offered) -> Option<Self> {
        if header.trim().is_empty() {
            return Some(Self::PLAIN);
        }
        let forms = clauses(header).into_iter().filter_map(|clause| clause.form());
        forms.into_iter().find(|form| match offered {
            Offered::Everything => true,
            Offered::NoTable => !matches!(form.part, Part::Table(..)),
            Offered::Stream => form.coding != Coding::Yaml,
        })
    }

    /// The same for an error, which is never transformed. In doubt JSON.
    pub(super) fn of_error(header: &str) -> Self {
        let plain =
            clauses(header).into_iter().filter_map(|clause| clause.form()).find(|form| form.part == Part::Whole);
        plain.unwrap_or(Self::PLAIN)
    }

    /// The coding in which a header asks for aggregated discovery before everything else.
    pub(super) fn aggregated(header: &str) -> Option<Coding> {
        for clause in clauses(header) {
            let coding = clause.coding().filter(|coding| *coding != Coding::Yaml);
            match (clause.parameter("as"), clause.parameter("g"), clause.parameter("v"), coding) {
                (None, ..) => return None,
                (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2"), Some(coding)) => {
                    return Some(coding);
                }
                _ => {}
            }
        }
        None
    }

    /// The media type of a complete answer.
    fn media_type(self) -> &'static str {
        match self.coding {
            Coding::Json => JSON,
            Coding::Yaml => yaml::MEDIA_TYPE,
            Coding::Protobuf => protobuf::MEDIA_TYPE,
        }
    }

    /// The media type of a watch.
    pub(super) fn watch_media_type(self) -> &'static str {
        match self.coding {
            Coding::Json | Coding::Yaml => JSON,
            Coding::Protobuf => protobuf::WATCH_MEDIA_TYPE,
        }
    }

    /// Puts an answer into this form. An object of a kind without a form in protobuf stays JSON.
    pub(super) fn dress(
        self,
        answer: Answer,
        kinds: &Kinds,
        about: Option<&'static Kind>,
        now: Timestamp,
    ) -> Outcome<Answer> {
        let Answer::Whole { code, body, warnings, form } = answer else { return Ok(answer) };
        let as_it_is = |body| Answer::Whole { code, body, warnings: warnings.clone(), form };
        if self == Self::PLAIN || form != JSON {
            return Ok(as_it_is(body));
        }
        let Ok(value) = serde_json::from_slice::<Value>(&body) else { return Ok(as_it_is(body)) };
        let said = |name: &str| value[name].as_str().unwrap_or_default();
        let kind = kinds.all().find(|kind| {
            kind.api_version() == said("apiVersion") && (kind.kind == said("kind") || kind.list_kind() == said("kind"))
        });
        if let Some(refusal) = self.refusal(&value, kind, about) {
            return Err(refusal);
        }
        let mut value = self.of_value(&value, kind, true, now).into_owned();
        if kind.is_none() && value["kind"] == "Table" && about.is_some_and(|about| about.custom.is_some()) {
            table::as_of_custom_scale(&mut value);
        }
        let written: Option<Bytes> = match self.coding {
            Coding::Json => Some(value.to_string().into()),
            Coding::Yaml => yaml::write(&value).ok().map(Bytes::from),
            Coding::Protobuf => protobuf::encode(&value).ok().map(Bytes::from),
        };
        Ok(match written {
            Some(body) => Answer::Whole { code, body, warnings, form: self.media_type() },
            None => as_it_is(body),
        })
    }

    /// One event of a watch, from its line of JSON. `first`: no other was written before it.
    pub(super) fn event(self, line: Bytes, kind: &'static Kind, first: bool, now: Timestamp) -> Bytes {
        if self == Self::PLAIN {
            return line;
        }
        let Ok(mut event) = serde_json::from_slice::<Value>(&line) else { return line };
        if event["type"] != "ERROR" {
            event["object"] = self.of_value(&event["object"], Some(kind), first, now).into_owned();
        }
        match self.coding {
            Coding::Json | Coding::Yaml => format!("{event}\n").into(),
            Coding::Protobuf => {
                let kind = event["type"].as_str().unwrap_or_default().to_owned();
                // Every kind that is watched is in the table of types, and so is its metadata
                // alone.
                let object = protobuf::encode(&event["object"]).unwrap_or_default();
                Event { kind, object }.frame().into()
            }
        }
    }

    /// Why a list or an object cannot be put into this form, if so.
    fn refusal(self, value: &Value, kind: Option<&Kind>, about: Option<&Kind>) -> Option<Problem> {
        let is_custom = |kind: Option<&Kind>| kind.is_some_and(|kind| kind.custom.is_some());
        let custom = is_custom(kind);
        let list = value["items"].is_array();
        let (asked, is) = match self.part {
            Part::Metadata(_) if list => (PARTIAL.to_owned(), "a list"),
            Part::ListOfMetadata(_) if !list && value["kind"] != "Status" => (format!("{PARTIAL}List"), "not a list"),
            _ => return None,
        };
        // What an object without a type of its own is, upstream sees only when it reads its items.
        if custom && asked.ends_with("List") {
            return Some(Problem::plain_internal("content is not a list".to_owned()));
        }
        let group = value["apiVersion"].as_str().unwrap_or_default().split_once('/').map_or("core", |(group, _)| group);
        // Upstream holds the Events of both groups in one type.
        let package = if group == EVENTS { "core" } else { group.split('.').next().unwrap_or_default() };
        let name = value["kind"].as_str().unwrap_or_default();
        let (package, kind) = match (custom, kind) {
            (true, _) => ("unstructured", "UnstructuredList"),
            // The scale of a custom resource is held in the type that clients use.
            (false, None) if is_custom(about) => ("v1", name),
            (false, _) => (package, name),
        };
        let why = format!("you requested {asked}, but the requested object is {is} (*{package}.{kind})");
        Some(Problem::not_acceptable(why))
    }

    /// What of a value is written; a Status always as it is.
    fn of_value<'a>(
        self,
        value: &'a Value,
        kind: Option<&'static Kind>,
        headers: bool,
        now: Timestamp,
    ) -> Cow<'a, Value> {
        if value["kind"] == "Status" {
            return Cow::Borrowed(value);
        }
        let partial = |object: &Value, version: Version| json!({"kind": PARTIAL, "apiVersion": version.api_version(), "metadata": own(object)});
        match (self.part, value["items"].as_array()) {
            (Part::ListOfMetadata(version), Some(items)) => {
                let items: Vec<Value> = items.iter().map(|object| partial(object, version)).collect();
                // Upstream's list of nothing is no list.
                let items = if items.is_empty() { Value::Null } else { items.into() };
                let mut metadata = value["metadata"].clone();
                // Only a list of custom resources says that it does not continue.
                if metadata["continue"] == "" {
                    metadata.as_object_mut().and_then(|metadata| metadata.remove("continue"));
                }
                Cow::Owned(json!({"kind": format!("{PARTIAL}List"), "apiVersion": version.api_version(),
                    "metadata": metadata, "items": items}))
            }
            (Part::Metadata(version), None) => Cow::Owned(partial(value, version)),
            (Part::Table(version, include), _) => {
                let style = Style { api_version: version.api_version(), include, headers, now };
                Cow::Owned(table::table(value, kind, style))
            }
            // Events of a watch, where upstream sends what it cannot transform as it is.
            _ => Cow::Borrowed(value),
        }
    }
}

/// The metadata of an object as it is held, without the annotations that one of its versions has
/// for a field of another. Upstream transforms the object before it is converted to its version.
pub(super) fn own(object: &Value) -> Value {
    const OF_FIELDS: [&str; 2] = ["deprecated.daemonset.template.generation", "deprecated.deployment.rollback.to"];
    let mut meta = object["metadata"].clone();
    if let Some(annotations) = meta.get_mut("annotations").and_then(Value::as_object_mut) {
        let before = annotations.len();
        annotations.retain(|name, _| !OF_FIELDS.contains(&name.as_str()));
        if !object["spec"]["scaleTargetRef"].is_null() {
            annotations.retain(|name, _| !autoscalers::OWN.contains(&name.as_str()));
        }
        if annotations.is_empty() && before > 0 {
            meta.as_object_mut().and_then(|meta| meta.remove("annotations"));
        }
    }
    meta
}

/// The refusal of a header that accepts nothing that there is.
fn not_acceptable(call: &Call, offered: Offered) -> Problem {
    if clauses(&call.accept).iter().all(|clause| clause.coding().is_none()) {
        return nothing_named(call);
    }
    let (forms, streams) = forms();
    let accepted = if offered == Offered::Stream { streams } else { forms };
    Problem::not_acceptable(format!("only the following media types are accepted: {accepted}"))
}

/// The refusal of a header that names no form, before it is known which resource this is about.
fn nothing_named(call: &Call) -> Problem {
    let (forms, streams) = forms();
    // Only a collection can be watched by its own path.
    let route = Route::of_decoded(&call.method, &call.path, false);
    let all = if route.verb == Verb::List { format!("{forms}, {streams}") } else { forms };
    Problem::not_served(format!("406: Not Acceptable\n\nAvailable representations: {all}"))
}

/// The forms of answers, and of watches.
fn forms() -> (String, String) {
    let all = ["application/json", "application/yaml", protobuf::MEDIA_TYPE];
    (all.join(", "), format!("application/json;stream=watch, {}", protobuf::WATCH_MEDIA_TYPE))
}

/// One clause of an `Accept` header.
#[derive(Debug, PartialEq)]
struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: f64,
    parameters: Vec<(&'a str, &'a str)>,
}

/// The clauses, the most wanted first. Upstream: `goautoneg.ParseAccept`.
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
    fn coding(&self) -> Option<Coding> {
        match (self.kind, self.subtype) {
            ("application" | "*", "json" | "*") => Some(Coding::Json),
            ("application" | "*", "yaml") => Some(Coding::Yaml),
            ("application" | "*", "vnd.kubernetes.protobuf") => Some(Coding::Protobuf),
            _ => None,
        }
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(one, _)| *one == name).map(|(_, value)| *value)
    }

    fn form(&self) -> Option<Form> {
        let coding = self.coding()?;
        let Some(kind) = self.parameter("as") else { return Some(Form { coding, part: Part::Whole }) };
        let version = match self.parameter("v") {
            Some("v1") if self.parameter("g") == Some(META) => Version::V1,
            Some("v1beta1") if self.parameter("g") == Some(META) => Version::V1Beta1,
            _ => return None,
        };
        let part = match kind {
            PARTIAL => Part::Metadata(version),
            "PartialObjectMetadataList" => Part::ListOfMetadata(version),
            // A table has no form in protobuf.
            "Table" if coding != Coding::Protobuf => Part::Table(version, Include::Metadata),
            _ => return None,
        };
        Some(Form { coding, part })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const METADATA: &str = "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

    #[rstest]
    #[case::nothing("", Coding::Json, Part::Whole)]
    #[case::anything("*/*", Coding::Json, Part::Whole)]
    #[case::typed_client("application/vnd.kubernetes.protobuf,application/json", Coding::Protobuf, Part::Whole)]
    #[case::wanted_less("application/vnd.kubernetes.protobuf;q=0.5, application/json", Coding::Json, Part::Whole)]
    #[case::named_before_any("*/*, application/vnd.kubernetes.protobuf", Coding::Protobuf, Part::Whole)]
    #[case::watch("application/vnd.kubernetes.protobuf;stream=watch", Coding::Protobuf, Part::Whole)]
    #[case::unknown_first("application/cbor, application/json", Coding::Json, Part::Whole)]
    fn the_most_wanted_form_that_is_there_is_taken(#[case] header: &str, #[case] coding: Coding, #[case] part: Part) {
        assert_eq!(Form::accepted(header, Offered::Everything), Some(Form { coding, part }));
    }

    #[test]
    fn metadata_alone_is_a_form_of_both() {
        let header =
            format!("application/vnd.kubernetes.protobuf;{METADATA},application/json;{METADATA},application/json");
        let part = Part::ListOfMetadata(Version::V1);
        assert_eq!(Form::accepted(&header, Offered::Everything), Some(Form { coding: Coding::Protobuf, part }));
        assert_eq!(Form::of_error(&header), Form::PLAIN);
    }

    #[test]
    fn a_table_is_taken_before_the_object() {
        let header = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
        let part = Part::Table(Version::V1, Include::Metadata);
        assert_eq!(Form::accepted(header, Offered::Stream), Some(Form { coding: Coding::Json, part }));
        assert_eq!(Form::of_error(header), Form::PLAIN);
    }

    #[test]
    fn metadata_has_no_annotation_that_stands_for_a_field() {
        let with = |annotations: Value| own(&json!({"metadata": {"name": "a", "annotations": annotations}}));
        let (field, note) = ("deprecated.daemonset.template.generation", "note");
        assert_eq!(own(&json!({"metadata": {"name": "a"}})), json!({"name": "a"}));
        assert_eq!(with(json!({field: "1"})), json!({"name": "a"}));
        assert_eq!(with(json!({field: "1", note: "x"})), json!({"name": "a", "annotations": {note: "x"}}));
    }

    #[test]
    fn what_is_not_written_is_not_accepted() {
        assert_eq!(Form::accepted("text/html", Offered::Everything), None);
        assert_eq!(
            Form::accepted("application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1", Offered::Everything),
            None
        );
        assert_eq!(Form::accepted("application/json;as=Table;g=meta.k8s.io;v=v2", Offered::Everything), None);
        assert_eq!(Form::accepted("application/yaml", Offered::Stream), None);
    }
}
