//! The types of a pod template in one minor, read from `fields.txt`.
//!
//! A row `Name:(string) name` is a field: what a dump writes before its value, and its key in JSON.
//! All text stays in the compiled-in file; a table holds slices of it.

use std::collections::BTreeMap;

pub(super) static FIELDS: &str = include_str!("fields.txt");

/// The structs of one minor.
pub(super) struct Table {
    structs: Vec<Vec<Field>>,
    root: Form,
}

/// One field of a struct.
pub(super) struct Field {
    /// What a dump writes before the value: name and type.
    pub(super) prefix: &'static str,
    pub(super) key: &'static str,
    pub(super) form: Form,
}

/// How a value stands in JSON and how it is dumped.
#[derive(Debug, PartialEq)]
pub(super) enum Form {
    Bool,
    Int32,
    Int64,
    Text,
    Quantity,
    IntOrString,
    Time,
    Struct(usize),
    /// A struct whose fields are keys of the object that it is in.
    Inline(usize),
    Pointer(Box<Self>),
    List(Box<Self>),
    /// Its keys are always text.
    Map(Box<Self>),
    /// Of a type that templates have no use for: never dumped.
    Opaque,
}

/// The minors that the file has, oldest first.
pub(super) fn minors() -> impl Iterator<Item = u16> {
    let listed = FIELDS.lines().find_map(|line| line.strip_prefix("minors ")).unwrap_or_default();
    listed.split(' ').filter_map(|item| item.split_once('=')?.0.parse().ok())
}

impl Table {
    /// Reads what the file says of a minor.
    pub(super) fn read(minor: u16) -> Self {
        let mut rows = Rows::default();
        for line in FIELDS.lines() {
            let (row, range) = split_range(line);
            if range.is_some_and(|range| !holds(range, minor)) {
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
        let fields = |list: &Vec<Row>| list.iter().map(|row| rows.field(row)).collect();
        Self { structs: rows.structs.iter().map(fields).collect(), root: rows.form("v1.PodTemplateSpec") }
    }

    /// The pod template itself.
    pub(super) fn root(&self) -> &Form {
        &self.root
    }

    /// The fields of a struct, by the number that its [`Form`] has.
    pub(super) fn fields(&self, of: usize) -> &[Field] {
        &self.structs[of]
    }
}

/// A field's prefix and key.
type Row = (&'static str, &'static str);

/// The rows that hold for one minor: the fields of structs, the numbers of these by name, and what
/// other named types are made of.
#[derive(Default)]
struct Rows {
    structs: Vec<Vec<Row>>,
    numbers: BTreeMap<&'static str, usize>,
    types: BTreeMap<&'static str, &'static str>,
}

impl Rows {
    fn field(&self, (prefix, key): &Row) -> Field {
        let of_type = prefix.split_once(":(").and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or_default();
        let form = match self.form(of_type) {
            Form::Struct(inner) if *key == "." => Form::Inline(inner),
            form => form,
        };
        Field { prefix, key, form }
    }

    fn form(&self, of_type: &str) -> Form {
        let inner = |of_type| Box::new(self.form(of_type));
        if let Some(pointee) = of_type.strip_prefix('*') {
            return Form::Pointer(inner(pointee));
        }
        if let Some(item) = of_type.strip_prefix("[]") {
            return Form::List(inner(item));
        }
        if let Some((_, value)) = of_type.strip_prefix("map[").and_then(|rest| rest.split_once(']')) {
            return Form::Map(inner(value));
        }
        match of_type {
            "bool" => Form::Bool,
            "int32" => Form::Int32,
            "int64" => Form::Int64,
            "string" => Form::Text,
            "resource.Quantity" => Form::Quantity,
            "intstr.IntOrString" => Form::IntOrString,
            "v1.Time" => Form::Time,
            named => match (self.numbers.get(named), self.types.get(named)) {
                (Some(number), _) => Form::Struct(*number),
                (None, Some(made_of)) if *made_of != named => self.form(made_of),
                _ => Form::Opaque,
            },
        }
    }
}

/// A row, and which minors have it if not all do.
fn split_range(line: &'static str) -> (&'static str, Option<&'static str>) {
    match line.rsplit_once(' ') {
        Some((row, range)) if range.contains('-') && range.bytes().all(|c| c == b'-' || c.is_ascii_digit()) => {
            (row, Some(range))
        }
        _ => (line, None),
    }
}

/// Whether a minor is in `28-`, `-34` or `28-34`.
fn holds(range: &str, minor: u16) -> bool {
    let (first, last) = range.split_once('-').unwrap_or_default();
    !first.parse().is_ok_and(|first: u16| minor < first) && !last.parse().is_ok_and(|last: u16| last < minor)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// So a minor that brings a type of a new form is noticed when its table is made.
    #[test]
    fn all_types_but_those_of_managed_fields_are_known() {
        for minor in minors() {
            let table = Table::read(minor);
            let opaque: BTreeSet<&str> = table
                .structs
                .iter()
                .flatten()
                .filter(|field| format!("{:?}", field.form).contains("Opaque"))
                .map(|field| field.prefix)
                .collect();
            assert_eq!(opaque, BTreeSet::from(["FieldsV1:(*v1.FieldsV1)"]), "1.{minor}");
            assert!(matches!(table.root(), Form::Struct(_)));
        }
    }

    #[test]
    fn ranges() {
        for (range, held) in
            [("28-", [false, true, true]), ("-28", [true, true, false]), ("28-28", [false, true, false])]
        {
            assert_eq!([27, 28, 29].map(|minor| holds(range, minor)), held, "{range}");
        }
        assert_eq!(split_range(" Name:(string) name 28-"), (" Name:(string) name", Some("28-")));
        assert_eq!(split_range(" Name:(string) name"), (" Name:(string) name", None));
    }
}
