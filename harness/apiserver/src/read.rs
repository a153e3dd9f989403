//! The object in a request's body: which type it is, decoded, with defaults; unknown fields refused
//! or warned of as the query asks.
//!
//! Upstream: `UpdateResource` and `CreateResource` of `apiserver/pkg/endpoints/handlers`.

use serde_json::{Value, json};

use super::api::{As, TYPES, decode};
use super::body::{self, Validation, object_of, strict_error, unregistered};
use super::custom::Custom;
use super::kinds::Kind;
use super::problem::{Outcome, Problem};
use super::server::{Ask, Server};
use super::{defaults, rules};

/// The annotation of a deprecated field; the server holds it as the field.
const ROLLBACK: &str = "deprecated.deployment.rollback.to";

impl Server {
    /// The request's body as its kind, with defaults; unknown fields are handled as the query asks.
    pub(super) fn read(&mut self, ask: &Ask<'_>) -> Outcome<Value> {
        let kind = ask.kind;
        if let Some(custom) = kind.custom {
            let mut value = untyped(self.read_custom(ask, custom)?);
            custom.fill(&mut value);
            return Ok(value);
        }
        let mut value = untyped(self.read_as(ask, &kind.api_version(), kind.kind)?);
        if let Some(wrong) = rollback(kind, &value).err() {
            return Err(unfit(&kind.api_version(), kind.kind, kind.kind, &wrong));
        }
        rules::convert(kind, &mut value);
        defaults::fill(kind, &mut value);
        Ok(value)
    }

    /// The request's body as a custom resource.
    fn read_custom(&mut self, ask: &Ask<'_>, custom: &Custom) -> Outcome<Value> {
        let (kind, version) = (ask.kind.kind, ask.kind.api_version());
        let body = object_of(ask, kind)?;
        let said = |name: &str| body[name].as_str().unwrap_or_default();
        if said("kind").is_empty() {
            let missing = |text: &[u8]| format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(text));
            // Without field validation upstream's decoder takes the path's kind, and then misses
            // it; by then the text is one value of JSON, whatever was around it.
            return Err(match (Validation::of(ask.call), said("apiVersion")) {
                (Validation::Ignore, "") => unfit(&version, kind, kind, &missing(ask.call.body.trim_ascii())),
                (Validation::Ignore, said) => unfit(said, kind, kind, &missing(ask.call.body.trim_ascii())),
                _ => body::unrecognized(ask.call, kind, &missing(ask.call.as_sent())),
            });
        }
        let wrong = |why: String| unfit(said("apiVersion"), said("kind"), kind, &why);
        let mut told = body::told(ask, As::Any, &body, false)?;
        let mut decoded = custom.decode(&body).map_err(wrong)?;
        if said("apiVersion") != version || said("kind") != kind {
            // No schema is known of what else it says that it is.
            decoded.unknown.retain(|path| path.starts_with("metadata."));
        }
        if Validation::of(ask.call) != Validation::Ignore {
            told.extend(body::unknown_fields(&decoded.unknown));
        }
        self.tell(ask, told, wrong)?;
        if said("apiVersion") != version {
            return Err(Problem::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({version})",
                said("apiVersion")
            )));
        }
        if said("kind") != kind {
            return Err(Problem::unsupported(format!("a {} where a {kind} is wanted", said("kind"))));
        }
        Ok(decoded.value)
    }

    /// The request's body as a type: the kind's, or that of a subresource.
    pub(super) fn read_as(&mut self, ask: &Ask<'_>, version: &str, name: &str) -> Outcome<Value> {
        let body = match object_of(ask, name) {
            // Upstream has no scheme in which a custom resource's scale is registered.
            Err(problem) if ask.kind.custom.is_some() && problem.message.starts_with("the object provided") => {
                return Err(unregistered_scale());
            }
            read => read?,
        };
        let said = (body["apiVersion"].as_str().unwrap_or_default(), body["kind"].as_str().unwrap_or_default());
        let said = (if said.0.is_empty() { version } else { said.0 }, if said.1.is_empty() { name } else { said.1 });
        let said = (said.0.to_owned(), said.1.to_owned());
        let said = (said.0.as_str(), said.1.as_str());
        let unfit = |why: String| {
            if ask.kind.custom.is_some() {
                return unregistered_scale();
            }
            let short = said.0.rsplit('/').next().unwrap_or_default();
            Problem::bad_request(format!("{} in version \"{short}\" cannot be handled as a {name}: {why}", said.1))
        };
        let own = ask.kind.custom.is_none() && name == ask.kind.kind;
        let other = self.kinds.named(said.0, said.1).filter(|kind| own && kind.place() == ask.kind.place());
        if let Some(other) = other.filter(|_| said.0 != version) {
            // It is decoded as what it is, and then it is not what the path is about.
            let place = other.of_table();
            let told = body::told(ask, As::Type(place), &body, false)?;
            let decoded = decode(place, body.clone()).map_err(unfit)?;
            let told =
                if decoded.unknown.is_empty() { told } else { body::told(ask, As::Type(place), &Value::Null, true)? };
            self.tell(ask, told, unfit)?;
            return Err(Problem::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({version})",
                said.0
            )));
        }
        if said.1 != name || said.0 != version {
            let is_older = said.0.starts_with("apps/") || said.0 == "policy/v1beta1";
            if self.kinds.named(said.0, said.1).is_some() || is_older && said.0 != version {
                return Err(Problem::unsupported(format!(
                    "a {} of {} where a {name} of {version} is wanted",
                    said.1, said.0
                )));
            }
            return Err(unfit(unregistered(said.0, said.1)));
        }
        let name_of_type = if own { ask.kind.type_name() } else { name };
        let place = TYPES.place(name_of_type).expect("every kind is in the table");
        let mut told = body::told(ask, As::Type(place), &body, false)?;
        let given = json!({"spec": {"rules": body["spec"]["rules"], "behavior": body["spec"]["behavior"]}});
        let decoded = decode(place, body).map_err(unfit)?;
        if !decoded.unknown.is_empty() {
            told = body::told(ask, As::Type(place), &Value::Null, true)?;
        }
        self.tell(ask, told, unfit)?;
        let mut value = decoded.value;
        rules::keep_empty_rules(ask.kind, &given, &mut value);
        Ok(value)
    }

    /// Refuses or warns of what a strict decoder found, as the query asks.
    pub(super) fn tell(
        &mut self,
        ask: &Ask<'_>,
        told: Vec<String>,
        refuse: impl FnOnce(String) -> Problem,
    ) -> Outcome<()> {
        match Validation::of(ask.call) {
            Validation::Strict if !told.is_empty() => Err(refuse(strict_error(&told))),
            Validation::Ignore => Ok(()),
            _ => {
                self.warnings.extend(told);
                Ok(())
            }
        }
    }
}

