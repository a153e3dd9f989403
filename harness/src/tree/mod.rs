//! YAML as a tree whose every node knows where it stands, so that each finding can point at its own
//! place and all of them can be collected. The syntax itself is serde-saphyr's, with kubectl's
//! reading of scalars.

mod malformed;

use std::fmt::Formatter;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

/// One node of the document.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Where it stands, in bytes.
    pub(crate) span: Range<usize>,
    /// Its line, from 1.
    pub(crate) line: usize,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What a node is.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

/// The document is not YAML.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) span: Range<usize>,
    pub(crate) what: String,
    pub(crate) hint: String,
}

/// Deeper than any manifest; each level costs stack.
pub(crate) const DEEPEST: usize = 32;
/// More nodes than any case has, with and without those that aliases repeat.
pub(crate) const MOST_NODES: usize = 50_000;

fn alias_limits() -> serde_saphyr::options::AliasLimits {
    let mut limits = serde_saphyr::options::AliasLimits::default();
    limits.max_total_replayed_events = MOST_NODES;
    limits
}

impl Node {
    /// Read one YAML document as kubectl would: `0644` is octal, `yes` is a boolean; duplicate keys
    /// are errors.
    pub(crate) fn parse(text: &str) -> Result<Self, Malformed> {
        let options = serde_saphyr::options! {
            with_snippet: false,
            legacy_octal_numbers: true,
            reject_unsupported_tags: true,
            budget: serde_saphyr::budget! { max_depth: DEEPEST, max_documents: 1, max_nodes: MOST_NODES },
            alias_limits: alias_limits(),
        };
        serde_saphyr::from_str_with_options::<Self>(text, options).map_err(|error| {
            let span = error.location().map_or(0..0, |location| place(text, &location));
            match &error {
                serde_saphyr::Error::DuplicateMappingKey { key, .. } => {
                    let what = format!("duplicate field `{}`", key.as_deref().unwrap_or("a key"));
                    Malformed { span, what, hint: "remove one of the two".to_owned() }
                }
                _ => Malformed::in_words(span.clone(), &without_place(&error.to_string()), &text[span.start..]),
            }
        })
    }

    /// The node as JSON, as the API takes it.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.kind {
            Kind::Null => serde_json::Value::Null,
            Kind::Bool(value) => (*value).into(),
            Kind::Int(value) => (*value).into(),
            Kind::Float(value) => (*value).into(),
            Kind::Text(value) => value.as_str().into(),
            Kind::List(list) => list.iter().map(Self::to_json).collect(),
            Kind::Map(map) => map.iter().map(|(key, value)| (key.as_key(), value.to_json())).collect(),
        }
    }

    /// The same without a key, if this is a map.
    pub(crate) fn without(&self, key: &str) -> Self {
        let mut node = self.clone();
        if let Kind::Map(map) = &mut node.kind {
            map.retain(|(name, _)| name.as_key() != key);
        }
        node
    }

    /// The value of a key, if this is a map.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.kind {
            Kind::Map(map) => map.iter().find(|(name, _)| name.as_key() == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Whether it is a list or a mapping without anything in it.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.kind {
            Kind::List(list) => list.is_empty(),
            Kind::Map(map) => map.is_empty(),
            _ => false,
        }
    }

    /// The text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A key as a word; numbers and booleans as they are written.
    pub(crate) fn as_key(&self) -> String {
        match &self.kind {
            Kind::Text(text) => text.clone(),
            Kind::Int(number) => number.to_string(),
            Kind::Bool(value) => value.to_string(),
            Kind::Float(number) => number.to_string(),
            Kind::Null | Kind::List(_) | Kind::Map(_) => String::new(),
        }
    }

    /// What it is, in a reader's words.
    pub(crate) fn describe(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Int(_) => "a number",
            Kind::Float(_) => "a fraction",
            Kind::Text(_) => "a string",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }
}

/// A location's bytes.
fn bytes(location: &Location) -> Range<usize> {
    let at = |n: Option<u64>| n.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let start = at(location.span().byte_offset());
    start..start + at(location.span().byte_len())
}

/// A location's bytes, found by line and column where the parser knows no more.
fn place(text: &str, location: &Location) -> Range<usize> {
    if location.span().byte_offset().is_some() {
        return bytes(location);
    }
    let before = |n: u64| usize::try_from(n).unwrap_or(1).saturating_sub(1);
    let line_start: usize = text.split_inclusive('\n').take(before(location.line())).map(str::len).sum();
    let in_line = text[line_start..].char_indices().nth(before(location.column())).map_or(0, |(at, _)| at);
    line_start + in_line..line_start + in_line
}

/// The parser's message without the place, which is printed beside it.
fn without_place(message: &str) -> String {
    let end = message.rfind(" at line ").unwrap_or(message.len());
    message[..end].to_owned()
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Kind>::deserialize(deserializer)?;
        let line = usize::try_from(spanned.referenced.line()).unwrap_or(0);
        Ok(Self { span: bytes(&spanned.referenced), line, kind: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("any YAML")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Int(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Kind, E> {
        i64::try_from(value).map(Kind::Int).map_err(|_| E::custom("number is too large"))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Kind, E> {
        Ok(Kind::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = access.next_element()? {
            list.push(node);
        }
        Ok(Kind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Kind, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = access.next_entry()? {
            map.push(entry);
        }
        Ok(Kind::Map(map))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::Node;

    #[rstest]
    #[case::like_kubectl("{mode: 0644, on: yes, image: \"app:1\", half: 0.5, none: }",
        json!({"mode": 420, "true": true, "image": "app:1", "half": 0.5, "none": null}))]
    #[case::empty("", json!(null))]
    fn reads_scalars_as_kubectl_does(#[case] text: &str, #[case] expected: serde_json::Value) {
        assert_eq!(Node::parse(text).unwrap().to_json(), expected);
    }

    #[rstest]
    #[case::after_two_byte_letters("ä: {b: 25%}", "b", "25%")]
    #[case::quoted("x: {image: \"app:2\"}", "image", "\"app:2\"")]
    fn knows_where_a_value_stands(#[case] text: &str, #[case] key: &str, #[case] expected: &str) {
        let node = Node::parse(text).unwrap();
        let super::Kind::Map(map) = &node.kind else { panic!("no map") };
        assert_eq!(&text[map[0].1.get(key).unwrap().span.clone()], expected);
    }

    #[rstest]
    #[case::duplicate("a: 1\nb: 2\na: 3\n", 10)]
    #[case::indentation("a: 1\n b: 2\n", 7)]
    #[case::open_bracket("a: [1\nb: 2\n", 7)]
    fn says_where_it_is_malformed(#[case] text: &str, #[case] at: usize) {
        assert_eq!(Node::parse(text).unwrap_err().span.start, at);
    }
}
