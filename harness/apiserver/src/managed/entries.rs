//! The entries of `managedFields`: the set of each manager.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

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
pub(super) struct Managed {
    entries: BTreeMap<Id, Entry>,
}

#[derive(Debug, Clone, Default)]
struct Entry {
    set: Set,
    time: Option<String>,
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
            let time = entry["time"].as_str().map(str::to_owned);
            managed.entries.insert(id, Entry { set, time });
        }
        Some(managed)
    }

    /// As `managedFields`, sorted as upstream sorts them; null for none.
    pub(super) fn to_json(&self) -> Value {
        self.clone().into_json()
    }

    pub(super) fn into_json(self) -> Value {
        sorted(self.entries.into_iter().collect())
    }

    /// The same after a write of a scale: an update that has these fields, and others, has them in
    /// an entry of its own, without a time. Upstream: `ScaleHandler.ToParent`, which finds a manager
    /// of the scale in the object by its name and version, and an update's version is another there.
    pub(super) fn to_json_apart(&self, fields: &Set) -> Value {
        let mut entries = Vec::new();
        for (id, entry) in &self.entries {
            if id.operation != "Update" || entry.set.intersection(fields).is_empty() {
                entries.push((id.clone(), entry.clone()));
                continue;
            }
            let rest = Entry { set: entry.set.difference(fields), time: entry.time.clone() };
            entries.push((id.clone(), Entry { set: fields.clone(), time: None }));
            entries.extend((!rest.set.is_empty()).then(|| (id.clone(), rest)));
        }
        sorted(entries)
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
            entry.time = Some(time.to_owned());
        }
    }

    pub(super) fn touch(&mut self, id: &Id, time: &str) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.time = Some(time.to_owned());
        }
    }

    /// Removes a manager; returns the time of its last write.
    pub(super) fn remove(&mut self, id: &Id) -> Option<String> {
        self.entries.remove(id).and_then(|entry| entry.time)
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
            updaters().map(|(id, entry)| (entry.time.as_deref().map_or(0, seconds), id.clone())).collect();
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

/// The entries as JSON, sorted as upstream sorts them; null for none.
fn sorted(mut entries: Vec<(Id, Entry)>) -> Value {
    let when = |entry: &Entry| entry.time.as_deref().map_or(0, seconds);
    entries.sort_by_cached_key(|(id, entry)| (id.operation.clone(), when(entry), id.clone()));
    let entries = entries.into_iter().map(|(id, entry)| {
        let mut json = json!({"manager": id.manager, "operation": id.operation, "apiVersion": id.api_version});
        if let Some(time) = &entry.time {
            json["time"] = time.as_str().into();
        }
        json["fieldsType"] = "FieldsV1".into();
        json["fieldsV1"] = entry.set.to_json();
        if !id.subresource.is_empty() {
            json["subresource"] = id.subresource.as_str().into();
        }
        json
    });
    let entries: Vec<Value> = entries.collect();
    if entries.is_empty() { Value::Null } else { entries.into() }
}

/// The group of an `apiVersion`, empty for core.
fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

fn seconds(time: &str) -> i64 {
    time.parse::<Timestamp>().map_or(0, Timestamp::as_second)
}
