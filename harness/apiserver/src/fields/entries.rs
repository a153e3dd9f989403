//! The entries of `managedFields`: the set of fields of each manager.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::fields::path::FieldSet;

/// Identifies an entry. The order is that in which upstream sorts entries with equal times.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ManagerId {
    /// `Apply` or `Update`.
    pub(crate) operation: String,
    pub(crate) manager: String,
    pub(crate) api_version: String,
    pub(crate) subresource: String,
}

/// All entries of an object. Identities and sets are shared with other objects of its kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct ManagedFields {
    entries: BTreeMap<Arc<ManagerId>, ManagerEntry>,
    /// Entries that are also shown, until the next write drops them.
    detached: Vec<(Arc<ManagerId>, ManagerEntry)>,
}

#[derive(Debug, Clone, Default)]
struct ManagerEntry {
    set: FieldSet,
    time: Option<EntryTime>,
}

/// The time of a manager's last write.
#[derive(Debug, Clone)]
struct EntryTime {
    text: Arc<str>,
    seconds: i64,
}

impl EntryTime {
    fn of(text: &str) -> Self {
        Self { text: text.into(), seconds: text.parse::<Timestamp>().map_or(0, Timestamp::as_second) }
    }
}

impl ManagerId {
    /// The identifier of upstream, by which conflicts are sorted.
    pub(crate) fn as_text(&self) -> String {
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

impl ManagedFields {
    /// Parses `managedFields`; `None` if an entry is invalid.
    pub(crate) fn read(entries: &Value) -> Option<Self> {
        let mut managed = Self::default();
        for entry in entries.as_array().into_iter().flatten() {
            let (id, entry) = read_entry(entry)?;
            managed.entries.insert(Arc::new(id), entry);
        }
        Some(managed)
    }

    /// The managers of an object, `None` if there are none.
    pub(crate) fn into_managers(self) -> Managers {
        (!self.is_empty()).then(|| Arc::new(self))
    }

    /// Takes over identities and sets from the managers of another object where they are equal.
    pub(crate) fn share_with(&mut self, other: &Self) {
        let entries = std::mem::take(&mut self.entries).into_iter().map(|(id, mut entry)| {
            let Some((shared, other)) = other.entries.get_key_value(&id) else { return (id, entry) };
            if entry.set == other.set {
                entry.set = other.set.clone();
            }
            (Arc::clone(shared), entry)
        });
        self.entries = entries.collect();
    }

    /// Encodes `managedFields`, sorted as upstream sorts them; null if there are none.
    pub(crate) fn to_json(&self) -> Value {
        let entries: Vec<Value> = self.sorted_entries().into_iter().map(|(id, entry)| entry.to_json(id)).collect();
        if entries.is_empty() { Value::Null } else { entries.into() }
    }

    /// The text of [`ManagedFields::to_json`].
    pub(crate) fn to_text(&self) -> Vec<u8> {
        let mut text = vec![b'['];
        for (at, (id, entry)) in self.sorted_entries().into_iter().enumerate() {
            if at > 0 {
                text.push(b',');
            }
            entry.write(&mut text, id);
        }
        text.push(b']');
        text
    }

    /// Whether the entries are equal except for times. Upstream:
    /// `IgnoreManagedFieldsTimestampsTransformer`.
    pub(crate) fn equals_ignoring_times(&self, rhs: &Self) -> bool {
        let (left, right) = (self.sorted_entries(), rhs.sorted_entries());
        left.len() == right.len()
            && left.iter().zip(&right).all(|(one, other)| one.0 == other.0 && one.1.set == other.1.set)
    }

    /// Whether the entries are equal, including times.
    pub(crate) fn equals(&self, rhs: &Self) -> bool {
        let time = |entry: &ManagerEntry| entry.time.as_ref().map(|time| Arc::clone(&time.text));
        let (left, right) = (self.sorted_entries(), rhs.sorted_entries());
        self.equals_ignoring_times(rhs) && left.iter().zip(&right).all(|(one, other)| time(one.1) == time(other.1))
    }

    /// All entries, sorted as upstream sorts them.
    fn sorted_entries(&self) -> Vec<(&Arc<ManagerId>, &ManagerEntry)> {
        let detached = self.detached.iter().map(|(id, entry)| (id, entry));
        let mut sorted_entries: Vec<(&Arc<ManagerId>, &ManagerEntry)> = detached.chain(&self.entries).collect();
        let when = |entry: &ManagerEntry| entry.time.as_ref().map_or(0, |time| time.seconds);
        sorted_entries.sort_by(|(one, its), (other, others)| {
            (&one.operation, when(its), one).cmp(&(&other.operation, when(others), other))
        });
        sorted_entries
    }

    /// Splits entries after a write of a scale: an update that owns `fields` and others keeps
    /// `fields` in a separate entry without a time. Upstream: `ScaleHandler.ToParent`, which looks
    /// for a manager of the scale in the object by name and version, but an update has another
    /// version there. The next reader of the managers keeps one entry for each manager, the later
    /// one.
    pub(crate) fn detach_fields(mut self, fields: &FieldSet) -> Self {
        for (id, entry) in &mut self.entries {
            if id.operation != "Update" || entry.set.intersection(fields).is_empty() {
                continue;
            }
            let rest = ManagerEntry { set: entry.set.difference(fields), time: entry.time.clone() };
            *entry = ManagerEntry { set: fields.clone(), time: None };
            if !rest.set.is_empty() {
                self.detached.push((Arc::clone(id), std::mem::replace(entry, rest)));
            }
        }
        self
    }

    /// Drops the entries that only the last write showed.
    pub(crate) fn without_detached(mut self) -> Self {
        self.detached.clear();
        self
    }

    /// Drops the entries of versions of other API groups. Upstream: `IsMissingVersionError`, as
    /// each group has its own converter.
    pub(crate) fn keep_group(&mut self, api_version: &str) {
        self.entries.retain(|id, _| group(&id.api_version) == group(api_version));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ManagerId, &FieldSet)> {
        self.entries.iter().map(|(id, entry)| (&**id, &entry.set))
    }

    pub(crate) fn set(&self, id: &ManagerId) -> Option<&FieldSet> {
        self.entries.get(id).map(|entry| &entry.set)
    }

    /// Replaces the set of a manager and keeps its time.
    pub(crate) fn put(&mut self, id: ManagerId, set: FieldSet) {
        self.entries.entry(Arc::new(id)).or_default().set = set;
    }

    /// The versions in which managers own fields.
    pub(crate) fn versions(&self) -> Vec<String> {
        let mut versions: Vec<String> = self.entries.keys().map(|id| id.api_version.clone()).collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }

    /// Moves the entry of the last apply of a manager to its current version; returns the old
    /// version and set.
    pub(crate) fn move_applied(&mut self, id: &ManagerId) -> Option<(String, FieldSet)> {
        let last = Arc::clone(self.entries.keys().find(|one| one.as_text() == id.as_text())?);
        let entry = self.entries.remove(&last)?;
        self.entries.insert(Arc::new(id.clone()), entry.clone());
        Some((last.api_version.clone(), entry.set))
    }

    pub(crate) fn add(&mut self, id: ManagerId, set: &FieldSet, time: Option<&str>) {
        let entry = self.entries.entry(Arc::new(id)).or_default();
        entry.set.add(set);
        if let Some(time) = time {
            entry.time = Some(EntryTime::of(time));
        }
    }

    pub(crate) fn touch(&mut self, id: &ManagerId, time: &str) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.time = Some(EntryTime::of(time));
        }
    }

