//! A structural schema: the `openAPIV3Schema` of a version.
//!
//! What this server cannot evaluate is an error here, so that a definition is refused and no object
//! is accepted that the real server rejects.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::rules::Rule;

/// One node of a schema.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    /// Empty where the schema does not say.
    pub(super) of_type: String,
    pub(super) nullable: bool,
    pub(super) int_or_string: bool,
    pub(super) preserves: bool,
    pub(super) embedded: bool,
    pub(super) properties: BTreeMap<String, Schema>,
    pub(super) additional: Additional,
    pub(super) items: Option<Box<Schema>>,
    pub(super) default: Option<Value>,
    /// `map`, `set`, `atomic`, or empty.
    pub(super) list_type: String,
    pub(super) keys: Vec<String>,
    /// `atomic`, `granular`, or empty.
    pub(super) map_type: String,
    pub(super) rules: Vec<Rule>,
    pub(super) required: Vec<String>,
    pub(super) choices: Vec<Value>,
    pub(super) format: String,
    pub(super) numbers: Numbers,
    pub(super) pattern: Option<(String, Regex)>,
    pub(super) all_of: Vec<Schema>,
    pub(super) any_of: Vec<Schema>,
    pub(super) one_of: Vec<Schema>,
    pub(super) not: Option<Box<Schema>>,
}

/// What `additionalProperties` says.
#[derive(Debug, Default)]
pub(super) enum Additional {
    /// Nothing.
    #[default]
    Absent,
    /// `true` or `false`.
    Any(bool),
    Each(Box<Schema>),
}

/// Bounds, each `None` where the schema has none.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) above: bool,
    pub(super) below: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) min_length: Option<usize>,
    pub(super) max_length: Option<usize>,
    pub(super) min_items: Option<usize>,
    pub(super) max_items: Option<usize>,
    pub(super) min_properties: Option<usize>,
    pub(super) max_properties: Option<usize>,
}

/// Formats that upstream ignores or that need no check.
const FREE: [&str; 10] =
    ["int32", "int64", "float", "double", "byte", "password", "binary", "", "quantity", "int-or-string"];
/// Formats that are checked here.
const CHECKED: [&str; 8] = ["date-time", "date", "duration", "uuid", "ipv4", "ipv6", "email", "uri"];

impl Schema {
    /// Reads a schema.
    ///
    /// # Errors
    /// What of it is not supported.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let flag = |name: &str| value[name] == true;
        let count = |name: &str| value[name].as_u64().and_then(|number| usize::try_from(number).ok());
        let list = |name: &str| value[name].as_array().into_iter().flatten();
        let texts = |name: &str| list(name).filter_map(Value::as_str).map(str::to_owned).collect();
        let all = |name: &str| list(name).map(Self::read).collect::<Result<Vec<_>, _>>();
        let one = |name: &str| {
            value.get(name).filter(|value| value.is_object()).map(|value| Self::read(value).map(Box::new)).transpose()
        };
        for name in ["patternProperties", "definitions", "dependencies", "$ref", "additionalItems"] {
            if value.get(name).is_some() {
                return Err(format!("a schema with {name}"));
            }
        }
        let format = text("format");
        if !FREE.contains(&format.as_str()) && !CHECKED.contains(&format.as_str()) {
            return Err(format!("a schema with the format {format}"));
        }
        let pattern = text("pattern");
        let pattern = if pattern.is_empty() {
            None
        } else {
            Some((pattern.clone(), Regex::new(&pattern).map_err(|_| format!("a schema with the pattern {pattern}"))?))
        };
        let fields = value["properties"].as_object().into_iter().flatten();
        let properties = fields.map(|(name, value)| Ok((name.clone(), Self::read(value)?)));
        Ok(Self {
            of_type: text("type"),
            nullable: flag("nullable"),
            int_or_string: flag("x-kubernetes-int-or-string"),
            preserves: flag("x-kubernetes-preserve-unknown-fields"),
            embedded: flag("x-kubernetes-embedded-resource"),
            properties: properties.collect::<Result<_, String>>()?,
            additional: match value.get("additionalProperties") {
                Some(Value::Bool(any)) => Additional::Any(*any),
                Some(each @ Value::Object(_)) => Additional::Each(Box::new(Self::read(each)?)),
                _ => Additional::Absent,
            },
            items: one("items")?,
            default: value.get("default").filter(|value| !value.is_null()).cloned(),
            list_type: text("x-kubernetes-list-type"),
            keys: texts("x-kubernetes-list-map-keys"),
            map_type: text("x-kubernetes-map-type"),
            rules: list("x-kubernetes-validations").map(Rule::read).collect::<Result<_, _>>()?,
            required: texts("required"),
            choices: list("enum").cloned().collect(),
            format,
            numbers: Numbers {
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
            pattern,
            all_of: all("allOf")?,
            any_of: all("anyOf")?,
            one_of: all("oneOf")?,
            not: one("not")?,
        })
    }

    /// The schema of an additional property.
    pub(super) fn each(&self) -> Option<&Self> {
        match &self.additional {
            Additional::Each(each) => Some(each),
            _ => None,
        }
    }

    /// The schema of a property, be it named or additional.
    pub(super) fn property(&self, name: &str) -> Option<&Self> {
        self.properties.get(name).or_else(|| self.each())
    }

    /// The types that a value may have, as messages name them.
    pub(super) fn types(&self) -> &str {
        if self.int_or_string { "integer,string" } else { &self.of_type }
    }

    /// The first node, by its path, that does not say its type. Upstream: `ValidateStructural`.
    pub(super) fn untyped(&self, path: &str) -> Option<String> {
        if self.of_type.is_empty() && !self.int_or_string && !self.preserves {
            return Some(path.to_owned());
        }
        let named = self.properties.iter().find_map(|(name, one)| one.untyped(&format!("{path}.properties[{name}]")));
        let items = || self.items.as_ref().and_then(|items| items.untyped(&format!("{path}.items")));
        named
            .or_else(items)
            .or_else(|| self.each().and_then(|each| each.untyped(&format!("{path}.additionalProperties"))))
    }
}
