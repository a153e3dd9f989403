//! `spec.selector`: label selectors.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ModelError;
use super::meta::null_as_default;

/// The labels that an object must have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must have exactly these values.
    #[serde(deserialize_with = "null_as_default")]
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements, all of which must be met.
    #[serde(deserialize_with = "null_as_default")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// One requirement on one label.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LabelSelectorRequirement {
    /// Label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// Values for `In` and `NotIn`.
    #[serde(deserialize_with = "null_as_default")]
    pub values: Vec<String>,
}

impl LabelSelector {
    /// Whether it has no requirement.
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Whether it matches these labels; the empty selector matches everything.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> Result<bool, ModelError> {
        let mut all = self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value));
        for requirement in &self.match_expressions {
            all &= requirement.matches(labels)?;
        }
        Ok(all)
    }
}

impl LabelSelectorRequirement {
    fn matches(&self, labels: &BTreeMap<String, String>) -> Result<bool, ModelError> {
        let value = labels.get(&self.key);
        match (self.operator.as_str(), self.values.is_empty()) {
            ("In", false) => Ok(value.is_some_and(|value| self.values.contains(value))),
            ("NotIn", false) => Ok(value.is_none_or(|value| !self.values.contains(value))),
            ("Exists", true) => Ok(value.is_some()),
            ("DoesNotExist", true) => Ok(value.is_none()),
            _ => Err(ModelError::Selector(format!(
                "operator {:?} with {} values on label {:?}",
                self.operator,
                self.values.len(),
                self.key
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({}), Some(true))]
    #[case(json!({"matchLabels": {"app": "web"}}), Some(true))]
    #[case(json!({"matchLabels": {"app": "db"}}), Some(false))]
    #[case(json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}), Some(true))]
    #[case(json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}), Some(false))]
    #[case(json!({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["web"]}]}), Some(true))]
    #[case(json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]}), Some(true))]
    #[case(json!({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}), Some(false))]
    #[case(json!({"matchExpressions": [{"key": "app", "operator": "Near"}]}), None)]
    fn matches_labels_by_all_operators(#[case] selector: serde_json::Value, #[case] expected: Option<bool>) {
        let selector: LabelSelector = serde_json::from_value(selector).unwrap();
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        assert_eq!(selector.matches(&labels).ok(), expected);
    }
}
