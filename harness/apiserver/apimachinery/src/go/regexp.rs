//! Translates Go's regular expressions to Rust's, and rejects invalid ones with Go's messages.
//!
//! Upstream: Go's `regexp/syntax`, with the flags that `regexp.Compile` sets.

use regex::{Regex, RegexBuilder};

use crate::go::character_classes::{self, CharacterClass, GoRegexpError};

/// The size limit of a compiled expression.
const LARGEST: usize = 2 << 20;

/// Compiles a Go expression.
pub fn compile(text: &str) -> Result<Regex, GoRegexpError> {
    let translated = GoRegexParser::new(text).parse()?;
    RegexBuilder::new(&translated).size_limit(LARGEST).build().map_err(|_| GoRegexpError::Unsupported)
}

/// Go's error for an invalid expression.
fn invalid<T>(reason: &str, part: &str) -> Result<T, GoRegexpError> {
    Err(GoRegexpError::Invalid(format!("error parsing regexp: {reason}: `{part}`")))
}

/// The flags in effect until the end of a group.
#[derive(Debug, Clone, Copy, Default)]
struct RegexFlags {
    fold: bool,
    multi_line: bool,
    dot_all: bool,
}

/// A part of a translated expression.
struct TranslatedPart {
    text: String,
    /// The product of nested repetition counts.
    repeats: u64,
}

/// An open group, or the whole expression.
#[derive(Default)]
struct RegexGroup {
    /// The flags in effect after the group.
    flags: RegexFlags,
    alternatives: Vec<TranslatedPart>,
    parts: Vec<TranslatedPart>,
}

impl RegexGroup {
    /// Ends an alternative.
    fn bar(&mut self) {
        let parts = std::mem::take(&mut self.parts);
        let repeats = parts.iter().map(|part| part.repeats).max().unwrap_or(1);
        self.alternatives.push(TranslatedPart { text: parts.into_iter().map(|part| part.text).collect(), repeats });
    }

    fn close(mut self) -> TranslatedPart {
        self.bar();
        let repeats = self.alternatives.iter().map(|part| part.repeats).max().unwrap_or(1);
        let texts: Vec<String> = self.alternatives.into_iter().map(|part| part.text).collect();
        TranslatedPart { text: format!("(?:{})", texts.join("|")), repeats }
    }
}

struct GoRegexParser<'a> {
    expression: &'a str,
    rest: &'a str,
    flags: RegexFlags,
    open: Vec<RegexGroup>,
    top: RegexGroup,
}

impl<'a> GoRegexParser<'a> {
    fn new(expression: &'a str) -> Self {
        Self {
            expression,
            rest: expression,
            flags: RegexFlags::default(),
            open: Vec::new(),
            top: RegexGroup::default(),
        }
    }

    fn parse(mut self) -> Result<String, GoRegexpError> {
        // The text from the previous repetition operator on, if the last part was repeated.
        let mut last_repeat = "";
        while let Some(first) = self.rest.chars().next() {
            let before = self.rest;
            let mut repeat = "";
            match first {
                '(' if before.starts_with("(?") => self.perl_group()?,
                '(' => {
                    self.open_group();
                    self.rest = &before[1..];
                }
                '|' => {
                    self.top.bar();
                    self.rest = &before[1..];
                }
                ')' => self.close_group()?,
                '^' => self.push(if self.flags.multi_line { "(?m:^)" } else { r"\A" }, 1),
                '$' => self.push(if self.flags.multi_line { "(?m:$)" } else { r"\z" }, 1),
                '.' => self.push(if self.flags.dot_all { "(?s:.)" } else { r"[^\n]" }, 1),
                '[' => {
                    let (class, rest) = character_classes::bracketed(before)?;
                    self.push_class(&class);
                    self.rest = rest;
                }
                '*' | '+' | '?' => {
                    self.repeat(before, &before[1..], &before[..1], None, last_repeat)?;
                    repeat = before;
                }
                '{' => match bounds(before) {
                    None => self.push_literal('{', 1),
                    Some((least, most, after)) => {
                        let text = &before[..before.len() - after.len()];
                        let wrong = |number: i64| !(0..=1000).contains(&number);
                        if wrong(least) || most.is_some_and(|most| wrong(most) || least > most) {
                            return invalid("invalid repeat count", text);
                        }
                        self.repeat(before, after, text, Some((least, most)), last_repeat)?;
                        repeat = before;
                    }
                },
                '\\' => self.escape()?,
                letter => self.push_literal(letter, letter.len_utf8()),
            }
            last_repeat = repeat;
        }
        if !self.open.is_empty() {
            return invalid("missing closing )", self.expression);
        }
        Ok(self.top.close().text)
    }

