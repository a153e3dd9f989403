//! The types of the Kubernetes API, read from a table that is printed from upstream's declarations.
//!
//! The table says for each field its JSON name, its Go type, whether it is omitted when empty, its
//! number in protobuf, and how a strategic merge patch and server-side apply treat it. Decoding,
//! strict decoding and patches need nothing else to know a type.

mod decode;
mod diff;
mod merge;
mod quantity;
mod strict;

pub(super) use decode::{Decoded, decode, decode_loosely};
pub(super) use diff::{difference, three_way, three_way_json};
pub(super) use merge::strategic;
pub(crate) use quantity::Quantity;
pub(super) use strict::{As, strict};

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

/// The table of Kubernetes 1.36, as `scripts/api-types` prints it.
const TABLE: &str = include_str!("v1.36.table");

/// Every type, by name.
pub(super) static TYPES: LazyLock<Types> = LazyLock::new(|| Types::read(TABLE));

/// The table, read.
#[derive(Debug)]
pub(super) struct Types {
    types: Vec<Type>,
    names: BTreeMap<String, usize>,
}

/// One type: its fields by JSON name.
#[derive(Debug)]
pub(super) struct Type {
    pub(super) name: String,
    /// `apps.v1`, or `meta.v1`; empty for a custom resource.
    pub(super) package: String,
    pub(super) fields: BTreeMap<String, Field>,
    /// Server-side apply treats it as one value.
    pub(super) atomic: bool,
    /// It may have other fields too.
    pub(super) open: bool,
}

/// One field.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) shape: Shape,
    /// The type's name in a decoder's errors.
    pub(super) go: String,
    /// A pointer: absent and empty differ.
    pub(super) pointer: bool,
    /// Omitted when empty.
    pub(super) omit_empty: bool,
    /// Omitted when all its fields are empty.
    pub(super) omit_zero: bool,
    /// A list that a strategic merge patch merges.
    pub(super) merges: bool,
    /// The field by which its items are merged.
    pub(super) key: Option<String>,
    /// Its number in protobuf, after the numbers of the messages that JSON flattens; empty for
    /// `kind` and `apiVersion`, which stand outside of the message.
    pub(super) number: Vec<u32>,
    /// How server-side apply merges it.
    pub(super) merging: Merging,
    /// What server-side apply takes where the field is the key of a list and absent.
    pub(super) default: Option<Value>,
    pub(super) documented: Documented,
}

/// What only the published schema says of a field.
#[derive(Debug, Default)]
pub(super) struct Documented {
    pub(super) required: bool,
    /// All values that it can have; empty if they cannot be listed.
    pub(super) values: Vec<String>,
    /// How a strategic merge patch treats it: `merge`, `retainKeys` or both.
    pub(super) strategy: Option<String>,
}

/// How server-side apply merges the value of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Merging {
    /// A scalar as one value; an object or a map field by field.
    Granular,
    /// A list, a map or an object as one value.
    Atomic,
    /// A list of scalars, merged as a set.
    Set,
    /// A list of objects, merged by these fields.
    Keyed(Vec<String>),
}

/// What a value may be.
#[derive(Debug)]
pub(super) enum Shape {
    Bool,
    /// Within these bounds.
    Int(i64, i64),
    Float,
    Text,
    /// Base64.
    Bytes,
    Quantity,
    IntOrString,
    /// RFC 3339, seconds.
    Time,
    /// RFC 3339, microseconds.
    MicroTime,
    Duration,
    /// Anything.
    Raw,
    List(Box<Shape>),
    Map(Box<Shape>),
    /// By its index in the table.
    Struct(usize),
    /// An object of a custom resource's schema.
    Own(&'static Type),
    /// What a custom resource's schema leaves open.
    Free,
    /// An object of the type, or anything that is no object.
    Either(Box<Shape>),
}

impl Types {
    /// The index of a type.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.names.get(name).copied()
    }

    pub(super) fn get(&self, place: usize) -> &Type {
        &self.types[place]
    }

    fn read(table: &str) -> Self {
        let lines = || table.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let heading = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            let mut next = || words.next().unwrap_or_default();
            (next(), next(), next() == "atomic")
        };
        let names = lines().filter(|line| !line.starts_with(' ')).enumerate();
        let names: BTreeMap<String, usize> = names.map(|(place, line)| (heading(line).0, place)).collect();
        let mut types: Vec<Type> = Vec::new();
        for line in lines() {
            match line.strip_prefix("  ") {
                None => {
                    let (name, package, atomic) = heading(line);
                    let name = bare(&name).to_owned();
                    types.push(Type { name, package, fields: BTreeMap::new(), atomic, open: false });
                }
                Some(field) => {
                    let (name, field) = read_field(field, &names);
                    types.last_mut().expect("a field follows its type").fields.insert(name, field);
                }
            }
        }
        Self { types, names }
    }
}

