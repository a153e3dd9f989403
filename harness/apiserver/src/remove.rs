//! Deletion. Upstream: `Delete` and `BeforeDelete` of the generic registry, and the pod's
//! `CheckGracefulDelete`.

use std::sync::Arc;

use http::StatusCode;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::api::{TYPES, decode};
use super::field::FieldError;
use super::kinds::{DEFINITION, Kind, Kinds};
use super::managed::Managers;
use super::object::Object;
use super::options;
use super::problem::{Outcome, Problem};
use super::server::{Answer, Ask, Server, stamp, text, whole};
use crate::pointer::At;

/// The finalizer that keeps an object until its dependents are gone.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer that keeps an object until no dependent refers to it.
pub(super) const ORPHAN: &str = "orphan";

/// The option that deletes what cannot be read.
const UNSAFE: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// The warning of a Job's deletion. Upstream: `jobStrategy.WarningsOnDelete` and its REST storage.
const PRESERVED: &str = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to \
                         remove them or set propagationPolicy=Orphan to suppress this warning";

/// The options of a deletion.
#[derive(Debug, Clone, Default)]
pub(super) struct How {
    pub(super) grace: Option<i64>,
    pub(super) propagation: Option<String>,
    pub(super) uid: Option<String>,
    pub(super) version: Option<String>,
    pub(super) dry: bool,
}

impl Server {
    pub(super) fn delete(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let how = how(&self.kinds, ask)?;
        self.dry = how.dry;
        self.warn_of_pods(ask, &how);
        let object = self.existing(ask)?;
        let (gone, state) = self.take(&object, &how, ask.now)?;
        let ends = ask.kind.built_in() != "Pod" || object.deleting();
        if gone && self.dry && ends && object.finalizers().next().is_some() {
            // Upstream answers with an object that depends on what it would have written; of a pod
            // that is not in deletion yet, with that of the deletion.
            return Err(Problem::unsupported("a dry run that takes an object's last finalizers off"));
        }
        if gone && !ask.kind.returns_deleted {
            return Ok(whole(StatusCode::OK, &done(&state.at(ask.kind))));
        }
        Ok(text(StatusCode::OK, state.at(ask.kind).text(ask.call.managed)))
    }

    /// A Job's deletion preserves its pods if it says nothing of them.
    fn warn_of_pods(&mut self, ask: &Ask<'_>, how: &How) {
        if ask.kind.built_in() == "Job" && how.propagation.is_none() {
            self.warnings.push(PRESERVED.to_owned());
        }
    }

    pub(super) fn delete_all(&mut self, ask: &Ask<'_>) -> Outcome<Answer> {
        let selector = options::list(ask.call, ask.kind, false)?;
        if ["limit", "continue", "resourceVersion"].iter().any(|name| !matches!(ask.call.param(name), "" | "0")) {
            return Err(Problem::unsupported("the deletion of a part of a collection, or of what it once was"));
        }
        let how = how(&self.kinds, ask)?;
        self.dry = how.dry;
        self.warn_of_pods(ask, &how);
        let found: Vec<_> = self.store.list(ask.kind, &ask.route.namespace).cloned().collect();
        let mut items = Vec::new();
        for object in found.iter().filter(|object| selector.matches(&object.body)) {
            self.take(object, &how, ask.now)?;
            // As they were before.
            let shown = object.at(ask.kind);
            items.push(if ask.kind.custom.is_some() { shown.typed() } else { shown.with_managers() });
        }
        let version = self.store.version().to_string();
        let mut list = json!({"kind": ask.kind.list_kind(), "apiVersion": ask.kind.api_version(),
            "metadata": {"resourceVersion": version}, "items": items});
        if ask.kind.custom.is_some() {
            list["metadata"]["continue"] = "".into();
        }
        Ok(whole(StatusCode::OK, &list))
    }

