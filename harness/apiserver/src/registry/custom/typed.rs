//! Converts a schema to a type for server-side apply, like those of the type table.
//!
//! Upstream: `managedfields` over the OpenAPI schema, with deduced types for what the schema leaves
//! open.

use std::collections::BTreeMap;

use crate::types::custom_schema::Schema;
use crate::types::table::{FieldDeclaration, Merging, OpenApiHints, TYPES, TypeDeclaration, ValueType};

pub(crate) fn by_resource(schema: &Schema) -> &'static TypeDeclaration {
    let mut fields = fields(schema);
    resource_fields(&mut fields);
    let name = String::new();
    Box::leak(Box::new(TypeDeclaration { name, package: String::new(), fields, atomic: false, open: schema.preserves }))
}

fn fields(schema: &Schema) -> BTreeMap<String, FieldDeclaration> {
    schema.properties.iter().map(|(name, schema)| (name.clone(), field(schema))).collect()
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

fn field(schema: &Schema) -> FieldDeclaration {
    let merging = match (schema.list_type.as_str(), schema.map_type.as_str()) {
        ("map", _) => Merging::Keyed(schema.keys.clone()),
        ("set", _) => Merging::Set,
        (_, "atomic") => Merging::Atomic,
        // A list is atomic unless its schema says otherwise.
        _ if schema.of_type == "array" => Merging::Atomic,
        _ => Merging::Granular,
    };
    let scalar = |value: &&serde_json::Value| !value.is_object() && !value.is_array();
    FieldDeclaration { default: schema.default.as_ref().filter(scalar).cloned(), ..field_of(shape(schema), merging) }
}

fn shape(schema: &Schema) -> ValueType {
    match schema.of_type.as_str() {
        "array" => ValueType::List(Box::new(schema.items.as_deref().map_or(ValueType::Untyped, shape))),
        "object" if schema.properties.is_empty() && !schema.embedded => match schema.additional_schema() {
            Some(each) => ValueType::Map(Box::new(ValueType::CustomValue(Box::new(field(each))))),
            None => ValueType::CustomStruct(of_object(schema)),
        },
        "object" => ValueType::CustomStruct(of_object(schema)),
        "boolean" => ValueType::Bool,
        "integer" => ValueType::Int(i64::MIN, i64::MAX),
        "number" => ValueType::Float,
        "string" => ValueType::Text,
        _ if schema.int_or_string => ValueType::IntOrString,
        _ => ValueType::Untyped,
    }
}

fn of_object(schema: &Schema) -> &'static TypeDeclaration {
    let mut fields = fields(schema);
    if schema.embedded {
        resource_fields(&mut fields);
    }
    let (name, atomic) = (String::new(), schema.map_type == "atomic");
    Box::leak(Box::new(TypeDeclaration { name, package: String::new(), fields, atomic, open: schema.preserves }))
}
