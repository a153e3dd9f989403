//! Label selectors.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ModelError;
use super::meta::null_as_default;

/// Which labels an object must have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must be there with just these values.
    #[serde(deserialize_with = "null_as_default")]
    pub match_labels: BTreeMap<String, String>,
    /// More that must hold.
    #[serde(deserialize_with = "null_as_default")]
    pub match_expressions: Vec<Requirement>,
}

/// One requirement on one label.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Requirement {
    /// Label.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// Values, for the first two.
    #[serde(deserialize_with = "null_as_default")]
    pub values: Vec<String>,
}

impl LabelSelector {
    /// Whether it asks for nothing at all.
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Whether labels satisfy it; the empty selector is satisfied by all.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> Result<bool, ModelError> {
        let mut all = self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value));
        for requirement in &self.match_expressions {
            all &= requirement.matches(labels)?;
        }
        Ok(all)
    }
}

impl Requirement {
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
    fn selectors(#[case] selector: serde_json::Value, #[case] wanted: Option<bool>) {
        let selector: LabelSelector = serde_json::from_value(selector).unwrap();
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        assert_eq!(selector.matches(&labels).ok(), wanted);
    }
}