    /// Begin or finish an object's deletion; whether it is gone, and its last state.
    pub(super) fn take(&mut self, object: &Arc<Object>, how: &How, now: Timestamp) -> Outcome<(bool, Arc<Object>)> {
        let (kind, name) = (object.kind, object.meta("name").to_owned());
        preconditions(kind, object, how)?;
        if kind.built_in() == "Namespace" {
            if object.deleting() {
                return Ok((false, Arc::clone(object)));
            }
            let was: Vec<String> = object.finalizers().map(str::to_owned).collect();
            let mut finalizers = finalizers(kind, &was, how);
            let mut body = object.body.clone();
            if finalizers != was {
                // Without duplicates: upstream keeps them in a set.
                let mut seen = std::collections::BTreeSet::new();
                finalizers.retain(|name| seen.insert(name.clone()));
                body["metadata"]["finalizers"] = json!(finalizers);
            }
            return Ok((
                false,
                self.end_namespace(&Object::new(kind, body, object.managers.clone(), object.version), now),
            ));
        }
        if kind.built_in() == DEFINITION && !object.deleting() {
            return Ok((false, self.end_definition(object, now)));
        }
        let mut body = object.body.clone();
        let mut graceful = false;
        if kind.built_in() == "Pod" {
            match grace(&mut body, how, now) {
                Grace::Pending => return Ok((false, Arc::clone(object))),
                Grace::Given => graceful = true,
                Grace::Over => {}
            }
        }
        let key = object.key();
        let was: Vec<String> = object.finalizers().map(str::to_owned).collect();
        // The garbage collector ignores events.
        let finalizers = if kind.built_in() == "Event" { was.clone() } else { finalizers(kind, &was, how) };
        let held = !finalizers.is_empty();
        if finalizers != was {
            body["metadata"]["finalizers"] = json!(finalizers);
        }
        if graceful {
            let written = self.write(kind, body.clone(), object.managers.clone())?;
            if self.dry {
                let gone = !held && body["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0;
                return Ok((gone, written));
            }
            if held || body["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) > 0 {
                return Ok((false, written));
            }
        } else if held {
            mark(&mut body, now);
            return Ok((false, self.write(kind, body, object.managers.clone())?));
        } else if !was.is_empty() && how.version.is_some() {
            // Upstream checks the precondition again, on an object without a version.
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: /registry{}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: \
                 ResourceVersion in precondition: , ResourceVersion in object meta: {}",
                super::etcd::registry(kind, &key),
                object.version
            );
            return Err(Problem::conflict(kind, &name, &why));
        }
        let last = self.discard(&key).ok_or_else(|| Problem::not_found(kind, &name))?;
        Ok((true, last))
    }

    /// Writes an object of the server's or a controller's.
    pub(super) fn write(&mut self, kind: &'static Kind, body: Value, managers: Managers) -> Outcome<Arc<Object>> {
        let body = super::write::normal(kind, body)?;
        let text = |name: &str| body["metadata"][name].as_str().unwrap_or_default().to_owned();
        let key = super::store::Key::new(kind, &text("namespace"), &text("name"));
        Ok(self.keep(kind, key, body, managers))
    }
}

/// How a pod is deleted.
enum Grace {
    /// Its grace period runs already.
    Pending,
    /// Its grace period begins.
    Given,
    /// It can be removed.
    Over,
}

