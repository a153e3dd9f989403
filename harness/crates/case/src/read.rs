//! Reads typed values from nodes. Each function returns the value, or adds a problem at the exact
//! location.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::diagnostics::{DiagnosticCollector, did_you_mean, nearest};
use super::yaml::{YamlKind, YamlNode};

/// A mapping with known fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct MappingFields<'n> {
    map: &'n [(YamlNode, YamlNode)],
}

impl<'n> MappingFields<'n> {
    /// Reads the mapping at this node. Reports unknown fields and a node that is not a mapping.
    pub(super) fn of(
        node: &'n YamlNode,
        noun: &str,
        fields: &[&str],
        report: &mut DiagnosticCollector,
    ) -> Option<Self> {
        let YamlKind::Map(map) = &node.kind else {
            report.add(node, format!("{noun} must be a mapping"), not_a_mapping(node, fields));
            report.help(format!("its fields are {}", join_quoted(fields)));
            return None;
        };
        let mut empty = None;
        for (key, value) in map {
            let name = key.as_key();
            match (fields.contains(&name.as_str()), &empty) {
                (true, _) => empty = matches!(value.kind, YamlKind::Null).then_some(name),
                (false, Some(parent)) if name.chars().all(|letter| letter.is_ascii_alphanumeric()) => {
                    let hint = format!("indent it further, if it belongs to `{parent}`");
                    report.add(key, format!("unknown field `{name}`"), hint);
                }
                (false, _) => report_unknown_field(key, noun, fields, report),
            }
        }
        Some(Self { map })
    }

    /// A field's value, unless it is absent or null.
    pub(super) fn get(&self, key: &str) -> Option<&'n YamlNode> {
        self.entry(key).map(|(_, value)| value).filter(|value| !matches!(value.kind, YamlKind::Null))
    }

    /// Whether a field is missing. A misspelt field is not missing: it has been reported already.
    pub(super) fn lacks(&self, key: &str) -> bool {
        self.get(key).is_none() && !self.is_misspelt(key)
    }

    /// Whether there is a field that was probably meant to be this one.
    pub(super) fn is_misspelt(&self, key: &str) -> bool {
        let meant =
            |name: &str| nearest(name, [key]).is_some() || RENAMED.iter().chain(&SYNONYMS).any(|it| *it == (name, key));
        self.entry(key).is_none() && self.map.iter().any(|(name, _)| meant(&name.as_key()))
    }

    /// A field's key and value, null or not.
    pub(super) fn entry(&self, key: &str) -> Option<(&'n YamlNode, &'n YamlNode)> {
        self.map.iter().find(|(name, _)| name.as_key() == key).map(|(key, value)| (key, value))
    }
}

/// Describes what is there instead of a mapping, with a suggestion.
fn not_a_mapping(node: &YamlNode, fields: &[&str]) -> String {
    let field = |text: &str| {
        text.split_once(':')
            .filter(|(key, _)| fields.contains(key))
            .map(|(key, rest)| (key.to_owned(), rest.to_owned()))
    };
    match (&node.kind, node.as_text().and_then(field)) {
        (_, Some((key, rest))) => format!("add a space: `{key}: {}`", rest.trim()),
        (YamlKind::Null, _) => "its fields are missing; indent them further".to_owned(),
        _ => format!("this is {}", node.describe()),
    }
}

/// Fields of older case files, and their current names.
const RENAMED: [(&str, &str); 1] = [("edges", "steps")];

/// Words of other tools, and what a case calls it.
const SYNONYMS: [(&str, &str); 17] = [
    ("wait", "advance"),
    ("sleep", "advance"),
    ("rollback", "undo"),
    ("revert", "undo"),
    ("setImage", "set"),
    ("image", "set"),
    ("resize", "scale"),
    ("replicas", "scale"),
    ("create", "apply"),
    ("remove", "delete"),
    ("unpause", "resume"),
    ("setup", "given"),
    ("actions", "steps"),
    ("assert", "rules"),
    ("name", "description"),
    ("count", "replicas"),
    ("scale", "replicas"),
];

/// The top-level fields of a manifest.
const MANIFEST_FIELDS: [&str; 4] = ["apiVersion", "kind", "metadata", "spec"];