impl Field {
    /// The shape of an item, where it is a list.
    fn item(&self) -> Option<&Shape> {
        match &self.shape {
            Shape::List(item) => Some(item),
            _ => None,
        }
    }

    /// Whether a strategic merge patch replaces it as a whole, though it is a map.
    fn replaces(&self) -> bool {
        self.documented.strategy.as_deref() == Some("replace")
    }

    /// Whether a strategic merge patch names the fields that stay, so that the server clears all
    /// others.
    fn retains(&self) -> bool {
        self.documented.strategy.as_deref().is_some_and(|strategy| strategy.contains("retainKeys"))
    }
}

fn read_field(line: &str, names: &BTreeMap<String, usize>) -> (String, Field) {
    let mut words = line.split(' ');
    let (name, go) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let options: Vec<&str> = words.collect();
    let option = |name: &str| options.iter().find_map(|option| option.strip_prefix(name));
    let field = Field {
        shape: shape(go.strip_prefix('*').unwrap_or(go), names),
        go: go.trim_start_matches('*').to_owned(),
        pointer: go.starts_with('*'),
        omit_empty: option("omitempty").is_some(),
        omit_zero: option("omitzero").is_some(),
        merges: option("patch=").is_some_and(|how| how.contains("merge")),
        key: option("key=").map(str::to_owned),
        number: option("pb=").map_or(Vec::new(), |path| path.split('/').filter_map(|part| part.parse().ok()).collect()),
        merging: merging(option("list="), option("map=")),
        default: option("default=").and_then(|text| serde_json::from_str(text).ok()),
        documented: Documented {
            required: options.contains(&"required"),
            values: option("enum=").map_or(Vec::new(), |values| values.split(',').map(str::to_owned).collect()),
            strategy: option("patch=").map(str::to_owned),
        },
    };
    (name.to_owned(), field)
}

/// `Event` of `events.Event`, as its declaration has it.
pub(super) fn bare(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, name)| name)
}

fn merging(list: Option<&str>, map: Option<&str>) -> Merging {
    match list.or(map) {
        None => Merging::Granular,
        Some("set") => Merging::Set,
        Some(how) => match how.strip_prefix("map:") {
            Some(keys) => Merging::Keyed(keys.split(',').map(str::to_owned).collect()),
            None => Merging::Atomic,
        },
    }
}

fn shape(go: &str, names: &BTreeMap<String, usize>) -> Shape {
    if let Some(item) = go.strip_prefix("[]") {
        return Shape::List(Box::new(shape(item.trim_start_matches('*'), names)));
    }
    if let Some(value) = go.strip_prefix("map:") {
        return Shape::Map(Box::new(shape(value.trim_start_matches('*'), names)));
    }
    match go {
        "bool" => Shape::Bool,
        "int32" => Shape::Int(i32::MIN.into(), i32::MAX.into()),
        "int64" | "int" => Shape::Int(i64::MIN, i64::MAX),
        "float64" => Shape::Float,
        "string" => Shape::Text,
        "bytes" => Shape::Bytes,
        "quantity" => Shape::Quantity,
        "intorstring" => Shape::IntOrString,
        "time" => Shape::Time,
        "microtime" => Shape::MicroTime,
        "duration" => Shape::Duration,
        "fieldsv1" | "rawextension" | "json" => Shape::Raw,
        "schemaor" => Shape::Either(Box::new(shape("JSONSchemaProps", names))),
        name => Shape::Struct(*names.get(name).unwrap_or_else(|| panic!("the table has no type {name}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let deployment = TYPES.get(TYPES.place("Deployment").unwrap());
        assert!(matches!(deployment.fields["spec"].shape, Shape::Struct(_)));
        let pod = TYPES.get(TYPES.place("PodSpec").unwrap());
        assert_eq!(pod.fields["containers"].key.as_deref(), Some("name"));
        assert!(pod.fields["containers"].merges && !pod.fields["containers"].omit_empty);
        assert!(pod.fields["terminationGracePeriodSeconds"].pointer);
        assert_eq!(pod.fields["containers"].merging, Merging::Keyed(vec!["name".to_owned()]));
        assert_eq!(pod.fields["containers"].number, [2]);
        let volume = TYPES.get(TYPES.place("Volume").unwrap());
        assert_eq!(volume.fields["configMap"].number, [2, 19]);
        let port = TYPES.get(TYPES.place("ContainerPort").unwrap());
        assert_eq!(port.fields["protocol"].default, Some(Value::from("TCP")));
        assert!(TYPES.get(TYPES.place("LabelSelector").unwrap()).atomic);
    }
}