/// Checks that body and path have the same name.
pub(super) fn check_name(body: &Value, wanted: &str) -> Outcome<()> {
    match body["metadata"]["name"].as_str().unwrap_or_default() {
        "" => Err(Problem::bad_request(format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        ))),
        name if name != wanted => Err(Problem::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({wanted})"
        ))),
        _ => Ok(()),
    }
}

/// Checks that body and path have the same namespace, and sets it.
pub(super) fn check_namespace(body: &mut Value, kind: &Kind, namespace: &str) -> Outcome<()> {
    if !kind.namespaced {
        body["metadata"].as_object_mut().and_then(|meta| meta.remove("namespace"));
        return Ok(());
    }
    let said = body["metadata"]["namespace"].as_str().unwrap_or_default();
    if !said.is_empty() && said != namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Problem::bad_request(message.to_owned()));
    }
    body["metadata"]["namespace"] = namespace.into();
    Ok(())
}

/// Removes apiVersion and kind, and fields that are not stored.
pub(super) fn untyped(mut body: Value) -> Value {
    if let Value::Object(fields) = &mut body {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    if let Some(meta) = body["metadata"].as_object_mut() {
        meta.remove("selfLink");
    }
    body
}

/// The revision in the annotation of the deprecated field, if any.
fn rollback(kind: &Kind, body: &Value) -> Result<Option<i64>, String> {
    let text = body["metadata"]["annotations"][ROLLBACK].as_str().unwrap_or_default();
    if kind.built_in() != "Deployment" || text.is_empty() {
        return Ok(None);
    }
    let number = text.parse::<i64>();
    number.map(Some).map_err(|_| {
        format!("failed to parse annotation[{ROLLBACK}]={text} as int64: strconv.ParseInt: parsing \"{text}\": invalid syntax")
    })
}

/// The object with that revision in its field, for validation.
pub(super) fn with_rollback<'a>(kind: &Kind, body: &'a Value) -> Outcome<std::borrow::Cow<'a, Value>> {
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

/// The refusal of a custom resource's scale that cannot be decoded.
fn unregistered_scale() -> Problem {
    let why = "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"";
    Problem::bad_request(why.to_owned())
}

/// A body that cannot be decoded.
fn unfit(version: &str, said: &str, kind: &str, why: &str) -> Problem {
    let version = version.rsplit('/').next().unwrap_or_default();
    Problem::bad_request(format!("{said} in version \"{version}\" cannot be handled as a {kind}: {why}"))
}
