//! Creating, replacing and patching. Upstream: the generic registry's `Create` and `Update`.

use hyper::StatusCode;
use serde_json::{Value, json};

use super::api::{self, TYPES, decode};
use super::field::FieldError;
use super::kinds::Kind;
use super::problem::{Outcome, Problem};
use super::server::{Answer, Ask, JSON, Server};
use super::store::{Key, Object};
use super::{admit, defaults, rules, validate};

/// The longest name that can be made of `generateName`.
const LONGEST_BASE: usize = 58;

/// What a client sends of an old way to undo; the server holds it as a field of its own.
const ROLLBACK: &str = "deprecated.deployment.rollback.to";

impl Server {
    pub(super) fn create(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let kind = ask.kind;
        let (mut body, warnings) = self.read(ask, &parse(ask)?)?;
        defaults::fill(kind, &mut body);
        let namespace = if kind.namespaced { ask.route.namespace.clone() } else { String::new() };
        check_namespace(&mut body, kind, &namespace)?;
        let meta = &mut body["metadata"];
        if meta.get("resourceVersion").is_some() {
            return Err(Problem::bad_request("resourceVersion should not be set on objects to be created".to_owned()));
        }
        for own in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            meta.as_object_mut().and_then(|meta| meta.remove(own));
        }
        let base = meta["generateName"].as_str().unwrap_or_default().to_owned();
        if meta["name"].as_str().unwrap_or_default().is_empty() && !base.is_empty() {
            let base: String = base.chars().take(LONGEST_BASE).collect();
            meta["name"] = format!("{base}{}", self.chance.suffix()).into();
        }
        meta["uid"] = self.chance.uid().into();
        meta["creationTimestamp"] = ask.stamp();
        let name = meta["name"].as_str().unwrap_or_default().to_owned();
        admit::create(self, kind, &namespace, &name, &mut body)?;
        rules::create(kind, &mut body);
        // As a namespace's own label is of its name, which may have been made just now.
        defaults::fill(kind, &mut body);
        let errors = validate::create(kind, with_rollback(kind, &body)?.as_ref());
        if !errors.is_empty() {
            return Err(Problem::invalid(kind.group, kind.kind, &name, &errors));
        }
        let key = Key::new(kind, &namespace, &name);
        if self.store.get(&key).is_some() {
            return Err(Problem::exists(kind, &name));
        }
        admit::quota(self, kind, &namespace, &name)?;
        if ask.call.query.contains_key("dryRun") {
            return Err(Problem::beyond("dry runs"));
        }
        let body = normal(kind, &body)?;
        let object = self.store.put(kind, key, body);
        Ok(Answer::Whole { code: StatusCode::CREATED, body: object.text().into(), warnings, form: JSON })
    }

    /// PUT and PATCH of an object or its status.
    pub(super) fn change(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let old = self.existing_for_write(ask)?;
        let (new, warnings) = self.wanted(ask, &old.typed())?;
        let object = self.replace(ask, &old, new, ask.route.subresource == "status")?;
        Ok(Answer::Whole { code: StatusCode::OK, body: object.text().into(), warnings, form: JSON })
    }

    pub(super) fn existing_for_write(&self, ask: &Ask<'_>) -> Outcome<std::sync::Arc<Object>> {
        // A body that is none is told before an object that is not there.
        if ask.call.method == hyper::Method::PUT {
            parse(ask)?;
        }
        self.existing(ask)
    }

    /// The object that a PUT or PATCH asks for, defaults filled in.
    fn wanted(&self, ask: &Ask<'_>, old: &Value) -> Outcome<(Value, Vec<String>)> {
        let kind = ask.kind;
        let (mut new, warnings) = if ask.call.method == hyper::Method::PUT {
            let body = parse(ask)?;
            let name = body["metadata"]["name"].as_str().unwrap_or_default();
            if name != ask.route.name {
                let message = if name.is_empty() {
                    "name must be provided".to_owned()
                } else {
                    let url = &ask.route.name;
                    format!("the name of the object ({name}) does not match the name on the URL ({url})")
                };
                return Err(Problem::bad_request(message));
            }
            self.read(ask, &body)?
        } else {
            let place = TYPES.place(kind.kind).expect("every kind is in the table");
            let patched = patched(ask, place, old)?;
            let strict = ask.call.param("fieldValidation") == "Strict";
            let decoded = decode(place, &patched).map_err(|why| patch_error(ask, &why))?;
            if strict && !decoded.unknown.is_empty() {
                return Err(patch_error(ask, &strict_error(&decoded.unknown)));
            }
            (untyped(decoded.value), warnings(ask, &decoded.unknown))
        };
        defaults::fill(kind, &mut new);
        Ok((new, warnings))
    }

    /// Put a changed object in the place of the old one, if all rules allow it.
    pub(super) fn replace(
        &mut self,
        ask: &Ask<'_>,
        old: &Object,
        mut new: Value,
        status: bool,
    ) -> Outcome<std::sync::Arc<Object>> {
        let kind = ask.kind;
        let name = ask.route.name.as_str();
        check_namespace(&mut new, kind, old.meta("namespace"))?;
        let uid = new["metadata"]["uid"].as_str().unwrap_or_default();
        if !uid.is_empty() && uid != old.meta("uid") {
            let (key, there) = (old.key(), old.meta("uid"));
            let path = registry(kind, &key);
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {path}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
                 UID in precondition: {uid}, UID in object meta: {there}"
            );
            return Err(Problem::conflict(kind, name, &why));
        }
        match new["metadata"]["resourceVersion"].as_str().unwrap_or_default() {
            "" | "0" if kind.kind == "Lease" => {
                let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
                return Err(Problem::invalid(kind.group, kind.plural, name, &[error]));
            }
            "" | "0" => {}
            version => {
                let version: u64 = version.parse().map_err(|_| {
                    let error =
                        FieldError::invalid("metadata.resourceVersion", version, "strconv.ParseUint: parsing failed");
                    Problem::invalid(kind.group, kind.kind, name, &[error])
                })?;
                if version != old.version {
                    return Err(Problem::stale(kind, name));
                }
            }
        }
        let before = &old.body;
        new["metadata"]["resourceVersion"] = old.version.to_string().into();
        new["metadata"]["generation"] = before["metadata"]["generation"].clone();
        if status {
            rules::status(kind, &mut new, before);
        } else {
            rules::update(kind, &mut new, before);
        }
        // Nobody changes these; who says nothing of them means them as they are.
        for fixed in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
            let was = &before["metadata"][fixed];
            let meta = &mut new["metadata"];
            if !was.is_null() && (fixed != "deletionGracePeriodSeconds" || meta[fixed].is_null()) {
                meta[fixed] = was.clone();
            }
        }
        let new = normal(kind, &new)?;
        let seen = with_rollback(kind, &new)?;
        let errors = if status { validate::status(kind, &seen, before) } else { validate::update(kind, &seen, before) };
        if !errors.is_empty() {
            return Err(Problem::invalid(kind.group, kind.kind, name, &errors));
        }
        if ask.call.query.contains_key("dryRun") {
            return Err(Problem::beyond("dry runs"));
        }
        let key = old.key();
        let object = self.store.put(kind, key.clone(), new);
        // The last finalizer of an object that is to go.
        let grace = object.body["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        // A namespace goes by its own controller alone.
        if object.deleting() && object.finalizers().next().is_none() && grace == 0 && kind.kind != "Namespace" {
            self.store.remove(&key);
        }
        Ok(object)
    }

    /// A body as the kind's type, its unknown fields told as the query wants it.
    pub(super) fn read(&self, ask: &Ask<'_>, body: &Value) -> Outcome<(Value, Vec<String>)> {
        let kind = ask.kind;
        let (version, name) = (kind.api_version(), kind.kind);
        let said = (body["apiVersion"].as_str().unwrap_or_default(), body["kind"].as_str().unwrap_or_default());
        if !said.0.is_empty() && said.0 != version {
            let message =
                format!("the API version in the data ({}) does not match the expected API version ({version})", said.0);
            return Err(Problem::bad_request(message));
        }
        if !said.1.is_empty() && said.1 != name {
            let message = format!(
                "{} in version \"v1\" cannot be handled as a {name}: converting ({version}.{}) to ({version}.{name}): unknown conversion",
                said.1, said.1
            );
            return Err(Problem::bad_request(message));
        }
        let place = TYPES.place(name).expect("every kind is in the table");
        let unfit = |why: String| {
            Problem::bad_request(format!("{name} in version \"v1\" cannot be handled as a {name}: {why}"))
        };
        let decoded = decode(place, body).map_err(unfit)?;
        if ask.call.param("fieldValidation") == "Strict" && !decoded.unknown.is_empty() {
            return Err(unfit(strict_error(&decoded.unknown)));
        }
        let told = warnings(ask, &decoded.unknown);
        let value = untyped(decoded.value);
        if let Some(wrong) = rollback(kind, &value).err() {
            return Err(unfit(wrong));
        }
        Ok((value, told))
    }
}

