//! The namespace of a case where its manifests and patches must name it: `$(NAMESPACE)`, in any
//! text.
//!
//! A case does not choose its namespace, and need not know it, save where a value holds it: an
//! annotation whose keys are names with their namespace.

use serde_json::Value;

/// What stands in for it, as Kubernetes writes a variable.
const PLACEHOLDER: &str = "$(NAMESPACE)";

/// The same with every placeholder filled in; keys of maps stay as they are.
pub(super) fn filled_in(value: &Value, namespace: &str) -> Value {
    match value {
        Value::String(text) => text.replace(PLACEHOLDER, namespace).into(),
        Value::Array(items) => items.iter().map(|item| filled_in(item, namespace)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), filled_in(value, namespace))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_text_has_the_namespace() {
        let value =
            json!({"a": ["secret/$(NAMESPACE)/c in $(NAMESPACE)", 1, null], "$(NAMESPACE)": true, "b": "$(OTHER)"});
        let filled = json!({"a": ["secret/ns/c in ns", 1, null], "$(NAMESPACE)": true, "b": "$(OTHER)"});
        assert_eq!(filled_in(&value, "ns"), filled);
    }
}
