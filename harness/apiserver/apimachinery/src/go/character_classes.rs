//! Translates character classes and escapes of Go's regular expressions.

/// A character class in Rust's syntax.
pub(crate) struct CharacterClass {
    pub(crate) text: String,
}

fn invalid<T>(reason: &str, part: &str) -> Result<T, GoRegexpError> {
    Err(GoRegexpError::Invalid(format!("error parsing regexp: {reason}: `{part}`")))
}

/// Named ASCII classes, as in `\d` and `[:digit:]`.
fn ascii(name: &str) -> Option<&'static str> {
    Some(match name {
        "d" | "digit" => "0-9",
        "s" => r"\t\n\x0c\r ",
        "w" | "word" => "0-9A-Za-z_",
        "alnum" => "0-9A-Za-z",
        "alpha" => "A-Za-z",
        "ascii" => r"\x00-\x7f",
        "blank" => r"\t ",
        "cntrl" => r"\x00-\x1f\x7f",
        "graph" => r"\x21-\x7e",
        "lower" => "a-z",
        "print" => r"\x20-\x7e",
        "punct" => r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
        "space" => r"\x09-\x0d\x20",
        "upper" => "A-Z",
        "xdigit" => "0-9A-Fa-f",
        _ => return None,
    })
}

/// Parses `[a-z]` at the start of a text; returns the class and the rest.
pub(crate) fn bracketed(text: &str) -> Result<(CharacterClass, &str), GoRegexpError> {
    let mut rest = &text[1..];
    let mut class = String::from("[");
    if let Some(after) = rest.strip_prefix('^') {
        class.push('^');
        rest = after;
    }
    let mut first = true;
    while first || !rest.starts_with(']') {
        first = false;
        if let Some(end) = rest.strip_prefix("[:").and_then(|after| after.find(":]")) {
            let (name, expression) = (&rest[2..end + 2], &rest[..end + 4]);
            let (sign, plain) = name.strip_prefix('^').map_or(("", name), |name| ("^", name));
            let Some(range) = ascii(plain).filter(|_| plain.len() > 1) else {
                return invalid("invalid character class range", expression);
            };
            class += &format!("[{sign}{range}]");
            rest = &rest[end + 4..];
            continue;
        }
        if let Some((inner, after)) = escaped(rest)? {
            class += &inner.text;
            rest = after;
            continue;
        }
        let range = rest;
        let (low, after) = class_letter(rest, text)?;
        let mut high = low;
        rest = after;
        if rest.len() >= 2 && rest.starts_with('-') && !rest[1..].starts_with(']') {
            (high, rest) = class_letter(&rest[1..], text)?;
            if high < low {
                return invalid("invalid character class range", &range[..range.len() - rest.len()]);
            }
        }
        class += &format!("\\x{{{:x}}}-\\x{{{:x}}}", u32::from(low), u32::from(high));
    }
    class.push(']');
    Ok((CharacterClass { text: class }, &rest[1..]))
}

fn class_letter<'a>(text: &'a str, expression: &str) -> Result<(char, &'a str), GoRegexpError> {
    match text.chars().next() {
        None => invalid("missing closing ]", expression),
        Some('\\') => escaped_letter(text),
        Some(letter) => Ok((letter, &text[letter.len_utf8()..])),
    }
}

/// Parses `\d` or `\p{Greek}` at the start of a text.
pub(crate) fn escaped(text: &str) -> Result<Option<(CharacterClass, &str)>, GoRegexpError> {
    let Some(name) = text.strip_prefix('\\').and_then(|after| after.chars().next()) else { return Ok(None) };
    let after = &text[1 + name.len_utf8()..];
    if matches!(name, 'p' | 'P') {
        return unicode(text, name == 'P').map(Some);
    }
    let sign = if name.is_ascii_uppercase() { "^" } else { "" };
    let range = ascii(&name.to_ascii_lowercase().to_string());
    Ok(range.map(|range| (CharacterClass { text: format!("[{sign}{range}]") }, after)))
}

