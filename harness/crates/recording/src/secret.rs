//! Removes the values that a case writes into Secrets from everything that is stored about a run.
//!
//! Every occurrence of a value in a case is replaced by the same stand-in, such as `redacted0001`.
//! So it remains visible whether a step changes a value, and a stand-in reveals nothing about the
//! value, as it depends only on the order. It is valid as text and as base64, so a redacted case
//! can be run.
//!
//! The text is redacted once, when the case is read. What a subject may repeat goes through the
//! same [`Redaction`]: recordings including keys of maps, and the subject's output.
//!
//! Limits: a value is found as it is written, in base64, and as JSON escapes it; not in parts, in
//! another encoding or as a digest. A value of less than `SHORTEST` bytes is replaced only where
//! the case writes it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lockstep_support::yaml::{YamlKind, YamlNode};
use serde_json::{Map, Value};

use crate::{Diagnosis, ObjectVersion, Recording, RecordingEntry};

/// Shorter values occur everywhere, so they are replaced only where the case writes them.
const SHORTEST: usize = 6;
/// The minimum length of a line of a longer value.
const SHORTEST_LINE: usize = 12;
/// In a text of at most this many bytes every line is checked for a truncated value; in a longer
/// one only the outermost lines.
const SHORT_TEXT: usize = 64 << 10;
/// Replaces the text of a case from which values cannot be removed.
const LEFT_OUT: &str =
    "# The case's text is left out: it writes Secrets, and their values could not be taken out of it.\n";
/// The fields with user-defined keys.
const FREE: [&str; 9] =
    ["labels", "annotations", "matchLabels", "nodeSelector", "data", "stringData", "binaryData", "limits", "requests"];

/// The annotation in which `kubectl apply` stores an object's text.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The fields of a Secret with values.
const FIELDS: [&str; 2] = ["data", "stringData"];

/// The values that cases write into Secrets, with their stand-ins. Its Debug output omits them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Redaction {
    /// The text with the values; `None` if it has none.
    original: Option<Arc<str>>,
    /// All forms of the values, longest first, each with its stand-in.
    values: Vec<(String, String)>,
}

impl std::fmt::Debug for Redaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redaction({})", self.values.len())
    }
}

/// A case's text without the values of Secrets.
pub fn redact_text(text: &str) -> String {
    redact(text).0
}

/// Like [`redact_text`], and also returns what redacts other texts.
pub fn redact(text: &str) -> (String, Redaction) {
    if !text.to_ascii_lowercase().contains("secret") {
        return (text.to_owned(), Redaction::default());
    }
    // A text that is not a case has created no objects.
    let Ok(root) = YamlNode::parse(text) else { return (text.to_owned(), Redaction::default()) };
    let found = SecretValues::of(&root);
    if found.0.iter().all(|(_, value)| is_stand_in(value)) {
        return (text.to_owned(), Redaction::default());
    }
    let stand_ins = found.stand_ins();
    let mut out = text.to_owned();
    let mut places: BTreeMap<usize, (usize, String)> = BTreeMap::new();
    for (node, value) in &found.0 {
        let written = text.get(node.span.clone()).unwrap_or_default().trim_end();
        // Keep the number of lines: steps are identified by their lines.
        let stand_in = stand_ins[value].clone() + &"\n".repeat(written.matches('\n').count());
        places.insert(node.span.start, (node.span.start + written.len(), stand_in));
    }
    for (start, (end, stand_in)) in places.into_iter().rev() {
        if out.is_char_boundary(start) && out.is_char_boundary(end) && start < end {
            out.replace_range(start..end, &stand_in);
        }
    }
    // A value may occur elsewhere too: in a comment, behind an alias, in a rule.
    let whole = sorted(stand_ins.iter().flat_map(forms).collect(), SHORTEST);
    let out = whole.iter().fold(out, |out, (value, stand_in)| out.replace(value, stand_in));
    let left = YamlNode::parse(&out).map(|root| SecretValues::of(&root).0.iter().all(|(_, value)| is_stand_in(value)));
    let out = if left.unwrap_or(false) { out } else { LEFT_OUT.to_owned() };
    let lines = sorted(stand_ins.iter().flat_map(lines).collect(), SHORTEST_LINE);
    let values = sorted(whole.into_iter().chain(lines).collect(), 0);
    (out, Redaction { original: Some(text.into()), values })
}