    /// Appends a part and skips this many bytes.
    fn push(&mut self, text: &str, bytes: usize) {
        self.top.parts.push(TranslatedPart { text: text.to_owned(), repeats: 1 });
        self.rest = &self.rest[bytes..];
    }

    fn push_literal(&mut self, letter: char, bytes: usize) {
        let plain = format!("\\x{{{:x}}}", u32::from(letter));
        let text = if self.flags.fold { format!("(?i:{plain})") } else { plain };
        self.push(&text, bytes);
    }

    fn push_class(&mut self, class: &CharacterClass) {
        let text = if self.flags.fold { format!("(?i:{})", class.text) } else { class.text.clone() };
        self.push(&text, 0);
    }

    fn open_group(&mut self) {
        let group = RegexGroup { flags: self.flags, ..RegexGroup::default() };
        self.open.push(std::mem::replace(&mut self.top, group));
    }

    fn close_group(&mut self) -> Result<(), GoRegexpError> {
        let Some(outer) = self.open.pop() else { return invalid("unexpected )", self.expression) };
        let group = std::mem::replace(&mut self.top, outer);
        self.flags = group.flags;
        self.top.parts.push(group.close());
        self.rest = &self.rest[1..];
        Ok(())
    }

    /// Applies a repetition operator to the last part.
    fn repeat(
        &mut self,
        before: &str,
        after: &'a str,
        operator: &str,
        bounds: Option<(i64, Option<i64>)>,
        last_repeat: &str,
    ) -> Result<(), GoRegexpError> {
        let after = after.strip_prefix('?').unwrap_or(after);
        let text = &before[..before.len() - after.len()];
        if !last_repeat.is_empty() {
            return invalid("invalid nested repetition operator", &last_repeat[..last_repeat.len() - after.len()]);
        }
        let Some(part) = self.top.parts.pop() else {
            return invalid("missing argument to repetition operator", text);
        };
        let mut repeats = part.repeats;
        if let Some((least, most)) = bounds {
            let times = u64::try_from(most.unwrap_or(least)).unwrap_or_default();
            repeats = match (most, times) {
                (Some(0), _) => 1,
                (_, times) => repeats * times.max(1),
            };
            if times >= 2 && repeats > 1000 {
                return invalid("invalid repeat count", text);
            }
        }
        self.top.parts.push(TranslatedPart { text: format!("(?:{}){operator}", part.text), repeats });
        self.rest = after;
        Ok(())
    }

    /// Parses `(?i)`, `(?i:`, `(?P<name>` and similar groups.
    fn perl_group(&mut self) -> Result<(), GoRegexpError> {
        let text = self.rest;
        let named = ["(?P<", "(?<"].into_iter().find(|start| text.len() > start.len() && text.starts_with(start));
        if let Some(start) = named {
            let Some(end) = text.find('>') else { return invalid("invalid named capture", text) };
            let name = text.get(start.len()..end).unwrap_or_default();
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return invalid("invalid named capture", &text[..=end]);
            }
            self.open_group();
            self.rest = &text[end + 1..];
            return Ok(());
        }
        let (mut flags, mut sets, mut any) = (self.flags, true, false);
        for (at, letter) in text.char_indices().skip(2) {
            let after = at + letter.len_utf8();
            match letter {
                'i' => flags.fold = sets,
                'm' => flags.multi_line = sets,
                's' => flags.dot_all = sets,
                'U' => {}
                '-' if sets => {
                    (sets, any) = (false, false);
                    continue;
                }
                ':' | ')' if sets || any => {
                    if letter == ':' {
                        self.open_group();
                    }
                    self.flags = flags;
                    self.rest = &text[after..];
                    return Ok(());
                }
                _ => return invalid("invalid or unsupported Perl syntax", &text[..after]),
            }
            any = true;
        }
        invalid("invalid or unsupported Perl syntax", text)
    }

    fn escape(&mut self) -> Result<(), GoRegexpError> {
        let text = self.rest;
        match text[1..].chars().next() {
            Some('A') => self.push(r"\A", 2),
            Some('z') => self.push(r"\z", 2),
            Some('b') => self.push(r"(?-u:\b)", 2),
            // In Rust it could match within a letter.
            Some('B') => return Err(GoRegexpError::Unsupported),
            Some('C') => return invalid("invalid escape sequence", &text[..2]),
            Some('Q') => {
                let (literal, rest) = text[2..].split_once("\\E").unwrap_or((&text[2..], ""));
                literal.chars().for_each(|letter| self.push_literal(letter, 0));
                self.rest = rest;
            }
            _ => {
                if let Some((class, rest)) = character_classes::escaped(text)? {
                    self.push_class(&class);
                    self.rest = rest;
                } else {
                    let (letter, rest) = character_classes::escaped_letter(text)?;
                    self.push_literal(letter, text.len() - rest.len());
                }
            }
        }
        Ok(())
    }
}

