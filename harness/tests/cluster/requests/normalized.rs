//! A request without values that the server or the clock generates, so that two runs can be
//! compared.

use lockstep_intercept::SentRequest;
use serde_json::Value;

/// The alphabet of generated names, as in upstream's `rand.String`.
const LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";
/// Fields that the server sets.
const MADE_UP: [&str; 2] = ["uid", "resourceVersion"];
/// Reasons of `Progressing` during a rollout.
const UNDER_WAY: [&str; 4] =
    ["NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated", "NewReplicaSetAvailable"];
/// The prefix of Events about refused writes.
const REFUSED: &str = "Error creating: ";
/// The prefix of a case's namespace.
const NAMESPACE: &str = "ls-";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NormalizedRequest {
    /// The controller, such as `deployment-controller`.
    pub(crate) client: String,
    /// Verb and object, such as `PUT apps/replicasets/web-66b96/status`.
    pub(crate) about: String,
    pub(crate) body: Value,
    pub(crate) status: u16,
}

impl NormalizedRequest {
    /// Whether it is a write.
    pub(crate) fn is_write(&self) -> bool {
        !self.about.starts_with("GET ")
    }

    /// Whether it writes an Event.
    pub(crate) fn is_event(&self) -> bool {
        self.about.starts_with("event ")
    }

    /// Whether it writes an Event about a refused write.
    pub(crate) fn reports_refusal(&self) -> bool {
        self.about.contains(REFUSED)
    }

    /// Whether the server accepted it.
    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether it writes the status of an object that is being deleted. How long that takes depends
    /// on the garbage collector, which acts at once in virtual time.
    pub(crate) fn is_deletion_status(&self) -> bool {
        self.is_status() && self.body.pointer("/metadata/deletionTimestamp").is_some()
    }

    /// The status to compare when a step has settled. During a rollout the reason of `Progressing`
    /// depends on the last change that was written, as in golden timelines, and is replaced.
    pub(crate) fn final_status(&self) -> Value {
        let mut body = self.body.clone();
        let number = |path: &str| body.pointer(path).and_then(Value::as_u64).unwrap_or_default();
        let wanted = number("/spec/replicas");
        let counts = ["/status/replicas", "/status/updatedReplicas", "/status/availableReplicas"];
        if counts.iter().any(|path| number(path) != wanted) {
            let conditions = body.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
            for condition in conditions.into_iter().flatten().filter(|condition| condition["type"] == "Progressing") {
                if UNDER_WAY.iter().any(|reason| condition["reason"] == *reason) {
                    (condition["reason"], condition["message"]) = ("incomplete".into(), Value::Null);
                }
            }
        }
        body
    }

    /// Whether it writes a status, which a controller computes from its caches at that moment.
    pub(crate) fn is_status(&self) -> bool {
        self.about.ends_with("/status")
    }
}

/// A request as one line of JSON.
pub(crate) fn line(request: &SentRequest) -> String {
    let SentRequest { method, uri, client, body, status } = request;
    let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let line = serde_json::json!({"client": client, "method": method, "uri": uri, "status": status, "body": body});
    format!("{line}\n")
}

/// A request within a case's namespace; `None` for others.
pub(crate) fn case_request(request: &SentRequest) -> Option<NormalizedRequest> {
    let path = request.uri.split('?').next().unwrap_or_default();
    let words: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let at = words.iter().position(|word| *word == "namespaces")?;
    let namespace = words.get(at + 1).filter(|name| name.starts_with(NAMESPACE))?;
    let mut body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    normalize(&mut body, namespace);
    let rest: Vec<String> = words[at + 2..].iter().map(|word| name(word)).collect();
    let mut about = format!("{} {}", request.method, rest.join("/"));
    if rest[0] == "events" {
        about = format!("event {}", event_message(&body));
    } else if request.method == "POST" {
        about = format!("{about} {}", created_name(&body));
    }
    let client = request.client.rsplit('/').next().unwrap_or_default().to_owned();
    Some(NormalizedRequest { client, about, body, status: request.status.unwrap_or_default() })
}

/// A cluster-wide list or watch, without parameters that differ between requests.
pub(crate) fn cluster_request(request: &SentRequest) -> Option<String> {
    let (path, query) = request.uri.split_once('?').unwrap_or((&request.uri, ""));
    if path.contains("/namespaces/") {
        return None;
    }
    let chance = ["timeout", "timeoutSeconds", "resourceVersion", "continue"];
    let kept = query.split('&').filter(|part| !chance.contains(&part.split('=').next().unwrap_or_default()));
    let client = request.client.rsplit('/').next().unwrap_or_default();
    Some(format!("{client}: {} {path}?{}", request.method, kept.collect::<Vec<_>>().join("&")))
}

/// The name of the object that is created.
fn created_name(body: &Value) -> String {
    let text = |path: &str| body.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (name, generated) = (text("/metadata/name"), text("/metadata/generateName"));
    if name.is_empty() { format!("{generated}*") } else { name.to_owned() }
}

/// The message of an Event. Its name depends on the time, and another message creates another
/// Event.
fn event_message(body: &Value) -> String {
    body["message"].as_str().unwrap_or_default().to_owned()
}

fn normalize(value: &mut Value, namespace: &str) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                if MADE_UP.contains(&field.as_str()) && !value.is_null() {
                    *value = "…".into();
                } else {
                    normalize(value, namespace);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalize(item, namespace)),
        Value::String(text) => {
            let is_time = text.len() >= 20 && text.as_bytes()[10] == b'T' && text.ends_with('Z');
            *text = if is_time { "…".to_owned() } else { words(&text.replace(namespace, "NAMESPACE")) };
        }
        _ => {}
    }
}

/// A message with all words normalized.
fn words(text: &str) -> String {
    let parts: Vec<String> = text.split(' ').map(name).collect();
    parts.join(" ")
}

/// A name without the server's five-letter suffix. ReplicaSets are named after their template's
/// hash, which stays.
fn name(word: &str) -> String {
    let Some((stem, last)) = word.rsplit_once('-') else { return word.to_owned() };
    let made_up = last.len() == 5 && last.chars().all(|letter| LETTERS.contains(letter));
    if made_up { format!("{stem}-*") } else { word.to_owned() }
}
