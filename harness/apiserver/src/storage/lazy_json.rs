//! Values that are decoded from their JSON when they are first read.
//!
//! Decoded, an object takes six to nine times the memory of its JSON: each map reserves room for
//! eleven entries, and each key and string is an allocation. So the store keeps most objects as
//! text, and a reader that needs only the text, such as a list without a selector, decodes nothing.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::types::decode::append_json;

/// A value or its JSON. The missing one is made from the other on first access, and kept.
#[derive(Debug)]
pub(crate) struct LazyJson {
    value: OnceLock<Value>,
    text: OnceLock<BodyText>,
}

/// The JSON of an object without `managedFields`.
#[derive(Debug, Clone)]
pub(crate) struct BodyText {
    pub(crate) bytes: Arc<[u8]>,
    /// Where `managedFields` and a comma can be inserted: before the field of the metadata that
    /// follows in the alphabet. A stored object has one, its resourceVersion.
    pub(crate) managers_at: Option<usize>,
}

impl LazyJson {
    pub(crate) fn of_value(value: Value) -> Self {
        Self { value: OnceLock::from(value), text: OnceLock::new() }
    }

    pub(crate) fn of_text(text: BodyText) -> Self {
        Self { value: OnceLock::new(), text: OnceLock::from(text) }
    }

    pub(crate) fn text(&self) -> &BodyText {
        self.text.get_or_init(|| BodyText::of(self))
    }
}

impl Deref for LazyJson {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value.get_or_init(|| {
            let text = self.text.get().expect("without a value there is a text");
            serde_json::from_slice(&text.bytes).expect("what was written as JSON reads as JSON")
        })
    }
}

impl BodyText {
    fn of(body: &Value) -> Self {
        let (mut text, mut managers_at) = (Vec::new(), None);
        match body {
            Value::Object(fields) => write_fields(&mut text, fields, |text, name, value| match (name, value) {
                ("metadata", Value::Object(meta)) => write_fields(text, meta, |text, name, value| {
                    if name > "managedFields" && managers_at.is_none() {
                        managers_at = Some(text.len() - name.len() - "\"\":".len());
                    }
                    append_json(text, value);
                }),
                _ => append_json(text, value),
            }),
            other => append_json(&mut text, other),
        }
        Self { bytes: text.into(), managers_at }
    }
}

/// The approximate length of a value's JSON, without encoding it.
pub(crate) fn json_len(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 4,
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| json_len(item) + 1).sum::<usize>() + 2,
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + 4 + json_len(value)).sum::<usize>() + 2,
    }
}

fn write_fields(
    text: &mut Vec<u8>,
    fields: &Map<String, Value>,
    mut write_value: impl FnMut(&mut Vec<u8>, &str, &Value),
) {
    text.push(b'{');
    for (at, (name, value)) in fields.iter().enumerate() {
        if at > 0 {
            text.push(b',');
        }
        serde_json::to_writer(&mut *text, name).expect("a string is written to memory");
        text.push(b':');
        write_value(text, name, value);
    }
    text.push(b'}');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn body_text_has_a_position_for_managers() {
        let body =
            json!({"data": {"metadata": {"name": "\"quoted\""}}, "metadata": {"labels": {}, "name": "a", "uid": "1"}});
        let text = LazyJson::of_value(body.clone()).text().clone();
        assert_eq!(*text.bytes, *serde_json::to_vec(&body).unwrap());
        let (before, after) = text.bytes.split_at(text.managers_at.unwrap());
        let with = [before, b"\"managedFields\":[],", after].concat();
        let with: Value = serde_json::from_slice(&with).unwrap();
        assert_eq!(with["metadata"], json!({"labels": {}, "managedFields": [], "name": "a", "uid": "1"}));
        assert_eq!(*LazyJson::of_text(text), body);
    }
}
