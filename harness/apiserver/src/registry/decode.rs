//! Decodes the object in a request's body and sets its defaults; unknown fields cause an error or a
//! warning as the query says.
//!
//! Upstream: `UpdateResource` and `CreateResource` of `apiserver/pkg/endpoints/handlers`.

use serde_json::{Map, Value, json};

use crate::http::body::{self, FieldValidation, object_of, strict_decoding_message, unregistered};
use crate::http::request::ResourceRequest;
use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::kinds::strategy_of;
use crate::registry::state::Server;
use crate::types::custom_kind::CustomKind;
use crate::types::decode::{DecodedValue, decode, restore_empty};
use crate::types::kinds::ResourceKind;
use crate::types::list_quantities::ListedQuantity;
use crate::types::strict::TextType;
use crate::types::table::TYPES;

impl Server {
    /// Decodes the body as the kind of the request, and sets defaults.
    pub(crate) fn read(&mut self, request: &ResourceRequest<'_>) -> ApiResult<Value> {
        let kind = request.kind;
        if let Some(custom) = kind.custom {
            let mut value = untyped(self.read_custom(request, custom)?);
            custom.fill(&mut value);
            return Ok(value);
        }
        let mut value = untyped(self.read_as(request, &kind.api_version(), kind.kind)?);
        let strategy = strategy_of(kind);
        if let Some(wrong) = strategy.with_deprecated_fields(&value).err() {
            return Err(undecodable(&kind.api_version(), kind.kind, kind.kind, &wrong));
        }
        strategy.convert_fields(&mut value);
        strategy.set_defaults(&mut value);
        Ok(value)
    }

