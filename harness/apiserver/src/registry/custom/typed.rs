//! Converts a schema to a type for server-side apply, like those of the type table.
//!
//! Upstream: `managedfields` over the OpenAPI schema, with deduced types for what the schema leaves
//! open.

use std::collections::BTreeMap;

use crate::types::custom_schema::Schema;
use crate::types::table::{FieldDeclaration, Merging, OpenApiHints, TYPES, TypeDeclaration, ValueType};

pub(crate) fn by_resource(schema: &Schema) -> &'static TypeDeclaration {
    let open = schema.preserves;
    let mut fields = fields(schema, open);
    resource_fields(&mut fields);
    let name = String::new();
    Box::leak(Box::new(TypeDeclaration { name, package: String::new(), fields, atomic: false, open }))
}

/// The fields of an object; `open`: whether it preserves unknown fields, and so what is in it.
fn fields(schema: &Schema, open: bool) -> BTreeMap<String, FieldDeclaration> {
    schema.properties.iter().map(|(name, schema)| (name.clone(), field(schema, open))).collect()
}

/// Adds the fields of every resource.
fn resource_fields(fields: &mut BTreeMap<String, FieldDeclaration>) {
    let meta = TYPES.index_of("ObjectMeta").expect("the table has ObjectMeta");
    for (name, shape) in
        [("apiVersion", ValueType::Text), ("kind", ValueType::Text), ("metadata", ValueType::Struct(meta))]
    {
        fields.insert(name.to_owned(), field_of(shape, Merging::Granular));
    }
}

fn field_of(shape: ValueType, merging: Merging) -> FieldDeclaration {
    FieldDeclaration {
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
        go_name: None,
        openapi: OpenApiHints::default(),
    }
}

fn field(schema: &Schema, open: bool) -> FieldDeclaration {
    let merging = match (schema.list_type.as_str(), schema.map_type.as_str()) {
        ("map", _) => Merging::Keyed(schema.keys.clone()),
        ("set", _) => Merging::Set,
        (_, "atomic") => Merging::Atomic,
        // A list is atomic unless its schema says otherwise.
        _ if schema.of_type == "array" => Merging::Atomic,
        _ => Merging::Granular,
    };
    let scalar = |value: &&serde_json::Value| !value.is_object() && !value.is_array();
    FieldDeclaration {
        default: schema.default.as_ref().filter(scalar).cloned(),
        ..field_of(shape(schema, open), merging)
    }
}

fn shape(schema: &Schema, open: bool) -> ValueType {
    let open = open || schema.preserves;
    match schema.of_type.as_str() {
        "array" => {
            let items = schema.items.as_deref();
            ValueType::List(Box::new(items.map_or(ValueType::Untyped, |items| shape(items, open))))
        }
        "object" => match schema.additional_schema().filter(|_| schema.properties.is_empty() && !schema.embedded) {
            Some(each) => ValueType::Map(Box::new(ValueType::CustomValue(Box::new(field(each, open))))),
            None => ValueType::CustomStruct(of_object(schema, open)),
        },
        "boolean" => ValueType::Bool,
        "integer" => ValueType::Int(i64::MIN, i64::MAX),
        "number" => ValueType::Float,
        // As a time, a text with a format may be any scalar until the schema is validated.
        "string" if !matches!(schema.format.as_str(), "" | "byte") => ValueType::Time,
        "string" => ValueType::Text,
        _ if schema.int_or_string => ValueType::IntOrString,
        _ => ValueType::Untyped,
    }
}

/// An object that preserves unknown fields, or declares none, is open.
fn of_object(schema: &Schema, open: bool) -> &'static TypeDeclaration {
    let open = open || schema.properties.is_empty();
    let mut fields = fields(schema, open);
    if schema.embedded {
        resource_fields(&mut fields);
    }
    let (name, atomic) = (String::new(), schema.map_type == "atomic");
    Box::leak(Box::new(TypeDeclaration { name, package: String::new(), fields, atomic, open }))
}
