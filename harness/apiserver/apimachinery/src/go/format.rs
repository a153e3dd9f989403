//! Formats values as Go does: `%v`, `%#v`, `%T`, `%q` and `encoding/json`.

use std::fmt::Write;

use serde_json::Value;

/// A value in a field error. Upstream: `field.Error.ErrorBody`.
pub(crate) fn bad_value(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| float(number.as_f64().unwrap_or_default()), |n| n.to_string())
        }
        other => json(other),
    }
}

/// A float as `%v` prints it.
pub fn float(value: f64) -> String {
    with_exponent(value, |exponent| !(-4..=5).contains(&exponent))
}

/// A float in JSON, where one-digit exponents have no leading zero.
fn json_float(value: f64) -> String {
    let text = with_exponent(value, |exponent| !(-6..21).contains(&exponent));
    match text.split_once("e-0") {
        Some((digits, exponent)) => format!("{digits}e-{exponent}"),
        None => text,
    }
}

/// The shortest representation of a float; `uses_exponent` decides about the exponent.
fn with_exponent(value: f64, uses_exponent: fn(i32) -> bool) -> String {
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if value == 0.0 || !value.is_finite() || !uses_exponent(exponent) {
        return format!("{value}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A value as `%v` prints it.
pub fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => float(number.as_f64().unwrap_or_default()),
        Value::Array(items) => format!("[{}]", items.iter().map(printed).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}:{}", printed(value)));
            format!("map[{}]", fields.collect::<Vec<_>>().join(" "))
        }
        other => other.to_string(),
    }
}

/// A value as `%#v` prints it.
pub fn syntax(value: &Value) -> String {
    let inside = |all: Vec<String>| format!("{}{{{}}}", type_name(value), all.join(", "));
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => quote(text),
        Value::Array(items) => inside(items.iter().map(syntax).collect()),
        Value::Object(fields) => {
            inside(fields.iter().map(|(name, value)| format!("{}:{}", quote(name), syntax(value))).collect())
        }
        other => printed(other),
    }
}

/// The type of a value, as `%T` prints it.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A string as `%q` prints it.
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\u{7}' => quoted += "\\a",
            '\u{8}' => quoted += "\\b",
            '\u{c}' => quoted += "\\f",
            '\n' => quoted += "\\n",
            '\r' => quoted += "\\r",
            '\t' => quoted += "\\t",
            '\u{b}' => quoted += "\\v",
            _ if is_printable(letter) => quoted.push(letter),
            _ => {
                let code = u32::from(letter);
                let _ = match code {
                    0..=0x7f => write!(quoted, "\\x{code:02x}"),
                    0x80..=0xffff => write!(quoted, "\\u{code:04x}"),
                    _ => write!(quoted, "\\U{code:08x}"),
                };
            }
        }
    }
    quoted.push('"');
    quoted
}

/// Upstream: `unicode.IsPrint`, for assigned code points.
pub fn is_printable(letter: char) -> bool {
    let hidden = matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e000}'..='\u{f8ff}' | '\u{fff9}'..='\u{fffb}' | '\u{f0000}'..);
    !letter.is_control() && (letter == ' ' || !letter.is_whitespace()) && !hidden
}

/// A value as JSON.
pub fn json(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => json_float(number.as_f64().unwrap_or_default()),
        Value::String(text) => json_text(text),
        Value::Array(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{}:{}", json_text(name), json(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// A string as JSON, with HTML characters escaped.
pub fn json_text(text: &str) -> String {
    let mut plain = Value::from(text).to_string();
    for (letter, escape) in
        [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")]
    {
        if plain.contains(letter) {
            plain = plain.replace(letter, escape);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::{bad_value, json as go_json};

    #[rstest]
    #[case(json!(1e30), "1e+30")]
    #[case(json!(0.00001), "1e-05")]
    #[case(json!(1.5), "1.5")]
    #[case(json!(100000.0), "100000")]
    #[case(json!(1000000.0), "1e+06")]
    #[case(json!(2147483648.5), "2.1474836485e+09")]
    #[case(json!("a<\"b\"\u{1}é"), "\"a<\\\"b\\\"\\x01é\"")]
    #[case(json!({"a": "x<y", "b": [1, 1e-7]}), "{\"a\":\"x\\u003cy\",\"b\":[1,1e-7]}")]
    fn prints_values_as_go_does(#[case] value: serde_json::Value, #[case] printed: &str) {
        assert_eq!(bad_value(&value), printed);
    }

    #[test]
    fn prints_whole_floats_in_json_without_a_fraction() {
        assert_eq!(go_json(&json!([2.0, 1e21])), "[2,1e+21]");
    }
}
