//! Request bodies: media type, JSON, the declared kind, and patches, with upstream's messages for
//! those that cannot be decoded.

use serde_json::{Value, json};

use super::api::{As, TYPES};
use super::call::Call;
use super::field::FieldError;
use super::problem::{Outcome, Problem};
use super::server::Ask;
use super::{api, jsonpatch, options, protobuf, syntax};

/// The media type of server-side apply.
pub(super) const APPLY: &str = "application/apply-patch+yaml";

/// Checks that the content type is JSON or protobuf. A body in YAML has become JSON before.
pub(super) fn check_form(call: &Call) -> Outcome<()> {
    let form = call.form();
    if matches!(form, "application/json" | "" | "*/*" | protobuf::MEDIA_TYPE) {
        return Ok(());
    }
    Err(Problem::media_type("application/json, application/yaml, application/vnd.kubernetes.protobuf"))
}

/// Reads a body whose apiVersion and kind are strings or absent.
///
/// # Errors
/// The message of upstream's decoder.
pub(super) fn interpret(call: &Call) -> Result<Value, String> {
    if call.is_protobuf() {
        return protobuf::decode(&call.body).map_err(|error| error.to_string());
    }
    json_of(&call.body).map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))
}

fn json_of(text: &[u8]) -> Result<Value, String> {
    const HEAD: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
    let body: Value = read(text).map_err(|error| syntax::fault(text).unwrap_or(error.to_string()))?;
    match &body {
        Value::Object(fields) => {
            // Only here the case of letters is ignored.
            let of = |known: &str, name: &str| name.eq_ignore_ascii_case(known);
            for (name, value) in fields.iter().filter(|(_, value)| !value.is_string() && !value.is_null()) {
                if let Some(known) = ["apiVersion", "kind"].into_iter().find(|known| of(known, name)) {
                    let kind = syntax::kind_of(value);
                    return Err(format!("json: cannot unmarshal {kind} into Go struct field .{known} of type string"));
                }
            }
            Ok(body)
        }
        Value::Null => Ok(json!({})),
        other => Err(format!("json: cannot unmarshal {} into Go value of type {HEAD}", syntax::kind_of(other))),
    }
}

/// A text as JSON. That it is UTF-8 is found out of all of it at once, which takes less time than
/// of one string after the other.
fn read(text: &[u8]) -> serde_json::Result<Value> {
    std::str::from_utf8(text).map_or_else(|_| serde_json::from_slice(text), serde_json::from_str)
}

/// The request's body, for a kind.
pub(super) fn object_of(ask: &Ask<'_>, kind: &str) -> Outcome<Value> {
    if ask.call.method == http::Method::PUT {
        options::write(ask.call)?;
        check_form(ask.call)?;
    } else {
        check_form(ask.call)?;
        options::write(ask.call)?;
    }
    interpret(ask.call).map_err(|why| unrecognized(ask.call, kind, &why))
}

/// The refusal of a body that says no type.
pub(super) fn unrecognized(call: &Call, kind: &str, why: &str) -> Problem {
    const SHOWN: usize = 30;
    let body = call.as_sent();
    let more = if body.len() > SHOWN { " ..." } else { "" };
    let first = &body[..body.len().min(SHOWN)];
    let shown = match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(first).into_owned() + more,
        Some(_) => first.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + more,
    };
    Problem::bad_request(format!("the object provided is unrecognized (must be of type {kind}): {why} ({shown})"))
}

/// Whether a patch reads or writes `managedFields`: one that names them, and a JSON patch, which
/// can move what they are in.
pub(super) fn reads_managed_fields(call: &Call) -> bool {
    let name = b"managedFields";
    call.form() == "application/json-patch+json" || call.body.windows(name.len()).any(|part| part == name)
}

