//! Typed reading of nodes: each reader gives the value, or adds a finding at the very word that is
//! wrong.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::finding::Report;
use super::nearest::{did_you_mean, nearest};
use super::tree::{Kind, Node};

/// A mapping with known fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields<'n> {
    map: &'n [(Node, Node)],
}

impl<'n> Fields<'n> {
    /// The mapping at this node. Unknown fields are findings; so is a node that is no mapping.
    pub(super) fn of(node: &'n Node, what: &str, known: &[&str], report: &mut Report) -> Option<Self> {
        let Kind::Map(map) = &node.kind else {
            report.add(node, format!("{what} must be a mapping"), not_a_mapping(node, known));
            report.help(format!("its fields are {}", list(known)));
            return None;
        };
        for (key, _) in map {
            if !known.contains(&key.as_key().as_str()) {
                unknown(key, what, known, report);
            }
        }
        Some(Self { map })
    }

    /// A field's value, unless it is absent or null.
    pub(super) fn get(&self, key: &str) -> Option<&'n Node> {
        self.entry(key).map(|(_, value)| value).filter(|value| !matches!(value.kind, Kind::Null))
    }

    /// Whether a field is missing, and not merely misspelt: that has been reported already.
    pub(super) fn lacks(&self, key: &str) -> bool {
        self.get(key).is_none() && !self.is_misspelt(key)
    }

    /// Whether there is a field that was probably meant to be this one.
    pub(super) fn is_misspelt(&self, key: &str) -> bool {
        let meant = |name: &str| nearest(name, [key]).is_some() || RENAMED.contains(&(name, key));
        self.entry(key).is_none() && self.map.iter().any(|(name, _)| meant(&name.as_key()))
    }

    /// A field's key and value, null or not.
    pub(super) fn entry(&self, key: &str) -> Option<(&'n Node, &'n Node)> {
        self.map.iter().find(|(name, _)| name.as_key() == key).map(|(key, value)| (key, value))
    }
}

/// What stands where a mapping should, and what was probably meant.
fn not_a_mapping(node: &Node, known: &[&str]) -> String {
    let field = |text: &str| {
        text.split_once(':').filter(|(key, _)| known.contains(key)).map(|(key, rest)| (key.to_owned(), rest.to_owned()))
    };
    match (&node.kind, node.as_text().and_then(field)) {
        (_, Some((key, rest))) => format!("add a space: `{key}: {}`", rest.trim()),
        (Kind::Null, _) => "its fields are missing; indent them further".to_owned(),
        _ => format!("this is {}", node.describe()),
    }
}

/// Fields of older case files, and what they are called now.
const RENAMED: [(&str, &str); 1] = [("edges", "steps")];

/// The parts of a whole manifest.
const OF_MANIFESTS: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];

/// A finding about a field that does not exist.
pub(super) fn unknown(key: &Node, what: &str, known: &[&str], report: &mut Report) {
    let name = key.as_key();
    if matches!(key.kind, Kind::List(_) | Kind::Map(_)) {
        report.add(key, "a field name must be a word", format!("this is {}", key.describe()));
        return;
    }
    if let Some(letter) = name.chars().find(|letter| letter.is_whitespace() && !letter.is_ascii()) {
        let code = u32::from(letter);
        report.add(
            key,
            "a character that only looks like a space",
            format!("U+{code:04X} looks like a space; use plain spaces"),
        );
        return;
    }
    let renamed = RENAMED.iter().find(|(old, new)| *old == name && known.contains(new));
    let hint = match did_you_mean(&name, known.iter().copied()) {
        _ if let Some((_, new)) = renamed => format!("it is called `{new}` now"),
        Some(hint) => hint,
        None if OF_MANIFESTS.contains(&name.as_str()) => "whole manifests go under `apply`".to_owned(),
        None => format!("{what} has no such field"),
    };
    report.add(key, format!("unknown field `{name}`"), hint);
    report.help(format!("the fields of {what} are {}", list(known)));
}

/// A text that is not empty.
pub(super) fn text<'n>(node: &'n Node, what: &str, report: &mut Report) -> Option<&'n str> {
    match &node.kind {
        Kind::Text(text) if !text.trim().is_empty() => Some(text),
        Kind::Text(_) => {
            report.add(node, format!("{what} is empty"), "add some text");
            None
        }
        Kind::Int(_) | Kind::Float(_) | Kind::Bool(_) => {
            report.add(
                node,
                format!("{what} must be a string"),
                format!("this is {}; put it in quotes", node.describe()),
            );
            None
        }
        _ => {
            report.add(node, format!("{what} must be a string"), format!("this is {}", node.describe()));
            None
        }
    }
}

