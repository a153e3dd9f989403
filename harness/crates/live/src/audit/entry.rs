//! One request of an audit log that wrote an object, and the server's answer.

use lockstep_support::pointer::JsonPointer;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// A request that changed something, and the server's answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuditEntry {
    #[serde(rename = "auditID", default, deserialize_with = "or_default")]
    pub(super) id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) level: String,
    stage: String,
    pub(super) verb: String,
    #[serde(default, deserialize_with = "or_default")]
    user: AuditUser,
    #[serde(default)]
    impersonated_user: Option<AuditUser>,
    #[serde(default, deserialize_with = "or_default")]
    user_agent: String,
    #[serde(default, deserialize_with = "or_default")]
    pub(super) object_ref: ObjectRef,
    #[serde(default, deserialize_with = "or_default")]
    response_status: ResponseStatus,
    #[serde(rename = "requestURI", default, deserialize_with = "or_default")]
    uri: String,
    request_object: Option<Value>,
    /// The server's answer.
    pub(super) response_object: Option<Value>,
    stage_timestamp: jiff::Timestamp,
    #[serde(default, deserialize_with = "or_default")]
    annotations: Map<String, Value>,
}

/// The user of a request.
#[derive(Debug, Clone, Default, Deserialize)]
struct AuditUser {
    #[serde(default, deserialize_with = "or_default")]
    username: String,
}

/// The object of a request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ObjectRef {
    #[serde(deserialize_with = "or_default")]
    resource: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) namespace: String,
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    api_group: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) subresource: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct ResponseStatus {
    #[serde(default, deserialize_with = "or_default")]
    code: u16,
}

/// Exporters write `null` for what is absent.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// The verbs of writes.
pub(super) const WRITES: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];
/// The subresources whose writes store a version of the object; `eviction` deletes a pod. Requests
/// of others (`exec`, `proxy`, `binding` …) have no known version.
const STORED: [&str; 6] = ["", "status", "scale", "eviction", "resize", "ephemeralcontainers"];
/// The API server's annotation of an entry that exceeded the size limit of the log and lacks its
/// objects.
const TRUNCATED: &str = "audit.k8s.io/truncated";

impl AuditEntry {
    /// The same request for one object, with this answer.
    pub(super) fn of_object(&self, verb: &str, name: String, object: Value) -> Self {
        let object_ref = ObjectRef { name, ..self.object_ref.clone() };
        Self { verb: verb.to_owned(), object_ref, request_object: None, response_object: Some(object), ..self.clone() }
    }

