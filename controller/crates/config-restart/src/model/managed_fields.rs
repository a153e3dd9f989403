//! Reads from `managedFields` when the data of a config or the template of a workload was last
//! written.
//!
//! The result matters only if a workload has no baseline for a config and the controller was not
//! watching when it could have recorded one, for example because it was down while a workload was
//! created and its config changed. A config that was written after the workload's template counts
//! as changed. Two writes within the same second cannot be ordered and do not count as a change,
//! because adopting a workload must not roll it out.

use jiff::Timestamp;
use rollout_model::names::restart as names;
use serde_json::Value;

/// When the data of a ConfigMap or Secret was last written.
pub(crate) fn data_written_at(metadata: &Value) -> Option<Timestamp> {
    last_write(metadata, |fields| {
        ["f:data", "f:binaryData", "f:stringData"].iter().any(|name| fields.get(name).is_some())
    })
}

/// When the template of a workload was last written, or the workload opted in.
pub(crate) fn template_written_at(metadata: &Value) -> Option<Timestamp> {
    let opted_in = format!("f:{}", names::ENABLED);
    last_write(metadata, |fields| {
        fields["f:spec"].get("f:template").is_some() || fields["f:metadata"]["f:annotations"].get(&opted_in).is_some()
    })
}

fn last_write(metadata: &Value, is_relevant: impl Fn(&Value) -> bool) -> Option<Timestamp> {
    let entries = metadata["managedFields"].as_array().into_iter().flatten();
    let time = |entry: &Value| entry["time"].as_str().and_then(|time| time.parse().ok());
    entries.filter(|entry| is_relevant(&entry["fieldsV1"])).filter_map(time).max()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_the_last_write_of_the_data_or_template() {
        let entry = |time: &str, fields: Value| json!({"manager": "m", "time": time, "fieldsV1": fields});
        let metadata = json!({"managedFields": [
            entry("2026-01-01T00:00:01Z", json!({"f:data": {"f:k": {}}})),
            entry("2026-01-01T00:00:03Z", json!({"f:metadata": {"f:labels": {}}})),
            entry("2026-01-01T00:00:02Z", json!({"f:data": {}, "f:spec": {"f:template": {}}})),
        ]});
        assert_eq!(data_written_at(&metadata), Some("2026-01-01T00:00:02Z".parse().unwrap()));
        assert_eq!(template_written_at(&metadata), Some("2026-01-01T00:00:02Z".parse().unwrap()));
        assert_eq!(data_written_at(&json!({})), None);
        let opted = json!({"managedFields": [entry("2026-01-01T00:00:09Z",
            json!({"f:metadata": {"f:annotations": {"f:com.xing.deployment-restart": {}}}}))]});
        assert_eq!(template_written_at(&opted), Some("2026-01-01T00:00:09Z".parse().unwrap()));
    }
}
