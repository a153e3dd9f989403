//! An object as it came, in little room.
//!
//! Parsed JSON takes some six times the room of its text, and most of that text a cluster holds
//! more than once: a pod template stands in a Deployment and again in its newest ReplicaSet, and
//! kubectl's annotation repeats all of it. So an object is kept as text without two of its parts:
//!
//! ```text
//!  object = rest and status (text) + annotations (the map that rules read) + template (text that equal ones share) + its hash label
//! ```
//!
//! Most writes are of a status: their body is these texts around the new status (`with_status`).
//! The whole object is made again, as a value, only for other writes and for a new ReplicaSet or
//! pod. What rules ask at every look, whether two templates mean the same, is answered by a
//! checksum that is made once for each text.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use ring::digest;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::any::Any;
use super::meta::Meta;
use super::names::POD_TEMPLATE_HASH;
use super::template::canonical;
use super::text::{Rest, separate, write, written};
use super::transcode::{Found, Transcoded};

/// A text here was written from a value, so it reads back.
const READS_BACK: &str = "what was written as JSON reads as JSON";

/// An object, whole.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Manifest {
    /// Type, annotations and template left out, and after it the status, if there is one.
    text: Arc<str>,
    /// Where the status begins.
    status: usize,
    /// Where the annotations belong, if there are any.
    in_metadata: usize,
    /// Where the template belongs, if there is one.
    in_spec: usize,
    annotations: Arc<BTreeMap<String, String>>,
    template: Option<Template>,
}

impl Manifest {
    /// Keeps an object that came without its template, and that; `meta` is what was read of it.
    pub(super) fn new(mut raw: Value, template: Option<Template>, meta: &Meta) -> Self {
        let (mut text, mut in_metadata, mut in_spec, mut status) = (Vec::new(), 0, 0, None);
        if let Some(fields) = raw.as_object_mut() {
            // Objects in lists come without their type, and others with it.
            fields.remove("apiVersion");
            fields.remove("kind");
            status = fields.remove("status");
            // Not where there are none: absent, null and empty must stay what they are.
            if !meta.annotations.is_empty()
                && let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut)
            {
                metadata.remove("annotations");
            }
            text.push(b'{');
            for (name, value) in fields.iter() {
                separate(&mut text);
                write(&mut text, name);
                text.push(b':');
                match name.as_str() {
                    "metadata" => in_metadata = text.len() + 1,
                    "spec" => in_spec = text.len() + 1,
                    _ => {}
                }
                write(&mut text, value);
            }
            text.push(b'}');
        } else {
            write(&mut text, &raw);
        }
        let at = text.len();
        status.into_iter().for_each(|status| write(&mut text, &status));
        let text = String::from_utf8(text).expect("JSON is written as UTF-8");
        let annotations = meta.annotations.clone();
        Self { text: text.into(), status: at, in_metadata, in_spec, annotations, template }
    }

    /// The object as it came, but for its type.
    pub(super) fn value(&self) -> Value {
        let mut value: Value = serde_json::from_str(&self.text[..self.status]).expect(READS_BACK);
        if !self.annotations.is_empty() {
            let annotations = self.annotations.iter().map(|(key, value)| (key.clone(), value.as_str().into()));
            value["metadata"]["annotations"] = Value::Object(annotations.collect());
        }
        if let Some(template) = &self.template {
            value["spec"]["template"] = template.value();
        }
        if let Some(status) = self.status() {
            value["status"] = status;
        }
        value
    }

    /// The text of this object with its type, its status changed.
    pub(super) fn with_status(&self, kind: &str, change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut status = self.status().unwrap_or_default();
        change(&mut status);
        let mut text = Vec::with_capacity(self.text.len() + 1024);
        text.extend_from_slice(b"{\"apiVersion\":\"apps/v1\",\"kind\":");
        write(&mut text, kind);
        text.extend_from_slice(b",\"status\":");
        write(&mut text, &status);
        let mut rest = Rest { text: &self.text.as_bytes()[..self.status], copied: 1 };
        rest.separate(&mut text);
        // Metadata comes before spec, as the fields of a value are sorted.
        if !self.annotations.is_empty() {
            rest.copy_until(self.in_metadata, &mut text);
            text.extend_from_slice(b"\"annotations\":");
            write(&mut text, &*self.annotations);
            rest.separate(&mut text);
        }
        if let Some(template) = &self.template {
            rest.copy_until(self.in_spec, &mut text);
            text.extend_from_slice(b"\"template\":");
            template.write(&mut text);
            rest.separate(&mut text);
        }
        rest.copy_until(self.status, &mut text);
        text
    }

    fn status(&self) -> Option<Value> {
        let text = &self.text[self.status..];
        (!text.is_empty()).then(|| serde_json::from_str(text).expect(READS_BACK))
    }

    /// Its pod template.
    pub(super) fn template(&self) -> &Template {
        /// That of an object which has none.
        static NONE: LazyLock<Template> = LazyLock::new(|| Template::new(Value::Null));
        self.template.as_ref().unwrap_or(&NONE)
    }

    pub(super) fn template_mut(&mut self) -> Option<&mut Template> {
        self.template.as_mut()
    }
}

