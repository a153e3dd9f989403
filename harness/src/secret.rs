//! What a case writes into Secrets, taken out of all that is kept of a run.
//!
//! A value becomes a stand-in, the same one wherever the same value stands in the case:
//! `redacted0001`. Whether a step changes a value is then still to be seen, and nothing can be
//! tried against a stand-in, as it depends on no value, only on the order. It is text and base64
//! alike, so a redacted case can be played.
//!
//! The text is redacted once, where the case is read. What a subject may repeat goes through the
//! same [`Redaction`]: recordings with the keys of maps, and what the subject prints. `find` looks
//! for the values in a case.
//!
//! The border: a value is found as it is written, in base64, and as JSON has it; not in parts, in
//! another encoding or as a digest. A value of less than [`SHORTEST`] bytes is replaced where the
//! case writes it and nowhere else.

mod find;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::recording::{Diagnosis, Entry, Recording, Version};
use crate::tree::Node;
use find::{FIELDS, Found, LAST_APPLIED, is_stand_in};

/// Shorter values are everywhere, so they are replaced where the case writes them and nowhere else.
const SHORTEST: usize = 6;
/// The same of a line of a longer value.
const SHORTEST_LINE: usize = 12;
/// In a text of so many bytes each line is looked at for a value that is cut off; in a longer one
/// the outermost lines.
const SHORT_TEXT: usize = 64 << 10;
/// What stands for the text of a case out of which its values cannot be taken.
const LEFT_OUT: &str =
    "# The case's text is left out: it writes Secrets, and their values could not be taken out of it.\n";
/// The fields whose keys users choose.
const FREE: [&str; 9] =
    ["labels", "annotations", "matchLabels", "nodeSelector", "data", "stringData", "binaryData", "limits", "requests"];

/// The values that cases write into Secrets, and what stands for each. Not to be shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Redaction {
    /// The text that the values were taken out of; `None`: it has none.
    original: Option<Arc<str>>,
    /// All forms of the values that are looked for, the longest first, each with its stand-in.
    values: Vec<(String, String)>,
}

impl std::fmt::Debug for Redaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redaction({})", self.values.len())
    }
}

/// A case's text without the values of Secrets.
pub(crate) fn redacted(text: &str) -> String {
    redact(text).0
}

/// The same, and what takes the values out of other texts.
pub(crate) fn redact(text: &str) -> (String, Redaction) {
    if !text.to_ascii_lowercase().contains("secret") {
        return (text.to_owned(), Redaction::default());
    }
    // A text that is no case holds whatever it holds, and no object was made of it.
    let Ok(root) = Node::parse(text) else { return (text.to_owned(), Redaction::default()) };
    let found = Found::of(&root);
    if found.0.iter().all(|(_, value)| is_stand_in(value)) {
        return (text.to_owned(), Redaction::default());
    }
    let stand_ins = found.stand_ins();
    let mut out = text.to_owned();
    let mut places: BTreeMap<usize, (usize, String)> = BTreeMap::new();
    for (node, value) in &found.0 {
        let written = text.get(node.span.clone()).unwrap_or_default().trim_end();
        // As many lines as before: steps are known by theirs.
        let stand_in = stand_ins[value].clone() + &"\n".repeat(written.matches('\n').count());
        places.insert(node.span.start, (node.span.start + written.len(), stand_in));
    }
    for (start, (end, stand_in)) in places.into_iter().rev() {
        if out.is_char_boundary(start) && out.is_char_boundary(end) && start < end {
            out.replace_range(start..end, &stand_in);
        }
    }
    // A value may stand elsewhere too: in a comment, behind an alias, in a rule.
    let whole = sorted(stand_ins.iter().flat_map(forms).collect(), SHORTEST);
    let out = whole.iter().fold(out, |out, (value, stand_in)| out.replace(value, stand_in));
    let left = Node::parse(&out).map(|root| Found::of(&root).0.iter().all(|(_, value)| is_stand_in(value)));
    let out = if left.unwrap_or(false) { out } else { LEFT_OUT.to_owned() };
    let lines = sorted(stand_ins.iter().flat_map(lines).collect(), SHORTEST_LINE);
    let values = sorted(whole.into_iter().chain(lines).collect(), 0);
    (out, Redaction { original: Some(text.into()), values })
}