/// The path under which etcd would have it.
fn registry(kind: &Kind, key: &Key) -> String {
    let names: Vec<&str> =
        [key.namespace.as_str(), key.name.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
    format!("/registry/{}/{}", kind.plural, names.join("/"))
}

/// The body as JSON.
pub(super) fn parse(ask: &Ask<'_>) -> Outcome<Value> {
    let form = ask.call.content_type.split(';').next().unwrap_or_default().trim();
    if !matches!(form, "application/json" | "" | "*/*") {
        if form.contains("protobuf") || form.contains("yaml") || form.contains("cbor") {
            return Err(Problem::beyond(format!("bodies in {form}; start the client with JSON as its content type")));
        }
        return Err(Problem::media_type("application/json, application/yaml, application/vnd.kubernetes.protobuf"));
    }
    serde_json::from_slice(&ask.call.body).map_err(|error| {
        let kind = ask.kind.kind;
        Problem::bad_request(format!(
            "{kind} in version \"v1\" cannot be handled as a {kind}: json parse error: {error}"
        ))
    })
}

/// An object after a patch.
pub(super) fn patched(ask: &Ask<'_>, place: usize, old: &Value) -> Outcome<Value> {
    const FORMS: &str = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
    let text = || Problem::bad_request("error decoding patch: the body is no JSON".to_owned());
    let form = ask.call.content_type.split(';').next().unwrap_or_default().trim();
    match form {
        "application/strategic-merge-patch+json" => {
            let patch = serde_json::from_slice(&ask.call.body).map_err(|_| text())?;
            api::strategic(place, old, &patch).map_err(Problem::bad_request)
        }
        "application/merge-patch+json" => {
            let patch: Value = serde_json::from_slice(&ask.call.body).map_err(|_| text())?;
            let mut new = old.clone();
            json_patch::merge(&mut new, &patch);
            Ok(new)
        }
        "application/json-patch+json" => {
            let patch: json_patch::Patch = serde_json::from_slice(&ask.call.body)
                .map_err(|error| Problem::bad_request(format!("error decoding patch: {error}")))?;
            let mut new = old.clone();
            json_patch::patch(&mut new, &patch).map_err(|error| Problem::bad_patch(&error.to_string()))?;
            Ok(new)
        }
        "application/apply-patch+yaml" => Err(Problem::beyond("server-side apply")),
        _ => Err(Problem::media_type(FORMS)),
    }
}

/// A patch whose result is no object of its kind.
fn patch_error(ask: &Ask<'_>, why: &str) -> Problem {
    let patch = String::from_utf8_lossy(&ask.call.body).into_owned();
    Problem::invalid("", "", "", &[FieldError::invalid("patch", patch, why)])
}

fn strict_error(unknown: &[String]) -> String {
    let all: Vec<String> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
    format!("strict decoding error: {}", all.join(", "))
}

fn warnings(ask: &Ask<'_>, unknown: &[String]) -> Vec<String> {
    let quiet = ask.call.param("fieldValidation") == "Ignore";
    unknown.iter().filter(|_| !quiet).map(|path| format!("unknown field \"{path}\"")).collect()
}

/// Without what the kind says, and without what this server does not keep.
fn untyped(mut body: Value) -> Value {
    if let Value::Object(fields) = &mut body {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    if let Some(meta) = body["metadata"].as_object_mut() {
        meta.remove("managedFields");
        meta.remove("selfLink");
    }
    body
}

/// The body as it is stored: nothing in it that is empty.
pub(super) fn normal(kind: &Kind, body: &Value) -> Outcome<Value> {
    let place = TYPES.place(kind.kind).expect("every kind is in the table");
    let decoded =
        decode(place, body).map_err(|why| Problem::internal(&format!("the server's own object is wrong: {why}")))?;
    Ok(untyped(decoded.value))
}

/// The namespace of a body is the request's, and is filled in.
fn check_namespace(body: &mut Value, kind: &Kind, namespace: &str) -> Outcome<()> {
    let said = body["metadata"]["namespace"].as_str().unwrap_or_default();
    if !said.is_empty() && said != namespace {
        let message = if kind.namespaced {
            "the namespace of the provided object does not match the namespace sent on the request"
        } else {
            "namespace may not be set on cluster-scoped objects"
        };
        return Err(Problem::bad_request(message.to_owned()));
    }
    if kind.namespaced {
        body["metadata"]["namespace"] = namespace.into();
    }
    Ok(())
}

/// The revision that the annotation of old names, where there is one.
fn rollback(kind: &Kind, body: &Value) -> Result<Option<i64>, String> {
    let text = body["metadata"]["annotations"][ROLLBACK].as_str().unwrap_or_default();
    if kind.kind != "Deployment" || text.is_empty() {
        return Ok(None);
    }
    let number = text.parse::<i64>();
    number.map(Some).map_err(|_| {
        format!("failed to parse annotation[{ROLLBACK}]={text} as int64: strconv.ParseInt: parsing \"{text}\": invalid syntax")
    })
}

/// The object with that revision where validation looks for it.
fn with_rollback<'a>(kind: &Kind, body: &'a Value) -> Outcome<std::borrow::Cow<'a, Value>> {
    match rollback(kind, body) {
        Ok(None) => Ok(std::borrow::Cow::Borrowed(body)),
        Ok(Some(revision)) => {
            let mut body = body.clone();
            body["spec"]["rollbackTo"] = json!({"revision": revision});
            Ok(std::borrow::Cow::Owned(body))
        }
        Err(wrong) => Err(Problem::plain_internal(wrong)),
    }
}