/// The template of an object, which is without it afterwards; `None` if it has none.
pub(super) fn take_template(raw: &mut Value) -> Option<Template> {
    let spec = raw.get_mut("spec").and_then(Value::as_object_mut);
    let spec = spec.filter(|spec| spec.get("template").is_some_and(Value::is_object));
    spec.and_then(|spec| spec.remove("template")).map(Template::new)
}

/// A pod template.
#[derive(Debug, Clone)]
pub struct Template {
    text: Arc<TemplateText>,
    /// The label that tells the templates of one Deployment apart; the text is without it.
    hash: Option<Box<str>>,
}

/// The text of a template. Many objects may have the same.
#[derive(Debug)]
pub(crate) struct TemplateText {
    json: Box<str>,
    /// Where the hash label belongs, if the template has labels.
    in_labels: usize,
    /// A checksum of what it means, once somebody has asked.
    meaning: OnceLock<[u8; digest::SHA256_OUTPUT_LEN]>,
}

impl Template {
    /// Keeps a template.
    pub fn new(value: Value) -> Self {
        let Any(found) = Any::<Found>::deserialize(value).expect("any JSON can be read so");
        match found {
            Found::Template(found) => Self::of(found),
            Found::Other(value) => Self::of(Transcoded { json: written(&value), in_labels: 0, hash: None }),
        }
    }

    /// Keeps one that was read as text.
    pub(crate) fn of(Transcoded { json, in_labels, hash }: Transcoded) -> Self {
        let text = TemplateText { json: json.into(), in_labels, meaning: OnceLock::new() };
        Self { text: Arc::new(text), hash: hash.map(String::into_boxed_str) }
    }

    /// Writes the template as it came at the end of a text.
    fn write(&self, text: &mut Vec<u8>) {
        let TemplateText { json, in_labels, .. } = &*self.text;
        let mut rest = Rest { text: json.as_bytes(), copied: 0 };
        if let Some(hash) = &self.hash {
            rest.copy_until(*in_labels, text);
            write(text, POD_TEMPLATE_HASH);
            text.push(b':');
            write(text, hash);
            rest.separate(text);
        }
        rest.copy_until(json.len(), text);
    }

    /// The template as it came.
    pub fn value(&self) -> Value {
        let mut value = self.text.value();
        if let Some(hash) = &self.hash {
            value["metadata"]["labels"][POD_TEMPLATE_HASH] = (**hash).into();
        }
        value
    }