/// A case's text with stars for each byte of the values, so that places in it stay where they are.
/// Where the text is no YAML, values cannot be found, so stars stand for all words behind a colon.
pub(crate) fn starred(text: &str) -> String {
    if !text.to_ascii_lowercase().contains("secret") {
        return text.to_owned();
    }
    let Ok(root) = Node::parse(text) else { return text.split_inclusive('\n').map(starred_line).collect() };
    let stars =
        |text: &str| text.chars().map(|c| if c == '\n' { "\n".to_owned() } else { "*".repeat(c.len_utf8()) }).collect();
    let mut out = text.to_owned();
    for (node, _) in Found::of(&root).0 {
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

fn starred_line(line: &str) -> String {
    let words = line.find(':').map_or(0, |colon| colon + 1);
    let star = |c: char| if c.is_alphanumeric() { "*".repeat(c.len_utf8()) } else { c.to_string() };
    line[..words].to_owned() + &line[words..].chars().map(star).collect::<String>()
}

/// Whether values of Secrets were taken out of this text of a case.
pub(crate) fn is_redacted(text: &str) -> bool {
    let has_stand_in = |root: Node| Found::of(&root).0.iter().any(|(_, value)| is_stand_in(value));
    text == LEFT_OUT || Node::parse(text).is_ok_and(has_stand_in)
}

impl Redaction {
    /// The case's text with its values, to be played and not to be kept.
    pub(crate) fn original(&self) -> Option<&str> {
        self.original.as_deref()
    }

    /// Take out the values of this one too.
    pub(crate) fn add(&mut self, other: &Self) {
        let new = other.values.iter().filter(|(value, _)| !self.values.iter().any(|(known, _)| known == value));
        self.values = sorted(self.values.iter().chain(new).cloned().collect(), 0);
    }

    /// A text without values.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.values.iter().fold(Cow::Borrowed(text), |text, (value, stand_in)| {
            if text.contains(value.as_str()) { Cow::Owned(text.replace(value, stand_in)) } else { text }
        })
    }

    /// What a program has printed, without values, nor parts of such as are cut off at the end of a
    /// line.
    pub(crate) fn output(&self, text: &str) -> String {
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

    /// A line whose end is the beginning of a value, or the other way round.
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

    /// A recording of the case without its values, in texts and in keys.
    pub(crate) fn recording(&self, recording: &mut Recording) {
        if self.values.is_empty() {
            return;
        }
        recording.header.unevaluated.iter_mut().for_each(|name| self.change(name));
        for entry in &mut recording.entries {
            match entry {
                Entry::Object(version) => self.version(version),
                Entry::Step(mark) => self.change(&mut mark.label),
                Entry::Named(names) => {
                    *names = std::mem::take(names)
                        .into_iter()
                        .map(|(real, name)| (self.text(&real).into_owned(), self.text(&name).into_owned()))
                        .collect();
                }
                Entry::Request(request) => {
                    for text in [&mut request.resource, &mut request.subresource, &mut request.name] {
                        self.change(text);
                    }
                    [&mut request.message, &mut request.elsewhere]
                        .into_iter()
                        .flatten()
                        .for_each(|text| self.change(text));
                }
                Entry::Met(meeting) => self.change(&mut meeting.what),
                Entry::Trouble(trouble) => self.change(&mut trouble.why),
                Entry::Settled(settling) => settling.unsettled.iter_mut().for_each(|it| self.change(&mut it.why)),
                Entry::Impossible(impossible) => self.change(&mut impossible.why),
                Entry::Header(_) | Entry::End(_) => {}
            }
        }
        if let Some(diagnosis) = recording.end.as_mut().and_then(|end| end.diagnosis.as_mut()) {
            self.diagnosis(diagnosis);
        }
    }

    /// What is known of a subject in trouble.
    pub(crate) fn diagnosis(&self, diagnosis: &mut Diagnosis) {
        diagnosis.handshake.iter_mut().for_each(|why| *why = self.output(why));
        diagnosis.output.iter_mut().flatten().for_each(|line| *line = self.output(line));
    }

    fn version(&self, version: &mut Version) {
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

    /// A mapping's field may be called as a value is, and is then a field all the same.
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

/// A patch of a Secret, fit for a label: its fields without their values.
pub(crate) fn masked(patch: &Value) -> Value {
    match patch {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), if key == "value" { mask(value) } else { in_fields(key, value) }))
            .collect(),
        Value::Array(list) => list.iter().map(masked).collect(),
        other => other.clone(),
    }
}

fn in_fields(key: &str, value: &Value) -> Value {
    if FIELDS.contains(&key) || key == LAST_APPLIED { mask(value) } else { masked(value) }
}

fn mask(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), mask(value))).collect(),
        Value::Array(list) => list.iter().map(mask).collect(),
        _ => "…".into(),
    }
}

/// Those of so many bytes at least, the longest first: one value may be part of another.
fn sorted(mut values: Vec<(String, String)>, shortest: usize) -> Vec<(String, String)> {
    values.retain(|(value, _)| value.len() >= shortest && !is_stand_in(value));
    values.sort_by(|(one, _), (other, _)| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
    values.dedup();
    values
}

/// A value as it is written, what it is in base64 or stands for in it, and all of these as JSON has
/// them.
fn forms((value, stand_in): (&String, &String)) -> Vec<(String, String)> {
    let encoded = base64(value);
    let decoded: Option<k8s_openapi::ByteString> = serde_json::from_value(value.as_str().into()).ok();
    let decoded = decoded.and_then(|bytes| String::from_utf8(bytes.0).ok());
    let of_address = encoded.replace('+', "-").replace('/', "_");
    let unpadded = [&encoded, &of_address].map(|text| text.trim_end_matches('=').to_owned());
    let texts = [Some(value.clone()), decoded].into_iter().flatten();
    // What a program prints has no line break at its end, whatever the value has.
    let texts: Vec<String> = texts.flat_map(|text| [text.trim_end().to_owned(), text]).collect();
    let quoted = texts.iter().map(|text| Value::from(text.as_str()).to_string());
    let quoted: Vec<String> = quoted.map(|text| text[1..text.len() - 1].to_owned()).collect();
    let all = texts.into_iter().chain(quoted).chain([encoded, of_address]).chain(unpadded);
    all.map(|form| (form, stand_in.clone())).collect()
}

/// The lines of a value that has several, as a program may print them one by one.
fn lines((value, stand_in): (&String, &String)) -> Vec<(String, String)> {
    let of = |text: &str| -> Vec<(String, String)> {
        let lines = text.lines().filter(|_| text.trim_end().contains('\n'));
        lines.map(|line| (line.trim().to_owned(), stand_in.clone())).collect()
    };
    forms((value, stand_in)).iter().flat_map(|(form, _)| of(form)).collect()
}

fn base64(text: &str) -> String {
    let bytes = k8s_openapi::ByteString(text.as_bytes().to_vec());
    serde_json::to_value(bytes).ok().and_then(|text| text.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
