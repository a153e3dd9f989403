//! The placeholder for the case's namespace in manifests and patches: `$(NAMESPACE)`, in any text.
//!
//! A case does not choose its namespace, and needs to know it only where a value contains it, such
//! as an annotation whose keys are namespaced names.

use serde_json::Value;

/// The placeholder, in the syntax of a Kubernetes variable.
const PLACEHOLDER: &str = "$(NAMESPACE)";

/// The value with every placeholder replaced, except in keys of maps.
pub(super) fn fill_in(value: &Value, namespace: &str) -> Value {
    match value {
        Value::String(text) => text.replace(PLACEHOLDER, namespace).into(),
        Value::Array(items) => items.iter().map(|item| fill_in(item, namespace)).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), fill_in(value, namespace))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replaces_the_placeholder_in_every_text() {
        let value =
            json!({"a": ["secret/$(NAMESPACE)/c in $(NAMESPACE)", 1, null], "$(NAMESPACE)": true, "b": "$(OTHER)"});
        let filled = json!({"a": ["secret/ns/c in ns", 1, null], "$(NAMESPACE)": true, "b": "$(OTHER)"});
        assert_eq!(fill_in(&value, "ns"), filled);
    }
}
