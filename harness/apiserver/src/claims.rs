//! Who manages which field of an object that a request writes, and what a controller's write takes
//! from all managers. The sets themselves are those of `managed`.

use serde_json::{Value, json};

use super::convert::{converted, converted_copy};
use super::defaults::entry;
use super::kinds::Kind;
use super::managed::{self, Atom, Form, Writer};
use super::problem::Outcome;
use super::rules;
use super::server::Ask;
use super::write::normal;

/// Writes down in a new object who changed which of its fields.
pub(super) fn note_manager(ask: &Ask<'_>, before: &Value, new: &mut Value) -> Outcome<()> {
    // A subresource's managers are the stored ones, whatever is sent.
    if !ask.route.subresource.is_empty()
        && let Some(meta) = new["metadata"].as_object_mut()
    {
        meta.remove("managedFields");
    }
    let inner = ask.kind.inner();
    let mut typed = converted(normal(inner, new.clone())?, inner, ask.kind);
    let before = &converted_copy(before, inner, ask.kind);
    // What its version has of a field that is held as another.
    if ask.kind.built_in() == "DaemonSet" && typed["metadata"]["annotations"][rules::TEMPLATES].is_null() {
        entry(&mut typed["metadata"], "annotations")[rules::TEMPLATES] = "0".into();
    }
    // A scale to 0 says nothing in its own type.
    if ask.route.subresource == "scale" && typed["spec"]["replicas"] == 0 {
        typed["spec"].as_object_mut().and_then(|spec| spec.remove("replicas"));
    }
    let managers = writer(ask).update(before, &typed);
    match (managers, new["metadata"].as_object_mut()) {
        (Value::Null, Some(meta)) => drop(meta.remove("managedFields")),
        (managers, Some(meta)) => drop(meta.insert("managedFields".to_owned(), managers)),
        _ => {}
    }
    Ok(())
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

/// The object after a controller of the server removed fields: no manager owns those any more.
pub(super) fn taken_out(kind: &Kind, before: &Value, after: &Value) -> Value {
    let mut after = normal(kind, after.clone()).unwrap_or_else(|_| after.clone());
    managed::take_out(root(kind), before, &mut after);
    after
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
