//! CustomResourceDefinitions themselves: which of them this server cannot serve, and what their
//! controllers do.
//!
//! kube-apiserver runs those controllers itself, whether others run or not: they accept the names,
//! establish the kind, and on deletion remove the objects before the definition. Here all of it
//! happens right after the request that gives the reason, one write for each of upstream's.
//!
//! Upstream: `apiextensions-apiserver/pkg/controller` (status, establish, finalizer).

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::checks::{is_valid, undecided};
use super::kinds_of;
use crate::kinds::{EXTENSIONS, KINDS, Kind, built_in};
use crate::managed::{Atom, Writer};
use crate::object::Object;
use crate::problem::{Outcome, Problem};
use crate::remove::How;
use crate::server::{Server, stamp};

/// The finalizer of a definition whose objects are being deleted.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

fn kind() -> &'static Kind {
    built_in(EXTENSIONS, "customresourcedefinitions").expect("definitions are served")
}

/// Refuses a definition that this server cannot serve.
pub(crate) fn refuse_definition(server: &Server, body: &Value) -> Outcome<()> {
    let spec = &body["spec"];
    let group = spec["group"].as_str().unwrap_or_default();
    kinds_of(spec).map_err(Problem::unsupported)?;
    if let Some(what) = undecided(spec) {
        return Err(Problem::unsupported(what));
    }
    if KINDS.iter().any(|kind| kind.group == group) {
        return Err(Problem::unsupported(format!("a CustomResourceDefinition of the group {group}")));
    }
    let names = |spec: &Value| -> Vec<String> {
        let names = &spec["names"];
        let short = names["shortNames"].as_array().into_iter().flatten();
        let all = ["plural", "singular"].iter().map(|name| &names[*name]).chain(short);
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let own = names(spec);
    let kinds = |spec: &Value| [spec["names"]["kind"].clone(), spec["names"]["listKind"].clone()];
    let others =
        server.store.list(kind(), "").filter(|other| other.body["metadata"]["name"] != body["metadata"]["name"]);
    for other in others.filter(|other| other.body["spec"]["group"] == group) {
        let theirs = &other.body["spec"];
        if names(theirs).iter().any(|name| own.contains(name))
            || kinds(theirs).iter().any(|one| kinds(spec).contains(one))
        {
            return Err(Problem::unsupported("two CustomResourceDefinitions of one group that share a name"));
        }
    }
    Ok(())
}

/// Refuses to judge a change of a definition that was not valid: upstream lets some of it stay.
pub(crate) fn refuse_invalid_before(old: &Value) -> Outcome<()> {
    if is_valid(old) {
        return Ok(());
    }
    Err(Problem::unsupported("a change of a CustomResourceDefinition that was not valid"))
}

fn condition<'a>(body: &'a Value, name: &str) -> Option<&'a Value> {
    body["status"]["conditions"].as_array()?.iter().find(|one| one["type"] == name)
}