fn grace(body: &mut Value, how: &How, now: Timestamp) -> Grace {
    let asked = how.grace.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let after = |time: Timestamp, seconds: i64| time.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(time);
    if let Some(until) = body["metadata"]["deletionTimestamp"].as_str() {
        let runs = body["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        let Some(asked) = asked.filter(|_| runs > 0) else {
            return if runs == 0 { Grace::Over } else { Grace::Pending };
        };
        if asked >= runs {
            return Grace::Pending;
        }
        let began = until.parse::<Timestamp>().map_or(now, |until| after(until, -runs));
        let mut until = after(began, asked);
        let mut period = asked;
        if until < now {
            until = now;
            period = period.min(1);
        }
        body["metadata"]["deletionTimestamp"] = stamp(until);
        body["metadata"]["deletionGracePeriodSeconds"] = period.into();
        return Grace::Given;
    }
    let own = body["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(0);
    let over = matches!(body["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
    let unbound = body["spec"]["nodeName"].as_str().unwrap_or_default().is_empty();
    let period = if over || unbound { 0 } else { asked.unwrap_or(if own < 0 { 1 } else { own }) };
    body["metadata"]["deletionTimestamp"] = stamp(after(now, period));
    body["metadata"]["deletionGracePeriodSeconds"] = period.into();
    count(body);
    Grace::Given
}

/// Marks an object as being deleted.
fn mark(body: &mut Value, now: Timestamp) {
    if body["metadata"]["deletionTimestamp"].is_null() {
        body["metadata"]["deletionTimestamp"] = stamp(now);
        count(body);
    }
    body["metadata"]["deletionGracePeriodSeconds"] = 0.into();
}

fn count(body: &mut Value) {
    if let Some(generation) = body["metadata"]["generation"].as_i64().filter(|generation| *generation > 0) {
        body["metadata"]["generation"] = (generation + 1).into();
    }
}

/// The finalizers once the deletion has begun.
fn finalizers(kind: &Kind, was: &[String], how: &How) -> Vec<String> {
    let has = |name: &str| was.iter().any(|one| one == name);
    let (orphan, foreground) = match how.propagation.as_deref() {
        Some("Orphan") => (true, false),
        Some("Foreground") => (false, true),
        Some(_) => (false, false),
        None if has(ORPHAN) || has(FOREGROUND) => (has(ORPHAN), !has(ORPHAN)),
        // Upstream: `DefaultGarbageCollectionPolicy` of batch/v1.
        None => (kind.built_in() == "Job", false),
    };
    let mut names: Vec<String> = was.iter().filter(|name| *name != ORPHAN && *name != FOREGROUND).cloned().collect();
    names.extend(orphan.then(|| ORPHAN.to_owned()));
    names.extend(foreground.then(|| FOREGROUND.to_owned()));
    let (mut before, mut after) = (was.to_vec(), names.clone());
    before.sort();
    after.sort();
    if before == after { was.to_vec() } else { names }
}

fn preconditions(kind: &'static Kind, object: &Object, how: &How) -> Outcome<()> {
    let name = object.meta("name");
    if kind.built_in() == "Namespace" {
        for (what, wanted, there) in [
            ("UID", how.uid.as_deref(), object.meta("uid")),
            ("ResourceVersion", how.version.as_deref(), object.meta("resourceVersion")),
        ] {
            if let Some(wanted) = wanted.filter(|wanted| *wanted != there) {
                let why =
                    format!("Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {there}");
                return Err(Problem::conflict(kind, name, &why));
            }
        }
        return Ok(());
    }
    conflicts(object, how)
}

/// Whether an object is the one that the options are about.
pub(super) fn conflicts(object: &Object, how: &How) -> Outcome<()> {
    // Upstream names the kind as which the object is stored.
    let (kind, name) = (object.kind.storage(), object.meta("name"));
    let conflict = |why: String| {
        let mut problem = Problem::conflict(kind, name, &why);
        let target = if kind.group.is_empty() { kind.kind.to_owned() } else { format!("{}.{}", kind.kind, kind.group) };
        problem.message = format!("Operation cannot be fulfilled on {target} \"{name}\": {why}");
        if let Some(details) = &mut problem.details {
            details["kind"] = kind.kind.into();
        }
        Err(problem)
    };
    if let Some(uid) = how.uid.as_deref().filter(|uid| *uid != object.meta("uid")) {
        return conflict(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            object.meta("uid")
        ));
    }
    if let Some(version) = how.version.as_deref().filter(|version| *version != object.meta("resourceVersion")) {
        return conflict(format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have \
             been modified",
            object.meta("resourceVersion")
        ));
    }
    Ok(())
}

fn how(kinds: &Kinds, ask: &Ask<'_>) -> Outcome<How> {
    let mut body = json!({});
    if !ask.call.body.is_empty() {
        super::body::check_form(ask.call)?;
        let given = super::body::interpret(ask.call).map_err(Problem::bad_request)?;
        // Options are registered in every group: client-go's typed clients send their group's.
        let (version, kind) = (given["apiVersion"].as_str().unwrap_or_default(), given["kind"].as_str());
        let known = matches!(version, "" | "meta.k8s.io/v1") || kinds.all().any(|kind| kind.api_version() == version);
        if !known || !matches!(kind, None | Some("" | "DeleteOptions")) {
            return Err(Problem::unsupported("delete options of another kind or version"));
        }
        let place = TYPES.place("DeleteOptions").expect("options are in the table");
        body = decode(place, given).map_err(Problem::bad_request)?.value;
    } else {
        if let Some(grace) = options::number(ask.call, "gracePeriodSeconds")? {
            body["gracePeriodSeconds"] = grace.into();
        }
        if !ask.call.param("propagationPolicy").is_empty() {
            body["propagationPolicy"] = ask.call.param("propagationPolicy").into();
        }
        for name in ["uid", "resourceVersion"].into_iter().filter(|name| !ask.call.param(name).is_empty()) {
            body["preconditions"][name] = ask.call.param(name).into();
        }
        if ask.call.query.contains_key("orphanDependents") {
            body["orphanDependents"] = ask.call.flag("orphanDependents").into();
        }
        if ask.call.flag(UNSAFE) {
            body[UNSAFE] = true.into();
        }
        body["dryRun"] = json!(options::dry_run(ask.call));
    }
    how_of(&body)
}

/// The options of a deletion, from an object of their type.
pub(super) fn how_of(body: &Value) -> Outcome<How> {
    if body[UNSAFE] == true {
        return Err(Problem::unsupported(format!("the option {UNSAFE}")));
    }
    // The older form of a propagation policy.
    let orphans = body["orphanDependents"].as_bool();
    let dry: Vec<&str> = body["dryRun"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
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
    errors.extend(options::wrong_dry_run(&dry));
    if !errors.is_empty() {
        return Err(Problem::invalid("meta.k8s.io", "DeleteOptions", "", &errors));
    }
    Ok(How {
        grace: body["gracePeriodSeconds"].as_i64(),
        propagation: propagation.or_else(|| orphans.map(|orphans| policy(orphans).to_owned())),
        uid: text("/preconditions/uid"),
        version: text("/preconditions/resourceVersion"),
        dry: !dry.is_empty(),
    })
}

fn policy(orphans: bool) -> &'static str {
    if orphans { "Orphan" } else { "Background" }
}

/// The Status of a completed deletion.
fn done(object: &Object) -> Value {
    let kind = object.kind;
    let mut details = json!({"name": object.meta("name"), "kind": kind.plural, "uid": object.meta("uid")});
    if !kind.group.is_empty() {
        details["group"] = kind.group.into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
