//! Server-side apply of an object or its status. Upstream: `applyPatcher`.

use serde_json::{Value, json};

use crate::fields::conflict::conflict_message;
use crate::fields::entries::Managers;
use crate::fields::field_manager::{ApplyRefusal, FieldManager};
use crate::fields::typed::Atom;
use crate::fields::validation::type_error;
use crate::http::body::config;
use crate::http::request::ResourceRequest;
use crate::http::response::ApiResponse;
use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::conversion::convert_object;
use crate::registry::decode::{
    check_name, check_namespace, decode_as, fields_with_empty_lists, normalize, restore_empty_lists, untyped,
};
use crate::registry::field_ownership::field_manager;
use crate::registry::kinds::strategy_of;
use crate::registry::prepare;
use crate::registry::state::Server;
use crate::storage::object::StoredObject;
use crate::types::decode::decode;
use crate::types::table::{TYPES, TypeDeclaration};

impl Server {
    /// Applies a configuration; creates the object if it does not exist.
    pub(crate) fn apply(&mut self, request: &ResourceRequest<'_>, status: bool) -> ApiResult<ApiResponse> {
        let kind = request.kind;
        let old = match self.existing_object(request) {
            Ok(old) => Some(old),
            Err(error) if status => return Err(error),
            Err(_) => None,
        };
        let (config, version) = (config(request)?, kind.api_version());
        let (live, old_managers) = match &old {
            Some(old) => (old.as_kind(kind, &self.kinds).body.clone(), old.managers.clone()),
            None => (normalize(kind, json!({}))?, None),
        };
        let of = kind.custom.map_or_else(|| TYPES.get(kind.table_index()), |custom| custom.typed());
        check(&config, (&version, kind.kind), of)?;
        if let Some(why) = kind.custom.and_then(|custom| type_error(custom.typed(), &live, true)) {
            let object = describe_object(&live, (&version, kind.kind));
            return Err(StatusError::plain_internal(format!("failed to create typed live object ({object}): {why}")));
        }
        let force = matches!(request.http.param("force"), "true" | "1");
        let manager = FieldManager { empty: normalize(kind, json!({}))?, ..field_manager(request) };
        let merged = manager.apply(&live, &old_managers, &config, force);
        let (merged, managers) = merged.map_err(|why| apply_error(why, &config, (&version, kind.kind)))?;
        let decoded = match kind.custom {
            None => decode_as(kind, &merged),
            Some(custom) => custom.decode_with_nulls(&merged),
        };
        let decoded = decoded.map_err(|why| conversion_error(&config, (&version, kind.kind), &why))?;
        let mut new = untyped(decoded.value);
        restore_empty_lists(kind, &fields_with_empty_lists(kind, &merged), &mut new);
        strategy_of(kind).convert_fields(&mut new);
        prepare::set_defaults(kind, &mut new);
        if old.is_none()
            && let Some(uid) = new["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty())
        {
            let why =
                format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
            return Err(StatusError::conflict(kind, &request.info.name, &why));
        }
        check_namespace(&mut new, kind, &request.info.namespace)?;
        check_name(&new, &request.info.name)?;
        let new = convert_object(new, kind, kind.inner());
        match old {
            Some(old) => self.replace_and_respond(request, &old, new, Some(managers), status),
            None => self.create_on_update(request, new, managers),
        }
    }

    /// Applies a configuration to the scale of an object; returns the new scale and the managers of
    /// the object.
    pub(crate) fn applied_scale(
        &self,
        request: &ResourceRequest<'_>,
        old: &StoredObject,
        scale: &Value,
    ) -> ApiResult<(Value, Managers)> {
        let version_and_kind = ("autoscaling/v1", "Scale");
        let type_index = TYPES.index_of(version_and_kind.1).expect("scales are in the table");
        let config = config(request)?;
        let of_object = field_manager(request);
        if request.kind.custom.is_some() && !of_object.has_managed_replicas(&old.managers) {
            // Upstream would create a manager for the existing fields, and converts an empty scale
            // for that.
            let why = format!(
                "failed to create manager for existing fields: failed to convert live object (/; {version}, Kind=Scale) \
                 to proper version: request to convert CR to an invalid group/version: {version}",
                version = version_and_kind.0
            );
            return Err(StatusError::plain_internal(why));
        }
        check(&config, version_and_kind, TYPES.get(type_index))?;
        let force = matches!(request.http.param("force"), "true" | "1");
        let version = of_object.api_version.clone();
        let of_scale = FieldManager {
            root: Atom::of_type(type_index),
            api_version: version_and_kind.0.to_owned(),
            reset: &[],
            converters: Vec::new(),
            ..of_object
        };
        let managers = (&old.managers, version.as_str());
        let applied = of_scale.apply_scale(scale, managers, &config, force);
        let before = scale;
        let (scale, managers) = applied.map_err(|why| apply_error(why, &config, version_and_kind))?;
        if request.kind.custom.is_some() && scale != *before {
            // Upstream's converter of custom resources accepts a scale only if it is not a map.
            let why = format!(
                "failed to convert new object ({}) to proper version: request to convert CR to an invalid group/version: {}",
                describe_object(&config, version_and_kind),
                version_and_kind.0
            );
            return Err(StatusError::plain_internal(why));
        }
        let decoded = decode(type_index, scale).map_err(|why| conversion_error(&config, version_and_kind, &why))?;
        check_name(&decoded.value, &request.info.name)?;
        Ok((decoded.value, managers))
    }
}

/// Checks a configuration before it is merged.
fn check(config: &Value, version_and_kind: (&str, &str), of: &TypeDeclaration) -> ApiResult<()> {
    let text = |name: &str| config[name].as_str().unwrap_or_default();
    let (version, stated_kind) = (text("apiVersion"), text("kind"));
    if version != version_and_kind.0 {
        return Err(StatusError::bad_request(format!("invalid object type: {version}, Kind={stated_kind}")));
    }
    if !config["metadata"]["managedFields"].is_null() {
        return Err(StatusError::bad_request("metadata.managedFields must be nil".to_owned()));
    }
    match type_error(of, config, false) {
        None => Ok(()),
        Some(why) => Err(apply_error(ApplyRefusal::Merge(why), config, version_and_kind)),
    }
}

/// The error of a merged object that cannot be decoded.
fn conversion_error(config: &Value, version_and_kind: (&str, &str), why: &str) -> StatusError {
    let object = describe_object(config, version_and_kind);
    let (_, named) = object.rsplit_once("; ").unwrap_or_default();
    let why = if why.contains("base64") { format!("error decoding from json: {why}") } else { why.to_owned() };
    StatusError::plain_internal(format!(
        "failed to convert new object ({object}) to proper version: unable to convert unstructured object to {named}: {why}"
    ))
}

/// The error of a refused apply.
fn apply_error(why: ApplyRefusal, config: &Value, version_and_kind: (&str, &str)) -> StatusError {
    match why {
        ApplyRefusal::Conflicts(conflicts) => {
            let (message, causes) = conflict_message(&conflicts);
            StatusError::apply_conflict(message, &causes)
        }
        ApplyRefusal::Merge(why) => {
            let object = describe_object(config, version_and_kind);
            StatusError::plain_internal(format!("failed to create typed patch object ({object}): {why}"))
        }
    }
}

/// Describes an object as upstream does: `default/web; apps/v1, Kind=Deployment`, with the
/// namespace that the object names.
fn describe_object(config: &Value, (version, kind): (&str, &str)) -> String {
    let of = |name: &str| config["metadata"][name].as_str().unwrap_or_default().to_owned();
    // The core group is written as an empty name before the slash.
    let version = if version.contains('/') { version.to_owned() } else { format!("/{version}") };
    format!("{}/{}; {version}, Kind={kind}", of("namespace"), of("name"))
}