/// Sets a condition. Its time is that of the last change of its status.
fn set_condition(body: &mut Value, name: &str, status: &str, reason: &str, message: &str, now: Timestamp) {
    let old = condition(body, name).cloned().unwrap_or_default();
    let time = if old["status"] == status { old["lastTransitionTime"].clone() } else { stamp(now) };
    let mut all = body["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let new = json!({"type": name, "status": status, "lastTransitionTime": time, "reason": reason, "message": message});
    match all.iter_mut().find(|one| one["type"] == name) {
        Some(one) => *one = new,
        None => all.push(new),
    }
    body["status"]["conditions"] = Value::Array(all);
}

impl Server {
    /// Does what the controllers of definitions have to do after a change, and serves the kinds
    /// that are established.
    pub(crate) fn establish(&mut self, now: Timestamp) {
        let about = |change: &crate::store::Change| change.key.kind == kind().place();
        if !self.deleting_definitions && !self.store.changed(self.defined, about) {
            self.defined = self.store.version();
            return;
        }
        loop {
            self.define();
            let all: Vec<Arc<Object>> = self.store.list(kind(), "").cloned().collect();
            if !all.iter().any(|one| self.step_definition(one, now)) {
                self.deleting_definitions = all.iter().any(|one| one.deleting());
                break;
            }
        }
        self.defined = self.store.version();
    }

    /// Serves what is established, and not what was.
    pub(crate) fn define(&mut self) {
        self.kinds.clear();
        let all: Vec<Arc<Object>> = self.store.list(kind(), "").cloned().collect();
        for one in all {
            let established = condition(&one.body, "Established").is_some_and(|one| one["status"] == "True");
            if let (true, Ok(definition)) = (established, kinds_of(&one.body["spec"])) {
                self.kinds.define(one.meta("name"), definition);
            }
        }
    }

    /// Does one thing for a definition; whether there was one to do.
    fn step_definition(&mut self, object: &Arc<Object>, now: Timestamp) -> bool {
        let mut body = object.body.clone();
        if object.deleting() {
            return object.finalizers().any(|name| name == CLEANUP) && self.clean_up(object, now);
        }
        let wanted = &object.body["spec"]["names"];
        if object.body["status"]["acceptedNames"] != *wanted || condition(&body, "NamesAccepted").is_none() {
            body["status"]["acceptedNames"] = wanted.clone();
            set_condition(&mut body, "NamesAccepted", "True", "NoConflicts", "no conflicts found", now);
            if condition(&body, "Established").is_none() {
                let message = "the initial names have been accepted";
                set_condition(&mut body, "Established", "False", "Installing", message, now);
            }
            return self.write_definition(object, body, now);
        }
        if condition(&body, "Established").is_none_or(|one| one["status"] != "True") {
            let message = "the initial names have been accepted";
            set_condition(&mut body, "Established", "True", "InitialNamesAccepted", message, now);
            return self.write_definition(object, body, now);
        }
        false
    }

    /// Writes the status of a definition as kube-apiserver's controllers do.
    fn write_definition(&mut self, object: &Arc<Object>, body: Value, now: Timestamp) -> bool {
        let before = self.store.version();
        let writer = Writer {
            root: Atom::of_type(kind().of_table()),
            replicas: &[],
            api_version: kind().api_version(),
            manager: "kube-apiserver".to_owned(),
            subresource: "status".to_owned(),
            reset: crate::rules::reset(kind(), "status"),
            time: Some(crate::clock::rfc3339(now)),
            others: Vec::new(),
            empty: json!({}),
        };
        let managers = writer.update(&object.body, &object.managers, &Value::Null, &body);
        let managers = managers.or_else(|| object.managers.clone());
        self.store.put(kind(), object.key(), body, managers);
        self.store.version() != before
    }

    /// Begins the deletion of a definition, whose objects go first.
    pub(crate) fn end_definition(&mut self, object: &Arc<Object>, now: Timestamp) -> Arc<Object> {
        if object.deleting() {
            return Arc::clone(object);
        }
        let mut body = object.body.clone();
        body["metadata"]["deletionTimestamp"] = stamp(now);
        let mut finalizers = body["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        if !finalizers.contains(&json!(CLEANUP)) {
            finalizers.push(json!(CLEANUP));
        }
        body["metadata"]["finalizers"] = Value::Array(finalizers);
        let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        set_condition(&mut body, "Terminating", "True", "InstanceDeletionPending", message, now);
        self.keep(kind(), object.key(), body, object.managers.clone())
    }

    /// Deletes the objects of a definition, then lets go of it.
    fn clean_up(&mut self, object: &Arc<Object>, now: Timestamp) -> bool {
        let Ok(definition) = kinds_of(&object.body["spec"]) else { return false };
        let mut body = object.body.clone();
        let reason = |body: &Value| condition(body, "Terminating").map(|one| one["reason"].clone()).unwrap_or_default();
        if reason(&body) != "InstanceDeletionInProgress" {
            let message = "CustomResource deletion is in progress";
            set_condition(&mut body, "Terminating", "True", "InstanceDeletionInProgress", message, now);
            return self.write_definition(object, body, now);
        }
        let left: Vec<Arc<Object>> = self.store.list(definition.storage, "").cloned().collect();
        if let Some(next) = left.iter().find(|one| !one.deleting()) {
            return self.take(next, &How::default(), now).is_ok();
        }
        if !left.is_empty() {
            return false;
        }
        let kept: Vec<String> = object.finalizers().filter(|name| *name != CLEANUP).map(str::to_owned).collect();
        if kept.is_empty() {
            return self.store.remove(&object.key()).is_some();
        }
        body["metadata"]["finalizers"] = json!(kept);
        set_condition(&mut body, "Terminating", "False", "InstanceDeletionCompleted", "removed all instances", now);
        self.write_definition(object, body, now)
    }
}