    /// Whether two mean the same, the hash label left aside, as
    /// [`same_template`](super::same_template) has it.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.text, &other.text) || self.text.meaning() == other.text.meaning()
    }

    /// Its labels, the hash label among them; `None` if it has no such map.
    pub fn labels(&self) -> Option<Map<String, Value>> {
        #[derive(Deserialize)]
        struct Labelled {
            metadata: Labels,
        }
        #[derive(Deserialize)]
        struct Labels {
            labels: Map<String, Value>,
        }
        let labelled: Labelled = serde_json::from_str(&self.text.json).ok()?;
        let mut labels = labelled.metadata.labels;
        labels.extend(self.hash.as_deref().map(|hash| (POD_TEMPLATE_HASH.to_owned(), hash.into())));
        Some(labels)
    }

    pub(crate) fn text(&self) -> &Arc<TemplateText> {
        &self.text
    }

    /// Shares a text that is equal to its own.
    pub(crate) fn share(&mut self, text: Arc<TemplateText>) {
        debug_assert_eq!(self.text, text);
        self.text = text;
    }
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && (Arc::ptr_eq(&self.text, &other.text) || self.text == other.text)
    }
}

impl TemplateText {
    fn value(&self) -> Value {
        serde_json::from_str(&self.json).expect(READS_BACK)
    }

    fn meaning(&self) -> &[u8] {
        self.meaning.get_or_init(|| {
            let canonical = written(&canonical(&self.value()));
            let mut sum = [0; digest::SHA256_OUTPUT_LEN];
            sum.copy_from_slice(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
            sum
        })
    }
}

impl PartialEq for TemplateText {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl Eq for TemplateText {}

impl PartialOrd for TemplateText {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TemplateText {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.json.cmp(&other.json)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::model::{Deployment, DeploymentStatus, ReplicaSet, ReplicaSetStatus, names};

