//! The entries of `managedFields`: the set of each manager.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Managers;
use super::path::Set;

/// Whose set it is. The order is that in which upstream lists entries of one time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    /// `Apply` or `Update`.
    pub(super) operation: String,
    pub(super) manager: String,
    pub(super) api_version: String,
    pub(super) subresource: String,
}

/// All managers of an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Managed {
    entries: BTreeMap<Id, Entry>,
    /// Entries that are shown beside those, and are gone with the next write.
    apart: Vec<(Id, Entry)>,
}

#[derive(Debug, Clone, Default)]
struct Entry {
    set: Set,
    time: Option<Time>,
}

/// When a manager last wrote.
#[derive(Debug, Clone)]
struct Time {
    text: Arc<str>,
    seconds: i64,
}

impl Time {
    fn of(text: &str) -> Self {
        Self { text: text.into(), seconds: text.parse::<Timestamp>().map_or(0, Timestamp::as_second) }
    }
}

impl Id {
    /// As upstream names it, and sorts conflicts by.
    pub(super) fn as_text(&self) -> String {
        let mut text = format!("{{\"manager\":{:?},\"operation\":{:?}", self.manager, self.operation);
        if self.operation != "Apply" {
            text += &format!(",\"apiVersion\":{:?}", self.api_version);
        }
        if !self.subresource.is_empty() {
            text += &format!(",\"subresource\":{:?}", self.subresource);
        }
        text + "}"
    }
}

impl Managed {
    /// From `managedFields`; `None` if an entry is none.
    pub(super) fn read(entries: &Value) -> Option<Self> {
        let mut managed = Self::default();
        for entry in entries.as_array().into_iter().flatten() {
            let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            let id = Id {
                operation: text("operation"),
                manager: text("manager"),
                api_version: text("apiVersion"),
                subresource: text("subresource"),
            };
            let known = matches!(id.operation.as_str(), "Apply" | "Update") && text("fieldsType") == "FieldsV1";
            if !known || id.api_version.is_empty() {
                return None;
            }
            let fields = entry.get("fieldsV1").filter(|fields| !fields.is_null());
            let set = fields.map_or(Some(Set::default()), Set::from_json)?;
            let time = entry["time"].as_str().map(Time::of);
            managed.entries.insert(id, Entry { set, time });
        }
        Some(managed)
    }

    /// As those of an object.
    pub(super) fn into_managers(self) -> Managers {
        (!self.is_empty()).then(|| Arc::new(self))
    }

    /// As `managedFields`, sorted as upstream sorts them; null for none.
    pub(crate) fn to_json(&self) -> Value {
        let entries: Vec<Value> = self.rows().into_iter().map(|(id, entry)| entry.to_json(id)).collect();
        if entries.is_empty() { Value::Null } else { entries.into() }
    }

    /// Whether both show the same, times aside. Upstream:
    /// `IgnoreManagedFieldsTimestampsTransformer`.
    pub(super) fn is_same_but_for_times(&self, other: &Self) -> bool {
        let (own, others) = (self.rows(), other.rows());
        own.len() == others.len()
            && own.iter().zip(&others).all(|(one, other)| one.0 == other.0 && one.1.set == other.1.set)
    }

