//! YAML as a tree whose nodes know their location, so that all problems of a file can be reported,
//! each at its own location. serde-saphyr parses the syntax; scalars are interpreted as by kubectl.

use std::fmt::Formatter;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

use crate::pluralize;

/// One node of the document.
#[derive(Debug, Clone)]
pub struct YamlNode {
    /// The bytes of the node in the file.
    pub span: Range<usize>,
    /// Its line, from 1.
    pub line: usize,
    /// The value.
    pub kind: YamlKind,
}

/// The value of a node.
#[derive(Debug, Clone)]
pub enum YamlKind {
    /// `null`, `~`, or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number without a fraction.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// Text, quoted or not.
    Text(String),
    /// A sequence.
    List(Vec<YamlNode>),
    /// A mapping, in the order of the file.
    Map(Vec<(YamlNode, YamlNode)>),
}

/// A syntax error.
#[derive(Debug)]
pub struct YamlError {
    /// The bytes of the file that are wrong.
    pub span: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// The deepest nesting: deeper than any manifest; each level costs stack.
const MAX_DEPTH: usize = 32;
/// The most nodes, with and without those that aliases repeat.
const MAX_NODES: usize = 50_000;

fn alias_limits() -> serde_saphyr::options::AliasLimits {
    let mut limits = serde_saphyr::options::AliasLimits::default();
    limits.max_total_replayed_events = MAX_NODES;
    limits
}

impl YamlNode {
    /// Parses one YAML document as kubectl does: `0644` is octal, `yes` is a boolean; duplicate
    /// keys are errors.
    pub fn parse(text: &str) -> Result<Self, YamlError> {
        let options = serde_saphyr::options! {
            with_snippet: false,
            legacy_octal_numbers: true,
            reject_unsupported_tags: true,
            budget: serde_saphyr::budget! { max_depth: MAX_DEPTH, max_documents: 1, max_nodes: MAX_NODES },
            alias_limits: alias_limits(),
        };
        serde_saphyr::from_str_with_options::<Self>(text, options).map_err(|error| {
            let span = error.location().map_or(0..0, |location| location_bytes(text, &location));
            match &error {
                serde_saphyr::Error::DuplicateMappingKey { key, .. } => {
                    let what = format!("duplicate field `{}`", key.as_deref().unwrap_or("a key"));
                    YamlError { span, message: what, hint: "remove one of the two".to_owned() }
                }
                _ => YamlError::from_message(span, &strip_location(&error.to_string()), text),
            }
        })
    }

    /// Converts the node to JSON, as the API receives it.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.kind {
            YamlKind::Null => serde_json::Value::Null,
            YamlKind::Bool(value) => (*value).into(),
            YamlKind::Int(value) => (*value).into(),
            YamlKind::Float(value) => (*value).into(),
            YamlKind::Text(value) => value.as_str().into(),
            YamlKind::List(list) => list.iter().map(Self::to_json).collect(),
            YamlKind::Map(map) => map.iter().map(|(key, value)| (key.as_key(), value.to_json())).collect(),
        }
    }

    /// A copy without this key, if this is a map.
    pub fn without(&self, key: &str) -> Self {
        let mut node = self.clone();
        if let YamlKind::Map(map) = &mut node.kind {
            map.retain(|(name, _)| name.as_key() != key);
        }
        node
    }

    /// The value of a key, if this is a map.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match &self.kind {
            YamlKind::Map(map) => map.iter().find(|(name, _)| name.as_key() == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Whether this is an empty list or mapping.
    pub fn is_empty(&self) -> bool {
        match &self.kind {
            YamlKind::List(list) => list.is_empty(),
            YamlKind::Map(map) => map.is_empty(),
            _ => false,
        }
    }

    /// The string, if this is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            YamlKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A key as a word; numbers and booleans as they are written.
    pub fn as_key(&self) -> String {
        match &self.kind {
            YamlKind::Text(text) => text.clone(),
            YamlKind::Int(number) => number.to_string(),
            YamlKind::Bool(value) => value.to_string(),
            YamlKind::Float(number) => number.to_string(),
            YamlKind::Null | YamlKind::List(_) | YamlKind::Map(_) => String::new(),
        }
    }

    /// Describes the kind of value to readers.
    pub fn describe(&self) -> &'static str {
        match self.kind {
            YamlKind::Null => "nothing",
            YamlKind::Bool(_) => "a boolean",
            YamlKind::Int(_) => "a number",
            YamlKind::Float(_) => "a fraction",
            YamlKind::Text(_) => "a string",
            YamlKind::List(_) => "a list",
            YamlKind::Map(_) => "a mapping",
        }
    }
}

