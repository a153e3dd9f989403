//! The entries of audit.k8s.io within what a log or a cloud's export of it wraps them in.
//!
//! An entry comes alone, in a list (`EventList`), or inside of a record, as an object or as JSON in
//! a string: `message` and `logEvents` of CloudWatch (EKS), `properties.log` and `records` of Azure
//! Monitor (AKS), `log` of a container's output. All of these are found by looking inside. Two
//! forms have the same content under other names: the tables AKSAudit and AKSAuditAdmin of Azure,
//! and the `protoPayload` of Google Cloud (GKE).

use serde_json::{Map, Value, json};

use crate::pointer::At;
use crate::timeline::object::text;

/// How deep a record may wrap an entry: an export of lists of records with a text in each is 6.
const DEEPEST: usize = 8;

/// What a value of a log has.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// Its entries.
    pub(super) entries: Vec<Value>,
    /// Strings that are no JSON: other text, or parts of entries that were too long for a record.
    pub(super) texts: Vec<String>,
}

/// The entries in a value of a log.
///
/// # Errors
/// It looks like an entry, and is none of audit.k8s.io.
pub(super) fn content(value: Value) -> Result<Content, String> {
    let mut found = Content::default();
    collect(value, DEEPEST, &mut found)?;
    Ok(found)
}

fn collect(value: Value, depth: usize, found: &mut Content) -> Result<(), String> {
    let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
    match value {
        Value::Object(mut object) => {
            let version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
            if version.starts_with("audit.k8s.io/") {
                match object.get_mut("items").map(Value::take) {
                    Some(Value::Array(items)) => found.entries.extend(items),
                    _ => found.entries.push(Value::Object(object)),
                }
            } else if let Some(entry) = of_google(&object) {
                found.entries.push(entry);
            } else if let Some(entry) = of_azure_table(&mut object) {
                found.entries.push(entry);
            } else if ["stage", "verb", "objectRef"].iter().all(|field| object.contains_key(*field)) {
                return Err("it is no Event of audit.k8s.io".to_owned());
            } else {
                for (_, inner) in object {
                    collect(inner, depth, found)?;
                }
            }
        }
        Value::Array(all) => {
            for inner in all {
                collect(inner, depth, found)?;
            }
        }
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(inner @ (Value::Object(_) | Value::Array(_))) => collect(inner, depth, found)?,
            Ok(_) => {}
            Err(_) => found.texts.push(text),
        },
        _ => {}
    }
    Ok(())
}

/// An entry of Google Cloud's audit logs. Its request and answer have their kind in `@type`.
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

/// The columns of Azure's tables, and the fields that they are.
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

/// A row of Azure's tables of audit logs; objects may be in it as JSON in a string.
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