    #[rstest]
    #[case::whole(json!({
        "apiVersion": "apps/v1",
        "metadata": {
            "name": "web", "labels": {"app": "web"}, "ofTheFuture": {"a": [1, null, -2.5]},
            "annotations": {names::LAST_APPLIED: "{\"kind\":\"Deployment\"}\n", "note": "\u{e9}\u{1f980}\u{0}"},
        },
        "spec": {
            "replicas": 3, "ofTheFuture": {},
            "template": {
                "metadata": {"labels": {"app": "web", "pod-template-hash": "abc"}, "creationTimestamp": null},
                "spec": {"containers": [{"name": "c", "ofTheFuture": 9_007_199_254_740_993_i64}]},
            },
        },
        "status": {"replicas": 3, "ofTheFuture": "x"},
        "ofTheFuture": true,
    }))]
    #[case::nothing(json!({}))]
    #[case::nulls(json!({"metadata": {"annotations": null}, "spec": {"template": null}, "status": null}))]
    #[case::empty(json!({"metadata": {"annotations": {}}, "spec": {"template": {}}}))]
    #[case::no_spec(json!({"metadata": {"annotations": {"a": "b"}}, "spec": null}))]
    #[case::only_the_hash_label(json!({"spec": {"template": {"metadata": {"labels": {"pod-template-hash": "a"}}}}}))]
    #[case::a_hash_that_is_no_text(json!({"spec": {"template": {"metadata": {"labels": {"pod-template-hash": 1}}}}}))]
    #[case::labels_of_null(json!({"spec": {"template": {"metadata": {"labels": null}}}}))]
    fn an_object_is_given_back_as_it_came(#[case] mut raw: Value) {
        let of_template = raw.pointer("/spec/template").cloned().unwrap_or_default();
        let deployment = Deployment::read(raw.clone()).unwrap();
        raw.as_object_mut().unwrap().remove("apiVersion");
        assert_eq!((deployment.raw(), deployment.template().value()), (raw.clone(), of_template.clone()));
        let set = ReplicaSet::read(raw.clone()).unwrap();
        assert_eq!((set.raw(), set.template().value()), (raw, of_template));
    }

    /// What a status is written with, as it is when all is a value.
    fn by_values(mut raw: Value, kind: &str, status: impl FnOnce(&mut Value)) -> Value {
        (raw["apiVersion"], raw["kind"]) = ("apps/v1".into(), kind.into());
        status(&mut raw["status"]);
        raw
    }

    fn check_with_status(raw: &Value) {
        let status = DeploymentStatus { replicas: 7, collision_count: Some(0), ..Default::default() };
        let text = Deployment::read(raw.clone()).unwrap().with_status(&status);
        let expected = by_values(raw.clone(), "Deployment", |raw| status.write_over(raw));
        assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), expected);
        let status = ReplicaSetStatus { ready_replicas: 7, ..Default::default() };
        let text = ReplicaSet::read(raw.clone()).unwrap().with_status(&status);
        let expected = by_values(raw.clone(), "ReplicaSet", |raw| status.write_over(raw));
        assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), expected);
    }

    #[rstest]
    #[case::type_and_status(json!({"apiVersion": "apps/v1", "kind": "x", "metadata": {"name": "web"}, "status": {"replicas": 1, "a": {}}}))]
    #[case::nothing(json!({}))]
    #[case::nulls(json!({"metadata": {"annotations": null}, "spec": {"template": null}, "status": null}))]
    #[case::no_maps(json!({"metadata": null, "spec": null}))]
    #[case::only_annotations(json!({"metadata": {"annotations": {"a": "\n"}}, "spec": {}}))]
    #[case::annotations_and_more(json!({"metadata": {"annotations": {"a": "b"}, "name": "web"}, "spec": {"template": {}}}))]
    #[case::names_of_parts_elsewhere(json!({"a": {"metadata": {}, "spec": {}}, "metadata": {"annotations": {"spec": "{"}},
        "spec": {"metadata": {}, "template": {"labels": {}, "metadata": {"labels": {"pod-template-hash": "a"}}}}}))]
    #[case::labels_beside_the_hash(json!({"spec": {"replicas": 1, "template": {"metadata": {"labels":
        {"pod-template-hash": "a", "z": "b"}}, "spec": {"labels": {"c": "d"}}}}}))]
    fn a_status_is_written_with_the_whole_object(#[case] raw: Value) {
        check_with_status(&raw);
    }

    #[test]
    fn a_field_stands_once_in_what_is_written() {
        let raw = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"annotations": {"a": "b"}, "name": "web"},
            "spec": {"template": {"metadata": {"labels": {"a": "b", "pod-template-hash": "c"}}}}, "status": {"replicas": 1}});
        let text = Deployment::read(raw).unwrap().with_status(&DeploymentStatus::default());
        let expected = r#"{"apiVersion":"apps/v1","kind":"Deployment","status":{},"metadata":{"annotations":{"a":"b"},"name":"web"},"#
            .to_owned()
            + r#""spec":{"template":{"metadata":{"labels":{"pod-template-hash":"c","a":"b"}}}}}"#;
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn what_rules_change_is_not_what_came() {
        let raw = json!({"metadata": {"annotations": {"a": "b"}}});
        let mut deployment = Deployment::read(raw.clone()).unwrap();
        Arc::make_mut(&mut deployment.meta.annotations).insert("c".to_owned(), "d".to_owned());
        assert_eq!((deployment.meta.annotations.len(), deployment.raw()), (2, raw));
    }

    #[rstest]
    #[case(json!({"metadata": {"labels": {"app": "web", "pod-template-hash": "a", "odd": 1}}, "spec": {}}),
        Some(json!({"app": "web", "pod-template-hash": "a", "odd": 1})))]
    #[case(json!({"metadata": {"labels": {}}}), Some(json!({})))]
    #[case(json!({"metadata": {"labels": null}}), None)]
    #[case(json!({"metadata": {}}), None)]
    #[case(json!(null), None)]
    fn labels_are_read_alone(#[case] template: Value, #[case] labels: Option<Value>) {
        assert_eq!(Template::new(template).labels().map(Value::Object), labels);
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        let keys = prop_oneof!["metadata", "labels", "pod-template-hash", "spec", "a"];
        leaf.prop_recursive(4, 24, 3, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map(keys.clone(), inner, 0..4).prop_map(Value::from_iter),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]

        #[test]
        fn no_template_loses_a_field(template in json(), other in json()) {
            prop_assert_eq!(Template::new(template.clone()).value(), template.clone());
            let raw = json!({"metadata": {"annotations": {"a": other.to_string()}, "more": other}, "spec": {"template": template}});
            prop_assert_eq!(Deployment::read(raw.clone()).unwrap().raw(), raw.clone());
            check_with_status(&raw);
        }
    }
}
