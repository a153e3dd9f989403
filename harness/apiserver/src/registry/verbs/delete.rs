//! Deletes objects. Upstream: `Delete` and `BeforeDelete` of the generic registry, and the pod's
//! `CheckGracefulDelete`.

use std::sync::Arc;

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::fields::entries::Managers;
use crate::http::query;
use crate::http::request::{ResourceRequest, timestamp_value};
use crate::http::response::{ApiResponse, json_bytes_response, json_response};
use crate::http::status_error::{ApiResult, StatusError};
use crate::pointer::JsonPointer;
use crate::registry::kinds::strategy_of;
use crate::registry::state::Server;
use crate::registry::strategy::Deletion;
use crate::storage::object::{FOREGROUND, ORPHAN, StoredObject};
use crate::types::decode::decode;
use crate::types::field_error::FieldError;
use crate::types::kinds::{Kinds, ResourceKind};
use crate::types::table::TYPES;

/// The option to delete unreadable objects.
const UNSAFE: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// The warning of a Job's deletion. Upstream: `jobStrategy.WarningsOnDelete` and its REST storage.
const PRESERVED: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to \
                         remove them or set propagationPolicy=Orphan to suppress this warning";

/// The options of a deletion.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) grace: Option<i64>,
    pub(crate) propagation: Option<String>,
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) dry_run: bool,
    /// The deprecated `orphanDependents: false`: upstream responds 202 if the object stays.
    pub(crate) deletes_dependents: bool,
}

impl Server {
    pub(crate) fn delete(&mut self, request: &ResourceRequest<'_>) -> ApiResult<ApiResponse> {
        let options = delete_options(&self.kinds, request)?;
        self.dry_run = options.dry_run;
        self.warn_about_preserved_pods(request, &options);
        let object = self.existing_object(request)?;
        let (removed, state) = self.delete_object(&object, &options, request.now)?;
        let ends = strategy_of(request.kind).deletion() != Deletion::Graceful || object.is_deleting();
        if removed && self.dry_run && ends && object.finalizers().next().is_some() {
            // Upstream returns an object that depends on what it would have written; for a pod that
            // was not in deletion, the one of the deletion.
            return Err(StatusError::unsupported("a dry run that takes an object's last finalizers off"));
        }
        if removed && !request.kind.returns_deleted {
            return Ok(json_response(StatusCode::OK, &success_status(&state.as_kind(request.kind, &self.kinds))));
        }
        let code = if !removed && options.deletes_dependents { StatusCode::ACCEPTED } else { StatusCode::OK };
        Ok(json_bytes_response(
            code,
            state.as_kind(request.response_kind(), &self.kinds).text(request.http.managed_fields),
        ))
    }

    /// Warns that deleting a Job preserves its pods, if no propagation policy is set.
    fn warn_about_preserved_pods(&mut self, request: &ResourceRequest<'_>, options: &DeleteOptions) {
        let orphans = strategy_of(request.kind).orphans_dependents();
        if orphans && options.propagation.is_none() {
            self.warnings.push(PRESERVED.to_owned());
        }
    }

    pub(crate) fn delete_collection(&mut self, request: &ResourceRequest<'_>) -> ApiResult<ApiResponse> {
        let selector = query::list(request.http, request.kind, false)?;
        const PART: &str = "the deletion of a part of a collection, or of what it once was";
        if ["continue", "resourceVersion"].iter().any(|name| !matches!(request.http.param(name), "" | "0")) {
            return Err(StatusError::unsupported(PART));
        }
        let options = delete_options(&self.kinds, request)?;
        self.dry_run = options.dry_run;
        self.warn_about_preserved_pods(request, &options);
        let found: Vec<_> = self.store.list(request.kind, &request.info.namespace).collect();
        if request.http.param("limit").parse().is_ok_and(|limit| (1..found.len()).contains(&limit)) {
            return Err(StatusError::unsupported(PART));
        }
        let kind = request.response_kind();
        let mut items = Vec::new();
        for object in found.iter().filter(|object| selector.is_empty() || selector.matches(&object.body)) {
            self.delete_object(object, &options, request.now)?;
            // Upstream lists the objects as they were before the deletion.
            let shown = object.as_kind(kind, &self.kinds);
            items.push(if request.kind.custom.is_some() { shown.typed() } else { shown.with_managers() });
        }
        let version = self.store.version().to_string();
        let mut list = json!({"kind": kind.list_kind(), "apiVersion": kind.api_version(),
            "metadata": {"resourceVersion": version}, "items": items});
        if request.kind.custom.is_some() {
            list["metadata"]["continue"] = "".into();
        }
        Ok(json_response(StatusCode::OK, &list))
    }

