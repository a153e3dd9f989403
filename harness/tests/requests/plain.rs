//! A request without what the server or the clock has made up, so that two runs can be compared.

use lockstep::intercept::SentRequest;
use serde_json::Value;

/// The letters of made-up names. Upstream: `rand.String`.
const LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";
/// Fields that the server or a clock fills.
const MADE_UP: [&str; 2] = ["uid", "resourceVersion"];
/// Reasons of `Progressing` that follow each other in a rollout.
const UNDER_WAY: [&str; 4] =
    ["NewReplicaSetCreated", "FoundNewReplicaSet", "ReplicaSetUpdated", "NewReplicaSetAvailable"];
/// How Events about writes that the server has refused begin.
const REFUSED: &str = "Error creating: ";
/// What a case's namespace begins with.
const NAMESPACE: &str = "ls-";

/// A request in plain words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plain {
    /// Which controller: `deployment-controller`.
    pub(crate) client: String,
    /// Which object, and how: `PUT apps/replicasets/web-66b96/status`.
    pub(crate) about: String,
    /// What is sent.
    pub(crate) body: Value,
    pub(crate) status: u16,
}

impl Plain {
    /// Whether it changes something.
    pub(crate) fn is_write(&self) -> bool {
        !self.about.starts_with("GET ")
    }

    /// Whether it says something to people, and how often that was said by then.
    pub(crate) fn is_event(&self) -> bool {
        self.about.starts_with("event ")
    }

    /// Whether it says that a write was refused.
    pub(crate) fn is_of_a_refusal(&self) -> bool {
        self.about.contains(REFUSED)
    }

    /// Whether the server did it.
    pub(crate) fn is_done(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether it is about an object that goes: how long that takes is the garbage collector's
    /// matter, which in virtual time acts at once.
    pub(crate) fn is_of_the_deleted(&self) -> bool {
        self.is_status() && self.body.pointer("/metadata/deletionTimestamp").is_some()
    }

    /// A status as it counts when a step has settled. Of a rollout under way `Progressing` has the
    /// reason of the last change that was written, as golden timelines know too.
    pub(crate) fn ended(&self) -> Value {
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

    /// Whether it is a status, which a controller sums up from what it knows at that moment.
    pub(crate) fn is_status(&self) -> bool {
        self.about.ends_with("/status")
    }
}

/// A request as it was sent, in one line.
pub(crate) fn line(request: &SentRequest) -> String {
    let SentRequest { method, uri, client, body, status } = request;
    let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let line = serde_json::json!({"client": client, "method": method, "uri": uri, "status": status, "body": body});
    format!("{line}\n")
}

/// A request about something in a case's namespace; `None` for any other.
pub(crate) fn of_case(request: &SentRequest) -> Option<Plain> {
    let path = request.uri.split('?').next().unwrap_or_default();
    let words: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let at = words.iter().position(|word| *word == "namespaces")?;
    let namespace = words.get(at + 1).filter(|name| name.starts_with(NAMESPACE))?;
    let mut body = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
    tidy(&mut body, namespace);
    let rest: Vec<String> = words[at + 2..].iter().map(|word| name(word)).collect();
    let mut about = format!("{} {}", request.method, rest.join("/"));
    if rest[0] == "events" {
        about = format!("event {}", said(&body));
    } else if request.method == "POST" {
        about = format!("{about} {}", made(&body));
    }
    let client = request.client.rsplit('/').next().unwrap_or_default().to_owned();
    Some(Plain { client, about, body, status: request.status.unwrap_or_default() })
}

/// What is asked of the whole cluster: lists and watches, less what differs from one to the next.
pub(crate) fn of_cluster(request: &SentRequest) -> Option<String> {
    let (path, query) = request.uri.split_once('?').unwrap_or((&request.uri, ""));
    if path.contains("/namespaces/") {
        return None;
    }
    let chance = ["timeout", "timeoutSeconds", "resourceVersion", "continue"];
    let kept = query.split('&').filter(|part| !chance.contains(&part.split('=').next().unwrap_or_default()));
    let client = request.client.rsplit('/').next().unwrap_or_default();
    Some(format!("{client}: {} {path}?{}", request.method, kept.collect::<Vec<_>>().join("&")))
}

/// What is created.
fn made(body: &Value) -> String {
    let text = |path: &str| body.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (name, generated) = (text("/metadata/name"), text("/metadata/generateName"));
    if name.is_empty() { format!("{generated}*") } else { name.to_owned() }
}

/// What an Event says. It is named after the instant, and another message makes another one.
fn said(body: &Value) -> String {
    body["message"].as_str().unwrap_or_default().to_owned()
}

fn tidy(value: &mut Value, namespace: &str) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                if MADE_UP.contains(&field.as_str()) && !value.is_null() {
                    *value = "…".into();
                } else {
                    tidy(value, namespace);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| tidy(item, namespace)),
        Value::String(text) => {
            let is_time = text.len() >= 20 && text.as_bytes()[10] == b'T' && text.ends_with('Z');
            *text = if is_time { "…".to_owned() } else { words(&text.replace(namespace, "NAMESPACE")) };
        }
        _ => {}
    }
}

/// A message, word by word.
fn words(text: &str) -> String {
    let parts: Vec<String> = text.split(' ').map(name).collect();
    parts.join(" ")
}

/// A name without the five letters that the server has made up. ReplicaSets are named after their
/// template, and keep theirs.
fn name(word: &str) -> String {
    let Some((stem, last)) = word.rsplit_once('-') else { return word.to_owned() };
    let made_up = last.len() == 5 && last.chars().all(|letter| LETTERS.contains(letter));
    if made_up { format!("{stem}-*") } else { word.to_owned() }
}
