//! An object as it came, in little room.
//!
//! Parsed JSON takes some six times the room of its text, and most of that text a cluster holds more than once: a pod template
//! stands in a Deployment and again in its newest ReplicaSet, and kubectl's annotation repeats all of it. So an object is kept as
//! text without two of its parts:
//!
//! ```text
//!  object = rest (text) + annotations (the map that rules read) + template (text that equal ones share) + its hash label
//! ```
//!
//! It is put together again, field for field, only where the whole is needed: for a write, for a new ReplicaSet, for a new pod.
//! What rules ask at every look, whether two templates mean the same, is answered by a checksum that is made once for each text.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};

use ring::digest;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::meta::Meta;
use super::names::POD_TEMPLATE_HASH;
use super::template::canonical;

/// A text here was written from a value, so it reads back.
const READS_BACK: &str = "what was written as JSON reads as JSON";

/// An object, whole.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Manifest {
    rest: Arc<str>,
    annotations: Arc<BTreeMap<String, String>>,
    template: Option<Template>,
}

impl Manifest {
    /// Keeps an object that came without its template, and that; `meta` is what was read of it.
    pub(super) fn new(mut raw: Value, template: Option<Template>, meta: &Meta) -> Self {
        // Not where there are none: absent, null and empty must stay what they are.
        if !meta.annotations.is_empty()
            && let Some(metadata) = raw["metadata"].as_object_mut()
        {
            metadata.remove("annotations");
        }
        Self { rest: written(&raw).into(), annotations: meta.annotations.clone(), template }
    }

    /// The object as it came.
    pub(super) fn value(&self) -> Value {
        let mut value: Value = serde_json::from_str(&self.rest).expect(READS_BACK);
        if !self.annotations.is_empty() {
            let annotations = self.annotations.iter().map(|(key, value)| (key.clone(), value.as_str().into()));
            value["metadata"]["annotations"] = Value::Object(annotations.collect());
        }
        if let Some(template) = &self.template {
            value["spec"]["template"] = template.value();
        }
        value
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

/// JSON as text. Its `Display` writes the same, and takes three times as long.
fn written(value: &Value) -> String {
    serde_json::to_string(value).expect("the keys of a JSON value are strings")
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
    /// A checksum of what it means, once somebody has asked.
    meaning: OnceLock<[u8; digest::SHA256_OUTPUT_LEN]>,
}

impl Template {
    /// Keeps a template.
    pub fn new(mut value: Value) -> Self {
        let labels = value.pointer_mut("/metadata/labels").and_then(Value::as_object_mut);
        let labels = labels.filter(|labels| labels.get(POD_TEMPLATE_HASH).is_some_and(Value::is_string));
        let hash = match labels.and_then(|labels| labels.remove(POD_TEMPLATE_HASH)) {
            Some(Value::String(hash)) => Some(hash),
            _ => None,
        };
        Self::of_text(written(&value), hash)
    }

    /// One whose text is without the hash label.
    pub(super) fn of_text(json: String, hash: Option<String>) -> Self {
        let text = TemplateText { json: json.into(), meaning: OnceLock::new() };
        Self { text: Arc::new(text), hash: hash.map(String::into_boxed_str) }
    }

    /// The template as it came.
    pub fn value(&self) -> Value {
        let mut value = self.text.value();
        if let Some(hash) = &self.hash {
            value["metadata"]["labels"][POD_TEMPLATE_HASH] = (**hash).into();
        }
        value
    }

    /// Whether two mean the same, the hash label left aside, as [`same_template`](super::same_template) has it.
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
    use crate::model::{Deployment, ReplicaSet, names};

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
    fn an_object_is_given_back_as_it_came(#[case] raw: Value) {
        let of_template = raw.pointer("/spec/template").cloned().unwrap_or_default();
        let deployment = Deployment::read(raw.clone()).unwrap();
        assert_eq!((deployment.raw(), deployment.template().value()), (raw.clone(), of_template.clone()));
        let set = ReplicaSet::read(raw.clone()).unwrap();
        assert_eq!((set.raw(), set.template().value()), (raw, of_template));
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
            prop_assert_eq!(Deployment::read(raw.clone()).unwrap().raw(), raw);
        }
    }
}
