//! A body as text: mostly as any client writes it, now and then otherwise, twice over, or no JSON.

use serde_json::Value;

use super::lots::Lots;

/// The body's text.
pub(crate) fn text(body: &Value, lots: &mut Lots) -> String {
    let text = if lots.percent(20) { backwards(body) } else { body.to_string() };
    if lots.percent(5) {
        return twice(&text, lots);
    }
    if !lots.percent(4) {
        return text;
    }
    lots.one(&[
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

/// With the names in the other order than that of letters.
fn backwards(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields =
                fields.iter().rev().map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), backwards(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(backwards).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

/// With one name there twice, of which the second counts: a text, a number or a truth.
fn twice(text: &str, lots: &mut Lots) -> String {
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
    let (from, colon, end) = lots.one(&members);
    let (name, value) = (&text[from..=colon], &text[colon + 2..end]);
    if value.contains('\\') {
        return text.to_owned();
    }
    let other = match value.chars().next() {
        Some('"') if lots.percent(50) => "\"zz\"",
        Some('0'..='9') if lots.percent(50) => "3",
        _ => value,
    };
    format!("{}{name}:{other},{}", &text[..from], &text[from..])
}