/// A case's text with a star for each byte of the values, so that positions are unchanged. If the
/// text is not YAML, values cannot be found, so all words after a colon are masked.
pub fn mask_text(text: &str) -> String {
    if !text.to_ascii_lowercase().contains("secret") {
        return text.to_owned();
    }
    let Ok(root) = YamlNode::parse(text) else { return text.split_inclusive('\n').map(mask_line).collect() };
    let stars =
        |text: &str| text.chars().map(|c| if c == '\n' { "\n".to_owned() } else { "*".repeat(c.len_utf8()) }).collect();
    let mut out = text.to_owned();
    for (node, _) in SecretValues::of(&root).0 {
        if let Some(written) = text.get(node.span.clone()) {
            let end = node.span.start + written.trim_end().len();
            let written: String = stars(written.trim_end());
            out.replace_range(node.span.start..end, &written);
        }
    }
    let (_, redaction) = redact(text);
    redaction.values.iter().fold(out, |out, (value, _)| {
        let written: String = stars(value);
        out.replace(value, &written)
    })
}

fn mask_line(line: &str) -> String {
    let words = line.find(':').map_or(0, |colon| colon + 1);
    let star = |c: char| if c.is_alphanumeric() { "*".repeat(c.len_utf8()) } else { c.to_string() };
    line[..words].to_owned() + &line[words..].chars().map(star).collect::<String>()
}

/// Whether values of Secrets were removed from this text of a case.
pub fn is_redacted(text: &str) -> bool {
    let has_stand_in = |root: YamlNode| SecretValues::of(&root).0.iter().any(|(_, value)| is_stand_in(value));
    text == LEFT_OUT || YamlNode::parse(text).is_ok_and(has_stand_in)
}

impl Redaction {
    /// The case's text with its values, to be run but not stored.
    pub fn original(&self) -> Option<&str> {
        self.original.as_deref()
    }

    /// Adds the values of another redaction.
    pub fn add(&mut self, redaction: &Self) {
        let new =
            redaction.values.iter().filter(|(value, _)| !self.values.iter().any(|(existing, _)| existing == value));
        self.values = sorted(self.values.iter().chain(new).cloned().collect(), 0);
    }