/// An object after a patch, and the strict errors of the patch.
pub(super) fn patched(ask: &Ask<'_>, old: &Value) -> Outcome<(Value, Vec<String>)> {
    let text = &ask.call.body;
    // With field validation the patch is decoded once more, and that reports errors first.
    let looks = matches!(ask.call.param("fieldValidation"), "" | "Strict" | "Warn");
    // What this decoder reads is JSON; what it does not may be JSON all the same.
    let parsed = read(text);
    let fault = if parsed.is_ok() { None } else { syntax::fault(text) };
    let no_patch = |why: String| Problem::bad_request(if looks { format!("error decoding patch: {why}") } else { why });
    let read = || parsed.map_err(|error| Problem::internal(&error.to_string()));
    let no_map = |value: &Value| {
        format!("json: cannot unmarshal {} into Go value of type map[string]interface {{}}", syntax::kind_of(value))
    };
    match ask.call.form() {
        "application/strategic-merge-patch+json" => {
            if let Some(fault) = fault {
                return Err(Problem::bad_request(fault));
            }
            match read()? {
                Value::Null => Ok((old.clone(), Vec::new())),
                patch @ Value::Object(_) => {
                    let errors = told(ask, As::Any, &patch, false)?;
                    let scale = || TYPES.place("Scale").expect("scales are in the table");
                    let place = if ask.route.subresource == "scale" { scale() } else { ask.kind.of_table() };
                    Ok((api::strategic(place, old, &patch).map_err(Problem::plain_internal)?, errors))
                }
                other => Err(Problem::bad_request(no_map(&other))),
            }
        }
        "application/merge-patch+json" => {
            match fault {
                Some(fault) if looks => return Err(no_patch(fault)),
                Some(_) => return Err(Problem::bad_request("Invalid JSON Patch".to_owned())),
                None => {}
            }
            let patch = read()?;
            if !patch.is_object() && !patch.is_null() && looks {
                return Err(no_patch(no_map(&patch)));
            }
            if !patch.is_object() {
                return Err(Problem::unsupported("a merge patch that is no object"));
            }
            let mut new = old.clone();
            json_patch::merge(&mut new, &patch);
            Ok((new, told(ask, As::Any, &patch, false)?))
        }
        "application/json-patch+json" => {
            if let Some(fault) = fault {
                return Err(no_patch(fault));
            }
            let patch = read()?;
            let list = match &patch {
                Value::Array(list) => list.as_slice(),
                Value::Null => &[],
                other => {
                    let what = if looks { "[]handlers.jsonPatchOp" } else { "jsonpatch.Patch" };
                    let found = syntax::kind_of(other);
                    return Err(no_patch(format!("json: cannot unmarshal {found} into Go value of type {what}")));
                }
            };
            let errors = told(ask, As::Operations, &patch, true)?;
            let errors = errors.into_iter().map(|error| format!("json patch {error}")).collect();
            Ok((jsonpatch::apply(list, old)?, errors))
        }
        _ => Err(Problem::no_patch_form()),
    }
}

/// Checks a patch's options.
pub(super) fn check_patch(call: &Call) -> Outcome<()> {
    options::write(call)
}

/// A patch whose result cannot be decoded.
pub(super) fn patch_error(ask: &Ask<'_>, patched: &Value, why: &str) -> Problem {
    let shown = if ask.call.form().contains("strategic") {
        &serde_json::from_slice(&ask.call.body).unwrap_or_default()
    } else {
        patched
    };
    Problem::invalid("", "", "", &[FieldError::invalid("patch", shown.to_string(), why)])
}

/// What happens on unknown and duplicate fields.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Validation {
    Ignore,
    Warn,
    Strict,
}

impl Validation {
    pub(super) fn of(call: &Call) -> Self {
        match call.param("fieldValidation") {
            "Ignore" => Self::Ignore,
            "Strict" => Self::Strict,
            _ => Self::Warn,
        }
    }
}

/// The errors of a strict decoder; `unknown`: whether decoding found unknown fields.
pub(super) fn told(ask: &Ask<'_>, form: As, read: &Value, unknown: bool) -> Outcome<Vec<String>> {
    // Only text can say a thing twice; a protobuf body's unknown fields are skipped.
    if ask.call.is_protobuf() {
        return Ok(Vec::new());
    }
    if !unknown && !syntax::repeats(&ask.call.body, read) {
        return Ok(Vec::new());
    }
    let told = api::strict(&ask.call.body, form);
    if told.merged {
        return Err(Problem::unsupported("a body in which two values have one name, and the first counts too"));
    }
    Ok(if Validation::of(ask.call) == Validation::Ignore { Vec::new() } else { told.errors })
}

pub(super) fn strict_error(errors: &[String]) -> String {
    format!("strict decoding error: {}", errors.join(", "))
}

/// The errors for the unknown fields of a patched object.
pub(super) fn unknown_fields(paths: &[String]) -> impl Iterator<Item = String> {
    paths.iter().map(|path| format!("unknown field {path:?}"))
}

/// Upstream's message for an unknown kind.
pub(super) fn unregistered(version: &str, kind: &str) -> String {
    format!("no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\"")
}
