//! Finds the entries of audit.k8s.io in the records of a log or of a cloud's export.
//!
//! An entry comes alone, in a list (`EventList`), or inside a record, as an object or as JSON in a
//! string: `message` and `logEvents` of CloudWatch (EKS), `properties.log` and `records` of Azure
//! Monitor (AKS), `log` of a container's output. All of these are found by a recursive search. Two
//! forms have the same content under other names: the tables AKSAudit and AKSAuditAdmin of Azure,
//! and the `protoPayload` of Google Cloud (GKE).

use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object::text;
use serde_json::{Map, Value, json};

/// The deepest nesting of an entry in a record: an export of lists of records with a text in each
/// has a depth of 6.
const DEEPEST: usize = 8;

/// The content of a value of a log.
#[derive(Debug, Default)]
pub(super) struct LogContent {
    /// The entries.
    pub(super) entries: Vec<Value>,
    /// Strings that are not JSON: other text, or parts of entries that were too long for a record.
    pub(super) texts: Vec<String>,
}

/// Find the entries in a value of a log.
///
/// # Errors
/// It looks like an entry, but not of audit.k8s.io.
pub(super) fn content(value: Value) -> Result<LogContent, String> {
    let mut content = LogContent::default();
    collect(value, DEEPEST, &mut content)?;
    Ok(content)
}

fn collect(value: Value, depth: usize, content: &mut LogContent) -> Result<(), String> {
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    match value {
        Value::Object(mut object) => {
            let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
            if version.starts_with("audit.k8s.io/") {
                match object.get_mut("items").map(Value::take) {
                    Some(Value::Array(items)) => content.entries.extend(items),
                    _ => content.entries.push(Value::Object(object)),
                }
            } else if let Some(entry) = of_google(&object) {
                content.entries.push(entry);
            } else if let Some(entry) = of_azure_table(&mut object) {
                content.entries.push(entry);
            } else if ["stage", "verb", "objectRef"].iter().all(|field| object.contains_key(*field)) {
                return Err("it is not an Event of audit.k8s.io".to_owned());
            } else {
                for (_, inner) in object {
                    collect(inner, depth, content)?;
                }
            }
        }
        Value::Array(all) => {
            for inner in all {
                collect(inner, depth, content)?;
            }
        }
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => collect(inner, depth, content)?,
            Ok(_) => {}
            Err(_) => content.texts.push(text),
        },
        _ => {}
    }
    Ok(())
}

/// An entry of Google Cloud's audit logs. The kind of its request and answer is in `@type`.
fn of_google(record: &Map<String, Value>) -> Option<Value> {
    let payload = record.get("protoPayload")?;
    let (_, verb) = text(payload, "/methodName")?.strip_prefix("io.k8s.")?.rsplit_once('.')?;
    let mut path = text(payload, "/resourceName")?.split('/');
    let group = path.next().filter(|group| *group != "core").unwrap_or_default();
    let version = path.next().unwrap_or_default();
    let mut rest: Vec<&str> = path.collect();
    let namespace = if rest.len() > 2 && rest[0] == "namespaces" { rest.drain(..2).nth(1) } else { None };
    let part = |index: usize| rest.get(index).copied().unwrap_or_default();
    let failed = payload.at("/status/code").and_then(Value::as_i64).unwrap_or(0) != 0;
    let object = |field: &str| {
        let mut object = payload.get(field)?.clone();
        let fields = object.as_object_mut()?;
        let kind = fields.remove("@type").and_then(|kind| Some(kind.as_str()?.rsplit('.').next()?.to_owned()));
        if let Some(kind) = kind.filter(|_| !fields.contains_key("kind")) {
            fields.insert("kind".to_owned(), json!(kind));
        }
        Some(object)
    };
    Some(json!({
        "auditID": record.get("insertId"),
        "level": "RequestResponse",
        "stage": "ResponseComplete",
        "verb": verb,
        "user": {"username": payload.at("/authenticationInfo/principalEmail")},
        "userAgent": payload.at("/requestMetadata/callerSuppliedUserAgent"),
        "objectRef": {"resource": part(0), "namespace": namespace, "name": part(1), "subresource": part(2),
            "apiGroup": group, "apiVersion": version},
        "responseStatus": {"code": if failed { 500 } else { 200 }},
        "requestObject": object("request"),
        "responseObject": object("response"),
        "stageTimestamp": record.get("timestamp"),
    }))
}

/// The columns of Azure's tables, and the fields of an entry.
const COLUMNS: [(&str, &str); 14] = [
    ("AuditId", "auditID"),
    ("Level", "level"),
    ("Stage", "stage"),
    ("Verb", "verb"),
    ("User", "user"),
    ("ImpersonatedUser", "impersonatedUser"),
    ("UserAgent", "userAgent"),
    ("ObjectRef", "objectRef"),
    ("ResponseStatus", "responseStatus"),
    ("RequestUri", "requestURI"),
    ("RequestObject", "requestObject"),
    ("ResponseObject", "responseObject"),
    ("StageReceivedTime", "stageTimestamp"),
    ("Annotations", "annotations"),
];

/// A row of Azure's tables of audit logs, whose objects may be JSON in a string.
fn of_azure_table(row: &mut Map<String, Value>) -> Option<Value> {
    if !["Stage", "Verb", "ObjectRef"].iter().all(|column| row.contains_key(*column)) {
        return None;
    }
    let mut entry = Map::new();
    for (column, field) in COLUMNS {
        let value = match row.remove(column) {
            None => continue,
            Some(Value::String(text)) if text.starts_with('{') => {
                serde_json::from_str(&text).unwrap_or(Value::String(text))
            }
            Some(Value::String(text)) if text.is_empty() => Value::Null,
            Some(value) => value,
        };
        entry.insert(field.to_owned(), value);
    }
    Some(Value::Object(entry))
}
