//! Who manages which field of an object that a request writes, and what a controller's write takes
//! from all managers. The sets themselves are those of `managed`.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::convert::{converted, converted_copy};
use super::defaults::entry;
use super::kinds::Kind;
use super::managed::{self, Atom, Form, Managers, Writer};
use super::object::Object;
use super::problem::Outcome;
use super::rules;
use super::server::Ask;
use super::write::normal;

/// Kinds that have one form and no empty defaults: an object that is read from a request is as it
/// would be stored. They are written most.
const STORED_AS_READ: [&str; 3] = ["Deployment", "ReplicaSet", "Pod"];

/// Who changed which fields of a new object. What it has as `managedFields` is taken out.
pub(super) fn note_manager(ask: &Ask<'_>, (before, had): (&Value, &Managers), new: &mut Value) -> Outcome<Managers> {
    let given = take_managed_fields(new);
    let (inner, writer) = (ask.kind.inner(), writer(ask));
    let is_read = matches!(ask.route.subresource.as_str(), "" | "status");
    let mut typed = if is_read && STORED_AS_READ.contains(&inner.built_in()) {
        debug_assert_eq!(
            normal(inner, new.clone()).ok().as_ref(),
            Some(&*new),
            "an object of these kinds is read as it would be stored"
        );
        Cow::Borrowed(&*new)
    } else {
        Cow::Owned(converted(normal(inner, new.clone())?, inner, ask.kind))
    };
    let before = &converted_copy(before, inner, ask.kind);
    // What its version has of a field that is held as another.
    if ask.kind.built_in() == "DaemonSet" && typed["metadata"]["annotations"][rules::TEMPLATES].is_null() {
        entry(&mut typed.to_mut()["metadata"], "annotations")[rules::TEMPLATES] = "0".into();
    }
    // A scale to 0 says nothing in its own type.
    if ask.route.subresource == "scale" && typed["spec"]["replicas"] == 0 {
        typed.to_mut()["spec"].as_object_mut().and_then(|spec| spec.remove("replicas"));
    }
    Ok(writer.update(before, had, &given, &typed))
}

/// What an object has as `managedFields`, which it no longer has.
pub(super) fn take_managed_fields(object: &mut Value) -> Value {
    object["metadata"].as_object_mut().and_then(|meta| meta.remove("managedFields")).unwrap_or_default()
}

/// A kind's type, as managers have sets of its fields.
fn root(kind: &Kind) -> Atom<'static> {
    match kind.custom {
        Some(custom) => Atom::of_fields(custom.typed),
        None => Atom::of_type(kind.of_table()),
    }
}

/// Another version of a kind, as managers have sets of its fields.
fn form(own: &'static Kind, other: &'static Kind, subresource: &str) -> Form {
    let reset = rules::reset(other, subresource);
    Form { root: root(other), api_version: other.api_version(), reset, own, other }
}

/// The object after a controller of the server removed fields, and its managers: none has those
/// fields any more.
pub(super) fn taken_out(before: &Object, after: &Value) -> (Value, Managers) {
    let kind = before.kind;
    let after = normal(kind, after.clone()).unwrap_or_else(|_| after.clone());
    let managers = managed::take_out(root(kind), &before.managers, &before.body, &after);
    (after, managers)
}

/// The client as a manager of fields.
pub(super) fn writer(ask: &Ask<'_>) -> Writer {
    Writer {
        empty: json!({}),
        root: root(ask.kind),
        replicas: match ask.kind.custom {
            Some(custom) => custom.scale.as_ref().map_or(&[], |scale| scale.fields),
            None => &["spec", "replicas"],
        },
        api_version: ask.kind.api_version(),
        manager: ask.call.manager(),
        subresource: ask.route.subresource.clone(),
        reset: rules::reset(ask.kind, &ask.route.subresource),
        others: ask.kind.other_versions().map(|kind| form(ask.kind, kind, &ask.route.subresource)).collect(),
        // Upstream: `ScaleHandler.ToParent` takes the times of the parent's entries.
        time: (ask.route.subresource != "scale").then(|| crate::clock::rfc3339(ask.now)),
    }
}
