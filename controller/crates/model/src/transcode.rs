//! Converts a pod template from JSON to its stored text without intermediate values: at most 12 kB
//! and 152 allocations for a template of 4 kB, instead of 61 kB and 355 (`cargo bench --package
//! controller-client --bench wire_forms`).
//!
//! The template is most of an object, and only its hash label is read, which is stored apart.

use std::fmt;

use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserializer, Serialize};
use serde_json::Value;

use super::any_json::FromAnyJson;
use super::json_text::{append_comma, append_json};
use super::names::POD_TEMPLATE_HASH;

/// The value of `spec.template`.
pub enum TemplateValue {
    /// A template.
    Template(TranscodedTemplate),
    /// JSON that is not an object and therefore not a template.
    Other(Value),
}

/// A template as text.
pub struct TranscodedTemplate {
    /// The text without the hash label.
    pub(super) json: String,
    /// Offset at which the hash label is inserted, if the template has labels.
    pub(super) labels_offset: usize,
    pub(super) hash: Option<String>,
}

impl FromAnyJson for TemplateValue {
    fn from_map<'de, A: MapAccess<'de>>(fields: A) -> Result<Self, A::Error> {
        let (mut text, mut label) = (Vec::new(), HashLabel::default());
        Transcoder { text: &mut text, section: Section::Template, label: &mut label }.visit_map(fields)?;
        let json = String::from_utf8(text).expect("JSON is written as UTF-8");
        Ok(Self::Template(TranscodedTemplate { json, labels_offset: label.offset, hash: label.value }))
    }

    fn from_non_map(value: Value) -> Self {
        Self::Other(value)
    }
}

/// The position of a value in a template, as far as finding the hash label needs it.
#[derive(Clone, Copy, PartialEq)]
enum Section {
    Template,
    Metadata,
    Labels,
    Other,
}

/// The hash label, which is left out of the text.
#[derive(Default)]
struct HashLabel {
    value: Option<String>,
    /// Its offset in the text.
    offset: usize,
}

/// Writes the JSON that it reads to a text.
struct Transcoder<'a> {
    text: &'a mut Vec<u8>,
    section: Section,
    label: &'a mut HashLabel,
}

impl Transcoder<'_> {
    fn write_value(self, value: impl Serialize) {
        append_json(self.text, &value);
    }
}

impl<'de> DeserializeSeed<'de> for Transcoder<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Transcoder<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any valid JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let Self { text, section, label } = self;
        text.push(b'{');
        if section == Section::Labels {
            label.offset = text.len();
        }
        while let Some(name) = fields.next_key::<String>()? {
            let mut non_text = None;
            if section == Section::Labels && name == POD_TEMPLATE_HASH {
                match fields.next_value()? {
                    Value::String(value) => {
                        label.value = Some(value);
                        continue;
                    }
                    other => non_text = Some(other),
                }
            }
            append_comma(text);
            append_json(text, &name);
            text.push(b':');
            let section = match (section, name.as_str()) {
                (Section::Template, "metadata") => Section::Metadata,
                (Section::Metadata, "labels") => Section::Labels,
                _ => Section::Other,
            };
            let writer = Transcoder { text: &mut *text, section, label: &mut *label };
            match non_text {
                Some(non_text) => writer.write_value(non_text),
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
            let writer = Transcoder { text: &mut *text, section: Section::Other, label: &mut *label };
            if items.next_element_seed(writer)?.is_none() {
                text.truncate(end);
                text.push(b']');
                return Ok(());
            }
        }
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.write_value(());
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.write_value(value);
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.write_value(value);
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.write_value(value);
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.write_value(value);
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.write_value(value);
        Ok(())
    }
}
