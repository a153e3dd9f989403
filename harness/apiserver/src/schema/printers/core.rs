//! Table cells of ConfigMaps, Secrets, quotas, Events and Leases.

use jiff::Timestamp;
use serde_json::Value;

use crate::schema::printers::age;
use crate::schema::printers::cells::{number, or};

fn count(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

/// Upstream: `printConfigMap`.
pub(crate) fn config_map(map: &Value, age: &str) -> Vec<Value> {
    vec![(count(&map["data"]) + count(&map["binaryData"])).into(), age.into()]
}

/// Upstream: `printSecret`.
pub(crate) fn secret(secret: &Value, age: &str) -> Vec<Value> {
    vec![or(&secret["type"], "").into(), count(&secret["data"]).into(), age.into()]
}

/// Upstream: `printResourceQuota`.
pub(crate) fn quota(quota: &Value, age: &str) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, hard) in quota["status"]["hard"].as_object().into_iter().flatten() {
        let used = or(&quota["status"]["used"][resource], "0");
        let line = format!("{resource}: {used}/{}", or(hard, "0"));
        if resource.starts_with("limits.") { limits.push(line) } else { requests.push(line) }
    }
    vec![requests.join(", ").into(), limits.join(", ").into(), age.into()]
}

/// Upstream: `printEvent`.
pub(crate) fn event(event: &Value, now: Timestamp) -> Vec<Value> {
    let first = match &event["firstTimestamp"] {
        Value::Null => age::since(&event["eventTime"], now),
        time => age::since(time, now),
    };
    let (mut last, mut times) = match &event["lastTimestamp"] {
        Value::Null => (first.clone(), number(&event["count"])),
        time => (age::since(time, now), number(&event["count"])),
    };
    if event["series"].is_object() {
        last = age::since(&event["series"]["lastObservedTime"], now);
        times = number(&event["series"]["count"]);
    } else if times == 0 {
        times = 1;
    }
    let involved = &event["involvedObject"];
    let kind = or(&involved["kind"], "").to_lowercase();
    let target = match or(&involved["name"], "") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let component = or(&event["source"]["component"], or(&event["reportingComponent"], ""));
    let instance = or(&event["source"]["host"], or(&event["reportingInstance"], ""));
    let source = if instance.is_empty() { component.to_owned() } else { format!("{component}, {instance}") };
    vec![
        last.into(),
        or(&event["type"], "").into(),
        or(&event["reason"], "").into(),
        target.into(),
        or(&involved["fieldPath"], "").into(),
        source.into(),
        or(&event["message"], "").trim().into(),
        first.into(),
        times.into(),
        or(&event["metadata"]["name"], "").into(),
    ]
}
