//! A recording without the names and values of the cluster it is from. What decisions depend on is kept: which values are equal, sizes,
//! labels that select, the controller's own annotations.
//!
//! Only what is known is kept of an object, so that a field that is new stays out. Each name and each value becomes a
//! number, the same one in the whole recording. Pod templates keep what tells them apart as one number.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::pointer::At;
use crate::recording::{Entry, Identity, Recording, Trouble, Version};

/// The annotations and the label that the Deployment controller reads and writes.
const OWN: &str = "deployment.kubernetes.io/";
const HASH: &str = "pod-template-hash";

/// The recording, without names and values.
#[must_use]
pub fn anonymous(recording: &Recording) -> Recording {
    let mut words = Words::default();
    let mut header = recording.header.clone();
    header.case = "captured/web".to_owned();
    header.namespace = "default".to_owned();
    header.subject = Identity { name: "cluster".to_owned(), ..header.subject };
    header.cluster = Identity { name: "cluster".to_owned(), ..header.cluster };
    let entries = recording.entries.iter().filter_map(|entry| match entry {
        Entry::Object(version) if version.kind == "Event" => words.event(version).map(Entry::Object),
        Entry::Object(version) => Some(Entry::Object(words.version(version))),
        // What a server says may name anything.
        Entry::Trouble(trouble) => Some(Entry::Trouble(Trouble { why: "a gap".to_owned(), ..trouble.clone() })),
        Entry::Settled(_) => Some(entry.clone()),
        _ => None,
    });
    let entries = entries.collect();
    Recording {
        header,
        entries,
        end: recording.end.clone().map(|end| crate::recording::End { diagnosis: None, ..end }),
    }
}