    /// Whether both show the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let time = |entry: &Entry| entry.time.as_ref().map(|time| Arc::clone(&time.text));
        let (own, others) = (self.rows(), other.rows());
        self.is_same_but_for_times(other) && own.iter().zip(&others).all(|(one, other)| time(one.1) == time(other.1))
    }

    /// The entries as upstream sorts them.
    fn rows(&self) -> Vec<(&Id, &Entry)> {
        let apart = self.apart.iter().map(|(id, entry)| (id, entry));
        let mut rows: Vec<(&Id, &Entry)> = apart.chain(&self.entries).collect();
        let when = |entry: &Entry| entry.time.as_ref().map_or(0, |time| time.seconds);
        rows.sort_by(|(one, its), (other, others)| {
            (&one.operation, when(its), one).cmp(&(&other.operation, when(others), other))
        });
        rows
    }

    /// The same after a write of a scale: an update that has these fields, and others, has them in
    /// an entry of its own, without a time. Upstream: `ScaleHandler.ToParent`, which finds a
    /// manager of the scale in the object by its name and version, and an update's version is
    /// another there. Who reads the managers next knows an entry for each manager, and that is the
    /// later one.
    pub(super) fn with_apart(mut self, fields: &Set) -> Self {
        for (id, entry) in &mut self.entries {
            if id.operation != "Update" || entry.set.intersection(fields).is_empty() {
                continue;
            }
            let rest = Entry { set: entry.set.difference(fields), time: entry.time.clone() };
            *entry = Entry { set: fields.clone(), time: None };
            if !rest.set.is_empty() {
                self.apart.push((id.clone(), std::mem::replace(entry, rest)));
            }
        }
        self
    }

    /// Without what the last write showed beside the entries.
    pub(super) fn without_apart(mut self) -> Self {
        self.apart.clear();
        self
    }

    /// Drops the sets of versions of other API groups than that of this version. Upstream:
    /// `IsMissingVersionError`, as each group has a converter of its own types.
    pub(super) fn keep_group(&mut self, api_version: &str) {
        self.entries.retain(|id, _| group(&id.api_version) == group(api_version));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Id, &Set)> {
        self.entries.iter().map(|(id, entry)| (id, &entry.set))
    }

    pub(super) fn set(&self, id: &Id) -> Option<&Set> {
        self.entries.get(id).map(|entry| &entry.set)
    }

    /// Replaces a manager's set and keeps its time.
    pub(super) fn put(&mut self, id: Id, set: Set) {
        self.entries.entry(id).or_default().set = set;
    }

    /// The versions in which managers have sets.
    pub(super) fn versions(&self) -> Vec<String> {
        let mut versions: Vec<String> = self.entries.keys().map(|id| id.api_version.clone()).collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }

    /// What the manager applied last, with its version, which is this one's from now on.
    pub(super) fn move_applied(&mut self, id: &Id) -> Option<(String, Set)> {
        let is_same = |one: &&Id| one.as_text() == id.as_text();
        let last = self.entries.keys().find(is_same)?.clone();
        let entry = self.entries.remove(&last)?;
        self.entries.insert(id.clone(), entry.clone());
        Some((last.api_version, entry.set))
    }

    /// Adds to a manager's set.
    pub(super) fn add(&mut self, id: Id, set: &Set, time: Option<&str>) {
        let entry = self.entries.entry(id).or_default();
        entry.set.add(set);
        if let Some(time) = time {
            entry.time = Some(Time::of(time));
        }
    }

    pub(super) fn touch(&mut self, id: &Id, time: &str) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.time = Some(Time::of(time));
        }
    }

    /// Removes a manager; returns the time of its last write.
    pub(super) fn remove(&mut self, id: &Id) -> Option<Arc<str>> {
        self.entries.remove(id).and_then(|entry| entry.time).map(|time| time.text)
    }

    /// Changes each set, and drops managers that have nothing left.
    pub(super) fn retain(&mut self, change: impl Fn(&Id, &mut Set)) {
        self.entries.iter_mut().for_each(|(id, entry)| change(id, &mut entry.set));
        self.entries.retain(|_, entry| !entry.set.is_empty());
    }

    /// Joins the oldest update managers of a version until there are no more than these. Upstream:
    /// `capUpdateManagers`.
    pub(super) fn cap(&mut self, most: usize, name: &str) {
        let updaters = || self.entries.iter().filter(|(id, _)| id.operation == "Update");
        if updaters().count() <= most {
            return;
        }
        let mut oldest: Vec<(i64, Id)> =
            updaters().map(|(id, entry)| (entry.time.as_ref().map_or(0, |time| time.seconds), id.clone())).collect();
        oldest.sort();
        let mut left = oldest.len();
        let mut first: BTreeMap<String, Id> = BTreeMap::new();
        for (_, id) in oldest {
            if left <= most {
                return;
            }
            let bucket = Id {
                operation: "Update".to_owned(),
                manager: name.to_owned(),
                api_version: id.api_version.clone(),
                subresource: String::new(),
            };
            let Some(one) = first.get(&id.api_version).cloned() else {
                first.insert(id.api_version.clone(), id);
                continue;
            };
            if !self.entries.contains_key(&bucket)
                && let Some(entry) = self.entries.remove(&one)
            {
                self.entries.insert(bucket.clone(), entry);
            }
            if let Some(entry) = self.entries.remove(&id) {
                self.add(bucket.clone(), &entry.set, None);
                if let Some(into) = self.entries.get_mut(&bucket) {
                    into.time = entry.time;
                }
            }
            left -= 1;
        }
    }
}

impl Entry {
    fn to_json(&self, id: &Id) -> Value {
        let mut json = json!({"manager": id.manager, "operation": id.operation, "apiVersion": id.api_version});
        if let Some(time) = &self.time {
            json["time"] = (*time.text).into();
        }
        json["fieldsType"] = "FieldsV1".into();
        json["fieldsV1"] = self.set.to_json();
        if !id.subresource.is_empty() {
            json["subresource"] = id.subresource.as_str().into();
        }
        json
    }
}

/// The group of an `apiVersion`, empty for core.
fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
