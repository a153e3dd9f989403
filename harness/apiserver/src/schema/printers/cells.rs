//! Parts of objects as several columns show them.

use jiff::Timestamp;
use serde_json::Value;

use crate::http::selector as http_selector;
use crate::schema::printers::age;

/// The maximum number of ports or addresses in a cell.
pub(crate) const MOST: usize = 3;

pub(crate) fn name(object: &Value) -> Value {
    or(&object["metadata"]["name"], "").into()
}

pub(crate) fn age(object: &Value, now: Timestamp) -> Value {
    age::since(&object["metadata"]["creationTimestamp"], now).into()
}

/// A string, or `absent` if it is empty or absent.
pub(crate) fn or<'a>(value: &'a Value, absent: &'a str) -> &'a str {
    value.as_str().filter(|text| !text.is_empty()).unwrap_or(absent)
}

/// A number, 0 if absent.
pub(crate) fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

/// The elements of a list; none if it is absent.
pub(crate) fn items(value: &Value) -> impl DoubleEndedIterator<Item = &Value> + ExactSizeIterator {
    value.as_array().map(Vec::as_slice).unwrap_or_default().iter()
}

/// Formats labels as `a=1,b=2`. Upstream: `FormatLabels`.
pub(crate) fn labels(value: &Value) -> String {
    let all = value.as_object().into_iter().flatten();
    let all: Vec<String> = all.map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default())).collect();
    if all.is_empty() { "<none>".to_owned() } else { all.join(",") }
}

/// The names and the images of containers, as two cells.
pub(crate) fn containers(template: &Value) -> [Value; 2] {
    let all = |name: &str| -> Value {
        let all: Vec<&str> = items(&template["spec"]["containers"]).map(|one| or(&one[name], "")).collect();
        all.join(",").into()
    };
    [all("name"), all("image")]
}

/// A selector cell. Upstream: `FormatLabelSelector`.
pub(crate) fn selector(selector: &Value) -> Value {
    let text = http_selector::text(selector);
    if text.is_empty() { "<none>".into() } else { text.into() }
}

/// Adds the wide cells of a pod template.
pub(crate) fn with_containers(mut cells: Vec<Value>, template: &Value) -> Vec<Value> {
    cells.extend(containers(template));
    cells
}

/// A cell such as `1/3`.
pub(crate) fn of(part: &Value, all: &Value) -> Value {
    format!("{}/{}", number(part), number(all)).into()
}

/// The number of entries of a map.
pub(crate) fn count(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

/// The first few values, and the number of the rest.
pub(crate) fn some(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    let shown = all[..all.len().min(MOST)].join(",");
    match all.len() {
        count if count > MOST => format!("{shown} + {} more...", count - MOST),
        _ if shown.is_empty() => "<unset>".to_owned(),
        _ => shown,
    }
}