/// Numbers for names and values, by what they are of.
#[derive(Debug, Default)]
struct Words(BTreeMap<(&'static str, String), usize>);

impl Words {
    fn word(&mut self, of: &'static str, text: &str) -> String {
        let next = self.0.keys().filter(|(kind, _)| *kind == of).count() + 1;
        let number = *self.0.entry((of, text.to_owned())).or_insert(next);
        format!("{of}-{number}")
    }

    fn version(&mut self, version: &Version) -> Version {
        let object = self.object(&version.kind, &version.object);
        let name = object.at("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let author = version.author.as_deref().map(|author| self.word("program", author));
        Version { name, author, object: object.into(), ..version.clone() }
    }

    /// `Deleted pod: NAME` is all that is read of Events.
    fn event(&mut self, version: &Version) -> Option<Version> {
        let text = |pointer: &str| version.object.at(pointer).and_then(Value::as_str);
        let pod = text("/message")?.strip_prefix("Deleted pod: ")?;
        let message = format!("Deleted pod: {}", self.word("pod", pod));
        let name = self.word("event", &version.name);
        let object = json!({"metadata": {"name": name, "resourceVersion": version.rv.to_string()}, "message": message,
            "reason": text("/reason"), "involvedObject": {"kind": "ReplicaSet", "uid": text("/involvedObject/uid")}});
        Some(Version { name, author: None, object: object.into(), ..version.clone() })
    }

    fn object(&mut self, kind: &str, object: &Value) -> Value {
        let text = |pointer: &str| object.at(pointer).and_then(Value::as_str).unwrap_or_default();
        let name = match kind {
            "Deployment" => "web".to_owned(),
            "ReplicaSet" => {
                let hash = object.at("/metadata/labels").and_then(|labels| labels.get(HASH)).and_then(Value::as_str);
                format!("web-{}", self.word("hash", hash.unwrap_or(text("/metadata/name"))))
            }
            _ => self.word("pod", text("/metadata/name")),
        };
        let mut metadata = some_of(object.at("/metadata"), &METADATA);
        metadata.insert("name".to_owned(), name.into());
        metadata.insert("namespace".to_owned(), "default".into());
        for field in ["labels", "annotations"] {
            if let Some(all) = object.at("/metadata").and_then(|metadata| metadata.get(field)) {
                metadata.insert(field.to_owned(), self.map(all));
            }
        }
        if let Some(Value::Array(owners)) = metadata.get_mut("ownerReferences") {
            for owner in owners {
                owner["name"] = "owner".into();
            }
        }
        let mut spec = some_of(object.at("/spec"), &SPEC);
        for (field, place) in [("matchLabels", "/spec/selector/matchLabels")] {
            if let Some(all) = object.at(place) {
                spec.insert("selector".to_owned(), json!({field: self.map(all)}));
            }
        }
        if kind != "Pod" {
            spec.insert("template".to_owned(), self.template(object.at("/spec/template").unwrap_or(&Value::Null)));
        }
        let mut status = some_of(object.at("/status"), &STATUS);
        if let Some(Value::Array(conditions)) = status.get_mut("conditions") {
            conditions.iter_mut().filter_map(Value::as_object_mut).for_each(|one| drop(one.remove("message")));
        }
        json!({"apiVersion": object.at("/apiVersion"), "kind": kind, "metadata": metadata, "spec": spec, "status": status})
    }

    /// Labels or annotations: the keys that the controller reads, and numbers for all others.
    fn map(&mut self, all: &Value) -> Value {
        let mut map = Map::new();
        for (key, value) in all.as_object().into_iter().flatten() {
            let text = value.as_str().unwrap_or_default();
            if key.starts_with(OWN) {
                map.insert(key.clone(), value.clone());
            } else if key == HASH {
                map.insert(key.clone(), self.word("hash", text).into());
            } else if key != "kubectl.kubernetes.io/last-applied-configuration" {
                map.insert(self.word("key", key), self.word("value", text).into());
            }
        }
        map.into()
    }

    /// The first container's image, and a number for all else.
    fn template(&mut self, template: &Value) -> Value {
        let image = template.at("/spec/containers/0/image").and_then(Value::as_str).unwrap_or_default();
        let mut rest = template.clone();
        if let Some(container) = rest.pointer_mut("/spec/containers/0").and_then(Value::as_object_mut) {
            container.remove("image");
        }
        let restarted = template.at("/metadata/annotations").and_then(|all| all.get(RESTARTED)).and_then(Value::as_str);
        if let Some(annotations) = rest.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
            annotations.remove(RESTARTED);
        }
        let labels = template.at("/metadata/labels").map(|labels| self.map(labels)).unwrap_or(json!({}));
        if let Some(labels) = rest.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            labels.remove(HASH);
        }
        if rest.at("/metadata/annotations").and_then(Value::as_object).is_some_and(Map::is_empty)
            && let Some(metadata) = rest.pointer_mut("/metadata").and_then(Value::as_object_mut)
        {
            metadata.remove("annotations");
        }
        let mut annotations = json!({"rest": self.word("template", &rest.to_string())});
        if let Some(restarted) = restarted {
            annotations[RESTARTED] = restarted.into();
        }
        let image = self.word("image", image).replacen('-', ":", 1);
        json!({"metadata": {"labels": labels, "annotations": annotations},
            "spec": {"containers": [{"name": "app", "image": image}]}})
    }
}

/// What `kubectl rollout restart` writes.
const RESTARTED: &str = "kubectl.kubernetes.io/restartedAt";
const METADATA: [&str; 8] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "ownerReferences",
    "finalizers",
];
const SPEC: [&str; 7] = [
    "replicas",
    "minReadySeconds",
    "progressDeadlineSeconds",
    "revisionHistoryLimit",
    "paused",
    "strategy",
    "readinessGates",
];
const STATUS: [&str; 11] = [
    "observedGeneration",
    "replicas",
    "readyReplicas",
    "availableReplicas",
    "updatedReplicas",
    "unavailableReplicas",
    "fullyLabeledReplicas",
    "terminatingReplicas",
    "collisionCount",
    "conditions",
    "phase",
];

/// These fields of a mapping.
fn some_of(value: Option<&Value>, fields: &[&str]) -> Map<String, Value> {
    let map = value.and_then(Value::as_object).cloned().unwrap_or_default();
    map.into_iter().filter(|(key, _)| fields.contains(&key.as_str())).collect()
}