    /// Redacts a text.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.values.iter().fold(Cow::Borrowed(text), |text, (value, stand_in)| {
            if text.contains(value.as_str()) { Cow::Owned(text.replace(value, stand_in)) } else { text }
        })
    }

    /// Redacts a program's output, including values that are truncated at the end of a line.
    pub fn output(&self, text: &str) -> String {
        let text = self.text(text);
        if self.values.is_empty() {
            return text.into_owned();
        }
        let is_short = text.len() <= SHORT_TEXT;
        let mut out = Vec::new();
        let mut lines = text.split('\n').peekable();
        let mut is_edge = true;
        while let Some(line) = lines.next() {
            let is_last = lines.peek().is_none_or(|next| next.trim().is_empty() || next.starts_with("[..."));
            let looks = is_short || is_edge || is_last;
            out.push(if looks { self.without_cut_values(line) } else { line.to_owned() });
            is_edge = line.starts_with("[...");
        }
        out.join("\n")
    }

    /// Redacts a line that ends with the beginning of a value, or begins with the end of one.
    fn without_cut_values(&self, line: &str) -> String {
        let mut line = line.to_owned();
        for (value, stand_in) in &self.values {
            let cuts = || (SHORTEST..value.len()).rev().filter(|at| value.is_char_boundary(*at));
            if let Some(at) = cuts().find(|at| line.ends_with(&value[..*at])) {
                line.truncate(line.len() - at);
                line += stand_in;
            }
            let begins =
                |at: &usize| value.is_char_boundary(value.len() - at) && line.starts_with(&value[value.len() - at..]);
            if let Some(at) = (SHORTEST..value.len()).rev().find(begins) {
                line.replace_range(..at, stand_in);
            }
        }
        line
    }

    /// Redacts a recording of the case, in texts and in keys.
    pub fn recording(&self, recording: &mut Recording) {
        if self.values.is_empty() {
            return;
        }
        recording.header.unevaluated.iter_mut().for_each(|name| self.change(name));
        for entry in &mut recording.entries {
            match entry {
                RecordingEntry::Object(version) => self.version(version),
                RecordingEntry::Step(mark) => self.change(&mut mark.label),
                RecordingEntry::PodNames(names) => {
                    *names = std::mem::take(names)
                        .into_iter()
                        .map(|(real, name)| (self.text(&real).into_owned(), self.text(&name).into_owned()))
                        .collect();
                }
                RecordingEntry::Request(request) => {
                    for text in [&mut request.resource, &mut request.subresource, &mut request.name] {
                        self.change(text);
                    }
                    [&mut request.message, &mut request.elsewhere]
                        .into_iter()
                        .flatten()
                        .for_each(|text| self.change(text));
                    request.patch.iter_mut().for_each(|patch| *patch = self.output(patch));
                }
                RecordingEntry::Injected(meeting) => self.change(&mut meeting.description),
                RecordingEntry::Trouble(trouble) => self.change(&mut trouble.why),
                RecordingEntry::Settled(settling) => {
                    settling.unsettled.iter_mut().for_each(|it| self.change(&mut it.why));
                }
                RecordingEntry::Impossible(impossible) => self.change(&mut impossible.why),
                RecordingEntry::Header(_) | RecordingEntry::End(_) => {}
            }
        }
        if let Some(diagnosis) = recording.end.as_mut().and_then(|end| end.diagnosis.as_mut()) {
            self.diagnosis(diagnosis);
        }
    }

    /// Redacts a diagnosis.
    pub fn diagnosis(&self, diagnosis: &mut Diagnosis) {
        diagnosis.handshake.iter_mut().for_each(|why| *why = self.output(why));
        diagnosis.output.iter_mut().flatten().for_each(|line| *line = self.output(line));
    }

    fn version(&self, version: &mut ObjectVersion) {
        self.change(&mut version.name);
        version.author.iter_mut().for_each(|author| self.change(author));
        if self.is_in("", &version.object.value()) {
            let object = version.object.change();
            *object = self.value("", std::mem::take(object));
        }
    }

    fn change(&self, text: &mut String) {
        if let Cow::Owned(changed) = self.text(text) {
            *text = changed;
        }
    }

    /// Whether a key may be a value: a fixed field that happens to equal a value is kept.
    fn is_key(&self, parent: &str, key: &str) -> bool {
        let is_free = FREE.contains(&parent) || !key.bytes().all(|byte| byte.is_ascii_alphabetic());
        is_free && matches!(self.text(key), Cow::Owned(_))
    }

    fn is_in(&self, field: &str, value: &Value) -> bool {
        match value {
            Value::String(text) => matches!(self.text(text), Cow::Owned(_)),
            Value::Array(list) => list.iter().any(|value| self.is_in(field, value)),
            Value::Object(map) => map.iter().any(|(key, value)| self.is_key(field, key) || self.is_in(key, value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn value(&self, field: &str, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(&text).into_owned().into(),
            Value::Array(list) => list.into_iter().map(|value| self.value(field, value)).collect(),
            Value::Object(map) => map
                .into_iter()
                .map(|(key, value)| {
                    let value = self.value(&key, value);
                    if self.is_key(field, &key) { (self.text(&key).into_owned(), value) } else { (key, value) }
                })
                .collect::<Map<_, _>>()
                .into(),
            other => other,
        }
    }
}

/// Masks a patch of a Secret for a label: its fields without their values.
pub fn mask_patch(patch: &Value) -> Value {
    match patch {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), if key == "value" { mask(value) } else { in_fields(key, value) }))
            .collect(),
        Value::Array(list) => list.iter().map(mask_patch).collect(),
        other => other.clone(),
    }
}

fn in_fields(key: &str, value: &Value) -> Value {
    if FIELDS.contains(&key) || key == LAST_APPLIED { mask(value) } else { mask_patch(value) }
}

fn mask(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), mask(value))).collect(),
        Value::Array(list) => list.iter().map(mask).collect(),
        _ => "…".into(),
    }
}

