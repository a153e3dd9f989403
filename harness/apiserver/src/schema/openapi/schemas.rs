//! OpenAPI schemas of types. Upstream: the generated `GetOpenAPIDefinitions`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::types::kinds::ResourceKind;
use crate::types::table::{FieldDeclaration, Merging, OpenApiHints, TYPES, bare};

/// The OpenAPI version of schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenApiVersion {
    V2,
    V3,
}

/// Types that the paths of every group use.
const EVERYWHERE: [&str; 3] = ["DeleteOptions", "Status", "WatchEvent"];
/// The schema of patches, which has no fields.
pub(crate) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";

/// The schemas of these kinds, of their lists, and of all types that they refer to.
pub(crate) fn of(kinds: &[&'static ResourceKind], draft: OpenApiVersion) -> Map<String, Value> {
    let mut schemas = SchemaBuilder { draft, done: BTreeSet::new(), schemas: Map::new() };
    let mut groups: Vec<(&str, &str)> = kinds.iter().map(|kind| (kind.group, kind.version)).collect();
    groups.sort_unstable();
    groups.dedup();
    for name in EVERYWHERE {
        schemas.add(name);
        let own = groups.iter().filter(|(group, _)| !group.is_empty());
        let known = std::iter::once(&("", "v1")).chain(own);
        let known: Vec<Value> = known.map(|(group, version)| group_version_kind(group, version, name)).collect();
        // A Status is the same in all groups.
        let known = if name == "Status" { &known[..1] } else { &known[..] };
        schemas.schemas[&full_name(name)]["x-kubernetes-group-version-kind"] = json!(known);
    }
    schemas.add("APIResourceList");
    schemas.schemas.insert(PATCH.to_owned(), json!({"type": "object"}));
    for kind in kinds {
        match kind.custom {
            Some(_) => schemas.add_custom(kind),
            None => schemas.add_kind(kind),
        }
        for (name, group, version, of) in [
            ("scale", "autoscaling", "v1", "Scale"),
            ("binding", "", "v1", "Binding"),
            ("eviction", "policy", "v1", "Eviction"),
        ] {
            if kind.subresources.contains(&name) {
                schemas.add(of);
                schemas.schemas[&full_name(of)]["x-kubernetes-group-version-kind"] =
                    json!([group_version_kind(group, version, of)]);
            }
        }
    }
    if groups.iter().any(|(group, version)| (*group, *version) == ("apiextensions.k8s.io", "v1")) {
        schemas.add_schemas_of_schemas();
    }
    schemas.schemas
}

/// The name of a kind's schema.
pub(crate) fn name_of(kind: &ResourceKind) -> String {
    match kind.custom {
        None => full_name(kind.type_name()),
        Some(_) => format!("{}.{}.{}", reversed(kind.group), kind.version, kind.kind),
    }
}

/// The name of the schema of a kind's list.
pub(crate) fn list_name_of(kind: &ResourceKind) -> String {
    let name = name_of(kind);
    format!("{}{}", name.strip_suffix(kind.kind).unwrap_or_default(), kind.list_kind())
}

/// Reverses a domain: `com.example` of `example.com`.
fn reversed(group: &str) -> String {
    group.rsplit('.').collect::<Vec<_>>().join(".")
}

fn group_version_kind(group: &str, version: &str, kind: &str) -> Value {
    json!({"group": group, "kind": kind, "version": version})
}

/// The schema name of a type, such as `io.k8s.api.apps.v1.Deployment`.
pub(crate) fn full_name(name: &str) -> String {
    let package = TYPES.index_of(name).map_or("", |type_index| TYPES.get(type_index).package.as_str());
    let name = bare(name);
    match package {
        "meta.v1" => format!("{META}.{name}"),
        "apiextensions.v1" => format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.{name}"),
        package => format!("io.k8s.api.{package}.{name}"),
    }
}

struct SchemaBuilder {
    draft: OpenApiVersion,
    done: BTreeSet<String>,
    schemas: Map<String, Value>,
}

impl SchemaBuilder {
    fn add_kind(&mut self, kind: &'static ResourceKind) {
        self.add(kind.type_name());
        let name = full_name(kind.type_name());
        self.schemas[&name]["x-kubernetes-group-version-kind"] =
            json!([group_version_kind(kind.group, kind.version, kind.kind)]);
        self.add_list(kind, &name);
    }

    fn add_list(&mut self, kind: &ResourceKind, name: &str) {
        self.add("ListMeta");
        let of = |schema: Value| {
            if self.draft == OpenApiVersion::V3 { json!({"default": {}, "allOf": [schema]}) } else { schema }
        };
        let item = if kind.custom.is_some() { self.reference(name) } else { of(self.reference(name)) };
        let text = json!({"type": "string"});
        let meta = self.reference(&full_name("ListMeta"));
        let meta =
            if kind.custom.is_some() && self.draft == OpenApiVersion::V3 { json!({"allOf": [meta]}) } else { of(meta) };
        let list = json!({"type": "object", "required": ["items"],
            "properties": {"apiVersion": text, "kind": text, "items": {"type": "array", "items": item}, "metadata": meta},
            "x-kubernetes-group-version-kind": [group_version_kind(kind.group, kind.version, &kind.list_kind())]});
        self.schemas.insert(list_name_of(kind), list);
    }

    /// Adds the schema of a definition, with the fields of every object.
    fn add_custom(&mut self, kind: &ResourceKind) {
        let Some(custom) = kind.custom else { return };
        self.add("ObjectMeta");
        let mut schema = custom.document();
        if self.draft == OpenApiVersion::V2 {
            without_v3(&mut schema);
        }
        let meta = self.reference(&full_name("ObjectMeta"));
        let text = json!({"type": "string"});
        schema["type"] = "object".into();
        schema["properties"]["apiVersion"] = text.clone();
        schema["properties"]["kind"] = text;
        schema["properties"]["metadata"] =
            if self.draft == OpenApiVersion::V3 { json!({"allOf": [meta]}) } else { meta };
        schema["x-kubernetes-group-version-kind"] = json!([group_version_kind(kind.group, kind.version, kind.kind)]);
        let name = name_of(kind);
        self.schemas.insert(name.clone(), schema);
        self.add_list(kind, &name);
    }

    /// Adds types with alternatives, for which the type table has no fields.
    fn add_schemas_of_schemas(&mut self) {
        for name in ["JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray"] {
            let name = format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.{name}");
            self.schemas.insert(name, json!({}));
        }
    }

    /// Adds a type and the types that it refers to.
    fn add(&mut self, name: &str) {
        if !self.done.insert(name.to_owned()) {
            return;
        }
        let Some(type_index) = TYPES.index_of(name) else { return };
        let of = TYPES.get(type_index);
        let required: Vec<&String> =
            of.fields.iter().filter(|(_, field)| field.openapi.required).map(|(name, _)| name).collect();
        let mut schema = json!({"type": "object"});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        let fields: Map<String, Value> =
            of.fields.iter().map(|(name, field)| (name.clone(), self.property(field))).collect();
        if !fields.is_empty() {
            schema["properties"] = fields.into();
        }
        if of.atomic {
            schema["x-kubernetes-map-type"] = "atomic".into();
        }
        self.schemas.insert(full_name(name), schema);
    }

    fn property(&mut self, field: &FieldDeclaration) -> Value {
        let mut schema = self.shape(&field.go, field.pointer);
        // OpenAPI allows nothing else beside a reference.
        if self.draft == OpenApiVersion::V3 && !schema["$ref"].is_null() {
            schema = json!({"allOf": [schema]});
        }
        if let Some(default) = field.default.as_ref().filter(|_| self.draft == OpenApiVersion::V3) {
            schema["default"] = default.clone();
        }
        let OpenApiHints { values, strategy, .. } = &field.openapi;
        if !values.is_empty() {
            let of = match field.go.as_str() {
                go if go.starts_with("[]") => &mut schema["items"],
                go if go.starts_with("map:") => &mut schema["additionalProperties"],
                _ => &mut schema,
            };
            of["enum"] = json!(values);
        }
        match &field.merging {
            Merging::Granular => {}
            Merging::Atomic if field.go.starts_with("[]") => schema["x-kubernetes-list-type"] = "atomic".into(),
            Merging::Atomic => schema["x-kubernetes-map-type"] = "atomic".into(),
            Merging::Set => schema["x-kubernetes-list-type"] = "set".into(),
            Merging::Keyed(keys) => {
                schema["x-kubernetes-list-type"] = "map".into();
                schema["x-kubernetes-list-map-keys"] = json!(keys);
            }
        }
        if let Some(strategy) = strategy {
            schema["x-kubernetes-patch-strategy"] = strategy.clone().into();
        }
        if let Some(key) = &field.key {
            schema["x-kubernetes-patch-merge-key"] = key.clone().into();
        }
        schema
    }

    /// The schema of a Go type; a pointer has no default.
    fn shape(&mut self, go: &str, pointer: bool) -> Value {
        if let Some(item) = go.strip_prefix("[]") {
            return json!({"type": "array", "items": self.item(item)});
        }
        if let Some(value) = go.strip_prefix("map:") {
            return json!({"type": "object", "additionalProperties": self.item(value)});
        }
        match go {
            "bool" => json!({"type": "boolean"}),
            "int32" | "int64" => json!({"type": "integer", "format": go}),
            "int" => json!({"type": "integer", "format": "int32"}),
            "float64" => json!({"type": "number", "format": "double"}),
            "string" => json!({"type": "string"}),
            "bytes" => json!({"type": "string", "format": "byte"}),
            other => self.reference_to(other, pointer),
        }
    }

    /// The schema of an element of a list or a map, with the default of its type.
    fn item(&mut self, go: &str) -> Value {
        let mut schema = self.shape(go.trim_start_matches('*'), go.starts_with('*'));
        let default = match go {
            "string" => json!(""),
            "bool" => json!(false),
            "int32" | "int64" | "int" | "float64" => json!(0),
            _ => return schema,
        };
        if self.draft == OpenApiVersion::V3 {
            schema["default"] = default;
        }
        schema
    }

    /// A reference to a type.
    fn reference_to(&mut self, go: &str, pointer: bool) -> Value {
        const API: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
        const NUMBER: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
        let v3 = self.draft == OpenApiVersion::V3;
        let either = |first: &str, second: &str| json!({"oneOf": [{"type": first}, {"type": second}]});
        let (name, schema) = match go {
            "quantity" if v3 => (API.to_owned(), either("string", "number")),
            "quantity" => (API.to_owned(), json!({"type": "string"})),
            "intorstring" => {
                let schema = if v3 { either("integer", "string") } else { json!({"type": "string"}) };
                let mut schema = schema;
                schema["format"] = "int-or-string".into();
                (NUMBER.to_owned(), schema)
            }
            "time" => (format!("{META}.Time"), json!({"type": "string", "format": "date-time"})),
            "microtime" => (format!("{META}.MicroTime"), json!({"type": "string", "format": "date-time"})),
            "duration" => (format!("{META}.Duration"), json!({"type": "string"})),
            "fieldsv1" => (format!("{META}.FieldsV1"), json!({"type": "object"})),
            "rawextension" => ("io.k8s.apimachinery.pkg.runtime.RawExtension".to_owned(), json!({"type": "object"})),
            "json" | "schemaorarray" | "schemaorbool" | "schemaorstringarray" => return json!({}),
            name => {
                self.add(name);
                let reference = self.reference(&full_name(name));
                return match (self.draft, pointer) {
                    (OpenApiVersion::V2, _) => reference,
                    (OpenApiVersion::V3, true) => json!({"allOf": [reference]}),
                    (OpenApiVersion::V3, false) => json!({"allOf": [reference], "default": {}}),
                };
            }
        };
        let reference = self.reference(&name);
        self.schemas.insert(name, schema);
        reference
    }

    fn reference(&self, name: &str) -> Value {
        let of = if self.draft == OpenApiVersion::V3 { "components/schemas" } else { "definitions" };
        json!({"$ref": format!("#/{of}/{name}")})
    }
}

/// Removes the keywords that OpenAPI 2 lacks.
fn without_v3(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for name in ["oneOf", "anyOf", "not", "nullable"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(without_v3);
        }
        Value::Array(items) => items.iter_mut().for_each(without_v3),
        _ => {}
    }
}
