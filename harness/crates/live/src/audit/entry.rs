//! One request of an audit log that wrote an object, and the server's answer; and how the entries
//! of audit.k8s.io are found in the records of a log or of a cloud's export.
//!
//! An entry comes alone, in a list (`EventList`), or inside a record, as an object or as JSON in a
//! string: `message` and `logEvents` of CloudWatch (EKS), `properties.log` and `records` of Azure
//! Monitor (AKS), `log` of a container's output. All of these are found by a recursive search. Two
//! forms have the same content under other names: the tables AKSAudit and AKSAuditAdmin of Azure,
//! and the `protoPayload` of Google Cloud (GKE).

use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::object::text;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

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

    /// The resourceVersion that an update replaces, if the request has it.
    pub(super) fn replaced_version(&self) -> Option<u64> {
        let body = self.request_object.as_ref().filter(|_| self.verb == "update")?;
        body.at("/metadata/resourceVersion")?.as_str()?.parse().ok()
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

/// The deepest nesting of an entry in a record: an export of lists of records with a text in each
/// has a depth of 6.
const DEEPEST: usize = 8;

/// The content of a value of a log.
#[derive(Debug, Default)]
pub(super) struct LogContent {
    pub(super) entries: Vec<Value>,
    /// Strings that are not JSON: other text, or parts of entries that were too long for a record.
    pub(super) texts: Vec<String>,
}

/// Find the entries in a value of a log.
///
/// # Errors
/// It looks like an entry, but not of audit.k8s.io.
pub(super) fn find_entries(value: Value) -> Result<LogContent, String> {
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
