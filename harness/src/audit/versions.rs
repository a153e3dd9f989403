//! What the server answered, as the versions of objects that it stored.
//!
//! Most answers are the object as it is then. Some are not: a Scale says only how many replicas
//! there are, clients that ask for metadata get no more, the deletion of an object without a grace
//! period is answered by a Status, and so is an eviction. The answer to the last deletion of a pod
//! is the pod once more.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::collection::deletion;
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
    /// What an entry tells. Nothing if it tells of no new version: of a write that changed nothing,
    /// or of an object that the log did not have before.
    ///
    /// # Errors
    /// There is a version, and the log does not have it; why.
    pub(super) fn told<'a>(&self, entry: &'a Entry, last: u64) -> Result<Option<Told<'a>>, String> {
        let Some(kind) = entry.kind() else { return Ok(None) };
        let known = self.0.get(&(kind, entry.name().to_owned()));
        let told = |change, object| Ok(Some(Told { entry, kind, change, object }));
        if let Some(why) = entry.lacks_answer() {
            return Err(format!("the log lacks the answer to {}: {why}", entry.request()));
        }
        let Some(answer) = &entry.response_object else { return Ok(None) };
        let of = text(answer, "/kind").unwrap_or_default();
        let removes = entry.verb == "delete" && entry.object_ref.subresource.is_empty();
        match of {
            "Status" if removes => {
                let Some(known) = known else { return Ok(None) };
                let mut object = known.clone();
                object["metadata"]["resourceVersion"] = json!(last.to_string());
                told(Change::Deleted, object)
            }
            "Status" if entry.is_eviction() => {
                let Some(known) = known.filter(|known| !deleting(known)) else { return Ok(None) };
                let object = deletion(entry, known, json!(last.to_string()));
                told(if is_held(&object) { Change::Modified } else { Change::Deleted }, object)
            }
            // Of a collection each object was an entry of its own.
            "Status" | "Table" | "PartialObjectMetadataList" => Ok(None),
            _ if of.strip_suffix("List") == Some(kind) => Ok(None),
            "Scale" | "PartialObjectMetadata" => {
                let Some(known) = known else { return Ok(None) };
                if is_same(known, answer) && !removes {
                    return Ok(None);
                }
                let object = if of == "Scale" { scaled(known, answer) } else { with_metadata(known, answer) };
                told(if is_gone(entry, &object) { Change::Deleted } else { Change::Modified }, object)
            }
            _ if of == kind && version(answer).is_some() => {
                let change = match known {
                    _ if is_gone(entry, answer) => Change::Deleted,
                    Some(known) if is_same(known, answer) => return Ok(None),
                    Some(_) => Change::Modified,
                    None => Change::Added,
                };
                told(change, answer.clone())
            }
            _ => Err(format!(
                "the log lacks the answer to {}: it has {} instead",
                entry.request(),
                if of == kind { "one without a resourceVersion" } else { "another kind" }
            )),
        }
    }

    /// Forget an object, of which there is a later version that is not known.
    pub(super) fn forget(&mut self, entry: &Entry) {
        if let Some(kind) = entry.kind() {
            self.0.remove(&(kind, entry.name().to_owned()));
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

/// The object after its metadata were written.
fn with_metadata(known: &Value, answer: &Value) -> Value {
    let mut object = known.clone();
    object["metadata"] = answer.at("/metadata").cloned().unwrap_or_default();
    object
}

/// Whether an answer shows the version that is known: a write that changes nothing, and one that
/// was only tried, make no other.
fn is_same(known: &Value, answer: &Value) -> bool {
    uid_of(known) == uid_of(answer) && version(known).is_some() && version(known) == version(answer)
}

fn uid_of(object: &Value) -> Option<&str> {
    text(object, "/metadata/uid")
}

/// Whether this answer is the last that is heard of an object: nothing holds it any longer.
fn is_gone(entry: &Entry, answer: &Value) -> bool {
    let removed = entry.verb == "delete" || deleting(answer) && entry.object_ref.subresource.is_empty();
    removed && !is_held(answer)
}

/// Whether an object stays for a time after its deletion.
fn is_held(object: &Value) -> bool {
    let finalizers = object.at("/metadata/finalizers").and_then(Value::as_array);
    let grace = int(object, "/metadata/deletionGracePeriodSeconds").unwrap_or(0);
    finalizers.is_some_and(|all| !all.is_empty()) || grace > 0
}
