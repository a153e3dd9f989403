//! One entry of an audit log, as far as it shows a version of an object.

use serde::Deserialize;
use serde_json::Value;

use super::error::AuditError;
use crate::pointer::At;

/// A request that changed something, and what the server answered.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) level: String,
    stage: String,
    pub(super) verb: String,
    #[serde(default)]
    user: User,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    pub(super) object_ref: ObjectRef,
    #[serde(default)]
    response_status: Answer,
    #[serde(rename = "requestURI", default)]
    uri: String,
    request_object: Option<Value>,
    /// What the server answered.
    pub(super) response_object: Option<Value>,
    stage_timestamp: jiff::Timestamp,
}

/// Who asked.
#[derive(Debug, Clone, Default, Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

/// What was asked about.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ObjectRef {
    resource: String,
    pub(super) namespace: String,
    name: String,
    api_group: String,
    pub(super) subresource: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Answer {
    #[serde(default)]
    code: u16,
}

/// The verbs that change something.
pub(super) const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

impl Entry {
    /// The entries of one line of a log: one, or the items of the lists that a webhook gets. Only those that changed one of the kinds
    /// that a rollout consists of.
    pub(super) fn of_line(line: &str, number: usize) -> Result<Vec<Self>, AuditError> {
        // Most lines of a log are of other kinds, and are not parsed.
        if line.trim().is_empty() || !RESOURCES.iter().any(|(resource, ..)| line.contains(&format!("\"{resource}\""))) {
            return Ok(Vec::new());
        }
        let bad = |error: serde_json::Error| AuditError::Line { number, why: error.to_string() };
        let mut value: Value = serde_json::from_str(line).map_err(bad)?;
        let is_audit = |value: &Value| {
            value.at("/apiVersion").and_then(Value::as_str).is_some_and(|version| version.starts_with("audit.k8s.io/"))
        };
        if !is_audit(&value) {
            return Err(AuditError::Line { number, why: "it is no Event of audit.k8s.io".to_owned() });
        }
        let all = match value.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => vec![value],
        };
        let entries = all.into_iter().map(serde_json::from_value).collect::<Result<Vec<Self>, _>>().map_err(bad)?;
        Ok(entries.into_iter().filter(Self::counts).collect())
    }

    /// The same request of one object, with this answer.
    pub(super) fn of_object(&self, verb: &str, name: String, object: Value) -> Self {
        let object_ref = ObjectRef { name, ..self.object_ref.clone() };
        Self { verb: verb.to_owned(), object_ref, request_object: None, response_object: Some(object), ..self.clone() }
    }

    /// An option of a deletion, from its body or its address.
    pub(super) fn option(&self, name: &str) -> Option<String> {
        let in_body = self.request_object.as_ref().and_then(|body| body.get(name)).filter(|value| !value.is_null());
        let mut pairs = self.uri.split(['?', '&']).skip(1).filter_map(|pair| pair.split_once('='));
        let in_query = || pairs.find(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
        in_body.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).or_else(in_query)
    }

    /// Whether the namespace and all in it is being deleted.
    pub(super) fn deletes_namespace(&self) -> bool {
        self.user.username.ends_with(":namespace-controller")
    }

    /// The kind that it is about.
    pub(super) fn kind(&self) -> Option<&'static str> {
        let ObjectRef { resource, api_group, .. } = &self.object_ref;
        let found = RESOURCES.iter().find(|(plural, group, _)| plural == resource && group == api_group);
        found.map(|(.., kind)| *kind)
    }

    /// The object's name; the server's own where the request left it to the server.
    pub(super) fn name(&self) -> &str {
        let answered = self.response_object.as_ref().and_then(|object| object.at("/metadata/name"));
        match self.object_ref.name.as_str() {
            "" => answered.and_then(Value::as_str).unwrap_or_default(),
            name => name,
        }
    }

    /// When it was answered, in milliseconds since 1970.
    pub(super) fn at(&self) -> i64 {
        self.stage_timestamp.as_millisecond()
    }

    /// When it was answered.
    pub(super) fn time(&self) -> jiff::Timestamp {
        self.stage_timestamp
    }

    /// The user, and the program that asked: service accounts are told apart by the one, programs of one user by the other.
    pub(super) fn writer(&self) -> (&str, &str) {
        (&self.user.username, self.program().0)
    }

    /// The program that asked and its version: `kube-controller-manager`, `v1.36.3`.
    pub(super) fn program(&self) -> (&str, &str) {
        let first = self.user_agent.split(' ').next().unwrap_or_default();
        first.split_once('/').unwrap_or((first, ""))
    }

    /// Who asked, in a few words: `kubectl (anna)`, `kube-controller-manager (deployment-controller)`.
    pub(super) fn author(&self) -> String {
        let (user, program) = self.writer();
        let user = user.rsplit(':').next().unwrap_or_default();
        if user.is_empty() || user == program { program.to_owned() } else { format!("{program} ({user})") }
    }

    fn counts(&self) -> bool {
        let done = self.stage == "ResponseComplete" && (200..300).contains(&self.response_status.code);
        done && self.kind().is_some() && WRITES.contains(&self.verb.as_str())
    }
}

/// What a rollout consists of: the plural, the group and the kind.
pub(super) const RESOURCES: [(&str, &str, &str); 4] = [
    ("deployments", "apps", "Deployment"),
    ("replicasets", "apps", "ReplicaSet"),
    ("pods", "", "Pod"),
    ("events", "", "Event"),
];
