//! Creates, replaces and patches objects. Upstream: `Create` and `Update` of the generic registry.

use http::StatusCode;
use serde_json::{Value, json};

use crate::admission::{namespace_lifecycle, quota};
use crate::fields::entries::Managers;
use crate::fields::field_manager;
use crate::http::body::{self, patch_error, unregistered};
use crate::http::request::{self, ResourceRequest, timestamp_value};
use crate::http::response::{ApiResponse, json_bytes_response, json_response};
use crate::http::status_error::{ApiResult, StatusError};
use crate::registry::conversion::convert_object;
use crate::registry::decode::{
    check_name, check_namespace, decode_as, fields_with_empty_lists, has_empty_managers, normalize,
    restore_empty_lists, restore_empty_managers, untyped,
};
use crate::registry::field_ownership::update_managers;
use crate::registry::kinds::strategy_of;
use crate::registry::owner_references::AFTER_ADMISSION;
use crate::registry::prepare;
use crate::registry::state::Server;
use crate::registry::strategy::{Deletion, Strategy};
use crate::registry::validate::meta;
use crate::storage::keys::StoreKey;
use crate::storage::object::StoredObject;
use crate::types::custom_kind::CustomKind;
use crate::types::decode;
use crate::types::field_error::FieldError;
use crate::types::list_quantities::ListedQuantity;

/// The maximum used length of `generateName`.
const LONGEST_BASE: usize = 58;