/// Reports a field that does not exist.
pub(super) fn report_unknown_field(key: &YamlNode, noun: &str, fields: &[&str], report: &mut DiagnosticCollector) {
    let name = key.as_key();
    if matches!(key.kind, YamlKind::List(_) | YamlKind::Map(_)) {
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
    let renamed = RENAMED.iter().find(|(old, new)| *old == name && fields.contains(new));
    let synonym = SYNONYMS.iter().find(|(other, word)| *other == name && fields.contains(word));
    let hint = match did_you_mean(&name, fields.iter().copied()) {
        _ if let Some((_, new)) = renamed => format!("it is called `{new}` now"),
        _ if let Some((_, word)) = synonym => format!("a case calls it `{word}`"),
        Some(hint) => hint,
        None if MANIFEST_FIELDS.contains(&name.as_str()) => "whole manifests go under `apply`".to_owned(),
        None => format!("{noun} has no such field"),
    };
    report.add(key, format!("unknown field `{name}`"), hint);
    report.help(format!("the fields of {noun} are {}", join_quoted(fields)));
}

/// Reads a string that is not empty.
pub(super) fn text<'n>(node: &'n YamlNode, noun: &str, report: &mut DiagnosticCollector) -> Option<&'n str> {
    match &node.kind {
        YamlKind::Text(text) if !text.trim().is_empty() => Some(text),
        YamlKind::Text(_) => {
            report.add(node, format!("{noun} is empty"), "add some text");
            None
        }
        YamlKind::Int(_) | YamlKind::Float(_) | YamlKind::Bool(_) => {
            report.add(
                node,
                format!("{noun} must be a string"),
                format!("this is {}; put it in quotes", node.describe()),
            );
            None
        }
        _ => {
            report.add(node, format!("{noun} must be a string"), format!("this is {}", node.describe()));
            None
        }
    }
}

/// Reads the name of an object or node.
pub(super) fn name(node: &YamlNode, noun: &str, report: &mut DiagnosticCollector) -> Option<String> {
    let text = text(node, noun, report)?;
    if is_name(text) {
        return Some(text.to_owned());
    }
    report.add(node, format!("`{text}` is not a name"), NAMES);
    None
}

/// The longest name.
pub const LONGEST_NAME: usize = 63;

/// Describes valid names.
pub(super) const NAMES: &str = "lower-case letters, digits, `-` and `.`, at most 63";

/// Whether Kubernetes accepts a text as the name of an object or node.
pub(super) fn is_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let outer = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    text.chars().all(inner) && outer(text.chars().next()) && outer(text.chars().last()) && text.len() <= LONGEST_NAME
}

/// Whole numbers from here on do not fit 64 bits.
const TOO_LARGE: f64 = 9.2e18;

/// Reads a whole number in a range.
pub(super) fn integer(
    node: &YamlNode,
    noun: &str,
    range: RangeInclusive<i64>,
    report: &mut DiagnosticCollector,
) -> Option<i64> {
    let YamlKind::Int(number) = node.kind else {
        let hint = match &node.kind {
            YamlKind::Text(text) if text.parse::<i64>().is_ok() => "this is a string; leave the quotes out".to_owned(),
            YamlKind::Float(float) if float.abs() >= TOO_LARGE => {
                format!("this is too large; from {} to {}", range.start(), range.end())
            }
            YamlKind::Float(float) if float.fract() == 0.0 => format!("this is a fraction; write `{float}`"),
            _ => format!("this is {}", node.describe()),
        };
        report.add(node, format!("{noun} must be a whole number"), hint);
        return None;
    };
    if range.contains(&number) {
        return Some(number);
    }
    report.add(node, format!("{noun} cannot be {number}"), format!("from {} to {}", range.start(), range.end()));
    None
}

/// Longer than anything that a Deployment waits for: `10y`, with a year of 365.25 days as humantime
/// has it.
const MAX_DURATION: Duration = Duration::from_secs(10 * 31_557_600);

/// Reads a duration of at most `most`.
pub(super) fn duration(node: &YamlNode, most: Duration, report: &mut DiagnosticCollector) -> Option<Duration> {
    let duration = duration_up_to(node, most, report)?;
    if duration.is_zero() {
        report.add(node, "the duration must not be zero", "write a duration such as `10s`");
    }
    Some(duration).filter(|duration| !duration.is_zero())
}

/// Reads a duration of at most ten years, which may be zero.
pub(super) fn duration_or_zero(node: &YamlNode, report: &mut DiagnosticCollector) -> Option<Duration> {
    duration_up_to(node, MAX_DURATION, report)
}

fn duration_up_to(node: &YamlNode, most: Duration, report: &mut DiagnosticCollector) -> Option<Duration> {
    if let YamlKind::Int(number) = node.kind {
        report.add(node, "a duration has a unit", format!("did you mean `{number}s`?"));
        return None;
    }
    let text = text(node, "a duration", report)?;
    match humantime::parse_duration(text) {
        Ok(duration) if duration > most => {
            report.add(node, "the duration is too long", at_most(most));
        }
        Ok(duration) => return Some(duration),
        Err(error) => {
            report.add(node, format!("`{text}` is not a duration"), not_a_duration(text, most, &error));
        }
    }
    None
}