/// The bounds of `{2,3}` and the rest of the text; a number that is too large is -1. `None` if the
/// text is not a repetition.
fn bounds(text: &str) -> Option<(i64, Option<i64>, &str)> {
    let (least, rest) = number(text.strip_prefix('{')?)?;
    if let Some(after) = rest.strip_prefix('}') {
        return Some((least, Some(least), after));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(after) = rest.strip_prefix('}') {
        return Some((least, None, after));
    }
    let (most, rest) = number(rest)?;
    Some((least, Some(most), rest.strip_prefix('}')?))
}

fn number(text: &str) -> Option<(i64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    if number.is_empty() || number.len() > 1 && number.starts_with('0') {
        return None;
    }
    Some((if digits > 9 { -1 } else { number.parse().ok()? }, rest))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::compile;
    use crate::go::character_classes::GoRegexpError;

    #[rstest]
    #[case("^a{0,1001}$", "invalid repeat count: `{0,1001}`")]
    #[case("(a{100}){11}", "invalid repeat count: `{11}`")]
    #[case("a**", "invalid nested repetition operator: `**`")]
    #[case("a*?+", "invalid nested repetition operator: `*?+`")]
    #[case("*a", "missing argument to repetition operator: `*`")]
    #[case("(|?)", "missing argument to repetition operator: `?`")]
    #[case("[a", "missing closing ]: `[a`")]
    #[case("(a", "missing closing ): `(a`")]
    #[case("a)", "unexpected ): `a)`")]
    #[case("a\\", "trailing backslash at end of expression: ``")]
    #[case("\\Z", "invalid escape sequence: `\\Z`")]
    #[case("\\C", "invalid escape sequence: `\\C`")]
    #[case("(a)\\1", "invalid escape sequence: `\\1`")]
    #[case("[z-a]", "invalid character class range: `z-a`")]
    #[case("[[:word]:]", "invalid character class range: `[:word]:]`")]
    #[case("\\pX", "invalid character class range: `\\pX`")]
    #[case("(?=a)", "invalid or unsupported Perl syntax: `(?=`")]
    #[case("(?!a)", "invalid or unsupported Perl syntax: `(?!`")]
    #[case("(?<=a)", "invalid named capture: `(?<=a)`")]
    #[case("(?P<a-b>x)", "invalid named capture: `(?P<a-b>`")]
    #[case("(?x)a", "invalid or unsupported Perl syntax: `(?x`")]
    fn rejects_pattern_with_the_message_of_go(#[case] text: &str, #[case] why: &str) {
        let why = format!("error parsing regexp: {why}");
        assert_eq!(compile(text).map(|_| ()), Err(GoRegexpError::Invalid(why)));
    }

    #[rstest]
    #[case(r"^\d+$", "١٢", false)]
    #[case(r"^\w+$", "é", false)]
    #[case(r"^\s$", "\u{b}", false)]
    #[case(r"^[[:space:]]$", "\u{b}", true)]
    #[case("^[a&&b]$", "&", true)]
    #[case("^[a-z--c]$", "-", true)]
    #[case("^[]a]$", "]", true)]
    #[case("^[^]a]$", "\n", true)]
    #[case(r"^\Qa.b\E+$", "a.bbb", true)]
    #[case(r"^a\/b$", "a/b", true)]
    #[case("^a{,2}$", "a{,2}", true)]
    #[case("^a{01}$", "a{01}", true)]
    #[case("a$", "a\n", false)]
    #[case("(?m)^a$", "b\na", true)]
    #[case(r"^\x{1F600}\101\x41$", "😀AA", true)]
    #[case("(?i)^k$", "\u{212a}", true)]
    #[case("^(?i:a)b$", "Ab", true)]
    #[case("^(a(?i))b$", "aB", false)]
    #[case(r"^\pL\p{Greek}\P{^N}$", "äλ1", true)]
    #[case(r"é\b", "é", false)]
    #[case("^(?<year>[0-9]{4})$", "2026", true)]
    fn matches_as_go_does(#[case] text: &str, #[case] value: &str, #[case] matches: bool) {
        assert_eq!(compile(text).expect("it is translated").is_match(value), matches);
    }

    #[rstest]
    #[case(r"a\Bb")]
    #[case(r"\p{C}")]
    #[case(r"[\x{d800}]")]
    #[case(r"\p{Nonsense}")]
    fn reports_untranslatable_pattern_as_unsupported(#[case] text: &str) {
        assert_eq!(compile(text).map(|_| ()), Err(GoRegexpError::Unsupported));
    }
}
