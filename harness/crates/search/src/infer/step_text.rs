//! The text of one step of a case, with values as YAML on one line.

use serde_json::Value;

/// One step of a case, with its notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StepText {
    /// The operation in flow style: `scale: 4`.
    pub(super) step: String,
    /// A note for the reader of the case.
    pub(super) note: Option<String>,
    /// The same operation, written so that it does not depend on what the controllers have done by
    /// then.
    pub(super) firm: Option<String>,
}

impl StepText {
    /// A step without a note.
    pub(super) fn plain(step: impl Into<String>) -> Self {
        Self { step: step.into(), note: None, firm: None }
    }

    pub(super) fn noted(step: impl Into<String>, note: Option<String>) -> Self {
        Self { note, ..Self::plain(step) }
    }
}

/// A merge patch, so that the lists in it replace the existing ones.
pub(super) fn merge_patch_step(target: &str, patch: &Value, note: String) -> StepText {
    StepText::noted(format!("patch: {{target: {}, type: merge, patch: {}}}", word(target), flow(patch)), Some(note))
}

/// A value in YAML's flow style: `{replicas: 4, image: "app:1"}`.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(key, value)| format!("{}: {}", word(key), flow(value))).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::Array(list) => format!("[{}]", list.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A text, in quotes unless YAML reads it as the same text without them.
pub(super) fn word(text: &str) -> String {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    let begins = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
    let means_else =
        ["true", "false", "yes", "no", "on", "off", "null", "y", "n"].contains(&text.to_lowercase().as_str());
    if begins && text.chars().all(is_letter) && !means_else { text.to_owned() } else { quoted(text) }
}
