//! What the server answered, as the versions of objects that it stored.
//!
//! Most answers are the object as it is then. Three are not: a Scale says only how many replicas there are, the deletion of an object
//! without a grace period is answered by a Status, and the answer to the last deletion of a pod is the pod once more.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::entry::Entry;
use crate::pointer::At;
use crate::recording::Change;
use crate::timeline::object::{deleting, int, name, text};

/// One version, and the entry that tells of it.
#[derive(Debug)]
pub(super) struct Told<'a> {
    /// The entry.
    pub(super) entry: &'a Entry,
    /// Of which kind.
    pub(super) kind: &'static str,
    /// What became of the object.
    pub(super) change: Change,
    /// The object; of one that is gone the last version.
    pub(super) object: Value,
}

/// The objects at one moment, by kind and name.
#[derive(Debug, Default)]
pub(super) struct Objects(BTreeMap<(&'static str, String), Value>);

impl Objects {
    /// What an entry tells. Nothing if it tells of no version: of a binding, or of an object that the log did not have before.
    pub(super) fn told<'a>(&self, entry: &'a Entry, last: u64) -> Option<Told<'a>> {
        let kind = entry.kind()?;
        let known = self.0.get(&(kind, entry.name().to_owned()));
        let answer = entry.response_object.as_ref()?;
        let told = |change, object| Some(Told { entry, kind, change, object });
        match text(answer, "/kind")? {
            "Scale" => told(Change::Modified, scaled(known?, answer)),
            "Status" if entry.verb == "delete" && entry.object_ref.subresource.is_empty() => {
                let mut object = known?.clone();
                object["metadata"]["resourceVersion"] = json!(last.to_string());
                told(Change::Deleted, object)
            }
            of if of == kind => {
                let change = match () {
                    () if is_gone(entry, answer) => Change::Deleted,
                    () if known.is_some() => Change::Modified,
                    () => Change::Added,
                };
                told(change, answer.clone())
            }
            _ => None,
        }
    }

    /// Take in a version.
    pub(super) fn apply(&mut self, told: &Told<'_>) {
        let key = (told.kind, told.entry.name().to_owned());
        match told.change {
            Change::Deleted => drop(self.0.remove(&key)),
            Change::Added | Change::Modified => drop(self.0.insert(key, told.object.clone())),
        }
    }

    /// Put an object there.
    pub(super) fn put(&mut self, kind: &'static str, object: Value) {
        self.0.insert((kind, name(&object).to_owned()), object);
    }

    /// One object.
    pub(super) fn get(&self, kind: &'static str, name: &str) -> Option<&Value> {
        self.0.get(&(kind, name.to_owned()))
    }

    /// All objects of a kind, by name.
    pub(super) fn all(&self, kind: &'static str) -> impl Iterator<Item = &Value> {
        self.0.range((kind, String::new())..).take_while(move |((of, _), _)| *of == kind).map(|(_, object)| object)
    }

    /// The objects, by kind and name.
    pub(super) fn into_all(self) -> impl Iterator<Item = (&'static str, Value)> {
        self.0.into_iter().map(|((kind, _), object)| (kind, object))
    }
}

/// The resourceVersion of an answer; nothing if it has none.
pub(super) fn version(answer: &Value) -> Option<u64> {
    text(answer, "/metadata/resourceVersion")?.parse().ok().filter(|version| *version > 0)
}

/// The object after its scale was written.
fn scaled(known: &Value, scale: &Value) -> Value {
    let mut object = known.clone();
    let replicas = scale.at("/spec/replicas").cloned().unwrap_or(json!(0));
    if known.at("/spec/replicas") != Some(&replicas) {
        let generation = int(known, "/metadata/generation").unwrap_or(0) + 1;
        object["metadata"]["generation"] = json!(generation);
        object["spec"]["replicas"] = replicas;
    }
    object["metadata"]["resourceVersion"] = scale.at("/metadata/resourceVersion").cloned().unwrap_or_default();
    object
}

/// Whether this answer is the last that is heard of an object: nothing holds it any longer.
fn is_gone(entry: &Entry, answer: &Value) -> bool {
    let held = answer.at("/metadata/finalizers").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let grace = int(answer, "/metadata/deletionGracePeriodSeconds").unwrap_or(0);
    let removed = entry.verb == "delete" || deleting(answer) && entry.object_ref.subresource.is_empty();
    removed && !held && grace == 0
}
