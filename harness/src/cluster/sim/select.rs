//! Label and field selectors as a query writes them, and as an object holds them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::problem::{Outcome, Problem};

/// All of these must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Selector {
    labels: Vec<Requirement>,
    fields: Vec<(String, bool, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Missing,
}

impl Selector {
    /// From `labelSelector` and `fieldSelector`.
    pub(super) fn of_query(labels: &str, fields: &str) -> Outcome<Self> {
        let labels = split(labels).into_iter().map(|text| requirement(&text)).collect::<Result<_, _>>()?;
        let fields = fields.split(',').filter(|text| !text.is_empty()).map(|text| {
            let (key, equal, value) = match (text.split_once("!="), text.split_once("=")) {
                (Some((key, value)), _) => (key, false, value),
                (None, Some((key, value))) => (key, true, value.trim_start_matches('=')),
                _ => {
                    return Err(Problem::bad_request(format!("invalid selector: '{text}'; can't understand '{text}'")));
                }
            };
            Ok((key.to_owned(), equal, value.to_owned()))
        });
        Ok(Self { labels, fields: fields.collect::<Result<_, _>>()? })
    }

    /// From an object's `spec.selector`.
    pub(super) fn of_object(selector: &Value) -> Self {
        let mut labels = Vec::new();
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let value = BTreeSet::from([value.as_str().unwrap_or_default().to_owned()]);
            labels.push(Requirement { key: key.clone(), test: Test::In(value) });
        }
        for one in selector["matchExpressions"].as_array().into_iter().flatten() {
            let values = one["values"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
            let test = match one["operator"].as_str() {
                Some("In") => Test::In(values.collect()),
                Some("NotIn") => Test::NotIn(values.collect()),
                Some("Exists") => Test::Exists,
                _ => Test::Missing,
            };
            labels.push(Requirement { key: one["key"].as_str().unwrap_or_default().to_owned(), test });
        }
        Self { labels, fields: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object is meant.
    ///
    /// # Errors
    /// A field by which this kind cannot be selected.
    pub(super) fn matches(&self, object: &Value) -> bool {
        self.matches_labels(&object["metadata"]["labels"])
            && self.fields.iter().all(|(key, equal, value)| {
                let pointer = format!("/{}", key.replace('.', "/"));
                let found = object.pointer(&pointer).and_then(Value::as_str).unwrap_or_default();
                (found == value) == *equal
            })
    }

    pub(super) fn matches_labels(&self, labels: &Value) -> bool {
        self.labels.iter().all(|Requirement { key, test }| {
            let value = labels.get(key).and_then(Value::as_str);
            match test {
                Test::In(values) => value.is_some_and(|value| values.contains(value)),
                Test::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                Test::Exists => value.is_some(),
                Test::Missing => value.is_none(),
            }
        })
    }

    /// Fields by which this kind can be selected, all of them.
    pub(super) fn check_fields(&self, plural: &str, version: &str, kind: &str) -> Outcome<()> {
        let more: &[&str] = match plural {
            "pods" => &[
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "spec.serviceAccountName",
                "status.phase",
            ],
            "events" => &[
                "involvedObject.kind",
                "involvedObject.namespace",
                "involvedObject.name",
                "involvedObject.uid",
                "involvedObject.apiVersion",
                "involvedObject.resourceVersion",
                "involvedObject.fieldPath",
                "reason",
                "type",
                "source",
            ],
            "namespaces" => &["status.phase"],
            "nodes" => &["spec.unschedulable"],
            "secrets" => &["type"],
            "replicasets" => &["status.replicas"],
            _ => &[],
        };
        let known = |key: &str| matches!(key, "metadata.name" | "metadata.namespace") || more.contains(&key);
        match self.fields.iter().find(|(key, _, _)| !known(key)) {
            None => Ok(()),
            Some((key, _, _))
                if matches!(plural, "pods" | "events" | "secrets" | "nodes" | "namespaces" | "replicasets") =>
            {
                Err(Problem::bad_request(format!(
                    "Unable to find \"{version}, Resource={plural}\" that match label selector \"\", field selector \"{key}\": field label not supported: {key}"
                )))
            }
            Some((key, _, _)) => Err(Problem::bad_request(format!(
                "Unable to find \"{version}, Resource={plural}\" of kind {kind}: \"{key}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ))),
        }
    }
}

/// At the commas that stand in no brackets.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts.retain(|part| !part.trim().is_empty());
    parts
}

fn requirement(text: &str) -> Outcome<Requirement> {
    let one = |value: &str| BTreeSet::from([value.trim().to_owned()]);
    let set = |text: &str| {
        let inside = text.trim().strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        inside.map(|text| text.split(',').map(|value| value.trim().to_owned()).collect::<BTreeSet<_>>())
    };
    let bad = || Problem::bad_request(format!("unable to parse requirement: {text}"));
    let made = |key: &str, test| Ok(Requirement { key: key.trim().to_owned(), test });
    if let Some((key, value)) = text.split_once("!=") {
        return made(key, Test::NotIn(one(value)));
    }
    if let Some((key, value)) = text.split_once('=') {
        return made(key, Test::In(one(value.trim_start_matches('='))));
    }
    if let Some((key, values)) = text.split_once(" notin ") {
        return made(key, Test::NotIn(set(values).ok_or_else(bad)?));
    }
    if let Some((key, values)) = text.split_once(" in ") {
        return made(key, Test::In(set(values).ok_or_else(bad)?));
    }
    match text.trim().strip_prefix('!') {
        Some(key) => made(key, Test::Missing),
        None if text.trim().contains(char::is_whitespace) => Err(bad()),
        None => made(text, Test::Exists),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("a=1", true)]
    #[case("a==1,b", true)]
    #[case("a!=1", false)]
    #[case("c!=1", true)]
    #[case("a in (1, 2),b notin (x)", true)]
    #[case("!c", true)]
    #[case("!a", false)]
    #[case("a in (2,3)", false)]
    fn labels(#[case] query: &str, #[case] wanted: bool) {
        let object = json!({"metadata": {"labels": {"a": "1", "b": "2"}}});
        assert_eq!(Selector::of_query(query, "").unwrap().matches(&object), wanted);
    }

    #[test]
    fn fields() {
        let object = json!({"metadata": {"name": "x"}, "spec": {}});
        let matches = |query: &str| Selector::of_query("", query).unwrap().matches(&object);
        assert!(matches("metadata.name=x,spec.nodeName="));
        assert!(!matches("metadata.name!=x"));
    }
}