/// A name as Kubernetes takes it for objects and nodes.
pub(super) fn name(node: &Node, what: &str, report: &mut Report) -> Option<String> {
    let text = text(node, what, report)?;
    if is_name(text) {
        return Some(text.to_owned());
    }
    report.add(node, format!("`{text}` is not a name"), NAMES);
    None
}

/// The most letters of a name.
pub(crate) const LONGEST_NAME: usize = 63;

/// What a name is.
pub(super) const NAMES: &str = "lower-case letters, digits, `-` and `.`, at most 63";

/// Whether a text is a name as Kubernetes takes it for objects and nodes.
pub(super) fn is_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    text.chars().all(inner) && outer(text.chars().next()) && outer(text.chars().last()) && text.len() <= LONGEST_NAME
}

/// From here on no whole number is one of 64 bits.
const TOO_LARGE: f64 = 9.2e18;

/// A whole number in a range.
pub(super) fn integer(node: &Node, what: &str, range: RangeInclusive<i64>, report: &mut Report) -> Option<i64> {
    let Kind::Int(number) = node.kind else {
        let hint = match &node.kind {
            Kind::Text(text) if text.parse::<i64>().is_ok() => "this is a string; leave the quotes out".to_owned(),
            Kind::Float(float) if float.abs() >= TOO_LARGE => {
                format!("this is too large; from {} to {}", range.start(), range.end())
            }
            Kind::Float(float) if float.fract() == 0.0 => format!("this is a fraction; write `{float}`"),
            _ => format!("this is {}", node.describe()),
        };
        report.add(node, format!("{what} must be a whole number"), hint);
        return None;
    };
    if range.contains(&number) {
        return Some(number);
    }
    report.add(node, format!("{what} cannot be {number}"), format!("from {} to {}", range.start(), range.end()));
    None
}

/// `true` or `false`.
pub(super) fn boolean(node: &Node, what: &str, report: &mut Report) -> Option<bool> {
    if let Kind::Bool(value) = node.kind {
        return Some(value);
    }
    report.add(node, format!("{what} must be true or false"), format!("this is {}", node.describe()));
    None
}

/// One of some words, each with its meaning.
pub(super) fn word<T: Copy>(node: &Node, what: &str, words: &[(&str, T)], report: &mut Report) -> Option<T> {
    let text = text(node, what, report)?;
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
        return Some(*meaning);
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let hint = did_you_mean(text, known.iter().copied()).unwrap_or_else(|| format!("it is one of {}", list(&known)));
    report.add(node, format!("{what} cannot be `{text}`"), hint);
    None
}

/// The nodes of a list.
pub(super) fn items<'n>(node: &'n Node, what: &str, report: &mut Report) -> Option<&'n [Node]> {
    if let Kind::List(list) = &node.kind {
        return Some(list);
    }
    report.add(node, format!("{what} must be a list"), format!("this is {}", node.describe()));
    None
}

/// A mapping from texts to texts: labels, annotations, environment variables.
pub(super) fn texts(node: &Node, what: &str, report: &mut Report) -> Option<BTreeMap<String, String>> {
    let Kind::Map(map) = &node.kind else {
        report.add(node, format!("{what} must be a mapping"), format!("this is {}", node.describe()));
        return None;
    };
    let mut texts = BTreeMap::new();
    for (key, value) in map {
        match &value.kind {
            Kind::Text(text) => drop(texts.insert(key.as_key(), text.clone())),
            Kind::Null => {
                report.add(value, format!("a value of {what} must be a string"), "this is nothing; write `\"\"`");
            }
            Kind::List(_) | Kind::Map(_) => {
                report.add(
                    value,
                    format!("a value of {what} must be a string"),
                    format!("this is {}", value.describe()),
                );
            }
            _ => report.add(value, format!("a value of {what} must be a string"), "put it in quotes"),
        }
    }
    Some(texts)
}

/// A number of pods, or a percentage: `3`, `"25%"`.
pub(super) fn number_or_percent(
    node: &Node,
    what: &str,
    refused: bool,
    report: &mut Report,
) -> Option<serde_json::Value> {
    match &node.kind {
        Kind::Int(number) if refused || (0..=MOST_PODS).contains(number) => Some((*number).into()),
        Kind::Int(number) => {
            report.add(node, format!("{what} cannot be {number}"), format!("from 0 to {MOST_PODS}, or a percentage"));
            None
        }
        Kind::Text(text) if refused => Some(text.as_str().into()),
        Kind::Text(text) if text.strip_suffix('%').is_some_and(|n| n.parse::<u16>().is_ok()) => {
            Some(text.as_str().into())
        }
        _ => {
            report.add(node, format!("{what} must be a number or a percentage"), "such as `3` or `25%`");
            None
        }
    }
}

/// More pods than any case moves by hand.
pub(super) const MOST_PODS: i64 = 10_000;

/// `a`, `b` and `c`.
pub(super) fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
