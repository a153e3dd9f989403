//! How a request is spelt: a body mostly as usual clients do, sometimes in another order, with
//! duplicate keys, or as invalid JSON.

use serde_json::Value;

use super::rng::Rng;

pub(crate) fn text(body: &Value, rng: &mut Rng) -> String {
    let text = if rng.percent(20) { with_reversed_keys(body) } else { body.to_string() };
    if rng.percent(5) {
        return with_duplicate_key(&text, rng);
    }
    if !rng.percent(4) {
        return text;
    }
    rng.one(&[
        String::new(),
        "{".to_owned(),
        "[]".to_owned(),
        "null".to_owned(),
        "7".to_owned(),
        "\"x\"".to_owned(),
        "{\"a\":}".to_owned(),
        text[..text.len() / 2].to_owned(),
        text.clone() + "}",
    ])
}

/// A query that says how fields that no type has are treated; mostly none.
pub(crate) fn validation(rng: &mut Rng) -> &'static str {
    let rare = rng.one(&["?fieldManager=parity", "?fieldValidation=Loose"]);
    rng.one(&["", "", "?fieldValidation=Strict", "?fieldValidation=Warn", "?fieldValidation=Ignore", rare])
}

/// The value with keys in reverse order.
fn with_reversed_keys(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .rev()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), with_reversed_keys(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(with_reversed_keys).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

/// The text with one key twice, of which the second counts: a string, number or boolean.
fn with_duplicate_key(text: &str, rng: &mut Rng) -> String {
    let mut members = Vec::new();
    for (at, _) in text.match_indices("\":") {
        let Some(from) = text[..at].rfind('"') else { continue };
        let before = text[..from].chars().next_back();
        let value = &text[at + 2..];
        let end = match value.chars().next() {
            Some('"') => value[1..].find('"').map(|end| end + 2),
            Some('{' | '[' | 'n') | None => None,
            Some(_) => value.find([',', '}', ']']),
        };
        if let (Some('{' | ','), Some(end)) = (before, end) {
            members.push((from, at, at + 2 + end));
        }
    }
    if members.is_empty() {
        return text.to_owned();
    }
    let (from, colon, end) = rng.one(&members);
    let (name, value) = (&text[from..=colon], &text[colon + 2..end]);
    if value.contains('\\') {
        return text.to_owned();
    }
    let other = match value.chars().next() {
        Some('"') if rng.percent(50) => "\"zz\"",
        Some('0'..='9') if rng.percent(50) => "3",
        _ => value,
    };
    format!("{}{name}:{other},{}", &text[..from], &text[from..])
}