    /// Removes an entry; returns its time.
    pub(crate) fn remove(&mut self, id: &ManagerId) -> Option<Arc<str>> {
        self.entries.remove(id).and_then(|entry| entry.time).map(|time| time.text)
    }

    /// Changes each set, and drops empty ones.
    pub(crate) fn retain(&mut self, change: impl Fn(&ManagerId, &mut FieldSet)) {
        self.entries.iter_mut().for_each(|(id, entry)| change(id, &mut entry.set));
        self.entries.retain(|_, entry| !entry.set.is_empty());
    }

    /// Merges the oldest update entries of a version until at most this many remain. Upstream:
    /// `capUpdateManagers`.
    pub(crate) fn cap(&mut self, most: usize, name: &str) {
        let updaters = || self.entries.iter().filter(|(id, _)| id.operation == "Update");
        if updaters().count() <= most {
            return;
        }
        let time = |entry: &ManagerEntry| entry.time.as_ref().map_or(0, |time| time.seconds);
        let mut oldest: Vec<_> = updaters().map(|(id, entry)| (time(entry), Arc::clone(id))).collect();
        oldest.sort();
        let mut left = oldest.len();
        let mut first: BTreeMap<String, Arc<ManagerId>> = BTreeMap::new();
        for (_, id) in oldest {
            if left <= most {
                return;
            }
            let bucket = ManagerId {
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
                self.entries.insert(Arc::new(bucket.clone()), entry);
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

/// Parses an entry; `None` if it is invalid.
fn read_entry(entry: &Value) -> Option<(ManagerId, ManagerEntry)> {
    let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let id = ManagerId {
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
    let set = fields.map_or(Some(FieldSet::default()), FieldSet::from_json)?;
    let time = entry["time"].as_str().map(EntryTime::of);
    Some((id, ManagerEntry { set, time }))
}

impl ManagerEntry {
    /// Appends the text of [`ManagerEntry::to_json`], whose fields are in alphabetical order.
    fn write(&self, text: &mut Vec<u8>, id: &ManagerId) {
        let quoted = |name: &str| Value::from(name).to_string();
        text.extend_from_slice(format!("{{\"apiVersion\":{}", quoted(&id.api_version)).as_bytes());
        text.extend_from_slice(b",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":");
        self.set.write(text);
        let rest = [("manager", &*id.manager), ("operation", &*id.operation), ("subresource", &*id.subresource)];
        let time = self.time.as_ref().map(|time| ("time", &*time.text));
        for (name, value) in
            rest.into_iter().filter(|(name, value)| *name != "subresource" || !value.is_empty()).chain(time)
        {
            text.extend_from_slice(format!(",\"{name}\":{}", quoted(value)).as_bytes());
        }
        text.push(b'}');
    }

    fn to_json(&self, id: &ManagerId) -> Value {
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

/// The managers of an object; `None` if it has none. Objects of a kind share equal ones.
pub(crate) type Managers = Option<Arc<ManagedFields>>;
