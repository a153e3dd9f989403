//! Defaults in schemas: each fits its own schema, has no unknown fields, and leaves metadata valid.
//!
//! Upstream: `apiserver/schema/defaulting/validation.go`, without rules in CEL.

use serde_json::{Value, json};

use crate::custom::schema::{Purpose, Schema};
use crate::custom::{coerce, lists, values};
use crate::field::FieldError;

/// What a check of defaults finds.
#[derive(Default)]
pub(super) struct Found {
    pub(super) errors: Vec<FieldError>,
    /// What this server cannot decide.
    pub(super) open: Option<String>,
}

/// A step from an embedded resource to a schema below it.
enum Step {
    Item,
    Field(String),
}

/// Validates the defaults of a whole schema.
pub(super) fn check(schema: &Value, path: &str) -> Found {
    let mut found = Found::default();
    if !has_default(schema) {
        return found;
    }
    match Schema::read(schema, Purpose::Defaults) {
        Err(open) => found.open = Some(open),
        Ok(mut schema) => {
            schema.embedded = true;
            let mut walk = Walk { resource: &schema, steps: Vec::new(), inside_metadata: false };
            walk.visit(&schema, path, &mut found);
        }
    }
    found
}

/// Whether a default is anywhere in a schema.
fn has_default(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.get("default").is_some_and(|value| !value.is_null()) || fields.values().any(has_default)
        }
        Value::Array(items) => items.iter().any(has_default),
        _ => false,
    }
}

struct Walk<'a> {
    /// The embedded resource, or the whole, that the schema is in.
    resource: &'a Schema,
    steps: Vec<Step>,
    inside_metadata: bool,
}

impl<'a> Walk<'a> {
    fn visit(&mut self, schema: &'a Schema, path: &str, found: &mut Found) {
        let outer = schema.embedded.then(|| {
            let inner = Walk { resource: schema, steps: Vec::new(), inside_metadata: false };
            std::mem::replace(self, inner)
        });
        if let Some(default) = &schema.default {
            self.default(schema, default, &format!("{path}.default"), found);
        }
        if let Some(items) = &schema.items {
            self.steps.push(Step::Item);
            self.visit(items, &format!("{path}.items"), found);
            self.steps.pop();
        }
        for (name, property) in &schema.properties {
            let before = self.inside_metadata;
            self.inside_metadata |= schema.embedded && coerce::TYPED.contains(&name.as_str());
            self.steps.push(Step::Field(name.clone()));
            self.visit(property, &format!("{path}.properties[{name}]"), found);
            self.steps.pop();
            self.inside_metadata = before;
        }
        if let Some(outer) = outer {
            *self = outer;
        }
    }

    fn default(&self, schema: &Schema, default: &Value, path: &str, found: &mut Found) {
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
                found.errors.push(FieldError::invalid(path, default.clone(), "must not have unknown fields"));
            }
            match coerce::embedded(&mut value, schema, false, path, &mut Vec::new()) {
                Err(error) => vec![error],
                Ok(()) => lists::embedded(schema, &value, false, path),
            }
        };
        if !blocking.is_empty() {
            found.errors.extend(blocking);
            return;
        }
        match values::check(schema, &value, None, path, "") {
            Ok(errors) => found.errors.extend(errors),
            Err(open) => found.open = Some(open),
        }
    }

    /// An object that has a value where the schema is.
    fn surrounding(&self, value: Value) -> Value {
        let mut object = self.steps.iter().rev().fold(value, |value, step| match step {
            Step::Item => json!([value]),
            Step::Field(name) => json!({name: value}),
        });
        for (name, value) in [("kind", "Validation"), ("apiVersion", "validation/v1")] {
            if object.get(name).is_none() {
                object[name] = value.into();
            }
        }
        object
    }
}

/// Several errors as one text, without duplicates. Upstream: `ErrorList.ToAggregate`.
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
