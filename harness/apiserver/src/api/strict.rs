//! What a strict decoder finds in a text that a plain one accepts: unknown and duplicate fields.
//!
//! Errors are in the order of the text, so this reads the text itself, not a value that was read
//! from it. Upstream: `UnmarshalStrict` of `sigs.k8s.io/json`.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::{Shape, TYPES};

/// A decoder reports at most this many errors.
const MOST: usize = 100;

/// What a strict decoder found.
#[derive(Debug, Default, PartialEq)]
pub(in super::super) struct Told {
    /// In upstream's words, without duplicates.
    pub(in super::super) errors: Vec<String>,
    /// A name comes twice, and upstream's decoder merges the two values, or refuses the first if it
    /// has the wrong type.
    pub(in super::super) merged: bool,
}

/// The type as which a text is read.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum As {
    /// A type, by its index in the table.
    Type(usize),
    /// Anything: the text of a patch.
    Any,
    /// A list of a JSON patch's operations.
    Operations,
}

/// Reads a JSON text.
pub(in super::super) fn strict(text: &[u8], form: As) -> Told {
    let mut told = Told::default();
    let form = match form {
        As::Type(place) => Form::Struct(place),
        As::Any => Form::Any,
        As::Operations => Form::Operations,
    };
    let mut reader = serde_json::Deserializer::from_slice(text);
    // Other errors have been reported before.
    let _ = Place { form, path: String::new(), told: &mut told }.deserialize(&mut reader);
    told
}

#[derive(Clone, Copy)]
enum Form {
    Shape(&'static Shape),
    Struct(usize),
    Any,
    Operations,
    Operation,
    /// Anything that an operation puts into the object.
    Kept,
}

/// What a value is made of, as far as a second one of its name may take its place.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    Text,
    Truth,
    /// One that every number's type holds.
    Small,
    Other,
}

struct Place<'a> {
    form: Form,
    path: String,
    told: &'a mut Told,
}

impl Told {
    fn say(&mut self, what: &str, path: &str) {
        let error = format!("{what} field {path:?}");
        if self.errors.len() < MOST && !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }
}

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = Made;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Made, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = Made;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Made, E> {
        Ok(Made::Truth)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Made, E> {
        Ok(if i32::try_from(number).is_ok() { Made::Small } else { Made::Other })
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Made, E> {
        Ok(if i32::try_from(number).is_ok() { Made::Small } else { Made::Other })
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Made, E> {
        Ok(Made::Other)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Made, E> {
        Ok(Made::Text)
    }

    fn visit_unit<E: Error>(self) -> Result<Made, E> {
        Ok(Made::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Made, A::Error> {
        let form = self.form.item();
        let mut at = 0;
        while items.next_element_seed(Place { form, path: format!("{}[{at}]", self.path), told: self.told })?.is_some()
        {
            at += 1;
        }
        Ok(Made::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Made, A::Error> {
        if !self.form.is_open() {
            while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Made::Other);
        }
        let mut seen: BTreeMap<String, Made> = BTreeMap::new();
        while let Some(name) = members.next_key::<String>()? {
            let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
            let Some(form) = self.form.member(&name) else {
                self.told.say("unknown", &path);
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let before = seen.get(&name).copied();
            if before.is_some() {
                self.told.say("duplicate", &path);
            }
            let made = members.next_value_seed(Place { form, path, told: self.told })?;
            self.told.merged |= before.is_some_and(|before| form.merges(before, made));
            seen.insert(name, made);
        }
        Ok(Made::Other)
    }
}

impl Form {
    /// What stands under a name; nothing where there is no such name.
    fn member(self, name: &str) -> Option<Self> {
        match self {
            Self::Struct(place) | Self::Shape(&Shape::Struct(place)) => {
                TYPES.get(place).fields.get(name).map(|field| Self::Shape(&field.shape))
            }
            Self::Shape(Shape::Map(item)) => Some(Self::Shape(item)),
            Self::Shape(Shape::Either(object)) => Self::Shape(object).member(name),
            Self::Operation => match name {
                "op" | "path" | "from" => Some(Self::Shape(&Shape::Text)),
                "value" => Some(Self::Kept),
                _ => None,
            },
            other => Some(other),
        }
    }

    /// What stands in a list.
    fn item(self) -> Self {
        match self {
            Self::Shape(Shape::List(item)) => Self::Shape(item),
            Self::Operations => Self::Operation,
            other => other,
        }
    }

    /// Whether two values of one name are merged rather than replaced.
    fn merges(self, first: Made, second: Made) -> bool {
        match self {
            Self::Shape(Shape::Bool | Shape::Int(..) | Shape::Text | Shape::IntOrString) => {
                first != second || second == Made::Other
            }
            Self::Shape(_) => true,
            // A patched object keeps the text that an operation adds, with both values.
            Self::Kept => true,
            _ => false,
        }
    }

    /// Whether its members are looked at: types that read themselves look at none of them.
    fn is_open(self) -> bool {
        !matches!(self, Self::Shape(shape) if !matches!(shape, Shape::Struct(_) | Shape::Map(_) | Shape::Either(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(form: As, text: &str) -> (Vec<String>, bool) {
        let Told { errors, merged } = strict(text.as_bytes(), form);
        (errors, merged)
    }

    #[test]
    fn fields_are_told_in_the_order_of_the_text_and_each_once() {
        let form = As::Type(TYPES.place("Deployment").unwrap());
        let text = r#"{"zeta": {"a": 1, "a": 2}, "spec": {"replicas": 1, "template": {"spec": {"containers": [{"name": "a", "name": "b"}]}},
            "replicas": 2, "replicas": 3, "alpha": 1}, "metadata": {"labels": {"a": "1", "a": "2"}}}"#;
        let wanted = [
            r#"unknown field "zeta""#,
            r#"duplicate field "spec.template.spec.containers[0].name""#,
            r#"duplicate field "spec.replicas""#,
            r#"unknown field "spec.alpha""#,
            r#"duplicate field "metadata.labels.a""#,
        ];
        assert_eq!(told(form, text), (wanted.map(str::to_owned).to_vec(), false));
    }

    #[test]
    fn two_objects_of_one_name_are_more_than_the_second() {
        let form = As::Type(TYPES.place("Deployment").unwrap());
        let text = r#"{"spec": {"replicas": 1}, "spec": {"paused": true}}"#;
        assert_eq!(told(form, text), (vec![r#"duplicate field "spec""#.to_owned()], true));
        assert_eq!(told(As::Any, text), (vec![r#"duplicate field "spec""#.to_owned()], false));
    }

    #[test]
    fn operations_have_four_fields() {
        let wanted = vec![r#"unknown field "[1].odd""#.to_owned(), r#"duplicate field "[1].op""#.to_owned()];
        let text = r#"[{"op": "add", "value": {"x": 1}}, {"odd": 1, "op": "add", "op": "add"}]"#;
        assert_eq!(told(As::Operations, text), (wanted, false));
        assert!(told(As::Operations, r#"[{"op": "add", "value": {"x": 1, "x": 1}}]"#).1, "both come into the object");
    }
}
