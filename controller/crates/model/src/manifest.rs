//! An object as the server sent it, stored compactly: a Deployment of 9.3 kB takes 11 kB instead of
//! the 59 kB of its parsed JSON, and the body of a status write 8 allocations instead of 383
//! (`cargo bench --package controller-client --bench wire_forms`).
//!
//! Most of an object's text exists several times in a cluster: a Deployment and its newest
//! ReplicaSet have the same pod template, and kubectl's annotation repeats the whole object. So an
//! object is stored as text, with the annotations and the template apart:
//!
//! ```text
//!  object = other fields and status (text)
//!         + annotations (the map that rules read)
//!         + template (text, shared with equal templates)
//!         + hash label of the template
//! ```
//!
//! Most writes are of a status: their body consists of these texts around the new status
//! (`with_status`). The complete object is only rebuilt as a value for other writes, and for a new
//! ReplicaSet or pod. Each sync compares templates; that compares checksums, which are computed
//! once for each text.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use ring::digest;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::any_json::AnyJson;
use super::json_text::{JsonSource, append_comma, append_json, to_json};
use super::meta::Meta;
use super::names::POD_TEMPLATE_HASH;
use super::template::canonical_template;
use super::transcode::{TemplateValue, TranscodedTemplate};

/// The texts here were serialized from values, so they parse.
const READS_BACK: &str = "what was written as JSON reads as JSON";

/// A complete object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CompactManifest {
    /// The object without apiVersion, kind, annotations, template and status; after it the status,
    /// if there is one.
    text: Arc<str>,
    /// Offset of the status.
    status: usize,
    /// Offset at which the annotations are inserted, if there are any.
    metadata_offset: usize,
    /// Offset at which the template is inserted, if there is one.
    spec_offset: usize,
    annotations: Arc<BTreeMap<String, String>>,
    template: Option<Template>,
}

impl CompactManifest {
    /// Stores an object whose template was taken out, and that template. `meta` is its parsed
    /// metadata.
    pub(super) fn new(mut raw: Value, template: Option<Template>, meta: &Meta) -> Self {
        let (mut text, mut metadata_offset, mut spec_offset, mut status) = (Vec::new(), 0, 0, None);
        if let Some(fields) = raw.as_object_mut() {
            // Objects in lists lack apiVersion and kind, others have them.
            fields.remove("apiVersion");
            fields.remove("kind");
            status = fields.remove("status");
            // Without annotations the field stays: absent, null and empty must be kept apart.
            if !meta.annotations.is_empty()
                && let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut)
            {
                metadata.remove("annotations");
            }
            text.push(b'{');
            for (name, value) in fields.iter() {
                append_comma(&mut text);
                append_json(&mut text, name);
                text.push(b':');
                match name.as_str() {
                    "metadata" => metadata_offset = text.len() + 1,
                    "spec" => spec_offset = text.len() + 1,
                    _ => {}
                }
                append_json(&mut text, value);
            }
            text.push(b'}');
        } else {
            append_json(&mut text, &raw);
        }
        let at = text.len();
        status.into_iter().for_each(|status| append_json(&mut text, &status));
        let text = String::from_utf8(text).expect("JSON is written as UTF-8");
        let annotations = meta.annotations.clone();
        Self { text: text.into(), status: at, metadata_offset, spec_offset, annotations, template }
    }

    /// The object as the server sent it, without apiVersion and kind.
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

    /// The text of this object with apiVersion and kind, and with a changed status.
    pub(super) fn with_status(&self, kind: &str, change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut status = self.status().unwrap_or_default();
        change(&mut status);
        let mut text = Vec::with_capacity(self.text.len() + 1024);
        text.extend_from_slice(b"{\"apiVersion\":\"apps/v1\",\"kind\":");
        append_json(&mut text, kind);
        text.extend_from_slice(b",\"status\":");
        append_json(&mut text, &status);
        let mut source = JsonSource { text: &self.text.as_bytes()[..self.status], position: 1 };
        source.append_comma(&mut text);
        // `metadata` precedes `spec`, because the fields of a value are sorted.
        if !self.annotations.is_empty() {
            source.copy_until(self.metadata_offset, &mut text);
            text.extend_from_slice(b"\"annotations\":");
            append_json(&mut text, &*self.annotations);
            source.append_comma(&mut text);
        }
        if let Some(template) = &self.template {
            source.copy_until(self.spec_offset, &mut text);
            text.extend_from_slice(b"\"template\":");
            template.write(&mut text);
            source.append_comma(&mut text);
        }
        source.copy_until(self.status, &mut text);
        text
    }

    fn status(&self) -> Option<Value> {
        let text = &self.text[self.status..];
        (!text.is_empty()).then(|| serde_json::from_str(text).expect(READS_BACK))
    }

    /// `spec.template`; a null template if there is none.
    pub(super) fn template(&self) -> &Template {
        static NONE: LazyLock<Template> = LazyLock::new(|| Template::new(Value::Null));
        self.template.as_ref().unwrap_or(&NONE)
    }

    pub(super) fn template_mut(&mut self) -> Option<&mut Template> {
        self.template.as_mut()
    }
}