/// Explains why a text is not a duration, with a suggestion.
fn not_a_duration(text: &str, most: Duration, error: &humantime::DurationError) -> String {
    use humantime::DurationError as Error;
    let units = ["seconds", "minutes", "hours", "days", "s", "m", "h", "d", "ms"];
    match error {
        _ if text.starts_with('-') => "time passes forwards only".to_owned(),
        Error::UnknownUnit { unit, .. } if !unit.is_empty() => did_you_mean(unit, units)
            .unwrap_or_else(|| format!("there is no unit `{unit}`; try `90s`, `10m` or `1h 30m`")),
        Error::NumberOverflow => format!("that is too long; {}", at_most(most)),
        _ => "try `90s`, `10m` or `1h 30m`".to_owned(),
    }
}

fn at_most(duration: Duration) -> String {
    format!("at most {}", humantime::format_duration(duration))
}

/// Reads `true` or `false`.
pub(super) fn boolean(node: &YamlNode, noun: &str, report: &mut DiagnosticCollector) -> Option<bool> {
    if let YamlKind::Bool(value) = node.kind {
        return Some(value);
    }
    report.add(node, format!("{noun} must be true or false"), format!("this is {}", node.describe()));
    None
}

/// Reads one of these words and returns its value.
pub(super) fn word<T: Copy>(
    node: &YamlNode,
    noun: &str,
    words: &[(&str, T)],
    report: &mut DiagnosticCollector,
) -> Option<T> {
    let text = text(node, noun, report)?;
    if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
        return Some(*meaning);
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let hint =
        did_you_mean(text, known.iter().copied()).unwrap_or_else(|| format!("it is one of {}", join_quoted(&known)));
    report.add(node, format!("{noun} cannot be `{text}`"), hint);
    None
}

/// Reads a list.
pub(super) fn items<'n>(node: &'n YamlNode, noun: &str, report: &mut DiagnosticCollector) -> Option<&'n [YamlNode]> {
    if let YamlKind::List(list) = &node.kind {
        return Some(list);
    }
    report.add(node, format!("{noun} must be a list"), format!("this is {}", node.describe()));
    None
}

/// Reads a mapping from strings to strings: labels, annotations, environment variables.
pub(super) fn string_map(
    node: &YamlNode,
    noun: &str,
    report: &mut DiagnosticCollector,
) -> Option<BTreeMap<String, String>> {
    let YamlKind::Map(map) = &node.kind else {
        report.add(node, format!("{noun} must be a mapping"), format!("this is {}", node.describe()));
        return None;
    };
    let mut texts = BTreeMap::new();
    for (key, value) in map {
        match &value.kind {
            YamlKind::Text(text) => drop(texts.insert(key.as_key(), text.clone())),
            YamlKind::Null => {
                report.add(value, format!("a value of {noun} must be a string"), "this is nothing; write `\"\"`");
            }
            YamlKind::List(_) | YamlKind::Map(_) => {
                report.add(
                    value,
                    format!("a value of {noun} must be a string"),
                    format!("this is {}", value.describe()),
                );
            }
            _ => report.add(value, format!("a value of {noun} must be a string"), "put it in quotes"),
        }
    }
    Some(texts)
}

/// Reads a number of pods or a percentage: `3`, `"25%"`.
pub(super) fn number_or_percent(
    node: &YamlNode,
    noun: &str,
    refused: bool,
    report: &mut DiagnosticCollector,
) -> Option<serde_json::Value> {
    match &node.kind {
        YamlKind::Int(number) if refused || (0..=MOST_PODS).contains(number) => Some((*number).into()),
        YamlKind::Int(number) => {
            report.add(node, format!("{noun} cannot be {number}"), format!("from 0 to {MOST_PODS}, or a percentage"));
            None
        }
        YamlKind::Text(text) if refused => Some(text.as_str().into()),
        YamlKind::Text(text) if text.strip_suffix('%').is_some_and(|n| n.parse::<u16>().is_ok()) => {
            Some(text.as_str().into())
        }
        _ => {
            report.add(node, format!("{noun} must be a number or a percentage"), "such as `3` or `25%`");
            None
        }
    }
}

/// More pods than any case moves by hand.
pub(super) const MOST_PODS: i64 = 10_000;

/// Formats a list: `a`, `b` and `c`.
pub(super) fn join_quoted(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
