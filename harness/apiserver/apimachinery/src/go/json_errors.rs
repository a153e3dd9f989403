//! Reports why a text is not JSON, with the messages of Go's `encoding/json`.

use std::borrow::Cow;

/// The maximum depth of Go's decoder.
const MAX_DEPTH: usize = 10_000;

/// Why a text is not JSON; `None` if it is.
pub fn syntax_error(text: &[u8]) -> Option<String> {
    let mut reader = JsonScanner { text, at: 0 };
    match reader.value().and_then(|()| reader.end()) {
        Ok(()) => None,
        Err(SyntaxError::UnexpectedEnd) => Some("unexpected end of JSON input".to_owned()),
        Err(SyntaxError::UnexpectedByte(byte, place)) => {
            Some(format!("invalid character {} {place}", quote_byte(byte)))
        }
    }
}

/// Whether a JSON text has duplicate names: it has more names than its parsed value.
pub fn has_duplicate_names(text: &[u8], value: &serde_json::Value) -> bool {
    names(text) > members(value)
}

/// The depth of the containers of a JSON text.
pub fn depth(text: &[u8]) -> usize {
    let (mut bytes, mut depth, mut deepest) = (text.iter(), 0_usize, 0);
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    deepest
}

/// Whether the containers of a value are nested deeper than `most`.
pub fn is_deeper(value: &serde_json::Value, most: usize) -> bool {
    let below = |value: &serde_json::Value| is_deeper(value, most - 1);
    match value {
        serde_json::Value::Object(fields) => most == 0 || fields.values().any(below),
        serde_json::Value::Array(items) => most == 0 || items.iter().any(below),
        _ => false,
    }
}

/// The number of names in a JSON text, which equals the number of colons outside of strings.
fn names(text: &[u8]) -> usize {
    let (mut bytes, mut names) = (text.iter(), 0);
    while let Some(byte) = bytes.next() {
        match byte {
            b':' => names += 1,
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    names
}

/// Skips a string whose first quote has been read.
fn skip_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(b'\\') = bytes.find(|byte| matches!(byte, b'"' | b'\\')) {
        bytes.next();
    }
}

fn members(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Object(fields) => fields.values().map(|value| 1 + members(value)).sum(),
        serde_json::Value::Array(items) => items.iter().map(members).sum(),
        _ => 0,
    }
}

/// The type name of a value in Go's messages.
pub fn go_type_name(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "bool",
        serde_json::Value::Number(_) => "number",
        serde_json::Value::String(_) => "string",
        serde_json::Value::Array(_) => "array",
        serde_json::Value::Object(_) => "object",
    }
}

/// The position of the first byte that is not base64, if any.
pub(crate) fn base64_error(text: &str) -> Option<usize> {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let digits = text.bytes().take_while(|byte| is_digit(byte)).count();
    let padding = text.bytes().skip(digits).take_while(|byte| *byte == b'=').count();
    if digits + padding < text.len() {
        return Some(digits + padding);
    }
    match (digits % 4, padding) {
        (0, 0) | (2, 2) | (3, 1) => None,
        (_, 0) => Some(text.len() / 4 * 4),
        _ => Some(digits),
    }
}

/// The position of the first byte that is not unpadded URL-safe base64, if any.
pub fn raw_base64_error(text: &str) -> Option<usize> {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let digits = text.bytes().take_while(|byte| is_digit(byte)).count();
    match (digits == text.len(), digits % 4) {
        (false, _) => Some(digits),
        (true, 1) => Some(digits / 4 * 4),
        _ => None,
    }
}

enum SyntaxError {
    UnexpectedEnd,
    UnexpectedByte(u8, Cow<'static, str>),
}

fn unexpected_byte(byte: u8, place: &'static str) -> SyntaxError {
    SyntaxError::UnexpectedByte(byte, place.into())
}

struct JsonScanner<'a> {
    text: &'a [u8],
    at: usize,
}

