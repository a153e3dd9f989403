//! A schema as server-side apply sees it: a type of its own, beside those of the table.
//!
//! Upstream: `managedfields` over the schema in OpenAPI, and its deduced type for what the schema
//! leaves open.

use std::collections::BTreeMap;

use super::schema::Schema;
use crate::api::{Documented, Field, Merging, Shape, TYPES, Type};

/// The type of a resource with this schema.
pub(super) fn of_resource(schema: &Schema) -> &'static Type {
    let mut fields = fields(schema);
    resource_fields(&mut fields);
    let name = String::new();
    Box::leak(Box::new(Type { name, package: String::new(), fields, atomic: false, open: schema.preserves }))
}

fn fields(schema: &Schema) -> BTreeMap<String, Field> {
    schema.properties.iter().map(|(name, schema)| (name.clone(), field(schema))).collect()
}

/// What every resource has.
fn resource_fields(fields: &mut BTreeMap<String, Field>) {
    let meta = TYPES.place("ObjectMeta").expect("the table has ObjectMeta");
    for (name, shape) in [("apiVersion", Shape::Text), ("kind", Shape::Text), ("metadata", Shape::Struct(meta))] {
        fields.insert(name.to_owned(), plain(shape, Merging::Granular));
    }
}

fn plain(shape: Shape, merging: Merging) -> Field {
    Field {
        shape,
        go: String::new(),
        pointer: true,
        omit_empty: true,
        omit_zero: false,
        merges: false,
        key: None,
        number: Vec::new(),
        merging,
        default: None,
        documented: Documented::default(),
    }
}

fn field(schema: &Schema) -> Field {
    let merging = match (schema.list_type.as_str(), schema.map_type.as_str()) {
        ("map", _) => Merging::Keyed(schema.keys.clone()),
        ("set", _) => Merging::Set,
        (_, "atomic") => Merging::Atomic,
        // A list is one value unless its schema says otherwise.
        _ if schema.of_type == "array" => Merging::Atomic,
        _ => Merging::Granular,
    };
    let scalar = |value: &&serde_json::Value| !value.is_object() && !value.is_array();
    Field { default: schema.default.as_ref().filter(scalar).cloned(), ..plain(shape(schema), merging) }
}

fn shape(schema: &Schema) -> Shape {
    match schema.of_type.as_str() {
        "array" => Shape::List(Box::new(schema.items.as_deref().map_or(Shape::Free, shape))),
        "object" if schema.properties.is_empty() && !schema.embedded => match schema.each() {
            Some(each) => Shape::Map(Box::new(shape(each))),
            None if schema.preserves => Shape::Free,
            None => Shape::Own(of_object(schema)),
        },
        "object" => Shape::Own(of_object(schema)),
        "boolean" => Shape::Bool,
        "integer" => Shape::Int(i64::MIN, i64::MAX),
        "number" => Shape::Float,
        "string" => Shape::Text,
        _ if schema.int_or_string => Shape::IntOrString,
        _ => Shape::Free,
    }
}

fn of_object(schema: &Schema) -> &'static Type {
    let mut fields = fields(schema);
    if schema.embedded {
        resource_fields(&mut fields);
    }
    let (name, atomic) = (String::new(), schema.map_type == "atomic");
    Box::leak(Box::new(Type { name, package: String::new(), fields, atomic, open: schema.preserves }))
}