    /// Decodes the body as a custom resource.
    fn read_custom(&mut self, request: &ResourceRequest<'_>, custom: &CustomKind) -> ApiResult<Value> {
        let (kind, version) = (request.kind.kind, request.kind.api_version());
        let body = object_of(request, kind)?;
        let stated = |name: &str| body[name].as_str().unwrap_or_default();
        if stated("kind").is_empty() {
            let missing = |text: &[u8]| format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(text));
            // Without field validation, upstream's decoder uses the kind of the path and then
            // reports that it is missing; by then the text has been reduced to its JSON value.
            return Err(match (FieldValidation::of(request.http), stated("apiVersion")) {
                (FieldValidation::Ignore, "") => {
                    undecodable(&version, kind, kind, &missing(request.http.body.trim_ascii()))
                }
                (FieldValidation::Ignore, stated) => {
                    undecodable(stated, kind, kind, &missing(request.http.body.trim_ascii()))
                }
                _ => body::unrecognized(request.http, kind, &missing(request.http.as_sent())),
            });
        }
        let wrong = |why: String| undecodable(stated("apiVersion"), stated("kind"), kind, &why);
        let mut errors = body::strict_errors(request, TextType::Any, &body, false)?;
        let mut decoded = custom.decode(&body).map_err(wrong)?;
        if stated("apiVersion") != version || stated("kind") != kind {
            // The type that the body names has no known schema.
            decoded.unknown.retain(|path| path.starts_with("metadata."));
        }
        if FieldValidation::of(request.http) != FieldValidation::Ignore {
            errors.extend(body::unknown_fields(&decoded.unknown));
        }
        self.warn_or_reject(request, errors, wrong)?;
        restore_empty_managers(has_empty_managers(&body), &mut decoded.value);
        if stated("apiVersion") != version {
            return Err(StatusError::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({version})",
                stated("apiVersion")
            )));
        }
        if stated("kind") != kind {
            return Err(StatusError::unsupported(format!("a {} where a {kind} is wanted", stated("kind"))));
        }
        Ok(decoded.value)
    }

    /// Decodes the body as a type: that of the kind, or of a subresource.
    pub(crate) fn read_as(&mut self, request: &ResourceRequest<'_>, version: &str, name: &str) -> ApiResult<Value> {
        let body = match object_of(request, name) {
            // Upstream has no scheme with the scale of custom resources.
            Err(error) if request.kind.custom.is_some() && error.message.starts_with("the object provided") => {
                return Err(unregistered_scale());
            }
            read => read?,
        };
        let stated = (body["apiVersion"].as_str().unwrap_or_default(), body["kind"].as_str().unwrap_or_default());
        let stated =
            (if stated.0.is_empty() { version } else { stated.0 }, if stated.1.is_empty() { name } else { stated.1 });
        let stated = (stated.0.to_owned(), stated.1.to_owned());
        let stated = (stated.0.as_str(), stated.1.as_str());
        let undecodable = |why: String| {
            if request.kind.custom.is_some() {
                return unregistered_scale();
            }
            let short = stated.0.rsplit('/').next().unwrap_or_default();
            StatusError::bad_request(format!(
                "{} in version \"{short}\" cannot be handled as a {name}: {why}",
                stated.1
            ))
        };
        let is_own_kind = request.kind.custom.is_none() && name == request.kind.kind;
        let other =
            self.kinds.find(stated.0, stated.1).filter(|kind| is_own_kind && kind.order() == request.kind.order());
        if let Some(other) = other.filter(|_| stated.0 != version) {
            // Upstream decodes it as the type that it names, and then rejects it for the path.
            let type_index = other.table_index();
            let errors = body::strict_errors(request, TextType::Type(type_index), &body, false)?;
            let decoded = decode(type_index, body.clone()).map_err(undecodable)?;
            let errors = if decoded.unknown.is_empty() {
                errors
            } else {
                body::strict_errors(request, TextType::Type(type_index), &Value::Null, true)?
            };
            self.warn_or_reject(request, errors, undecodable)?;
            return Err(StatusError::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({version})",
                stated.0
            )));
        }
        if stated.1 != name || stated.0 != version {
            let is_older = stated.0.starts_with("apps/") || stated.0 == "policy/v1beta1";
            if self.kinds.find(stated.0, stated.1).is_some() || is_older && stated.0 != version {
                return Err(StatusError::unsupported(format!(
                    "a {} of {} where a {name} of {version} is wanted",
                    stated.1, stated.0
                )));
            }
            return Err(undecodable(unregistered(stated.0, stated.1)));
        }
        let name_of_type = if is_own_kind { request.kind.type_name() } else { name };
        let type_index = TYPES.index_of(name_of_type).expect("every kind is in the table");
        let mut errors = body::strict_errors(request, TextType::Type(type_index), &body, false)?;
        if is_own_kind {
            self.listed_quantities = ListedQuantity::all(type_index, &body);
        }
        let given = fields_with_empty_lists(request.kind, &body);
        let clears_managers = has_empty_managers(&body);
        let decoded = decode(type_index, body).map_err(undecodable)?;
        if !decoded.unknown.is_empty() {
            errors = body::strict_errors(request, TextType::Type(type_index), &Value::Null, true)?;
        }
        self.warn_or_reject(request, errors, undecodable)?;
        let mut value = decoded.value;
        restore_empty_lists(request.kind, &given, &mut value);
        restore_empty_managers(clears_managers, &mut value);
        Ok(value)
    }

    /// Handles strict decoding errors as the query says: as an error, as warnings, or not at all.
    pub(crate) fn warn_or_reject(
        &mut self,
        request: &ResourceRequest<'_>,
        errors: Vec<String>,
        refuse: impl FnOnce(String) -> StatusError,
    ) -> ApiResult<()> {
        match FieldValidation::of(request.http) {
            FieldValidation::Strict if !errors.is_empty() => Err(refuse(strict_decoding_message(&errors))),
            FieldValidation::Ignore => Ok(()),
            _ => {
                self.warnings.extend(errors);
                Ok(())
            }
        }
    }
}