/// Parses `\pL` or `\p{Greek}`.
fn unicode(text: &str, mut negated: bool) -> Result<(CharacterClass, &str), GoRegexpError> {
    let Some(first) = text[2..].chars().next() else { return invalid("invalid character class range", text) };
    let (name, expression) = match first {
        '{' => match text.find('}') {
            Some(end) => (&text[3..end], &text[..=end]),
            None => return invalid("invalid character class range", text),
        },
        letter => (&text[2..2 + letter.len_utf8()], &text[..2 + letter.len_utf8()]),
    };
    let plain = name.strip_prefix('^').unwrap_or(name);
    negated ^= plain.len() != name.len();
    let category = plain.len() <= 2;
    let known = match plain.as_bytes() {
        [b'L' | b'M' | b'N' | b'P' | b'S' | b'Z'] => true,
        // The assigned code points differ between Unicode versions.
        [b'C'] | [b'C', b'n' | b's' | b'o'] => return Err(GoRegexpError::Unsupported),
        [first, second] => {
            first.is_ascii_uppercase() && second.is_ascii_lowercase() && "LMNPSZC".contains(char::from(*first))
        }
        [one] if !one.is_ascii_lowercase() => return invalid("invalid character class range", expression),
        _ => false,
    };
    if category && !known || !plain.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
        return Err(GoRegexpError::Unsupported);
    }
    let property = if category { plain.to_owned() } else { format!("Script={plain}") };
    let letter = if negated { 'P' } else { 'p' };
    Ok((CharacterClass { text: format!("\\{letter}{{{property}}}") }, &text[expression.len()..]))
}

/// Parses an escaped character; returns it and the rest.
pub(crate) fn escaped_letter(text: &str) -> Result<(char, &str), GoRegexpError> {
    let mut letters = text[1..].chars();
    let Some(first) = letters.next() else { return invalid("trailing backslash at end of expression", "") };
    let after = letters.as_str();
    let octal = |digits: &str| digits.bytes().take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let letter = |code: u32| char::from_u32(code).ok_or(GoRegexpError::Unsupported);
    let simple = match first {
        'a' => '\u{7}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '0'..='7' if first == '0' || octal(after) > 0 => {
            let digits = &text[1..2 + octal(after).min(2)];
            let code = u32::from_str_radix(digits, 8).unwrap_or_default();
            return Ok((letter(code)?, &text[1 + digits.len()..]));
        }
        'x' => return hexadecimal(text),
        other if other.is_ascii() && !other.is_ascii_alphanumeric() => other,
        _ => return invalid("invalid escape sequence", &text[..text.len() - after.len()]),
    };
    Ok((simple, after))
}

/// Parses `\x41` or `\x{41}`.
fn hexadecimal(text: &str) -> Result<(char, &str), GoRegexpError> {
    let digits = &text[2..];
    let wrong = |bytes: usize| invalid("invalid escape sequence", text.get(..bytes).unwrap_or(text));
    let letter = |code: u32| char::from_u32(code).ok_or(GoRegexpError::Unsupported);
    let Some(inner) = digits.strip_prefix('{') else {
        let mut all = digits.chars();
        let (high, low) = (all.next(), all.next());
        let bytes = text.len() - all.as_str().len();
        let code = |one: Option<char>| one.and_then(|one| one.to_digit(16));
        return match (code(high), code(low)) {
            (Some(high), Some(low)) => Ok((letter(high * 16 + low)?, all.as_str())),
            _ => wrong(bytes),
        };
    };
    let mut code = 0;
    for (at, one) in inner.char_indices() {
        let bytes = 3 + at + one.len_utf8();
        if one == '}' && at > 0 {
            return Ok((letter(code)?, &text[bytes..]));
        }
        match one.to_digit(16) {
            Some(digit) if code * 16 + digit <= 0x0010_ffff => code = code * 16 + digit,
            _ => return wrong(bytes),
        }
    }
    wrong(text.len())
}

/// Why a pattern cannot be used.
#[derive(Debug, PartialEq)]
pub enum GoRegexpError {
    /// Go rejects it with this message.
    Invalid(String),
    /// This server cannot evaluate it as Go does.
    Unsupported,
}
