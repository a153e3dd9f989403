//! The media types of answers: JSON or protobuf, whole objects or their metadata alone.
//!
//! The server works in JSON. What a client accepts is read from its header here, and an answer is
//! put into that form as it leaves. Upstream: `endpoints/handlers/negotiation` and
//! `responsewriters`.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::{Value, json};

use super::problem::Problem;
use super::protobuf::{self, Event};
use super::server::{Answer, JSON};

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
    Protobuf,
}

/// What of an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// `as=PartialObjectMetadata`, and its list.
    Metadata,
}

const META: &str = "meta.k8s.io";
const PARTIAL: &str = "PartialObjectMetadata";

impl Form {
    /// Of a client that does not say what it accepts.
    pub(super) const PLAIN: Self = Self { coding: Coding::Json, part: Part::Whole };

    /// The first form that the header accepts and that this server writes, the most wanted first.
    pub(super) fn accepted(header: &str) -> Option<Self> {
        if header.trim().is_empty() {
            return Some(Self::PLAIN);
        }
        clauses(header).into_iter().find_map(|clause| clause.form())
    }

    /// The same for an error, which is never transformed. In doubt JSON.
    pub(super) fn of_error(header: &str) -> Self {
        let plain =
            clauses(header).into_iter().filter_map(|clause| clause.form()).find(|form| form.part == Part::Whole);
        plain.unwrap_or(Self::PLAIN)
    }

    /// The media type of a complete answer.
    fn media_type(self) -> &'static str {
        match self.coding {
            Coding::Json => JSON,
            Coding::Protobuf => protobuf::MEDIA_TYPE,
        }
    }

    /// The media type of a watch.
    pub(super) fn watch_media_type(self) -> &'static str {
        match self.coding {
            Coding::Json => JSON,
            Coding::Protobuf => protobuf::WATCH_MEDIA_TYPE,
        }
    }

    /// Puts an answer into this form. An object of a kind without a form in protobuf stays JSON.
    pub(super) fn dress(self, answer: Answer) -> Answer {
        let Answer::Whole { code, body, warnings, form } = answer else { return answer };
        let as_it_is = |body| Answer::Whole { code, body, warnings: warnings.clone(), form };
        if self == Self::PLAIN || form != JSON {
            return as_it_is(body);
        }
        let Ok(value) = serde_json::from_slice::<Value>(&body) else { return as_it_is(body) };
        let value = self.of(&value).into_owned();
        match self.coding {
            Coding::Json => Answer::Whole { code, body: value.to_string().into(), warnings, form },
            Coding::Protobuf => match protobuf::encode(&value) {
                Ok(bytes) => Answer::Whole { code, body: bytes.into(), warnings, form: self.media_type() },
                Err(_) => as_it_is(body),
            },
        }
    }

    /// One event of a watch, from its line of JSON.
    pub(super) fn event(self, line: Bytes) -> Bytes {
        if self == Self::PLAIN {
            return line;
        }
        let Ok(mut event) = serde_json::from_slice::<Value>(&line) else { return line };
        if event["type"] != "ERROR" {
            event["object"] = self.of(&event["object"]).into_owned();
        }
        match self.coding {
            Coding::Json => format!("{event}\n").into(),
            Coding::Protobuf => {
                let kind = event["type"].as_str().unwrap_or_default().to_owned();
                // Every kind that is watched is in the table of types.
                let object = protobuf::encode(&event["object"]).unwrap_or_default();
                Event { kind, object }.frame().into()
            }
        }
    }

    /// What of a value is written; a Status always as it is.
    fn of(self, value: &Value) -> Cow<'_, Value> {
        if self.part == Part::Whole || value["kind"] == "Status" {
            return Cow::Borrowed(value);
        }
        let api_version = format!("{META}/v1");
        let partial =
            |object: &Value| json!({"kind": PARTIAL, "apiVersion": api_version, "metadata": object["metadata"]});
        Cow::Owned(match value["items"].as_array() {
            Some(items) => json!({"kind": format!("{PARTIAL}List"), "apiVersion": api_version,
                "metadata": value["metadata"], "items": items.iter().map(partial).collect::<Vec<_>>()}),
            None => partial(value),
        })
    }
}

/// The refusal of a header that accepts nothing that this server writes: upstream's where it writes
/// none of it either.
pub(super) fn not_acceptable(header: &str) -> Problem {
    let known = ["yaml", "cbor", "as=Table"];
    if known.iter().any(|form| header.contains(form)) { Problem::no_form(header) } else { Problem::not_acceptable() }
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
    fn form(&self) -> Option<Form> {
        let coding = match (self.kind, self.subtype) {
            ("application" | "*", "json" | "*") => Coding::Json,
            ("application" | "*", "vnd.kubernetes.protobuf") => Coding::Protobuf,
            _ => return None,
        };
        let parameter = |name: &str| self.parameters.iter().find(|(one, _)| *one == name).map(|(_, value)| *value);
        let part = match parameter("as") {
            None => Part::Whole,
            Some(PARTIAL | "PartialObjectMetadataList")
                if parameter("g") == Some(META) && matches!(parameter("v"), Some("v1" | "v1beta1")) =>
            {
                Part::Metadata
            }
            Some(_) => return None,
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
        assert_eq!(Form::accepted(header), Some(Form { coding, part }));
    }

    #[test]
    fn metadata_alone_is_a_form_of_both() {
        let header =
            format!("application/vnd.kubernetes.protobuf;{METADATA},application/json;{METADATA},application/json");
        assert_eq!(Form::accepted(&header), Some(Form { coding: Coding::Protobuf, part: Part::Metadata }));
        assert_eq!(Form::of_error(&header), Form::PLAIN);
    }

    #[test]
    fn what_is_not_written_is_not_accepted() {
        assert_eq!(Form::accepted("text/html"), None);
        assert_eq!(Form::accepted("application/json;as=Table;g=meta.k8s.io;v=v1"), None);
    }
}
