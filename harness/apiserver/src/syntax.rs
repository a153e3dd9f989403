//! Why a text is not JSON, in the words of Go's `encoding/json`.

use std::borrow::Cow;

/// How deep Go's decoder reads.
const DEEPEST: usize = 10_000;

/// Why a text is not JSON; `None` if it is.
pub(super) fn fault(text: &[u8]) -> Option<String> {
    let mut reader = Reader { text, at: 0 };
    match reader.value().and_then(|()| reader.end()) {
        Ok(()) => None,
        Err(End::Early) => Some("unexpected end of JSON input".to_owned()),
        Err(End::Odd(byte, place)) => Some(format!("invalid character {} {place}", quoted(byte))),
    }
}

/// Whether a JSON text has duplicate names: more names than the value that was read from it.
pub(super) fn repeats(text: &[u8], value: &serde_json::Value) -> bool {
    names(text) > members(value)
}

/// How deep the containers of a JSON text are nested.
pub(super) fn depth(text: &[u8]) -> usize {
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

/// Whether the containers of a value are nested deeper than this.
pub(super) fn is_deeper(value: &serde_json::Value, most: usize) -> bool {
    let below = |value: &serde_json::Value| is_deeper(value, most - 1);
    match value {
        serde_json::Value::Object(fields) => most == 0 || fields.values().any(below),
        serde_json::Value::Array(items) => most == 0 || items.iter().any(below),
        _ => false,
    }
}

/// How many names a JSON text has, which are as many as colons outside its strings.
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

/// Goes to the end of a string whose first quote has been read.
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

/// The name of a value's type in Go's messages.
pub(super) fn kind_of(value: &serde_json::Value) -> &'static str {
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
pub(super) fn base64_fault(text: &str) -> Option<usize> {
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

/// The same for the URL alphabet without padding.
pub(super) fn raw_base64_fault(text: &str) -> Option<usize> {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let digits = text.bytes().take_while(|byte| is_digit(byte)).count();
    match (digits == text.len(), digits % 4) {
        (false, _) => Some(digits),
        (true, 1) => Some(digits / 4 * 4),
        _ => None,
    }
}

enum End {
    Early,
    Odd(u8, Cow<'static, str>),
}

fn odd(byte: u8, place: &'static str) -> End {
    End::Odd(byte, place.into())
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Result<u8, End> {
        self.text.get(self.at).copied().ok_or(End::Early)
    }

    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn end(&mut self) -> Result<(), End> {
        self.space();
        match self.text.get(self.at) {
            None => Ok(()),
            Some(byte) => Err(odd(*byte, "after top-level value")),
        }
    }

    /// Reads one value. The containers that it is in are a list of their closing brackets, so that
    /// deep nesting takes no stack.
    fn value(&mut self) -> Result<(), End> {
        let mut open = Vec::new();
        loop {
            self.space();
            match self.peek()? {
                bracket @ (b'{' | b'[') => {
                    open.push(if bracket == b'{' { b'}' } else { b']' });
                    if open.len() > DEEPEST {
                        return Err(odd(bracket, "exceeded max depth"));
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
                other => return Err(odd(other, "looking for beginning of value")),
            }
            if !self.next(&mut open)? {
                return Ok(());
            }
        }
    }

    /// Goes on after a value: closes the containers that end here. Whether another value follows.
    fn next(&mut self, open: &mut Vec<u8>) -> Result<bool, End> {
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
                (other, b'}') => return Err(odd(other, "after object key:value pair")),
                (other, _) => return Err(odd(other, "after array element")),
            }
        }
        Ok(false)
    }

    /// Reads the key of an object's member, and the colon.
    fn key(&mut self) -> Result<(), End> {
        self.space();
        match self.peek()? {
            b'"' => self.string()?,
            other => return Err(odd(other, "looking for beginning of object key string")),
        }
        self.space();
        match self.peek()? {
            b':' => self.at += 1,
            other => return Err(odd(other, "after object key")),
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), End> {
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
                byte => return Err(odd(byte, "in string literal")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), End> {
        self.at += 1;
        match self.or_space() {
            b'u' => {
                self.at += 1;
                for _ in 0..4 {
                    match self.or_space() {
                        byte if byte.is_ascii_hexdigit() => self.at += 1,
                        byte => return Err(odd(byte, "in \\u hexadecimal character escape")),
                    }
                }
            }
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            byte => return Err(odd(byte, "in string escape code")),
        }
        Ok(())
    }

    /// The next byte. At the end of the text Go's decoder looks whether a space could stand there.
    fn or_space(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(b' ')
    }

    fn digits(&mut self, place: &'static str) -> Result<(), End> {
        match self.or_space() {
            byte if byte.is_ascii_digit() => {}
            byte => return Err(odd(byte, place)),
        }
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), End> {
        if self.text[self.at] == b'-' {
            self.at += 1;
        }
        match self.or_space() {
            // No digit may follow a zero.
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

    fn literal(&mut self, word: &'static [u8]) -> Result<(), End> {
        for wanted in word {
            match self.or_space() {
                byte if byte == *wanted => self.at += 1,
                byte => {
                    let word = String::from_utf8_lossy(word);
                    let place = format!("in literal {word} (expecting {})", quoted(*wanted));
                    return Err(End::Odd(byte, place.into()));
                }
            }
        }
        Ok(())
    }
}

fn quoted(byte: u8) -> String {
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
    fn faults(#[case] text: &str, #[case] wanted: Option<&str>) {
        assert_eq!(fault(text.as_bytes()).as_deref(), wanted);
    }

    /// Ten thousand are read on a small stack, and the message is Go's.
    #[rstest]
    #[case::lists("[", "]", '[')]
    #[case::objects("{\"a\":", "}", '{')]
    fn counts_depth(#[case] open: &str, #[case] close: &str, #[case] bracket: char) {
        let nested = |depth: usize| open.repeat(depth) + "1" + &close.repeat(depth);
        assert_eq!(fault(nested(10_000).as_bytes()), None);
        let message = format!("invalid character '{bracket}' exceeded max depth");
        assert_eq!(fault(nested(10_001).as_bytes()), Some(message.clone()));
        assert_eq!(fault(open.repeat(1_000_000).as_bytes()), Some(message));
        assert_eq!(depth(nested(10_001).as_bytes()), 10_001);
        assert_eq!(depth(br#"{"a": ["[[\"[", {}], "b": {}}"#), 3);
    }

    #[rstest]
    #[case::none(r#"{"a": {"b": [{"c": 1}, {"c": 2}]}, "b": ":"}"#, false)]
    #[case::in_a_string(r#"{"a\\": "{\"a\": 1, \"a\": 2}", "b": "\\"}"#, false)]
    #[case::below(r#"{"a": [{"b": 1, "c:": 2, "b": 3}]}"#, true)]
    #[case::written_otherwise(r#"{"a": 1, "\u0061": 2}"#, true)]
    fn names_that_are_repeated(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(repeats(text.as_bytes(), &serde_json::from_str(text).unwrap()), expected);
    }

    #[rstest]
    #[case("aGk=", None)]
    #[case("not base64!", Some(3))]
    #[case("bogus", Some(4))]
    fn base64(#[case] text: &str, #[case] wanted: Option<usize>) {
        assert_eq!(base64_fault(text), wanted);
    }
}
