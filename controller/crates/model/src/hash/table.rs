//! The types of a pod template in one minor, read from `fields.txt`.
//!
//! A row `Name:(string) name` is a field: the text before its value in a dump, and its key in JSON.
//! A table borrows its texts from the compiled-in file.

use std::collections::BTreeMap;

pub(super) static FIELDS: &str = include_str!("fields.txt");

/// The structs of one minor.
pub(super) struct GoTypeTable {
    structs: Vec<Vec<StructField>>,
    root: GoFieldType,
}

pub(super) struct StructField {
    /// The text before the value in a dump: name and type.
    pub(super) prefix: &'static str,
    pub(super) key: &'static str,
    pub(super) field_type: GoFieldType,
}

/// How a value is represented in JSON and in a dump.
#[derive(Debug, PartialEq)]
pub(super) enum GoFieldType {
    Bool,
    Int32,
    Int64,
    Text,
    Quantity,
    IntOrString,
    Time,
    Struct(usize),
    /// A struct whose fields are keys of the surrounding object.
    Inline(usize),
    Pointer(Box<Self>),
    List(Box<Self>),
    /// A map whose keys are strings.
    Map(Box<Self>),
    /// A type that templates do not use; it cannot be dumped.
    Opaque,
}

/// The minors in the file, oldest first.
pub(super) fn minors() -> impl Iterator<Item = u16> {
    let listed = FIELDS.lines().find_map(|line| line.strip_prefix("minors ")).unwrap_or_default();
    listed.split(' ').filter_map(|item| item.split_once('=')?.0.parse().ok())
}

impl GoTypeTable {
    pub(super) fn read(minor: u16) -> Self {
        let mut rows = MinorRows::default();
        for line in FIELDS.lines() {
            let (row, range) = split_range(line);
            if range.is_some_and(|range| !includes_minor(range, minor)) {
                continue;
            }
            if let Some(name) = row.strip_prefix("struct ") {
                rows.numbers.insert(name, rows.structs.len());
                rows.structs.push(Vec::new());
            } else if let Some(field) = row.strip_prefix(' ').and_then(|field| field.split_once(' ')) {
                rows.structs.last_mut().into_iter().for_each(|fields| fields.push(field));
            } else if let Some((name, made_of)) = row.strip_prefix("type ").and_then(|named| named.split_once(' ')) {
                rows.types.insert(name, made_of);
            }
        }
        let fields = |list: &Vec<FieldRow>| list.iter().map(|row| rows.field(row)).collect();
        Self { structs: rows.structs.iter().map(fields).collect(), root: rows.field_type("v1.PodTemplateSpec") }
    }

    /// The type of the pod template.
    pub(super) fn root(&self) -> &GoFieldType {
        &self.root
    }

    /// The fields of a struct, by the number in its [`GoFieldType`].
    pub(super) fn fields(&self, of: usize) -> &[StructField] {
        &self.structs[of]
    }
}

/// A field's prefix and key.
type FieldRow = (&'static str, &'static str);

/// The rows of one minor: the fields of each struct, the number of each struct by name, and the
/// definitions of other named types.
#[derive(Default)]
struct MinorRows {
    structs: Vec<Vec<FieldRow>>,
    numbers: BTreeMap<&'static str, usize>,
    types: BTreeMap<&'static str, &'static str>,
}

impl MinorRows {
    fn field(&self, (prefix, key): &FieldRow) -> StructField {
        let of_type = prefix.split_once(":(").and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or_default();
        let field_type = match self.field_type(of_type) {
            GoFieldType::Struct(inner) if *key == "." => GoFieldType::Inline(inner),
            field_type => field_type,
        };
        StructField { prefix, key, field_type }
    }

    fn field_type(&self, of_type: &str) -> GoFieldType {
        let inner = |of_type| Box::new(self.field_type(of_type));
        if let Some(pointee) = of_type.strip_prefix('*') {
            return GoFieldType::Pointer(inner(pointee));
        }
        if let Some(item) = of_type.strip_prefix("[]") {
            return GoFieldType::List(inner(item));
        }
        if let Some((_, value)) = of_type.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
            return GoFieldType::Map(inner(value));
        }
        match of_type {
            "bool" => GoFieldType::Bool,
            "int32" => GoFieldType::Int32,
            "int64" => GoFieldType::Int64,
            "string" => GoFieldType::Text,
            "resource.Quantity" => GoFieldType::Quantity,
            "intstr.IntOrString" => GoFieldType::IntOrString,
            "v1.Time" => GoFieldType::Time,
            named => match (self.numbers.get(named), self.types.get(named)) {
                (Some(number), _) => GoFieldType::Struct(*number),
                (None, Some(made_of)) if *made_of != named => self.field_type(made_of),
                _ => GoFieldType::Opaque,
            },
        }
    }
}

/// A row, and the range of minors that have it, if not all do.
fn split_range(line: &'static str) -> (&'static str, Option<&'static str>) {
    match line.rsplit_once(' ') {
        Some((row, range)) if range.contains('-') && range.bytes().all(|c| c == b'-' || c.is_ascii_digit()) => {
            (row, Some(range))
        }
        _ => (line, None),
    }
}

/// Whether a minor is in a range such as `28-`, `-34` or `28-34`.
fn includes_minor(range: &str, minor: u16) -> bool {
    let (first, last) = range.split_once('-').unwrap_or_default();
    !first.parse().is_ok_and(|first: u16| minor < first) && !last.parse().is_ok_and(|last: u16| last < minor)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Detects a minor with a type that [`GoFieldType`] cannot represent.
    #[test]
    fn all_types_but_those_of_managed_fields_are_known() {
        for minor in minors() {
            let table = GoTypeTable::read(minor);
            let opaque: BTreeSet<&str> = table
                .structs
                .iter()
                .flatten()
                .filter(|field| format!("{:?}", field.field_type).contains("Opaque"))
                .map(|field| field.prefix)
                .collect();
            assert_eq!(opaque, BTreeSet::from(["FieldsV1:(*v1.FieldsV1)"]), "1.{minor}");
            assert!(matches!(table.root(), GoFieldType::Struct(_)));
        }
    }

    #[test]
    fn parses_ranges_of_minors() {
        for (range, expected) in
            [("28-", [false, true, true]), ("-28", [true, true, false]), ("28-28", [false, true, false])]
        {
            assert_eq!([27, 28, 29].map(|minor| includes_minor(range, minor)), expected, "{range}");
        }
        assert_eq!(split_range(" Name:(string) name 28-"), (" Name:(string) name", Some("28-")));
        assert_eq!(split_range(" Name:(string) name"), (" Name:(string) name", None));
    }
}