impl JsonScanner<'_> {
    fn peek(&self) -> Result<u8, SyntaxError> {
        self.text.get(self.at).copied().ok_or(SyntaxError::UnexpectedEnd)
    }

    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn end(&mut self) -> Result<(), SyntaxError> {
        self.space();
        match self.text.get(self.at) {
            None => Ok(()),
            Some(byte) => Err(unexpected_byte(*byte, "after top-level value")),
        }
    }

    /// Reads one value. The open containers are a list of their closing brackets, so that deep
    /// nesting does not use the stack.
    fn value(&mut self) -> Result<(), SyntaxError> {
        let mut open = Vec::new();
        loop {
            self.space();
            match self.peek()? {
                bracket @ (b'{' | b'[') => {
                    open.push(if bracket == b'{' { b'}' } else { b']' });
                    if open.len() > MAX_DEPTH {
                        return Err(unexpected_byte(bracket, "exceeded max depth"));
                    }
                    self.at += 1;
                    self.space();
                    if self.peek()? == open[open.len() - 1] {
                        self.at += 1;
                        open.pop();
                    } else if bracket == b'{' {
                        self.key()?;
                        continue;
                    } else {
                        continue;
                    }
                }
                b'"' => self.string()?,
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                other => return Err(unexpected_byte(other, "looking for beginning of value")),
            }
            if !self.next(&mut open)? {
                return Ok(());
            }
        }
    }

    /// Continues after a value and closes the containers that end here; returns whether another
    /// value follows.
    fn next(&mut self, open: &mut Vec<u8>) -> Result<bool, SyntaxError> {
        while let Some(closing) = open.last() {
            self.space();
            match (self.peek()?, closing) {
                (b',', b'}') => {
                    self.at += 1;
                    self.key()?;
                    return Ok(true);
                }
                (b',', _) => {
                    self.at += 1;
                    return Ok(true);
                }
                (byte, closing) if byte == *closing => {
                    self.at += 1;
                    open.pop();
                }
                (other, b'}') => return Err(unexpected_byte(other, "after object key:value pair")),
                (other, _) => return Err(unexpected_byte(other, "after array element")),
            }
        }
        Ok(false)
    }

    /// Reads the key of a member, and the colon.
    fn key(&mut self) -> Result<(), SyntaxError> {
        self.space();
        match self.peek()? {
            b'"' => self.string()?,
            other => return Err(unexpected_byte(other, "looking for beginning of object key string")),
        }
        self.space();
        match self.peek()? {
            b':' => self.at += 1,
            other => return Err(unexpected_byte(other, "after object key")),
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), SyntaxError> {
        self.at += 1;
        loop {
            let is_plain = |byte: &&u8| !matches!(**byte, b'"' | b'\\' | 0..b' ');
            self.at += self.text[self.at..].iter().take_while(is_plain).count();
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.escape()?,
                byte => return Err(unexpected_byte(byte, "in string literal")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        self.at += 1;
        match self.or_space() {
            b'u' => {
                self.at += 1;
                for _ in 0..4 {
                    match self.or_space() {
                        byte if byte.is_ascii_hexdigit() => self.at += 1,
                        byte => return Err(unexpected_byte(byte, "in \\u hexadecimal character escape")),
                    }
                }
            }
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            byte => return Err(unexpected_byte(byte, "in string escape code")),
        }
        Ok(())
    }

    /// The next byte. At the end of the text Go's decoder checks whether a space could follow.
    fn or_space(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b' ')
    }

    fn digits(&mut self, place: &'static str) -> Result<(), SyntaxError> {
        match self.or_space() {
            byte if byte.is_ascii_digit() => {}
            byte => return Err(unexpected_byte(byte, place)),
        }
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        if self.text[self.at] == b'-' {
            self.at += 1;
        }
        match self.or_space() {
            // No digit may follow a leading zero.
            b'0' => self.at += 1,
            _ => self.digits("in numeric literal")?,
        }
        if self.or_space() == b'.' {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.or_space(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.or_space(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn literal(&mut self, word: &'static [u8]) -> Result<(), SyntaxError> {
        for expected in word {
            match self.or_space() {
                byte if byte == *expected => self.at += 1,
                byte => {
                    let word = String::from_utf8_lossy(word);
                    let place = format!("in literal {word} (expecting {})", quote_byte(*expected));
                    return Err(SyntaxError::UnexpectedByte(byte, place.into()));
                }
            }
        }
        Ok(())
    }
}

fn quote_byte(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        byte => format!("'{}'", char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("{}", None)]
    #[case(" {\"a\": [1, null, \"x\"]}\n", None)]
    #[case("", Some("unexpected end of JSON input"))]
    #[case("{\"a\"", Some("unexpected end of JSON input"))]
    #[case("{\"a\":}", Some("invalid character '}' looking for beginning of value"))]
    #[case("{}}", Some("invalid character '}' after top-level value"))]
    #[case("{a}", Some("invalid character 'a' looking for beginning of object key string"))]
    #[case("{\"a\":-", Some("invalid character ' ' in numeric literal"))]
    #[case("[1 2]", Some("invalid character '2' after array element"))]
    #[case("[01]", Some("invalid character '1' after array element"))]
    #[case("{\"a\":tru", Some("invalid character ' ' in literal true (expecting 'e')"))]
    #[case("[nul]", Some("invalid character ']' in literal null (expecting 'l')"))]
    #[case("[0.", Some("invalid character ' ' after decimal point in numeric literal"))]
    #[case("[1e+", Some("invalid character ' ' in exponent of numeric literal"))]
    #[case("[-1.5e3, 0]", None)]
    #[case("[\"a\\", Some("invalid character ' ' in string escape code"))]
    #[case("[\"\\u00", Some("invalid character ' ' in \\u hexadecimal character escape"))]
    #[case("[\"\\u00e9\\n\"]", None)]
    fn reports_syntax_errors_as_go_does(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(syntax_error(text.as_bytes()).as_deref(), expected);
    }

    /// Ten thousand levels fit on a small stack, and the message is Go's.
    #[rstest]
    #[case::lists("[", "]", '[')]
    #[case::objects("{\"a\":", "}", '{')]
    fn limits_nesting_depth_as_go_does(#[case] open: &str, #[case] close: &str, #[case] bracket: char) {
        let nested = |depth: usize| open.repeat(depth) + "1" + &close.repeat(depth);
        assert_eq!(syntax_error(nested(10_000).as_bytes()), None);
        let message = format!("invalid character '{bracket}' exceeded max depth");
        assert_eq!(syntax_error(nested(10_001).as_bytes()), Some(message.clone()));
        assert_eq!(syntax_error(open.repeat(1_000_000).as_bytes()), Some(message));
        assert_eq!(depth(nested(10_001).as_bytes()), 10_001);
        assert_eq!(depth(br#"{"a": ["[[\"[", {}], "b": {}}"#), 3);
    }

    #[rstest]
    #[case::none(r#"{"a": {"b": [{"c": 1}, {"c": 2}]}, "b": ":"}"#, false)]
    #[case::in_a_string(r#"{"a\\": "{\"a\": 1, \"a\": 2}", "b": "\\"}"#, false)]
    #[case::below(r#"{"a": [{"b": 1, "c:": 2, "b": 3}]}"#, true)]
    #[case::written_otherwise(r#"{"a": 1, "\u0061": 2}"#, true)]
    fn detects_duplicate_names(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(has_duplicate_names(text.as_bytes(), &serde_json::from_str(text).unwrap()), expected);
    }

    #[rstest]
    #[case("aGk=", None)]
    #[case("not base64!", Some(3))]
    #[case("bogus", Some(4))]
    fn finds_first_invalid_base64_byte(#[case] text: &str, #[case] expected: Option<usize>) {
        assert_eq!(base64_error(text), expected);
    }
}