/// Sorts values of at least this many bytes, longest first: one value may be part of another.
fn sorted(mut values: Vec<(String, String)>, shortest: usize) -> Vec<(String, String)> {
    values.retain(|(value, _)| value.len() >= shortest && !is_stand_in(value));
    values.sort_by(|(one, _), (other, _)| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    values.dedup();
    values
}

/// A value as written, its base64 form, its decoded form, and all of these as JSON escapes them.
fn forms((value, stand_in): (&String, &String)) -> Vec<(String, String)> {
    let encoded = STANDARD.encode(value);
    let decoded = STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let of_address = encoded.replace('+', "-").replace('/', "_");
    let unpadded = [&encoded, &of_address].map(|text| text.trim_end_matches('=').to_owned());
    let texts = [Some(value.clone()), decoded].into_iter().flatten();
    // Output has no line break at its end, even if the value has one.
    let texts: Vec<String> = texts.flat_map(|text| [text.trim_end().to_owned(), text]).collect();
    let quoted = texts.iter().map(|text| Value::from(text.as_str()).to_string());
    let quoted: Vec<String> = quoted.map(|text| text[1..text.len() - 1].to_owned()).collect();
    let all = texts.into_iter().chain(quoted).chain([encoded, of_address]).chain(unpadded);
    all.map(|form| (form, stand_in.clone())).collect()
}

/// The lines of a multi-line value, as a program may print them one by one.
fn lines((value, stand_in): (&String, &String)) -> Vec<(String, String)> {
    let of = |text: &str| -> Vec<(String, String)> {
        let lines = text.lines().filter(|_| text.trim_end().contains('\n'));
        lines.map(|line| (line.trim().to_owned(), stand_in.clone())).collect()
    };
    forms((value, stand_in)).iter().flat_map(|(form, _)| of(form)).collect()
}

/// The nodes with values of Secrets, in the order of the text, each with its value.
struct SecretValues<'n>(Vec<(&'n YamlNode, String)>);

impl<'n> SecretValues<'n> {
    fn of(root: &'n YamlNode) -> Self {
        let mut found = Self(Vec::new());
        found.search(root, false);
        found.0.sort_by_key(|(node, _)| node.span.start);
        found
    }

    /// The stand-in of each value, numbered by order, so that it reveals nothing about the value.
    fn stand_ins(&self) -> BTreeMap<String, String> {
        let mut seen = BTreeSet::new();
        let new = self.0.iter().filter(|(_, value)| seen.insert(value.clone()));
        new.zip(1..).map(|((_, value), number)| (value.clone(), format!("redacted{number:04}"))).collect()
    }

    /// `in_secret`: inside a Secret, whose metadata may repeat its values.
    fn search(&mut self, node: &'n YamlNode, in_secret: bool) {
        match &node.kind {
            YamlKind::List(list) => list.iter().for_each(|node| self.search(node, in_secret)),
            YamlKind::Map(map) => {
                let text = |key: &str| node.get(key).and_then(YamlNode::as_text).unwrap_or_default();
                let of_secret = text("target").starts_with("secret/");
                let is_secret = text("kind") == "Secret";
                let inside = in_secret || is_secret;
                for (key, value) in map {
                    match key.as_key().as_str() {
                        LAST_APPLIED if inside => self.collect_leaves(value),
                        field if is_secret && FIELDS.contains(&field) => self.collect_leaves(value),
                        "patch" if of_secret => self.search_patch(value),
                        _ => self.search(value, inside),
                    }
                }
            }
            _ => {}
        }
    }

    /// A merge patch has the fields of the object; a JSON patch is a list of operations with
    /// values.
    fn search_patch(&mut self, node: &'n YamlNode) {
        match &node.kind {
            YamlKind::List(list) => {
                list.iter().filter_map(|operation| operation.get("value")).for_each(|it| self.collect_leaves(it));
            }
            YamlKind::Map(map) => {
                for (key, value) in map {
                    if FIELDS.contains(&key.as_key().as_str()) {
                        self.collect_leaves(value);
                    } else {
                        self.search(value, true);
                    }
                }
            }
            _ => {}
        }
    }

    fn collect_leaves(&mut self, node: &'n YamlNode) {
        match &node.kind {
            YamlKind::Null => {}
            YamlKind::List(list) => list.iter().for_each(|node| self.collect_leaves(node)),
            YamlKind::Map(map) => map.iter().for_each(|(_, value)| self.collect_leaves(value)),
            YamlKind::Text(text) => self.0.push((node, text.clone())),
            YamlKind::Bool(_) | YamlKind::Int(_) | YamlKind::Float(_) => {
                self.0.push((node, node.to_json().to_string()));
            }
        }
    }
}

/// Whether a text is a stand-in.
fn is_stand_in(value: &str) -> bool {
    // A YAML block scalar ends with a line break.
    value
        .trim_end()
        .strip_prefix("redacted")
        .is_some_and(|number| number.len() >= 4 && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