/// Checks that the body and the path have the same name.
pub(crate) fn check_name(body: &Value, expected: &str) -> ApiResult<()> {
    match body["metadata"]["name"].as_str().unwrap_or_default() {
        "" => Err(StatusError::bad_request(format!(
            "the name of the object ({expected} based on URL) was undeterminable: name must be provided"
        ))),
        name if name != expected => Err(StatusError::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({expected})"
        ))),
        _ => Ok(()),
    }
}

/// Checks that the body and the path have the same namespace, and sets it.
pub(crate) fn check_namespace(body: &mut Value, kind: &ResourceKind, namespace: &str) -> ApiResult<()> {
    if !kind.namespaced {
        body["metadata"].as_object_mut().and_then(|meta| meta.remove("namespace"));
        return Ok(());
    }
    let stated = body["metadata"]["namespace"].as_str().unwrap_or_default();
    if !stated.is_empty() && stated != namespace {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(StatusError::bad_request(message.to_owned()));
    }
    body["metadata"]["namespace"] = namespace.into();
    Ok(())
}

/// Removes apiVersion, kind, and fields that are not stored.
pub(crate) fn untyped(mut body: Value) -> Value {
    if let Value::Object(fields) = &mut body {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    if let Some(meta) = body["metadata"].as_object_mut() {
        meta.remove("selfLink");
    }
    body
}

/// The error for an undecodable scale of a custom resource.
fn unregistered_scale() -> StatusError {
    let why = "no kind is registered for the type v1.Scale in scheme \"pkg/runtime/scheme.go:111\"";
    StatusError::bad_request(why.to_owned())
}

/// The error for an undecodable body.
fn undecodable(version: &str, stated_kind: &str, kind: &str, why: &str) -> StatusError {
    let version = version.rsplit('/').next().unwrap_or_default();
    StatusError::bad_request(format!("{stated_kind} in version \"{version}\" cannot be handled as a {kind}: {why}"))
}

/// The fields of a body in which empty lists differ from absent ones.
pub(crate) fn fields_with_empty_lists(kind: &ResourceKind, body: &Value) -> Value {
    let fields = strategy_of(kind).fields_with_empty_lists().iter();
    let fields = fields.filter_map(|name| Some(((*name).to_owned(), body["spec"].get(*name)?.clone())));
    json!({"spec": fields.collect::<Map<String, Value>>()})
}

/// Restores the empty lists of these fields, which decoding drops.
pub(crate) fn restore_empty_lists(kind: &ResourceKind, fields: &Value, read: &mut Value) {
    if !strategy_of(kind).fields_with_empty_lists().is_empty() {
        restore_empty(kind.table_index(), fields, read);
    }
}

/// Whether `managedFields` are an empty list, by which a client removes all managers.
pub(crate) fn has_empty_managers(body: &Value) -> bool {
    body["metadata"]["managedFields"].as_array().is_some_and(Vec::is_empty)
}

/// Restores empty `managedFields`, which decoding drops.
pub(crate) fn restore_empty_managers(is_given: bool, read: &mut Value) {
    if is_given && read["metadata"].is_object() {
        read["metadata"]["managedFields"] = json!([]);
    }
}

/// Normalizes a body to its stored form, without empty fields.
pub(crate) fn normalize(kind: &ResourceKind, body: Value) -> ApiResult<Value> {
    let decoded = match kind.custom {
        Some(custom) => custom.decode_with_nulls(&body),
        None => decode(kind.table_index(), body),
    };
    let decoded = decoded.map_err(|why| StatusError::internal(&format!("the server's own object is wrong: {why}")))?;
    Ok(untyped(decoded.value))
}

/// Decodes a body as its kind.
///
/// # Errors
/// The decoding error for a value of the wrong type.
pub(crate) fn decode_as(kind: &ResourceKind, body: &Value) -> Result<DecodedValue, String> {
    match kind.custom {
        Some(custom) => custom.decode(body),
        None => decode(kind.table_index(), body.clone()),
    }
}