    /// An option of a deletion. The server reads the options from the body, and from the address
    /// only if there is no body.
    pub(super) fn option(&self, name: &str) -> Option<String> {
        let Some(body) = self.delete_options() else { return self.query(name).map(str::to_owned) };
        let value = body.get(name).filter(|value| !value.is_null())?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    /// The body of a deletion, or the deletion options in the body of an eviction.
    fn delete_options(&self) -> Option<&Value> {
        let body = self.request_object.as_ref().filter(|body| body.is_object())?;
        if self.is_eviction() { body.get("deleteOptions").filter(|options| options.is_object()) } else { Some(body) }
    }

    fn query(&self, name: &str) -> Option<&str> {
        let mut pairs = self.uri.split(['?', '&']).skip(1).map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Whether this was a dry run. The server refuses any value except `All`.
    fn is_dry_run(&self) -> bool {
        let asked = |value: &Value| value.as_array().is_some_and(|values| !values.is_empty());
        let in_body = || self.delete_options().and_then(|options| options.get("dryRun")).is_some_and(asked);
        match self.verb.as_str() {
            "delete" | "deletecollection" if self.delete_options().is_some() => in_body(),
            _ => self.query("dryRun").is_some() || self.is_eviction() && in_body(),
        }
    }

    /// Whether it is an eviction, which deletes a pod.
    pub(super) fn is_eviction(&self) -> bool {
        self.verb == "create" && self.object_ref.subresource == "eviction"
    }

    /// Whether it wrote only the object's status.
    pub(super) fn is_status(&self) -> bool {
        self.object_ref.subresource == "status"
    }

    /// Whether it is part of the deletion of the namespace.
    pub(super) fn deletes_namespace(&self) -> bool {
        self.writer().0.ends_with(":namespace-controller")
    }

    /// The kind of the object.
    pub(super) fn kind(&self) -> Option<&'static str> {
        let ObjectRef { resource, api_group, .. } = &self.object_ref;
        let found = RESOURCES.iter().find(|(plural, group, _)| plural == resource && group == api_group);
        found.map(|(.., kind)| *kind)
    }

    /// The object's name; from the answer if the server generated it.
    pub(super) fn name(&self) -> &str {
        let answered = self.response_object.as_ref().and_then(|object| object.at("/metadata/name"));
        match self.object_ref.name.as_str() {
            "" => answered.and_then(Value::as_str).unwrap_or_default(),
            name => name,
        }
    }

    /// The prefix of a generated name, if the request has it.
    pub(super) fn generate_name(&self) -> Option<&str> {
        self.request_object.as_ref()?.at("/metadata/generateName")?.as_str()
    }

    /// Why the log lacks the answer that was sent; `None` if it has it.
    pub(super) fn lacks_answer(&self) -> Option<String> {
        match &self.response_object {
            Some(Value::Object(_)) => None,
            Some(Value::String(word)) => Some(format!("{word:?} stands for it")),
            Some(_) => Some("what stands for it is not an object".to_owned()),
            None if self.annotations.contains_key(TRUNCATED) => {
                Some("the API server left it out, as the entry was too long (audit.k8s.io/truncated)".to_owned())
            }
            None => Some(format!("the entry of level {} has none", self.level)),
        }
    }

    /// A short description of the request: `patch deployments/status of web`.
    pub(super) fn request(&self) -> String {
        let ObjectRef { resource, subresource, .. } = &self.object_ref;
        let slash = if subresource.is_empty() { "" } else { "/" };
        let name = if self.name().is_empty() { "a new object" } else { self.name() };
        format!("`{} {resource}{slash}{subresource}` of {name}", self.verb)
    }

    /// When it was answered, in milliseconds since 1970.
    pub(super) fn at(&self) -> i64 {
        self.stage_timestamp.as_millisecond()
    }

    /// When it was answered.
    pub(super) fn time(&self) -> jiff::Timestamp {
        self.stage_timestamp
    }

    /// The user and the program that sent the request. The user distinguishes service accounts, the
    /// program distinguishes clients of one user. If a user impersonates another, the other's
    /// permissions apply.
    pub(super) fn writer(&self) -> (&str, &str) {
        let user = self.impersonated_user.as_ref().filter(|user| !user.username.is_empty()).unwrap_or(&self.user);
        (&user.username, self.program().0)
    }

    /// The program that sent the request, and its version: `kube-controller-manager`, `v1.36.3`.
    pub(super) fn program(&self) -> (&str, &str) {
        let first = self.user_agent.split(' ').next().unwrap_or_default();
        first.split_once('/').unwrap_or((first, ""))
    }

    /// A short description of the author: `kubectl (anna)`, `kube-controller-manager
    /// (job-controller)`.
    pub(super) fn author(&self) -> String {
        let (user, program) = self.writer();
        let user = user.rsplit(':').next().unwrap_or_default();
        if user.is_empty() || user == program { program.to_owned() } else { format!("{program} ({user})") }
    }

    /// Whether it changed one of the kinds of a rollout.
    pub(super) fn counts(&self) -> bool {
        let done = self.stage == "ResponseComplete" && (200..300).contains(&self.response_status.code);
        done && self.kind().is_some()
            && WRITES.contains(&self.verb.as_str())
            && STORED.contains(&self.object_ref.subresource.as_str())
            && !self.is_dry_run()
    }
}

/// The kinds of a rollout: the plural, the group and the kind.
pub(super) const RESOURCES: [(&str, &str, &str); 4] = [
    ("deployments", "apps", "Deployment"),
    ("replicasets", "apps", "ReplicaSet"),
    ("pods", "", "Pod"),
    ("events", "", "Event"),
];
