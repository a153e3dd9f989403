//! Label and field selectors of queries and of objects.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::http::labels::{LabelOperator, LabelRequirement};
use crate::http::status_error::{ApiResult, StatusError};
use crate::pointer::JsonPointer;
use crate::types::kinds::{ResourceKind, SelectableFields};

/// A label and field selector: all requirements must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    labels: Vec<LabelRequirement>,
    fields: Vec<(String, bool, String)>,
}

impl Selector {
    /// Parses `labelSelector` and `fieldSelector`.
    pub(crate) fn of_query(labels: &str, fields: &str) -> ApiResult<Self> {
        let labels = super::labels::parse(labels).map_err(StatusError::bad_request)?;
        let fields = fields.split(',').filter(|text| !text.is_empty()).map(|text| {
            let (key, equal, value) = match (text.split_once("!="), text.split_once("=")) {
                (Some((key, value)), _) => (key, false, value),
                (None, Some((key, value))) => (key, true, value.trim_start_matches('=')),
                _ => {
                    return Err(StatusError::bad_request(format!(
                        "invalid selector: '{text}'; can't understand '{text}'"
                    )));
                }
            };
            Ok((key.to_owned(), equal, value.to_owned()))
        });
        Ok(Self { labels, fields: fields.collect::<Result<_, _>>()? })
    }

    /// Reads a label selector of an object.
    pub(crate) fn of_object(selector: &Value) -> Self {
        let mut labels = Vec::new();
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let value = BTreeSet::from([value.as_str().unwrap_or_default().to_owned()]);
            labels.push(LabelRequirement { key: key.clone(), operator: LabelOperator::In(value) });
        }
        for one in selector["matchExpressions"].as_array().into_iter().flatten() {
            let values = one["values"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
            let operator = match one["operator"].as_str() {
                Some("In") => LabelOperator::In(values.collect()),
                Some("NotIn") => LabelOperator::NotIn(values.collect()),
                Some("Exists") => LabelOperator::Exists,
                _ => LabelOperator::Missing,
            };
            labels.push(LabelRequirement { key: one["key"].as_str().unwrap_or_default().to_owned(), operator });
        }
        Self { labels, fields: Vec::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether it selects a single object by name. Upstream: `MatchesSingle`.
    pub(crate) fn selects_one_object(&self) -> bool {
        self.fields.iter().any(|(key, equal, _)| *equal && key == "metadata.name")
    }

    /// Whether it selects an object.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.matches_labels(&object["metadata"]["labels"])
            && self.fields.iter().all(|(key, equal, value)| {
                let pointer = format!("/{}", key.replace('.', "/"));
                // The source of an Event is its component or its reporting component.
                let found = if key == "source" {
                    let component = object.at("/source/component").filter(|name| **name != "");
                    component.or_else(|| object.at("/reportingComponent"))
                } else {
                    object.at(&pointer)
                };
                let found = match found {
                    Some(Value::String(found)) => found.clone(),
                    Some(Value::Null) | None if matches!(key.as_str(), "spec.unschedulable" | "spec.hostNetwork") => {
                        "false".to_owned()
                    }
                    Some(Value::Null) | None => String::new(),
                    Some(other) => other.to_string(),
                };
                (found == *value) == *equal
            })
    }

    pub(crate) fn matches_labels(&self, labels: &Value) -> bool {
        self.labels.iter().all(|LabelRequirement { key, operator }| {
            let value = labels.get(key).and_then(Value::as_str);
            match operator {
                LabelOperator::In(values) => value.is_some_and(|value| values.contains(value)),
                LabelOperator::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                LabelOperator::Exists => value.is_some(),
                LabelOperator::Missing => value.is_none(),
                LabelOperator::Greater(than) => {
                    value.and_then(|value| value.parse::<i64>().ok()).is_some_and(|value| value > *than)
                }
                LabelOperator::Less(than) => {
                    value.and_then(|value| value.parse::<i64>().ok()).is_some_and(|value| value < *than)
                }
            }
        })
    }

    /// Renames the fields to those of the stored kind.
    pub(crate) fn of_stored(mut self, kind: &ResourceKind) -> Self {
        if let SelectableFields::Renamed(names) = kind.selectable_fields {
            for (field, ..) in &mut self.fields {
                if let Some((_, stored)) = names.iter().find(|(name, _)| name == field) {
                    *field = (*stored).to_owned();
                }
            }
        }
        self
    }

    /// Checks that the kind supports these fields.
    pub(crate) fn check_fields(&self, kind: &ResourceKind) -> ApiResult<()> {
        if let Some(custom) = kind.custom {
            let known = |key: &str| {
                key == "metadata.name"
                    || key == "metadata.namespace" && kind.namespaced
                    || custom.selectable.iter().any(|field| field == key)
            };
            return match self.fields.iter().find(|(key, _, _)| !known(key)) {
                Some((key, _, _)) => Err(StatusError::bad_request(format!("field label not supported: {key}"))),
                None => Ok(()),
            };
        }
        let known = |key: &str| {
            key == "metadata.name"
                || key == "metadata.namespace" && kind.namespaced
                || match kind.selectable_fields {
                    // Upstream's rule for all such kinds does not ask whether they have namespaces.
                    SelectableFields::Metadata => key == "metadata.namespace",
                    SelectableFields::Fields(fields) | SelectableFields::FieldsOfKind(fields) => fields.contains(&key),
                    SelectableFields::Renamed(fields) => fields.iter().any(|(field, _)| *field == key),
                }
        };
        let Some((key, _, _)) = self.fields.iter().find(|(key, _, _)| !known(key)) else { return Ok(()) };
        Err(StatusError::bad_request(match kind.selectable_fields {
            SelectableFields::Metadata => {
                format!("\"{key}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
            }
            SelectableFields::FieldsOfKind(_) => format!("field label {key:?} not supported for {}", kind.kind),
            SelectableFields::Fields(_) | SelectableFields::Renamed(_) => {
                format!("field label not supported: {key}")
            }
        }))
    }
}

/// A label selector in query syntax, ordered by key.
pub(crate) fn text(selector: &Value) -> String {
    let mut parts = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        parts.push((key.as_str(), format!("{key}={}", value.as_str().unwrap_or_default())));
    }
    for one in selector["matchExpressions"].as_array().into_iter().flatten() {
        let key = one["key"].as_str().unwrap_or_default();
        let mut values: Vec<&str> = one["values"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        values.sort_unstable();
        let part = match one["operator"].as_str().unwrap_or_default() {
            "In" => format!("{key} in ({})", values.join(",")),
            "NotIn" => format!("{key} notin ({})", values.join(",")),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        parts.push((key, part));
    }
    parts.sort_by_key(|(key, _)| *key);
    parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(",")
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
    fn matches_label_selectors(#[case] query: &str, #[case] expected: bool) {
        let object = json!({"metadata": {"labels": {"a": "1", "b": "2"}}});
        assert_eq!(Selector::of_query(query, "").unwrap().matches(&object), expected);
    }

    #[test]
    fn matches_field_selectors() {
        let object = json!({"metadata": {"name": "x"}, "spec": {}});
        let matches = |query: &str| Selector::of_query("", query).unwrap().matches(&object);
        assert!(matches("metadata.name=x,spec.nodeName="));
        assert!(!matches("metadata.name!=x"));
    }
}