/// Takes the template out of an object; `None` if it has none.
pub(super) fn take_template(raw: &mut Value) -> Option<Template> {
    let spec = raw.get_mut("spec").and_then(Value::as_object_mut);
    let spec = spec.filter(|spec| spec.get("template").is_some_and(Value::is_object));
    spec.and_then(|spec| spec.remove("template")).map(Template::new)
}

/// A pod template.
#[derive(Debug, Clone)]
pub struct Template {
    text: Arc<TemplateText>,
    /// The label `pod-template-hash`, which the text lacks so that equal templates share it.
    hash: Option<Box<str>>,
}

/// The text of a template. Many objects may share it.
#[derive(Debug)]
pub struct TemplateText {
    json: Box<str>,
    /// Offset at which the hash label is inserted, if the template has labels.
    labels_offset: usize,
    /// Checksum of the canonical form, computed on first use.
    canonical_digest: OnceLock<[u8; digest::SHA256_OUTPUT_LEN]>,
}

impl Template {
    /// Stores a template.
    pub fn new(value: Value) -> Self {
        let AnyJson(found) = AnyJson::<TemplateValue>::deserialize(value).expect("any JSON can be read so");
        match found {
            TemplateValue::Template(found) => Self::from_transcoded(found),
            TemplateValue::Other(value) => {
                Self::from_transcoded(TranscodedTemplate { json: to_json(&value), labels_offset: 0, hash: None })
            }
        }
    }

    /// Stores a template that was read as text.
    pub fn from_transcoded(TranscodedTemplate { json, labels_offset, hash }: TranscodedTemplate) -> Self {
        let text = TemplateText { json: json.into(), labels_offset, canonical_digest: OnceLock::new() };
        Self { text: Arc::new(text), hash: hash.map(String::into_boxed_str) }
    }

    /// Appends the template to a text, as the server sent it.
    fn write(&self, text: &mut Vec<u8>) {
        let TemplateText { json, labels_offset, .. } = &*self.text;
        let mut source = JsonSource { text: json.as_bytes(), position: 0 };
        if let Some(hash) = &self.hash {
            source.copy_until(*labels_offset, text);
            append_json(text, POD_TEMPLATE_HASH);
            text.push(b':');
            append_json(text, hash);
            source.append_comma(text);
        }
        source.copy_until(json.len(), text);
    }

    /// The template as the server sent it.
    pub fn value(&self) -> Value {
        let mut value = self.text.value();
        if let Some(hash) = &self.hash {
            value["metadata"]["labels"][POD_TEMPLATE_HASH] = (**hash).into();
        }
        value
    }

    /// Whether two templates are equal except for the hash label, by the rules of
    /// [`canonical_template`].
    pub fn is_same(&self, template: &Self) -> bool {
        Arc::ptr_eq(&self.text, &template.text) || self.text.canonical_digest() == template.text.canonical_digest()
    }

    /// Its labels including the hash label; `None` if it has no labels.
    pub fn labels(&self) -> Option<Map<String, Value>> {
        #[derive(Deserialize)]
        struct TemplateLabels {
            metadata: LabelsField,
        }
        #[derive(Deserialize)]
        struct LabelsField {
            labels: Map<String, Value>,
        }
        let labelled: TemplateLabels = serde_json::from_str(&self.text.json).ok()?;
        let mut labels = labelled.metadata.labels;
        labels.extend(self.hash.as_deref().map(|hash| (POD_TEMPLATE_HASH.to_owned(), hash.into())));
        Some(labels)
    }

