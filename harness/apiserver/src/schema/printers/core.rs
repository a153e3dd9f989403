//! Table cells of Events.

use jiff::Timestamp;
use serde_json::Value;

use crate::schema::printers::age;
use crate::schema::printers::cells::{number, or};

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
