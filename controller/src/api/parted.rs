//! An object with a pod template as it comes over the wire, taken apart as it is kept: the template
//! as text, the rest as values without field managers.

use serde::de::MapAccess;
use serde_json::{Map, Value};

use super::bare::Metadata;
use crate::model::any_json::{AnyJson, FromAnyJson};
use crate::model::{Template, TemplateOrOther};

/// See the module.
pub(crate) struct Parted {
    /// The object without its template.
    pub(crate) raw: Value,
    /// `None` where it has none: what else stands there is left there.
    pub(crate) template: Option<Template>,
}

/// Its spec.
struct Spec(Parted);

impl FromAnyJson for Parted {
    fn from_map<'de, A: MapAccess<'de>>(mut fields: A) -> Result<Self, A::Error> {
        let (mut all, mut template) = (Map::new(), None);
        while let Some(name) = fields.next_key::<String>()? {
            let value = match name.as_str() {
                "metadata" => fields.next_value::<AnyJson<Metadata>>()?.0.0,
                "spec" => {
                    let AnyJson(Spec(spec)) = fields.next_value()?;
                    template = spec.template;
                    spec.raw
                }
                _ => fields.next_value()?,
            };
            all.insert(name, value);
        }
        Ok(Self { raw: all.into(), template })
    }

    fn from_non_map(raw: Value) -> Self {
        Self { raw, template: None }
    }
}

impl FromAnyJson for Spec {
    fn from_map<'de, A: MapAccess<'de>>(mut fields: A) -> Result<Self, A::Error> {
        let (mut all, mut template) = (Map::new(), None);
        while let Some(name) = fields.next_key::<String>()? {
            let value = if name == "template" {
                match fields.next_value::<AnyJson<TemplateOrOther>>()?.0 {
                    TemplateOrOther::Template(found) => {
                        template = Some(Template::from_transcoded(found));
                        continue;
                    }
                    TemplateOrOther::Other(value) => value,
                }
            } else {
                fields.next_value()?
            };
            all.insert(name, value);
        }
        Ok(Self(Parted { raw: all.into(), template }))
    }

    fn from_non_map(raw: Value) -> Self {
        Self(Parted { raw, template: None })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::model::Deployment;

    #[rstest]
    #[case::whole(json!({"metadata": {"name": "web", "labels": {"app": "web"}}, "status": {"replicas": 1},
        "spec": {"replicas": 3, "template": {"metadata": {"labels": {"app": "web", "pod-template-hash": "abc"}}, "ofTheFuture":
            [1, -2, 2.5, null, true, "\u{e9}\"\n", [], {}, [[{"a": {}}]]], "spec": {"containers": [{"name": "c"}]}}}}))]
    #[case::no_hash(json!({"spec": {"template": {"metadata": {"labels": {}}, "spec": {}}}}))]
    #[case::a_hash_that_is_no_text(json!({"spec": {"template": {"metadata": {"labels": {"a": "b", "pod-template-hash": [1]}}}}}))]
    #[case::only_a_hash(json!({"spec": {"template": {"metadata": {"labels": {"pod-template-hash": "a"}}}}}))]
    #[case::a_hash_elsewhere(json!({"spec": {"template": {"labels": {"pod-template-hash": "a"}, "metadata": {"pod-template-hash": "b"}}}}))]
    #[case::no_template(json!({"metadata": {}, "spec": {"template": null, "replicas": 2}}))]
    #[case::a_template_of_nothing(json!({"spec": {"template": {}}}))]
    #[case::a_template_that_is_a_list(json!({"spec": {"template": [1]}}))]
    #[case::no_spec(json!({"spec": null, "template": {"a": 1}}))]
    #[case::a_spec_that_is_no_map(json!({"spec": "x"}))]
    #[case::no_map(json!([1]))]
    #[case::nothing(json!({}))]
    fn an_object_that_is_taken_apart_is_the_same_as_one_that_is_read_whole(#[case] object: Value) {
        let AnyJson(Parted { raw, template }) = serde_json::from_str(&object.to_string()).unwrap();
        let (parted, whole) = (Deployment::assemble(raw, template), Deployment::read(object.clone()));
        assert_eq!(parted.as_ref().ok().map(Deployment::raw), whole.as_ref().ok().map(|_| object));
        assert_eq!(parted.map_err(|error| error.to_string()), whole.map_err(|error| error.to_string()));
    }

    #[test]
    fn field_managers_are_left_out() {
        let text = r#"{"metadata": {"managedFields": [{"a": {}}], "name": "x"}, "spec": {"template": {}}}"#;
        let AnyJson(Parted { raw, .. }) = serde_json::from_str(text).unwrap();
        assert_eq!(raw, json!({"metadata": {"name": "x"}, "spec": {}}));
    }
}
