//! Validates defaults in schemas: each must fit its own schema, have no unknown fields, and leave
//! metadata valid.
//!
//! Upstream: `apiserver/schema/defaulting/validation.go`, without CEL rules.

use serde_json::{Value, json};

use crate::registry::custom::{coerce, lists, values};
use crate::types::custom_schema::{Purpose, Schema};
use crate::types::field_error::FieldError;

/// The result of checking defaults.
#[derive(Default)]
pub(crate) struct DefaultFindings {
    pub(crate) errors: Vec<FieldError>,
    /// The feature by which this server cannot decide, if any.
    pub(crate) undecided: Option<String>,
}

/// A step from an embedded resource to a schema within it.
enum SchemaStep {
    Item,
    Field(String),
}

/// Validates all defaults of a schema.
pub(crate) fn check(schema: &Value, path: &str) -> DefaultFindings {
    let mut findings = DefaultFindings::default();
    if !has_default(schema) {
        return findings;
    }
    match Schema::read(schema, Purpose::Defaults) {
        Err(undecided) => findings.undecided = Some(undecided),
        Ok(mut schema) => {
            schema.embedded = true;
            let mut walk = DefaultsWalk { resource: &schema, steps: Vec::new(), inside_metadata: false };
            walk.visit(&schema, path, &mut findings);
        }
    }
    findings
}

/// Whether a schema contains a default.
fn has_default(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.get("default").is_some_and(|value| !value.is_null()) || fields.values().any(has_default)
        }
        Value::Array(items) => items.iter().any(has_default),
        _ => false,
    }
}

struct DefaultsWalk<'a> {
    /// The innermost embedded resource around the schema, or the root.
    resource: &'a Schema,
    steps: Vec<SchemaStep>,
    inside_metadata: bool,
}

impl<'a> DefaultsWalk<'a> {
    fn visit(&mut self, schema: &'a Schema, path: &str, findings: &mut DefaultFindings) {
        let outer = schema.embedded.then(|| {
            let inner = DefaultsWalk { resource: schema, steps: Vec::new(), inside_metadata: false };
            std::mem::replace(self, inner)
        });
        if let Some(default) = &schema.default {
            self.default(schema, default, &format!("{path}.default"), findings);
        }
        if let Some(items) = &schema.items {
            self.steps.push(SchemaStep::Item);
            self.visit(items, &format!("{path}.items"), findings);
            self.steps.pop();
        }
        for (name, property) in &schema.properties {
            let before = self.inside_metadata;
            self.inside_metadata |= schema.embedded && coerce::TYPED.contains(&name.as_str());
            self.steps.push(SchemaStep::Field(name.clone()));
            self.visit(property, &format!("{path}.properties[{name}]"), findings);
            self.steps.pop();
            self.inside_metadata = before;
        }
        if let Some(outer) = outer {
            *self = outer;
        }
    }

    fn default(&self, schema: &Schema, default: &Value, path: &str, findings: &mut DefaultFindings) {
        let mut value = default.clone();
        let blocking = if self.inside_metadata {
            let mut object = self.surrounding(value.clone());
            let wrong = match coerce::embedded(&mut object, self.resource, true, "", &mut Vec::new()) {
                Err(error) => Some(error.to_string()),
                Ok(()) => aggregate(&lists::embedded(self.resource, &object, true, "")),
            };
            let why = |wrong| format!("must result in valid metadata: {wrong}");
            wrong.map(|wrong| FieldError::invalid(path, default.clone(), why(wrong))).into_iter().collect()
        } else {
            let mut pruned = value.clone();
            coerce::prune(&mut pruned, Some(schema), false, "", &mut Vec::new());
            if pruned != *default {
                findings.errors.push(FieldError::invalid(path, default.clone(), "must not have unknown fields"));
            }
            match coerce::embedded(&mut value, schema, false, path, &mut Vec::new()) {
                Err(error) => vec![error],
                Ok(()) => lists::embedded(schema, &value, false, path),
            }
        };
        if !blocking.is_empty() {
            findings.errors.extend(blocking);
            return;
        }
        match values::check(schema, &value, None, path, "") {
            Ok(errors) => findings.errors.extend(errors),
            Err(undecided) => findings.undecided = Some(undecided),
        }
    }

    /// An object with `value` at the position of the schema.
    fn surrounding(&self, value: Value) -> Value {
        let mut object = self.steps.iter().rev().fold(value, |value, step| match step {
            SchemaStep::Item => json!([value]),
            SchemaStep::Field(name) => json!({name: value}),
        });
        for (name, value) in [("kind", "Validation"), ("apiVersion", "validation/v1")] {
            if object.get(name).is_none() {
                object[name] = value.into();
            }
        }
        object
    }
}

/// Joins errors into one text without duplicates. Upstream: `ErrorList.ToAggregate`.
fn aggregate(errors: &[FieldError]) -> Option<String> {
    let mut all: Vec<String> = Vec::new();
    for error in errors.iter().map(ToString::to_string) {
        if !all.contains(&error) {
            all.push(error);
        }
    }
    match all.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        all => Some(format!("[{}]", all.join(", "))),
    }
}