impl Server {
    pub(crate) fn create(&mut self, request: &ResourceRequest<'_>) -> ApiResult<ApiResponse> {
        let mut body = self.read(request)?;
        check_namespace(&mut body, request.kind, &request.info.namespace)?;
        for own in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            body["metadata"].as_object_mut().and_then(|meta| meta.remove(own));
        }
        let mut body = convert_object(body, request.kind, request.kind.inner());
        self.deduplicate_owners(&mut body, "");
        let empty = normalize(request.kind.inner(), json!({}))?;
        let managers = update_managers(request, (&empty, &None), &mut body, &[])?;
        self.create_object(request, body, managers)
    }

    /// Creates an object.
    pub(crate) fn create_object(
        &mut self,
        request: &ResourceRequest<'_>,
        mut body: Value,
        managers: Managers,
    ) -> ApiResult<ApiResponse> {
        let kind = request.kind.inner();
        let strategy = strategy_of(kind);
        let namespace = if kind.namespaced { request.info.namespace.clone() } else { String::new() };
        let meta = &mut body["metadata"];
        let base = meta["generateName"].as_str().unwrap_or_default().to_owned();
        let generates_name = meta["name"].as_str().unwrap_or_default().is_empty() && !base.is_empty();
        if generates_name {
            let base: String = base.chars().take(LONGEST_BASE).collect();
            meta["name"] = format!("{base}{}", self.rng.suffix()).into();
        }
        meta["uid"] = self.rng.uid().into();
        let earliest = self.not_before.get(&namespace).copied().unwrap_or(request.now);
        meta["creationTimestamp"] = timestamp_value(request.now.max(earliest));
        let version = meta.as_object_mut().and_then(|meta| meta.remove("resourceVersion"));
        let name = meta["name"].as_str().unwrap_or_default().to_owned();
        // Upstream runs admission before it generates names.
        let admission_name = if generates_name { &base } else { &name };
        let admission_name = if admission_name.is_empty() { "Unknown" } else { admission_name.as_str() };
        if kind.custom.is_some() && self.is_definition_terminating(kind) {
            let why = "create not allowed while custom resource definition is terminating";
            return Err(StatusError::forbidden(kind, admission_name, why));
        }
        if kind.namespaced {
            namespace_lifecycle::check(self, kind, &namespace, admission_name)?;
        }
        strategy.admit(self, (&namespace, admission_name), &mut body)?;
        let mut name = name.clone();
        if name.is_empty() && strategy.generates_missing_name() {
            name = self.rng.uid();
            body["metadata"]["name"] = name.clone().into();
        }
        if name.is_empty()
            && !self.dry_run
            && let Some(error) = strategy.missing_name_error(self, &body)
        {
            return Err(StatusError::invalid(kind.group, kind.kind, &name, &[error]));
        }
        let shared = !generates_name && shares_labels(request, &body);
        prepare::prepare_for_create(kind, &mut body);
        if shared {
            body["metadata"]["labels"] = body["spec"]["template"]["metadata"]["labels"].clone();
        }
        // The label of a namespace contains its name, which may just have been generated.
        if !strategy.is_stored_without_defaults() {
            prepare::set_defaults(kind, &mut body);
        }
        if let Some(what) = strategy.unsupported_before_validation(&body) {
            return Err(StatusError::unsupported(what));
        }
        let errors = match kind.custom {
            Some(custom) => {
                let errors = custom.validate(&body, None)?;
                if errors.is_empty() {
                    self.warnings.extend(CustomKind::warnings(&body, None));
                }
                errors
            }
            None => {
                let validated = strategy.with_deprecated_fields(&body).map_err(StatusError::plain_internal)?;
                strategy.validate(&validated)
            }
        };
        if !errors.is_empty() {
            return Err(StatusError::invalid(kind.storage().group, kind.kind, &name, &errors));
        }
        strategy.check_servable(self, &body)?;
        if let Some(what) = strategy.unsupported_feature(&body, None) {
            return Err(StatusError::unsupported(what));
        }
        self.warnings.extend(strategy.warnings(&body, None));
        strategy.validate_admission(self, (&namespace, &name), &body, None)?;
        let charge =
            quota::QuotaRequest { kind, namespace: &namespace, name: &name, new: &body, old: None, now: request.now };
        quota::admit(self, &charge)?;
        let numbered = |version: &Value| version.as_str().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) != 0;
        if !self.dry_run && version.as_ref().is_some_and(numbered) {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(StatusError::plain_internal(why.to_owned()));
        }
        let key = StoreKey::new(kind, &namespace, &name);
        if let Some(existing) = self.store.get(&key) {
            let refused = StatusError::already_exists(kind, &name, existing.is_deleting());
            return Err(if base.is_empty() { refused } else { refused.not_unique() });
        }
        strategy.begin_create(self, &mut body);
        prepare::drop_empty_lists(kind, &mut body);
        let body = normalize(kind, body)?;
        let object = self.put_object(kind, key, body, managers).as_kind(request.response_kind(), &self.kinds);
        if self.dry_run {
            // A dry run has no version but that of the request.
            let mut created = object.typed();
            created["metadata"].as_object_mut().and_then(|meta| match version {
                Some(version) => meta.insert("resourceVersion".to_owned(), version),
                None => meta.remove("resourceVersion"),
            });
            return Ok(json_response(StatusCode::CREATED, &created));
        }
        Ok(json_bytes_response(StatusCode::CREATED, object.text(request.http.managed_fields)))
    }

    /// Creates an object by a PUT or an apply, in which a resourceVersion means nothing.
    pub(crate) fn create_on_update(
        &mut self,
        request: &ResourceRequest<'_>,
        mut new: Value,
        managers: Managers,
    ) -> ApiResult<ApiResponse> {
        base_version(&new)?;
        if !self.dry_run {
            new["metadata"].as_object_mut().and_then(|meta| meta.remove("resourceVersion"));
        }
        self.create_object(request, new, managers)
    }

    /// Handles PUT and PATCH of an object or its status.
    pub(crate) fn update(&mut self, request: &ResourceRequest<'_>) -> ApiResult<ApiResponse> {
        let status = request.info.subresource == "status";
        if request.http.method == http::Method::PUT {
            let mut new = self.read(request)?;
            check_namespace(&mut new, request.kind, &request.info.namespace)?;
            check_name(&new, &request.info.name)?;
            let mut new = convert_object(new, request.kind, request.kind.inner());
            self.deduplicate_owners(&mut new, "");
            return match self.existing_object(request) {
                Ok(old) => self.replace_and_respond(request, &old, new, None, status),
                Err(_) if strategy_of(request.kind).allow_create_on_update() => {
                    if status {
                        let what = format!("the creation of a {} by its status", request.kind.kind);
                        return Err(StatusError::unsupported(what));
                    }
                    if let Some(uid) = new["metadata"]["uid"].as_str().filter(|uid| !uid.is_empty()) {
                        return Err(self.uid_precondition_error(request, "", uid));
                    }
                    if request.kind.namespaced {
                        namespace_lifecycle::check(self, request.kind, &request.info.namespace, &request.info.name)?;
                    }
                    let empty = normalize(request.kind, json!({}))?;
                    let managers = update_managers(request, (&empty, &None), &mut new, &[])?;
                    self.create_on_update(request, new, managers)
                }
                Err(error) => Err(error),
            };
        }
        body::check_patch(request.http)?;
        if request.http.media_type() == request::APPLY {
            return self.apply(request, status);
        }
        let old = self.existing_object(request)?;
        let new = self.apply_patch(request, &old.as_kind(request.kind, &self.kinds))?;
        let new = convert_object(new, request.kind, request.kind.inner());
        self.replace_and_respond(request, &old, new, None, status)
    }

    pub(crate) fn replace_and_respond(
        &mut self,
        request: &ResourceRequest<'_>,
        old: &StoredObject,
        new: Value,
        applied: Option<Managers>,
        status: bool,
    ) -> ApiResult<ApiResponse> {
        let object = self.replace(request, old, new, applied, status)?.as_kind(request.response_kind(), &self.kinds);
        Ok(json_bytes_response(StatusCode::OK, object.text(request.http.managed_fields)))
    }

    /// Applies a patch to an object, and sets defaults.
    fn apply_patch(&mut self, request: &ResourceRequest<'_>, old: &StoredObject) -> ApiResult<Value> {
        let kind = request.kind;
        let reads = body::reads_managed_fields(request.http);
        let (patched, mut errors) = body::patched(request, &if reads { old.typed() } else { old.typed_body() })?;
        let error = |why: &str| {
            let shown = if reads { patched.clone() } else { old.add_managers(patched.clone()) };
            patch_error(request, &shown, why)
        };
        let loose = request.http.media_type().contains("strategic");
        let (version, name) = (kind.api_version(), kind.kind);
        let stated = (patched["apiVersion"].as_str().unwrap_or_default(), patched["kind"].as_str().unwrap_or_default());
        if !loose {
            if stated.0.is_empty() {
                return Err(StatusError::unsupported("a patch that takes the version away"));
            }
            let is_other_version = stated.0 != version && self.kinds.find(stated.0, name).is_some();
            if kind.custom.is_none() && is_other_version {
                return Err(StatusError::unsupported("a patch of the version in which an object is written"));
            }
            if kind.custom.is_some() && (stated.0 != version || stated.1 != name) {
                return Err(StatusError::unsupported("a patch of a custom resource's version or kind"));
            }
            if stated.0 != version || !(stated.1.is_empty() || stated.1 == name) {
                return Err(error(&unregistered(stated.0, stated.1)));
            }
        }
        if kind.custom.is_none() {
            self.listed_quantities = ListedQuantity::all(kind.table_index(), &patched);
        }
        let decoded =
            if loose { decode::decode_loosely(kind.table_index(), patched.clone()) } else { decode_as(kind, &patched) };
        let decoded = decoded.map_err(|why| error(&why))?;
        errors.extend(body::unknown_fields(&decoded.unknown));
        self.warn_or_reject(request, errors, |why| error(&why))?;
        let mut new = untyped(decoded.value);
        restore_empty_lists(kind, &fields_with_empty_lists(kind, &patched), &mut new);
        restore_empty_managers(has_empty_managers(&patched), &mut new);
        strategy_of(kind).convert_fields(&mut new);
        prepare::set_defaults(kind, &mut new);
        check_namespace(&mut new, kind, &request.info.namespace)?;
        check_name(&new, &request.info.name)?;
        Ok(new)
    }

    /// Validates an updated object and stores it; `applied` are its managers after an apply.
    pub(crate) fn replace(
        &mut self,
        request: &ResourceRequest<'_>,
        old: &StoredObject,
        mut new: Value,
        applied: Option<Managers>,
        status: bool,
    ) -> ApiResult<std::sync::Arc<StoredObject>> {
        let kind = request.kind.inner();
        let strategy = strategy_of(kind);
        let name = request.info.name.as_str();
        check_namespace(&mut new, kind, old.meta("namespace"))?;
        let empty_rules = prepare::take_empty_rules(kind, &mut new);
        let uid = new["metadata"]["uid"].as_str().unwrap_or_default();
        // A patch applies to the current object, whatever its UID.
        let put = request.http.method == http::Method::PUT;
        if put && !uid.is_empty() && uid != old.meta("uid") {
            return Err(self.uid_precondition_error(request, old.meta("uid"), uid));
        }
        match base_version(&new)? {
            0 if prepare::requires_version(kind) => {
                let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
                return Err(StatusError::invalid(kind.group, kind.plural, name, &[error]));
            }
            0 => {}
            version if version != old.version => return Err(StatusError::stale(kind, name)),
            _ => {}
        }
        let before: &Value = &old.body;
        let mut managers = match applied {
            Some(managers) => managers,
            None => update_managers(request, (before, &old.managers), &mut new, &self.listed_quantities)?,
        };
        if !status {
            strategy.admit_update(&mut new, before);
        }
        if !put {
            self.deduplicate_owners(&mut new, AFTER_ADMISSION);
        }
        new["metadata"]["resourceVersion"] = old.version.to_string().into();
        new["metadata"]["generation"] = before["metadata"]["generation"].clone();
        let given: Vec<(&str, Value)> =
            strategy.unstored_lists().iter().map(|name| (*name, new[*name].clone())).collect();
        prepare::drop_empty_lists(kind, &mut new);
        if status {
            prepare::prepare_for_status_update(kind, &mut new, before);
        } else {
            prepare::prepare_for_update(kind, &mut new, before);
        }
        if !status {
            strategy.begin_update(self, &mut new, before);
        }
        // These fields are immutable; an update that omits them keeps them.
        for fixed in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
            let was = &before["metadata"][fixed];
            let meta = &mut new["metadata"];
            let given = matches!(fixed, "deletionGracePeriodSeconds" | "uid") && !meta[fixed].is_null();
            if !was.is_null() && !given {
                meta[fixed] = was.clone();
            }
        }
        // A status update keeps the stored spec, which need not be decoded again.
        let keeps_spec = status && kind.custom.is_none();
        let spec = new.get_mut("spec").filter(|_| keeps_spec).map(Value::take);
        let mut new = normalize(kind, new)?;
        if let Some(spec) = spec {
            new["spec"] = spec;
        }
        if field_manager::are_equal_ignoring_times(&managers, &old.managers) && new == *before {
            managers.clone_from(&old.managers);
        }
        let mut validated = strategy.with_deprecated_fields(&new).map_err(StatusError::plain_internal)?;
        if empty_rules && !status {
            validated.to_mut()["spec"]["rules"] = json!([]);
        }
        if let Some(what) = strategy.unsupported_before_validation(&validated).filter(|_| !status) {
            return Err(StatusError::unsupported(what));
        }
        let errors = match kind.custom {
            Some(custom) => {
                let found = if status {
                    custom.validate_status(&validated, before)
                } else {
                    custom.validate(&validated, Some(before))
                };
                let errors = found?;
                if errors.is_empty() && !status {
                    self.warnings.extend(CustomKind::warnings(&validated, Some(before)));
                }
                errors
            }
            None => validate_update(strategy, &validated, before, status),
        };
        if !errors.is_empty() {
            if let Some(what) = strategy.unsupported_if_invalid(before).filter(|_| !status) {
                return Err(StatusError::unsupported(what));
            }
            return Err(StatusError::invalid(kind.storage().group, kind.kind, name, &errors));
        }
        if !status {
            strategy.check_servable(self, &validated)?;
        }
        let unsupported = if status {
            strategy.unsupported_status(&validated)
        } else {
            strategy.unsupported_feature(&validated, Some(before))
        };
        if let Some(what) = unsupported {
            return Err(StatusError::unsupported(what));
        }
        if !status {
            self.warnings.extend(strategy.warnings(&validated, Some(before)));
            strategy.validate_admission(self, (old.meta("namespace"), name), &validated, Some(before))?;
            let (namespace, old) = (old.meta("namespace"), Some(before));
            quota::admit(self, &quota::QuotaRequest { kind, namespace, name, new: &validated, old, now: request.now })?;
        }
        // An object in deletion without finalizers is removed instead of updated; a namespace is
        // removed by its controller.
        let kept = new["metadata"]["finalizers"].as_array().is_some_and(|names| !names.is_empty());
        let grace = before["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        if old.is_deleting() && !kept && grace == 0 && strategy.deletion() != Deletion::ContentsFirst {
            self.remove_object(&old.key());
            // The response shows the lists as sent, since nothing is stored.
            for (name, list) in given {
                new[name] = list;
            }
            return Ok(StoredObject::new(kind, new, managers, old.version));
        }
        Ok(self.put_object(kind, old.key(), new, managers))
    }
}

