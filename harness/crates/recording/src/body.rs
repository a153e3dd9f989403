//! The JSON of one version, either parsed or as text.
//!
//! A long recording has many versions, and a parsed one takes about ten times the memory of its
//! text, so a run packs the older ones. A reader that needs each version once uses [`Body::value`],
//! which is dropped after use. A reader that keeps references uses the body itself as a `Value`: a
//! packed body is parsed at the first use, and stays parsed.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// An object's JSON.
#[derive(Debug, Clone)]
pub struct Body {
    parsed: OnceLock<Arc<Value>>,
    /// The text, if the body is packed or was created with its text.
    text: Option<Box<str>>,
}

impl Body {
    /// A body whose text is known.
    pub fn with_text(value: Arc<Value>, text: Option<String>) -> Self {
        Self { parsed: OnceLock::from(value), text: text.map(String::into_boxed_str) }
    }

    /// Returns the JSON. A packed body is parsed for the caller and stays packed.
    pub fn value(&self) -> Arc<Value> {
        match (self.parsed.get(), &self.text) {
            (Some(value), _) => Arc::clone(value),
            (None, Some(text)) => parse(text),
            (None, None) => Arc::new(Value::Null),
        }
    }

    /// Replaces the parsed JSON by its text.
    pub(crate) fn pack(&mut self) {
        if let Some(value) = self.parsed.take() {
            // `Value`'s own `to_string` uses a formatter, character by character.
            let text = || serde_json::to_string(&*value).expect("the keys of a JSON value are strings");
            self.text = Some(self.text.take().unwrap_or_else(|| text().into_boxed_str()));
        }
    }

    /// Returns the JSON for modification.
    pub fn change(&mut self) -> &mut Value {
        let value = self.value();
        *self = Self::from(value);
        Arc::make_mut(self.parsed.get_mut().expect("a body that is made of a value is parsed"))
    }

    /// Whether only the text is stored.
    pub fn is_packed(&self) -> bool {
        self.parsed.get().is_none()
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::from(Value::Null)
    }
}

impl From<Arc<Value>> for Body {
    fn from(value: Arc<Value>) -> Self {
        Self { parsed: OnceLock::from(value), text: None }
    }
}

impl From<Value> for Body {
    fn from(value: Value) -> Self {
        Self::from(Arc::new(value))
    }
}

impl Deref for Body {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.parsed.get_or_init(|| self.text.as_deref().map_or_else(Default::default, parse))
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        *self.value() == *other.value()
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Value::deserialize(from).map(Self::from)
    }
}

fn parse(text: &str) -> Arc<Value> {
    Arc::new(serde_json::from_str(text).expect("what was written as JSON is read as JSON"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn packed_body_is_parsed_only_for_references() {
        let value = json!({"metadata": {"name": "web"}, "spec": {"replicas": 3}});
        let whole = Body::from(value.clone());
        let mut packed = whole.clone();
        packed.pack();
        assert_eq!((packed == whole, packed.is_packed()), (true, true), "a comparison does not parse it for good");
        assert_eq!((packed.value().as_ref(), packed.is_packed()), (&value, true));
        assert_eq!(serde_json::to_string(&packed).unwrap(), serde_json::to_string(&whole).unwrap());
        assert_eq!((packed["spec"]["replicas"].as_i64(), packed.is_packed()), (Some(3), false));
        packed.pack();
        packed.change()["spec"]["replicas"] = 4.into();
        packed.pack();
        assert_eq!(packed.value()["spec"]["replicas"], 4);
    }
}
