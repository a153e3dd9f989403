//! Warnings about pods and templates of pods. Upstream: `pkg/api/pod/warnings.go`.

use serde_json::Value;

use crate::types::names;

/// The warning for a name that is not a DNS label; `usage` says what contains the name.
pub(crate) fn name_warning(new: &Value, usage: &str) -> Option<String> {
    let wrong = names::dns_label(new["metadata"]["name"].as_str().unwrap_or_default());
    (!wrong.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in {usage}, which can result in surprising behavior; a DNS label is recommended: [{}]",
            wrong.join(" ")
        )
    })
}

/// The warning for a negative grace period in the spec at a path, if the spec changed.
pub(crate) fn grace_period_warning(new: &Value, path: &str, changed: bool) -> Option<String> {
    let spec = path.split('.').fold(new, |value, name| &value[name]);
    let is_negative = spec["terminationGracePeriodSeconds"].as_i64().is_some_and(|grace| grace < 0);
    (changed && is_negative).then(|| {
        format!(
            "{path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
        )
    })
}

/// The warnings about a Deployment or a ReplicaSet: its pods' names begin with its own.
pub(crate) fn workload_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let changed = old.is_none_or(|old| old["metadata"]["generation"] != new["metadata"]["generation"]);
    let name = if old.is_none() { name_warning(new, "Pod names and hostnames") } else { None };
    name.into_iter().chain(grace_period_warning(new, "spec.template.spec", changed)).collect()
}