/// Validates an update of an object or its status. Upstream validates metadata twice: for all
/// kinds, and by the rules of each kind.
fn validate_update(strategy: &dyn Strategy, new: &Value, old: &Value, status: bool) -> Vec<FieldError> {
    let mut errors = meta::update_of_any_kind(&new["metadata"], &old["metadata"]);
    errors.extend(if status { strategy.validate_status_update(new, old) } else { strategy.validate_update(new, old) });
    errors
}

/// Whether a new Job shares the labels of its template. If a request sets none, upstream's default
/// is the template's own map, so labels generated for the template appear in both; not if the name
/// is generated, as the object is copied before.
fn shares_labels(request: &ResourceRequest<'_>, body: &Value) -> bool {
    let none = |object: &Value| object["metadata"]["labels"].as_object().is_none_or(serde_json::Map::is_empty);
    if !strategy_of(request.kind).shares_template_labels() || none(body) {
        return false;
    }
    let applied = request.http.media_type() == request::APPLY;
    let given = if applied { body::config(request) } else { body::object_of(request, request.kind.kind) };
    given.is_ok_and(|given| none(&given))
}

/// The resourceVersion of an update, 0 if absent. Upstream: `ObjectResourceVersion`.
fn base_version(body: &Value) -> ApiResult<u64> {
    match body["metadata"]["resourceVersion"].as_str().unwrap_or_default() {
        "" => Ok(0),
        text => text
            .parse()
            .map_err(|_| StatusError::plain_internal(format!("strconv.ParseUint: parsing \"{text}\": invalid syntax"))),
    }
}
