//! A pod template from JSON to the text in which it is kept, with no values in between: it is most
//! of an object, and nothing in it is looked at but the hash label, which is kept apart.

use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::Value;

use super::any::OfMap;
use super::names::POD_TEMPLATE_HASH;
use super::text::{separate, write};

/// What stands where a template belongs.
pub(crate) enum Found {
    /// A template.
    Template(Transcoded),
    /// No object, so none.
    Other(Value),
}

/// A template as text.
pub(crate) struct Transcoded {
    /// Without the hash label.
    pub(super) json: String,
    /// Where the hash label belongs, if the template has labels.
    pub(super) in_labels: usize,
    pub(super) hash: Option<String>,
}

impl OfMap for Found {
    fn of_map<'de, A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        let (mut text, mut label) = (Vec::new(), HashLabel::default());
        Writer { text: &mut text, place: Place::Template, label: &mut label }.visit_map(fields)?;
        let json = String::from_utf8(text).expect("JSON is written as UTF-8");
        Ok(Self::Template(Transcoded { json, in_labels: label.at, hash: label.value }))
    }

    fn of_other(value: Value) -> Self {
        Self::Other(value)
    }
}

/// Where in a template a value stands, as far as the hash label goes.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Template,
    Metadata,
    Labels,
    Elsewhere,
}

/// The hash label, which is not written.
#[derive(Default)]
struct HashLabel {
    value: Option<String>,
    /// Where in the text it belongs.
    at: usize,
}

/// Writes what it reads.
struct Writer<'a> {
    text: &'a mut Vec<u8>,
    place: Place,
    label: &'a mut HashLabel,
}

impl Writer<'_> {
    fn plain(self, value: impl Serialize) {
        write(self.text, &value);
    }
}

impl<'de> DeserializeSeed<'de> for Writer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Writer<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let Self { text, place, label } = self;
        text.push(b'{');
        if place == Place::Labels {
            label.at = text.len();
        }
        while let Some(name) = fields.next_key::<String>()? {
            let mut odd = None;
            if place == Place::Labels && name == POD_TEMPLATE_HASH {
                match fields.next_value()? {
                    Value::String(value) => {
                        label.value = Some(value);
                        continue;
                    }
                    other => odd = Some(other),
                }
            }
            separate(text);
            write(text, &name);
            text.push(b':');
            let place = match (place, name.as_str()) {
                (Place::Template, "metadata") => Place::Metadata,
                (Place::Metadata, "labels") => Place::Labels,
                _ => Place::Elsewhere,
            };
            let writer = Writer { text: &mut *text, place, label: &mut *label };
            match odd {
                Some(odd) => writer.plain(odd),
                None => fields.next_value_seed(writer)?,
            }
        }
        text.push(b'}');
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self { text, label, .. } = self;
        text.push(b'[');
        let start = text.len();
        loop {
            let end = text.len();
            if end > start {
                text.push(b',');
            }
            let writer = Writer { text: &mut *text, place: Place::Elsewhere, label: &mut *label };
            if items.next_element_seed(writer)?.is_none() {
                text.truncate(end);
                text.push(b']');
                return Ok(());
            }
        }
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.plain(());
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.plain(value);
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.plain(value);
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.plain(value);
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.plain(value);
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.plain(value);
        Ok(())
    }
}
