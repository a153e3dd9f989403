//! What the server itself remembers of who wrote what when: `managedFields`.
//!
//! It is asked only where a workload has no baseline for a config and nobody watched when it could
//! have had one: a controller that was away while a workload was made and its config changed. What
//! was written after the workload's template counts as changed; within the same second nobody can
//! tell, and it does not count, for adopting a workload must not roll it out.

use jiff::Timestamp;
use serde_json::Value;

use crate::model::names::restart as names;

/// When somebody last wrote the data of a ConfigMap or Secret.
pub(crate) fn data_written(metadata: &Value) -> Option<Timestamp> {
    last(metadata, |fields| ["f:data", "f:binaryData", "f:stringData"].iter().any(|name| fields.get(name).is_some()))
}

/// When somebody last wrote the template of a workload, or opted in.
pub(crate) fn template_written(metadata: &Value) -> Option<Timestamp> {
    let opted_in = format!("f:{}", names::ENABLED);
    last(metadata, |fields| {
        fields["f:spec"].get("f:template").is_some() || fields["f:metadata"]["f:annotations"].get(&opted_in).is_some()
    })
}

fn last(metadata: &Value, has: impl Fn(&Value) -> bool) -> Option<Timestamp> {
    let entries = metadata["managedFields"].as_array().into_iter().flatten();
    let time = |entry: &Value| entry["time"].as_str().and_then(|time| time.parse().ok());
    entries.filter(|entry| has(&entry["fieldsV1"])).filter_map(time).max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_of_those_who_wrote_it() {
        let entry = |time: &str, fields: Value| json!({"manager": "m", "time": time, "fieldsV1": fields});
        let metadata = json!({"managedFields": [
            entry("2026-01-01T00:00:01Z", json!({"f:data": {"f:k": {}}})),
            entry("2026-01-01T00:00:03Z", json!({"f:metadata": {"f:labels": {}}})),
            entry("2026-01-01T00:00:02Z", json!({"f:data": {}, "f:spec": {"f:template": {}}})),
        ]});
        assert_eq!(data_written(&metadata), Some("2026-01-01T00:00:02Z".parse().unwrap()));
        assert_eq!(template_written(&metadata), Some("2026-01-01T00:00:02Z".parse().unwrap()));
        assert_eq!(data_written(&json!({})), None);
        let opted = json!({"managedFields": [entry("2026-01-01T00:00:09Z",
            json!({"f:metadata": {"f:annotations": {"f:com.xing.deployment-restart": {}}}}))]});
        assert_eq!(template_written(&opted), Some("2026-01-01T00:00:09Z".parse().unwrap()));
    }
}
