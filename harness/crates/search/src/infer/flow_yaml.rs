//! Values as YAML on one line.

use serde_json::Value;

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

/// A text in quotes.
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
