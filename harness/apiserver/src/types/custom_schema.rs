//! A structural schema: the validated `openAPIV3Schema` of a version.
//!
//! A feature that this server cannot evaluate is an error here, so that the definition is rejected
//! instead of accepting objects that the real server rejects. CEL rules are the exception: they are
//! not evaluated.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use crate::go::character_classes::GoRegexpError;
use crate::go::regexp::compile;
use crate::types::formats::is_recognized;

/// A node of a schema.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    /// Empty if the schema has no type.
    pub(crate) of_type: String,
    /// The allowed types of a value.
    pub(crate) types: Vec<String>,
    pub(crate) nullable: bool,
    pub(crate) int_or_string: bool,
    pub(crate) preserves: bool,
    pub(crate) embedded: bool,
    pub(crate) properties: BTreeMap<String, Schema>,
    pub(crate) additional: AdditionalProperties,
    pub(crate) items: Option<Box<Schema>>,
    pub(crate) default: Option<Value>,
    /// `map`, `set`, `atomic`, or empty.
    pub(crate) list_type: String,
    pub(crate) keys: Vec<String>,
    /// `atomic`, `granular`, or empty.
    pub(crate) map_type: String,
    /// Whether it or a schema within it has CEL rules.
    pub(crate) has_rules: bool,
    pub(crate) required: Vec<String>,
    pub(crate) choices: Vec<Value>,
    /// Empty if it does not apply to the type.
    pub(crate) format: String,
    pub(crate) numbers: NumericBounds,
    pub(crate) pattern: Option<(String, Regex)>,
    pub(crate) all_of: Vec<Schema>,
    pub(crate) any_of: Vec<Schema>,
    pub(crate) one_of: Vec<Schema>,
    pub(crate) not: Option<Box<Schema>>,
}

/// The value of `additionalProperties`.
#[derive(Debug, Default)]
pub(crate) enum AdditionalProperties {
    #[default]
    Absent,
    /// `true` or `false`.
    Any(bool),
    Each(Box<Schema>),
}

/// Bounds of values; `None` if the schema has none.
#[derive(Debug, Default)]
pub(crate) struct NumericBounds {
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) above: bool,
    pub(crate) below: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) max_properties: Option<i64>,
}

/// The purpose for which a schema is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To validate objects; unknown formats are ignored.
    Objects,
    /// To validate defaults; upstream uses the schema unchanged.
    Defaults,
}

impl Schema {
    ///
    /// # Errors
    /// The unsupported feature.
    pub(crate) fn read(value: &Value, purpose: Purpose) -> Result<Self, String> {
        let read = |value: &Value| Self::read(value, purpose);
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let flag = |name: &str| value[name] == true;
        let count = |name: &str| value[name].as_i64();
        let list = |name: &str| value[name].as_array().into_iter().flatten();
        let texts = |name: &str| list(name).filter_map(Value::as_str).map(str::to_owned).collect();
        let all = |name: &str| list(name).map(read).collect::<Result<Vec<_>, _>>();
        let one = |name: &str| {
            value.get(name).filter(|value| value.is_object()).map(|value| read(value).map(Box::new)).transpose()
        };
        let mut format = text("format");
        let (of_type, int_or_string) = (text("type"), flag("x-kubernetes-int-or-string"));
        let types: Vec<&str> = match (purpose, int_or_string) {
            (Purpose::Objects, true) => vec!["integer", "string"],
            _ => [of_type.as_str()].into_iter().filter(|name| !name.is_empty()).collect(),
        };
        if purpose == Purpose::Objects && !is_recognized(&format, if let [one] = types.as_slice() { one } else { "" }) {
            format.clear();
        }
        let types = types.into_iter().map(str::to_owned).collect();
        let pattern = text("pattern");
        let compiled = (!pattern.is_empty()).then(|| compile(&pattern)).transpose();
        let compiled = compiled.map_err(|fault| match fault {
            GoRegexpError::Invalid(why) => why,
            GoRegexpError::Unsupported => format!("a schema with the pattern {pattern}"),
        })?;
        let fields = value["properties"].as_object().into_iter().flatten();
        let properties = fields.map(|(name, value)| Ok((name.clone(), read(value)?)));
        let properties: BTreeMap<String, Self> = properties.collect::<Result<_, String>>()?;
        let items = one("items")?;
        let additional = match value.get("additionalProperties") {
            Some(Value::Bool(any)) => AdditionalProperties::Any(*any),
            Some(each @ Value::Object(_)) => AdditionalProperties::Each(Box::new(read(each)?)),
            _ => AdditionalProperties::Absent,
        };
        let below = properties.values().chain(items.as_deref()).any(|one| one.has_rules)
            || matches!(&additional, AdditionalProperties::Each(each) if each.has_rules);
        Ok(Self {
            of_type,
            types,
            nullable: flag("nullable"),
            int_or_string,
            preserves: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            properties,
            additional,
            items,
            default: value.get("default").filter(|value| !value.is_null()).cloned(),
            list_type: text("x-kubernetes-list-type"),
            keys: texts("x-kubernetes-list-map-keys"),
            map_type: text("x-kubernetes-map-type"),
            has_rules: below || list("x-kubernetes-validations").next().is_some(),
            required: texts("required"),
            choices: list("enum").cloned().collect(),
            format,
            numbers: NumericBounds {
                minimum: value["minimum"].as_f64(),
                maximum: value["maximum"].as_f64(),
                above: flag("exclusiveMinimum"),
                below: flag("exclusiveMaximum"),
                multiple_of: value["multipleOf"].as_f64(),
                min_length: count("minLength"),
                max_length: count("maxLength"),
                min_items: count("minItems"),
                max_items: count("maxItems"),
                min_properties: count("minProperties"),
                max_properties: count("maxProperties"),
            },
            pattern: compiled.map(|regex| (pattern, regex)),
            all_of: all("allOf")?,
            any_of: all("anyOf")?,
            one_of: all("oneOf")?,
            not: one("not")?,
        })
    }

    /// The schema of an additional property.
    pub(crate) fn additional_schema(&self) -> Option<&Self> {
        match &self.additional {
            AdditionalProperties::Each(each) => Some(each),
            _ => None,
        }
    }

    /// The schema of a declared or additional property.
    pub(crate) fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.additional_schema())
    }
}
