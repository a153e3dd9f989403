//! Bodies of requests: JSON or not, of which kind, and patches; with what upstream's decoders say of those that are no good.

use serde_json::{Value, json};

use super::field::FieldError;
use super::problem::{Outcome, Problem};
use super::server::{Ask, Call};
use super::{api, jsonpatch, syntax};

/// The body is JSON by its own word.
pub(super) fn check_form(call: &Call) -> Outcome<()> {
    let form = call.form();
    if matches!(form, "application/json" | "" | "*/*") {
        return Ok(());
    }
    if form.contains("protobuf") || form.contains("yaml") || form.contains("cbor") {
        return Err(Problem::beyond(format!("bodies in {form}; start the client with JSON as its content type")));
    }
    Err(Problem::media_type("application/json, application/yaml, application/vnd.kubernetes.protobuf"))
}

/// A body as JSON with a version and a kind, be they empty.
///
/// # Errors
/// What a decoder says that looks for the two.
pub(super) fn interpret(text: &[u8]) -> Result<Value, String> {
    const HEAD: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
    if let Some(fault) = syntax::fault(text) {
        return Err(fault);
    }
    let body: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    match &body {
        Value::Object(fields) => {
            for name in ["apiVersion", "kind"] {
                if let Some(value) = fields.get(name).filter(|value| !value.is_string() && !value.is_null()) {
                    let kind = syntax::kind_of(value);
                    return Err(format!("json: cannot unmarshal {kind} into Go struct field .{name} of type string"));
                }
            }
            Ok(body)
        }
        Value::Null => Ok(json!({})),
        other => Err(format!("json: cannot unmarshal {} into Go value of type {HEAD}", syntax::kind_of(other))),
    }
}

/// The request's body, which is to be of this kind.
pub(super) fn object_of(ask: &Ask<'_>, kind: &str) -> Outcome<Value> {
    const SHOWN: usize = 30;
    check_form(ask.call)?;
    let body = &ask.call.body;
    interpret(body).map_err(|why| {
        let more = if body.len() > SHOWN { " ..." } else { "" };
        let first = &body[..body.len().min(SHOWN)];
        let shown = match body.first() {
            None => "<empty>".to_owned(),
            Some(b'{') => String::from_utf8_lossy(first).into_owned() + more,
            Some(_) => first.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + more,
        };
        Problem::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): couldn't get version/kind; json parse error: {why} ({shown})"
        ))
    })
}

/// An object after a patch.
pub(super) fn patched(ask: &Ask<'_>, place: usize, old: &Value) -> Outcome<Value> {
    let text = &ask.call.body;
    // What unknown fields are to be told of is read once more, and that says what is no patch.
    let looks = matches!(ask.call.param("fieldValidation"), "" | "Strict" | "Warn");
    let fault = syntax::fault(text);
    let told = |why: String| Problem::bad_request(if looks { format!("error decoding patch: {why}") } else { why });
    let read = || serde_json::from_slice::<Value>(text).map_err(|error| Problem::internal(&error.to_string()));
    let no_map = |value: &Value| {
        format!("json: cannot unmarshal {} into Go value of type map[string]interface {{}}", syntax::kind_of(value))
    };
    match ask.call.form() {
        "application/strategic-merge-patch+json" => {
            if let Some(fault) = fault {
                return Err(Problem::bad_request(fault));
            }
            match read()? {
                Value::Null => Ok(old.clone()),
                patch @ Value::Object(_) => api::strategic(place, old, &patch).map_err(Problem::plain_internal),
                other => Err(Problem::bad_request(no_map(&other))),
            }
        }
        "application/merge-patch+json" => {
            match fault {
                Some(fault) if looks => return Err(told(fault)),
                Some(_) => return Err(Problem::bad_request("Invalid JSON Patch".to_owned())),
                None => {}
            }
            let patch = read()?;
            if !patch.is_object() && !patch.is_null() && looks {
                return Err(told(no_map(&patch)));
            }
            if !patch.is_object() {
                return Err(Problem::beyond("a merge patch that is no object"));
            }
            let mut new = old.clone();
            json_patch::merge(&mut new, &patch);
            Ok(new)
        }
        "application/json-patch+json" => {
            if let Some(fault) = fault {
                return Err(told(fault));
            }
            let patch = read()?;
            let list = match &patch {
                Value::Array(list) => list.as_slice(),
                Value::Null => &[],
                other => {
                    let what = if looks { "[]handlers.jsonPatchOp" } else { "jsonpatch.Patch" };
                    let found = syntax::kind_of(other);
                    return Err(told(format!("json: cannot unmarshal {found} into Go value of type {what}")));
                }
            };
            jsonpatch::apply(list, old)
        }
        "application/apply-patch+yaml" => Err(Problem::beyond("server-side apply")),
        _ => Err(Problem::no_patch_form()),
    }
}

/// A patch whose result is no object of its kind.
pub(super) fn patch_error(ask: &Ask<'_>, patched: &Value, why: &str) -> Problem {
    let shown = if ask.call.form().contains("strategic") {
        &serde_json::from_slice(&ask.call.body).unwrap_or_default()
    } else {
        patched
    };
    Problem::invalid("", "", "", &[FieldError::invalid("patch", shown.to_string(), why)])
}

pub(super) fn strict_error(unknown: &[String]) -> String {
    let all: Vec<String> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
    format!("strict decoding error: {}", all.join(", "))
}

pub(super) fn warnings(ask: &Ask<'_>, unknown: &[String]) -> Vec<String> {
    let quiet = ask.call.param("fieldValidation") == "Ignore";
    unknown.iter().filter(|_| !quiet).map(|path| format!("unknown field \"{path}\"")).collect()
}

/// What upstream says of a kind that no version has.
pub(super) fn unregistered(version: &str, kind: &str) -> String {
    format!("no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\"")
}