fn bytes(location: &Location) -> Range<usize> {
    let at = |n: Option<u64>| n.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let start = at(location.span().byte_offset());
    start..start + at(location.span().byte_len())
}

/// The bytes of a location, computed from line and column if the parser does not know them.
fn location_bytes(text: &str, location: &Location) -> Range<usize> {
    if location.span().byte_offset().is_some() {
        return bytes(location);
    }
    let before = |n: u64| usize::try_from(n).unwrap_or(1).saturating_sub(1);
    let line_start: usize = text.split_inclusive('\n').take(before(location.line())).map(str::len).sum();
    let in_line = text[line_start..].char_indices().nth(before(location.column())).map_or(0, |(at, _)| at);
    line_start + in_line..line_start + in_line
}

/// The parser's message without the location, which is shown separately.
fn strip_location(message: &str) -> String {
    let end = message.rfind(" at line ").unwrap_or(message.len());
    message[..end].to_owned()
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<YamlKind>::deserialize(deserializer)?;
        let line = usize::try_from(spanned.referenced.line()).unwrap_or(0);
        Ok(Self { span: bytes(&spanned.referenced), line, kind: spanned.value })
    }
}

impl<'de> Deserialize<'de> for YamlKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = YamlKind;

    fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("any YAML")
    }

    fn visit_bool<E>(self, value: bool) -> Result<YamlKind, E> {
        Ok(YamlKind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<YamlKind, E> {
        Ok(YamlKind::Int(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<YamlKind, E> {
        i64::try_from(value).map(YamlKind::Int).map_err(|_| E::custom("number is too large"))
    }

    fn visit_f64<E>(self, value: f64) -> Result<YamlKind, E> {
        Ok(YamlKind::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<YamlKind, E> {
        Ok(YamlKind::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<YamlKind, E> {
        Ok(YamlKind::Null)
    }

    fn visit_none<E>(self) -> Result<YamlKind, E> {
        Ok(YamlKind::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<YamlKind, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = access.next_element()? {
            list.push(node);
        }
        Ok(YamlKind::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<YamlKind, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = access.next_entry()? {
            map.push(entry);
        }
        Ok(YamlKind::Map(map))
    }
}

const SECOND_COLON: &str = "a second `: ` in one line";
const WRONG_INDENTATION: &str = "the indentation matches no line above";

/// Names the indentation of the last line of a text, and of the lines above that it could have.
fn indentation_hint(before: &str) -> String {
    let indentation = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut lines = before.rsplit('\n');
    // The place may be within the line, so its own spaces are all in the text.
    let own = indentation(lines.next().unwrap_or_default());
    // Only ever less indented lines are open above.
    let mut open: Vec<usize> = Vec::new();
    for line in lines.filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')) {
        let spaces = indentation(line);
        if open.last().is_none_or(|last| spaces < *last) {
            open.push(spaces);
        }
    }
    let open: Vec<String> = open.iter().rev().map(ToString::to_string).collect();
    format!("indented by {}; the lines above by {}", pluralize(own, "space"), open.join(", "))
}

/// A part of the parser's message, what is wrong, and what to do. The first match applies.
const MESSAGES: [(&str, &str, &str); 17] = [
    ("tabs disallowed", "a tab in the indentation", "indent YAML with spaces"),
    ("mapping values are not allowed", SECOND_COLON, "put the value in quotes, or check the indentation"),
    ("unclosed quote", "this quote is never closed", "add the other one"),
    ("unclosed bracket", "this bracket is never closed", "add the other one"),
    ("Documents {", "a second document", "one case per file; remove `---`"),
    ("number is too large", "this number is too large", "more than 64 bits"),
    ("non-finite float", "this is not a number", "write a finite one"),
    ("Depth {", "nested too deeply", "nesting exceeds 32 levels"),
    ("recursion limit exceeded", "nested too deeply", "nesting exceeds 32 levels"),
    ("alias replay limit", "the aliases expand to too many values", "write out what the case needs"),
    ("Nodes {", "the file holds too much", "the file has more than 50,000 nodes"),
    ("recursive references", "this alias refers to itself", "an alias cannot be inside its own anchor"),
    ("unknown anchor", "unknown anchor", "`&name` must stand before `*name`"),
    ("!!binary", "a binary value", "a case has only plain values"),
    ("nsupported tag", "an unknown tag", "leave out what begins with `!`, or put it in quotes"),
    ("did not find expected key", WRONG_INDENTATION, ""),
    ("unexpected EOF", "this is not allowed here", "a comma or a bracket too many or too few?"),
];

impl YamlError {
    /// Converts the parser's message about a place in the text, without its location.
    fn from_message(span: Range<usize>, message: &str, text: &str) -> Self {
        let (before, rest) = text.split_at(span.start);
        let said =
            |what: &str, hint: &str| Self { span: span.clone(), message: what.to_owned(), hint: hint.to_owned() };
        if rest.starts_with("<<<<<<<") || rest.starts_with("=======") || rest.starts_with(">>>>>>>") {
            return said("a merge conflict", "choose one side");
        }
        if let Some((_, what, hint)) = MESSAGES.iter().find(|(part, ..)| message.contains(part)) {
            return match *what {
                // The only `: ` of its line: the parser has joined the line to the value above.
                SECOND_COLON if !before.rsplit('\n').next().unwrap_or_default().contains(": ") => {
                    said("indented too far", &indentation_hint(before))
                }
                WRONG_INDENTATION => said(what, &indentation_hint(before)),
                "nested too deeply" => said(what, &format!("at most {MAX_DEPTH} levels")),
                "the aliases expand to too many values" | "the file holds too much" => {
                    said(what, &format!("at most {MAX_NODES} values"))
                }
                _ => said(what, hint),
            };
        }
        if message.contains("unexpected character")
            && let Some(letter) = rest.chars().next().filter(|letter| !letter.is_control())
        {
            return said("this is not YAML", &format!("nothing begins with `{letter}`; put it in quotes"));
        }
        said("this is not YAML", message)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::YamlNode;

    #[rstest]
    #[case::as_kubectl_does("{mode: 0644, on: yes, image: \"app:1\", half: 0.5, none: }",
        json!({"mode": 420, "true": true, "image": "app:1", "half": 0.5, "none": null}))]
    #[case::empty("", json!(null))]
    fn reads_scalars_as_kubectl_does(#[case] text: &str, #[case] expected: serde_json::Value) {
        assert_eq!(YamlNode::parse(text).unwrap().to_json(), expected);
    }

    #[rstest]
    #[case::after_two_byte_letters("ä: {b: 25%}", "b", "25%")]
    #[case::quoted("x: {image: \"app:2\"}", "image", "\"app:2\"")]
    fn nodes_know_their_location(#[case] text: &str, #[case] key: &str, #[case] expected: &str) {
        let node = YamlNode::parse(text).unwrap();
        let super::YamlKind::Map(map) = &node.kind else { panic!("no map") };
        assert_eq!(&text[map[0].1.get(key).unwrap().span.clone()], expected);
    }

    #[rstest]
    #[case::between(
        "a:\n  - b: 1\n - c: 2\n",
        "the indentation matches no line above",
        "indented by 1 space; the lines above by 0, 2"
    )]
    #[case::too_far("a: 1\n  b: 2\n", "indented too far", "indented by 2 spaces; the lines above by 0")]
    #[case::in_one_line("a: b: 2\n", "a second `: ` in one line", "put the value in quotes, or check the indentation")]
    fn error_names_the_indentation(#[case] text: &str, #[case] message: &str, #[case] hint: &str) {
        let error = YamlNode::parse(text).unwrap_err();
        assert_eq!((error.message.as_str(), error.hint.as_str()), (message, hint));
    }

    #[rstest]
    #[case::duplicate("a: 1\nb: 2\na: 3\n", 10)]
    #[case::indentation("a: 1\n b: 2\n", 7)]
    #[case::open_bracket("a: [1\nb: 2\n", 7)]
    fn syntax_error_has_location(#[case] text: &str, #[case] at: usize) {
        assert_eq!(YamlNode::parse(text).unwrap_err().span.start, at);
    }
}