    /// Starts or finishes the deletion of an object; returns whether it is removed, and its last
    /// state.
    pub(crate) fn delete_object(
        &mut self,
        object: &Arc<StoredObject>,
        options: &DeleteOptions,
        now: Timestamp,
    ) -> ApiResult<(bool, Arc<StoredObject>)> {
        let (kind, name) = (object.kind, object.meta("name").to_owned());
        check_preconditions(kind, object, options)?;
        let strategy = strategy_of(kind);
        if strategy.deletion() == Deletion::ContentsFirst {
            if object.is_deleting() {
                return Ok((false, Arc::clone(object)));
            }
            let old_finalizers: Vec<String> = object.finalizers().map(str::to_owned).collect();
            let mut finalizers = finalizers_for_deletion(kind, &old_finalizers, options);
            let mut body = object.body.clone();
            if finalizers != old_finalizers {
                // Remove duplicates: upstream keeps finalizers in a set.
                let mut unique = std::collections::BTreeSet::new();
                finalizers.retain(|name| unique.insert(name.clone()));
                body["metadata"]["finalizers"] = json!(finalizers);
            }
            return Ok((
                false,
                self.begin_namespace_deletion(
                    &StoredObject::new(kind, body, object.managers.clone(), object.version),
                    now,
                ),
            ));
        }
        if strategy.deletion() == Deletion::InstancesFirst && !object.is_deleting() {
            return Ok((false, self.begin_definition_deletion(object, now)));
        }
        let mut body = object.body.clone();
        let mut graceful = false;
        if strategy.deletion() == Deletion::Graceful {
            match start_grace_period(&mut body, options, now) {
                GracePeriod::Running => return Ok((false, Arc::clone(object))),
                GracePeriod::Started => graceful = true,
                GracePeriod::Over => {}
            }
        }
        let key = object.key();
        let old_finalizers: Vec<String> = object.finalizers().map(str::to_owned).collect();
        let finalizers = if strategy.is_garbage_collected() {
            finalizers_for_deletion(kind, &old_finalizers, options)
        } else {
            old_finalizers.clone()
        };
        let has_finalizers = !finalizers.is_empty();
        if finalizers != old_finalizers {
            body["metadata"]["finalizers"] = json!(finalizers);
        }
        if graceful {
            let written = self.write(kind, body.clone(), object.managers.clone())?;
            if self.dry_run {
                let removed =
                    !has_finalizers && body["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0;
                return Ok((removed, written));
            }
            if has_finalizers || body["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) > 0 {
                return Ok((false, written));
            }
        } else if has_finalizers {
            set_deletion_timestamp(&mut body, now);
            return Ok((false, self.write(kind, body, object.managers.clone())?));
        } else if !old_finalizers.is_empty() && options.version.is_some() {
            // Upstream checks the precondition again, on an object without a version.
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: /registry{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
                 ResourceVersion in precondition: , ResourceVersion in object meta: {}",
                crate::registry::etcd_keys::storage_key(kind, &key),
                object.version
            );
            return Err(StatusError::conflict(kind, &name, &why));
        }
        let last = self.remove_object(&key).ok_or_else(|| StatusError::not_found(kind, &name))?;
        Ok((true, last))
    }

    /// Writes an object on behalf of the server or a controller.
    pub(crate) fn write(
        &mut self,
        kind: &'static ResourceKind,
        body: Value,
        managers: Managers,
    ) -> ApiResult<Arc<StoredObject>> {
        let body = crate::registry::decode::normalize(kind, body)?;
        let text = |name: &str| body["metadata"][name].as_str().unwrap_or_default().to_owned();
        let key = crate::storage::keys::StoreKey::new(kind, &text("namespace"), &text("name"));
        Ok(self.put_object(kind, key, body, managers))
    }
}

/// The state of the graceful deletion of a pod.
enum GracePeriod {
    /// The grace period has already started.
    Running,
    /// The grace period starts now.
    Started,
    /// The pod can be removed.
    Over,
}

fn start_grace_period(body: &mut Value, options: &DeleteOptions, now: Timestamp) -> GracePeriod {
    let requested = options.grace.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let after = |time: Timestamp, seconds: i64| time.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(time);
    if let Some(until) = body["metadata"]["deletionTimestamp"].as_str() {
        let runs = body["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        let Some(requested) = requested.filter(|_| runs > 0) else {
            return if runs == 0 { GracePeriod::Over } else { GracePeriod::Running };
        };
        if requested >= runs {
            return GracePeriod::Running;
        }
        let start = until.parse::<Timestamp>().map_or(now, |until| after(until, -runs));
        let mut until = after(start, requested);
        let mut period = requested;
        if until < now {
            until = now;
            period = period.min(1);
        }
        body["metadata"]["deletionTimestamp"] = timestamp_value(until);
        body["metadata"]["deletionGracePeriodSeconds"] = period.into();
        return GracePeriod::Started;
    }
    let own = body["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(0);
    let over = matches!(body["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    let unbound = body["spec"]["nodeName"].as_str().unwrap_or_default().is_empty();
    let period = if over || unbound { 0 } else { requested.unwrap_or(if own < 0 { 1 } else { own }) };
    body["metadata"]["deletionTimestamp"] = timestamp_value(after(now, period));
    body["metadata"]["deletionGracePeriodSeconds"] = period.into();
    increment_generation(body);
    GracePeriod::Started
}

/// Marks an object as being deleted.
fn set_deletion_timestamp(body: &mut Value, now: Timestamp) {
    if body["metadata"]["deletionTimestamp"].is_null() {
        body["metadata"]["deletionTimestamp"] = timestamp_value(now);
        increment_generation(body);
    }
    body["metadata"]["deletionGracePeriodSeconds"] = 0.into();
}

fn increment_generation(body: &mut Value) {
    if let Some(generation) = body["metadata"]["generation"].as_i64().filter(|generation| *generation > 0) {
        body["metadata"]["generation"] = (generation + 1).into();
    }
}

/// The finalizers at the start of the deletion.
fn finalizers_for_deletion(kind: &ResourceKind, old_finalizers: &[String], options: &DeleteOptions) -> Vec<String> {
    let has = |name: &str| old_finalizers.iter().any(|one| one == name);
    let (orphan, foreground) = match options.propagation.as_deref() {
        Some("Orphan") => (true, false),
        Some("Foreground") => (false, true),
        Some(_) => (false, false),
        None if has(ORPHAN) || has(FOREGROUND) => (has(ORPHAN), !has(ORPHAN)),
        // Upstream: `DefaultGarbageCollectionPolicy` of batch/v1.
        None => (strategy_of(kind).orphans_dependents(), false),
    };
    let mut names: Vec<String> =
        old_finalizers.iter().filter(|name| *name != ORPHAN && *name != FOREGROUND).cloned().collect();
    names.extend(orphan.then(|| ORPHAN.to_owned()));
    names.extend(foreground.then(|| FOREGROUND.to_owned()));
    let (mut before, mut after) = (old_finalizers.to_vec(), names.clone());
    before.sort();
    after.sort();
    if before == after { old_finalizers.to_vec() } else { names }
}

fn check_preconditions(kind: &'static ResourceKind, object: &StoredObject, options: &DeleteOptions) -> ApiResult<()> {
    let name = object.meta("name");
    if strategy_of(kind).deletion() == Deletion::ContentsFirst {
        for (what, expected, actual) in [
            ("UID", options.uid.as_deref(), object.meta("uid")),
            ("ResourceVersion", options.version.as_deref(), object.meta("resourceVersion")),
        ] {
            if let Some(expected) = expected.filter(|expected| *expected != actual) {
                let why =
                    format!("Precondition failed: {what} in precondition: {expected}, {what} in object meta: {actual}");
                return Err(StatusError::conflict(kind, name, &why));
            }
        }
        return Ok(());
    }
    check_uid_and_version(object, options)
}

/// Checks the preconditions on UID and version.
pub(crate) fn check_uid_and_version(object: &StoredObject, options: &DeleteOptions) -> ApiResult<()> {
    // Upstream names the stored kind.
    let (kind, name) = (object.kind.storage(), object.meta("name"));
    let conflict = |why: String| {
        let mut error = StatusError::conflict(kind, name, &why);
        let target = if kind.group.is_empty() { kind.kind.to_owned() } else { format!("{}.{}", kind.kind, kind.group) };
        error.message = format!("Operation cannot be fulfilled on {target} \"{name}\": {why}");
        if let Some(details) = &mut error.details {
            details["kind"] = kind.kind.into();
        }
        Err(error)
    };
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != object.meta("uid")) {
        return conflict(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            object.meta("uid")
        ));
    }
    if let Some(version) = options.version.as_deref().filter(|version| *version != object.meta("resourceVersion")) {
        return conflict(format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have \
             been modified",
            object.meta("resourceVersion")
        ));
    }
    Ok(())
}

fn delete_options(kinds: &Kinds, request: &ResourceRequest<'_>) -> ApiResult<DeleteOptions> {
    let mut body = json!({});
    if !request.http.body.is_empty() {
        crate::http::body::check_content_type(request.http)?;
        let given = crate::http::body::interpret(request.http).map_err(StatusError::bad_request)?;
        // Every group has delete options: client-go's typed clients send those of their group.
        let (version, kind) = (given["apiVersion"].as_str().unwrap_or_default(), given["kind"].as_str());
        let known = matches!(version, "" | "meta.k8s.io/v1") || kinds.all().any(|kind| kind.api_version() == version);
        if !known || !matches!(kind, None | Some("" | "DeleteOptions")) {
            return Err(StatusError::unsupported("delete options of another kind or version"));
        }
        let type_index = TYPES.index_of("DeleteOptions").expect("options are in the table");
        body = decode(type_index, given).map_err(StatusError::bad_request)?.value;
    } else {
        if let Some(grace) = query::number(request.http, "gracePeriodSeconds")? {
            body["gracePeriodSeconds"] = grace.into();
        }
        if !request.http.param("propagationPolicy").is_empty() {
            body["propagationPolicy"] = request.http.param("propagationPolicy").into();
        }
        for name in ["uid", "resourceVersion"].into_iter().filter(|name| !request.http.param(name).is_empty()) {
            body["preconditions"][name] = request.http.param(name).into();
        }
        if request.http.query.contains_key("orphanDependents") {
            body["orphanDependents"] = request.http.flag("orphanDependents").into();
        }
        if request.http.flag(UNSAFE) {
            body[UNSAFE] = true.into();
        }
        body["dryRun"] = json!(query::dry_run(request.http));
    }
    parse_delete_options(&body)
}

/// Parses delete options.
pub(crate) fn parse_delete_options(body: &Value) -> ApiResult<DeleteOptions> {
    if body[UNSAFE] == true {
        return Err(StatusError::unsupported(format!("the option {UNSAFE}")));
    }
    // The deprecated form of a propagation policy.
    let orphans = body["orphanDependents"].as_bool();
    let dry_run: Vec<&str> = body["dryRun"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut errors = Vec::new();
    let text = |pointer: &str| body.at(pointer).and_then(Value::as_str).map(str::to_owned);
    let propagation = text("/propagationPolicy");
    if let Some(policy) = propagation.as_deref().filter(|_| orphans.is_some()) {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        errors.push(FieldError::invalid("propagationPolicy", policy, why));
    }
    if let Some(other) = propagation.as_deref().filter(|one| !matches!(*one, "Orphan" | "Background" | "Foreground")) {
        let among = ["Foreground", "Background", "Orphan", "nil"];
        errors.push(FieldError::unsupported("propagationPolicy", other, &among));
    }
    errors.extend(query::wrong_dry_run(&dry_run));
    if !errors.is_empty() {
        return Err(StatusError::invalid("meta.k8s.io", "DeleteOptions", "", &errors));
    }
    Ok(DeleteOptions {
        grace: body["gracePeriodSeconds"].as_i64(),
        propagation: propagation.or_else(|| orphans.map(|orphans| policy(orphans).to_owned())),
        uid: text("/preconditions/uid"),
        version: text("/preconditions/resourceVersion"),
        dry_run: !dry_run.is_empty(),
        deletes_dependents: orphans == Some(false),
    })
}

fn policy(orphans: bool) -> &'static str {
    if orphans { "Orphan" } else { "Background" }
}

/// The Status of a completed deletion.
fn success_status(object: &StoredObject) -> Value {
    let kind = object.kind;
    let mut details = json!({"name": object.meta("name"), "kind": kind.plural, "uid": object.meta("uid")});
    if !kind.group.is_empty() {
        details["group"] = kind.group.into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