    /// The text, which equal templates share.
    pub fn text(&self) -> &Arc<TemplateText> {
        &self.text
    }

    /// Replaces its text by an equal text that other templates share.
    pub fn share(&mut self, text: Arc<TemplateText>) {
        debug_assert_eq!(self.text, text);
        self.text = text;
    }
}

impl PartialEq for Template {
    fn eq(&self, template: &Self) -> bool {
        self.hash == template.hash && (Arc::ptr_eq(&self.text, &template.text) || self.text == template.text)
    }
}

impl TemplateText {
    fn value(&self) -> Value {
        serde_json::from_str(&self.json).expect(READS_BACK)
    }

    fn canonical_digest(&self) -> &[u8] {
        self.canonical_digest.get_or_init(|| {
            let canonical = to_json(&canonical_template(&self.value()));
            let mut sum = [0; digest::SHA256_OUTPUT_LEN];
            sum.copy_from_slice(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
            sum
        })
    }
}

impl PartialEq for TemplateText {
    fn eq(&self, text: &Self) -> bool {
        self.json == text.json
    }
}

impl Eq for TemplateText {}

impl PartialOrd for TemplateText {
    fn partial_cmp(&self, text: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(text))
    }
}

impl Ord for TemplateText {
    fn cmp(&self, text: &Self) -> std::cmp::Ordering {
        self.json.cmp(&text.json)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::{Deployment, DeploymentStatus, ReplicaSet, ReplicaSetStatus, names};

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
    fn an_object_is_restored_unchanged(#[case] mut raw: Value) {
        let of_template = raw.pointer("/spec/template").cloned().unwrap_or_default();
        let deployment = Deployment::read(raw.clone()).unwrap();
        raw.as_object_mut().unwrap().remove("apiVersion");
        assert_eq!((deployment.raw(), deployment.template().value()), (raw.clone(), of_template.clone()));
        let set = ReplicaSet::read(raw.clone()).unwrap();
        assert_eq!((set.raw(), set.template().value()), (raw, of_template));
    }

    /// The expected body of a status write, built from values instead of texts.
    fn body_from_values(mut raw: Value, kind: &str, status: impl FnOnce(&mut Value)) -> Value {
        (raw["apiVersion"], raw["kind"]) = ("apps/v1".into(), kind.into());
        status(&mut raw["status"]);
        raw
    }

    fn check_with_status(raw: &Value) {
        let status = DeploymentStatus { replicas: 7, collision_count: Some(0), ..Default::default() };
        let text = Deployment::read(raw.clone()).unwrap().with_status(&status);
        let expected = body_from_values(raw.clone(), "Deployment", |raw| status.write_over(raw));
        assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), expected);
        let status = ReplicaSetStatus { ready_replicas: 7, ..Default::default() };
        let text = ReplicaSet::read(raw.clone()).unwrap().with_status(&status);
        let expected = body_from_values(raw.clone(), "ReplicaSet", |raw| status.write_over(raw));
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
    fn a_status_write_contains_the_whole_object(#[case] raw: Value) {
        check_with_status(&raw);
    }

    #[test]
    fn a_status_write_contains_each_field_once() {
        let raw = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"annotations": {"a": "b"}, "name": "web"},
            "spec": {"template": {"metadata": {"labels": {"a": "b", "pod-template-hash": "c"}}}}, "status": {"replicas": 1}});
        let text = Deployment::read(raw).unwrap().with_status(&DeploymentStatus::default());
        let expected = r#"{"apiVersion":"apps/v1","kind":"Deployment","status":{},"metadata":{"annotations":{"a":"b"},"name":"web"},"#
            .to_owned()
            + r#""spec":{"template":{"metadata":{"labels":{"pod-template-hash":"c","a":"b"}}}}}"#;
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn changed_annotations_do_not_change_the_stored_object() {
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
    fn reads_the_labels_of_a_template(#[case] template: Value, #[case] labels: Option<Value>) {
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
        fn any_template_is_restored_unchanged(template in json(), value in json()) {
            prop_assert_eq!(Template::new(template.clone()).value(), template.clone());
            let raw = json!({"metadata": {"annotations": {"a": value.to_string()}, "more": value}, "spec": {"template": template}});
            prop_assert_eq!(Deployment::read(raw.clone()).unwrap().raw(), raw.clone());
            check_with_status(&raw);
        }
    }
}
