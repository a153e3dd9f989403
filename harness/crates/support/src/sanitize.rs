//! Makes untrusted text safe to display: text of a recording, a case file or a subject reaches a
//! terminal, an annotation or a page without being interpreted there. [`quote`] makes a word safe
//! for a shell, in commands that a user may copy.
//!
//! ```text
//! subject, recording, case file ──► sanitize::line, sanitize::text ──► terminal, job log, report
//! ```
//!
//! A terminal interprets control characters, a reader is misled by characters that reorder text,
//! and a job of GitHub Actions interprets a line of standard output that begins with `::command::`
//! or contains `##[`. All of them are replaced by visible escapes (`\x1b`, `\u{202e}`,
//! `\x3a:error::`). Of a very long line, such as an annotation of 256 KiB, only the beginning and
//! the end are shown. Everything else is unchanged, and checking plain text costs one look at each
//! character. `report::page` escapes HTML; JSON has its own rules.
//!
//! Boundaries: what is *stored* (an object of a recording, a subject's log) is unchanged; only what
//! is displayed is sanitised.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

/// The length in characters from which a line is shortened.
const LONGEST: usize = 1_000;
/// The number of characters that are shown at its beginning and at its end.
const VISIBLE_ENDS: [usize; 2] = [250, 100];

/// Sanitises a single line: line breaks and tabs are escaped too.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    sanitize(text, false)
}

/// Sanitises several lines: line breaks and tabs are kept, `\r\n` becomes `\n`.
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    sanitize(text, true)
}

/// Sanitises a stored text as a single line, in place.
pub fn sanitize_line(text: &mut String) {
    if let Cow::Owned(plain) = line(text) {
        *text = plain;
    }
}

/// Sanitises a stored text line by line, in place.
pub fn sanitize_lines(lines: &mut String) {
    if let Cow::Owned(plain) = text(lines) {
        *lines = plain;
    }
}

/// Whether a text needs no change to be shown on one line.
pub fn is_one_line(text: &str) -> bool {
    matches!(line(text), Cow::Borrowed(_))
}

/// Sanitises several lines of any length, keeping the styles of `report` and `annotate-snippets` if
/// wanted.
#[must_use]
pub fn for_terminal(text: &str, styles: impl FnOnce() -> bool) -> Cow<'_, str> {
    let plain = escape(text, true);
    if matches!(plain, Cow::Borrowed(_)) || !text.contains('\u{1b}') || !styles() {
        return plain;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, style)) = next_style(rest) {
        out.push_str(&escape(before, true));
        out.push_str(style);
        rest = &rest[before.len() + style.len()..];
    }
    out.push_str(&escape(rest, true));
    Cow::Owned(out)
}

/// The text before the first style that the harness itself uses, and that style.
fn next_style(text: &str) -> Option<(&str, &str)> {
    text.match_indices("\u{1b}[").find_map(|(at, begin)| {
        let codes = &text[at + begin.len()..];
        let codes = &codes[..codes.find('m')?];
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_colour = |code: &str| code.len() == 2 && code.starts_with(['3', '9']) && is_number(code);
        // Hidden text (8) is not among them.
        let is_style = matches!(codes, "" | "0" | "1" | "2" | "3" | "4")
            || is_colour(codes)
            || codes.strip_prefix("38;5;").is_some_and(is_number);
        is_style.then(|| (&text[..at], &text[at..at + begin.len() + codes.len() + 1]))
    })
}

/// Sanitises every text of a JSON value, including keys: as single lines, except for the values of
/// these keys.
pub fn sanitize_json(value: &mut Value, multiline_keys: &[&str]) {
    fn walk(value: &mut Value, lines: bool, multiline_keys: &[&str]) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(plain) = escape(text, lines) {
                    *text = plain;
                }
            }
            Value::Array(all) => all.iter_mut().for_each(|one| walk(one, lines, multiline_keys)),
            Value::Object(all) => {
                *all = std::mem::take(all)
                    .into_iter()
                    .map(|(key, mut value)| {
                        walk(&mut value, multiline_keys.contains(&key.as_str()), multiline_keys);
                        (escape(&key, false).into_owned(), value)
                    })
                    .collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    walk(value, false, multiline_keys);
}

/// JSON that neither a terminal nor a job interprets: control characters and `##[` in strings are
/// written as JSON escapes.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unprintable) && !text.contains("##[") {
        return Cow::Borrowed(text);
    }
    // It occurs in strings only, not in JSON's syntax.
    let text = text.replace("##[", "#\\u0023[");
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => out.push(letter),
            // All of them are in the Basic Multilingual Plane, so one escape suffices.
            letter if is_unprintable(letter) => drop(write!(out, "\\u{:04x}", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    Cow::Owned(out)
}

/// A line, or its beginning and end if it is too long.
#[must_use]
pub fn shorten(line: &str) -> Cow<'_, str> {
    truncate_middle(line, LONGEST)
}

/// A text, or its beginning and end if it has more characters than this.
pub fn truncate_middle(text: &str, longest: usize) -> Cow<'_, str> {
    // A character takes at least one byte.
    let letters = if text.len() > longest { text.chars().count() } else { 0 };
    if letters <= longest {
        return Cow::Borrowed(text);
    }
    let shown = VISIBLE_ENDS.map(|shown| shown.min(longest / 4));
    let begin: String = text.chars().take(shown[0]).collect();
    let end: String = text.chars().skip(letters - shown[1]).collect();
    let left_out = letters - shown[0] - shown[1];
    Cow::Owned(format!("{begin}…({left_out} more letters)…{end}"))
}

fn sanitize(text: &str, lines: bool) -> Cow<'_, str> {
    let escaped = escape(text, lines);
    let is_long = |line: &str| matches!(shorten(line), Cow::Owned(_));
    match lines {
        true if escaped.split('\n').any(is_long) => {
            Cow::Owned(escaped.split('\n').map(shorten).collect::<Vec<_>>().join("\n"))
        }
        false if is_long(&escaped) => Cow::Owned(shorten(&escaped).into_owned()),
        _ => escaped,
    }
}

/// Replaces active characters by escapes.
fn escape(text: &str, lines: bool) -> Cow<'_, str> {
    let is_plain = |letter: char| !is_unprintable(letter) || lines && matches!(letter, '\n' | '\t');
    if text.chars().all(is_plain) && !text.contains("##[") && !text.lines().any(is_command) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let text = if lines { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push_str(if lines { "\n" } else { "\\n" });
        }
        // On a single line only its beginning can be a command.
        escape_line(line, lines, lines || number == 0, &mut out);
    }
    Cow::Owned(out)
}

fn escape_line(line: &str, tabs: bool, first: bool, out: &mut String) {
    let line = line.replace("##[", "#\\x23[");
    let line = match line.split_once("::").filter(|_| first && is_command(&line)) {
        Some((blanks, rest)) => Cow::Owned(format!("{blanks}\\x3a:{rest}")),
        None => Cow::Borrowed(line.as_str()),
    };
    for letter in line.chars() {
        match letter {
            '\t' if tabs => out.push(letter),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            letter if !is_unprintable(letter) => out.push(letter),
            letter if u32::from(letter) < 0x100 => drop(write!(out, "\\x{:02x}", u32::from(letter))),
            letter => drop(write!(out, "\\u{{{:x}}}", u32::from(letter))),
        }
    }
}

/// Whether a job of GitHub Actions interprets a line as a command: `::name …::…`, with or without
/// leading blanks.
fn is_command(line: &str) -> bool {
    // Skip characters that will be escaped, too: the job trims more than blanks.
    let begins = line.trim_start_matches(|letter: char| letter.is_whitespace() || is_unprintable(letter));
    begins.strip_prefix("::").is_some_and(|rest| rest.contains("::"))
}

/// Whether a character is not visible text: control characters, line separators, and characters
/// that change the direction of text.
pub fn is_unprintable(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || letter == '\u{feff}'
}

/// Quotes a word for a shell.
pub fn quote(word: &str) -> String {
    // A command line cannot contain NUL, so quoting does not fail.
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("rs1 3 -> 2", "rs1 3 -> 2")]
    #[case("\u{1b}[31mred\u{7}", "\\x1b[31mred\\x07")]
    #[case("\u{9b}2J\u{7f}", "\\x9b2J\\x7f")]
    #[case("a\u{202e}b", "a\\u{202e}b")]
    #[case("one\ttwo\r\n::error::three", "one\\ttwo\\r\\n::error::three")]
    #[case("::error file=a::b", "\\x3a:error file=a::b")]
    #[case(" \t::error::b", " \\t\\x3a:error::b")]
    #[case("\u{1b}::error::b", "\\x1b\\x3a:error::b")]
    #[case("::1 refused", "::1 refused")]
    #[case("a ##[error]b", "a #\\x23[error]b")]
    #[case("größer ×10 → 是", "größer ×10 → 是")]
    fn sanitizes_one_line(#[case] input: &str, #[case] expected: &str) {
        assert_eq!(line(input), expected);
    }

    #[rstest]
    #[case("one\n\ttwo\n", "one\n\ttwo\n")]
    #[case("one\r\ntwo\rthree", "one\ntwo\\rthree")]
    #[case("one\n  ::add-mask::x\n::group::y", "one\n  \\x3a:add-mask::x\n\\x3a:group::y")]
    #[case("\u{1b}[2K\n\u{2028}", "\\x1b[2K\n\\u{2028}")]
    fn sanitizes_several_lines(#[case] input: &str, #[case] expected: &str) {
        assert_eq!(text(input), expected);
    }

    #[test]
    fn json_keeps_its_value_without_control_characters() {
        let value = serde_json::json!({"a": "\u{1b}\u{9b}\u{202e}\u{7f}", "##[error]": "###[error] \\##["});
        let written = value.to_string();
        assert!(!json(&written).chars().any(is_unprintable) && !json(&written).contains("##["));
        assert_eq!(serde_json::from_str::<Value>(&json(&written)).unwrap(), value);
    }

    #[rstest]
    #[case("\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m: a\n\tb", "\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m: a\n\tb")]
    #[case(
        "\u{1b}[32mgood\u{1b}[0m \u{1b}[2J\u{1b}]0;title\u{7}",
        "\u{1b}[32mgood\u{1b}[0m \\x1b[2J\\x1b]0;title\\x07"
    )]
    #[case("\u{1b}[8mhidden\u{1b}[38;5;m", "\\x1b[8mhidden\\x1b[38;5;m")]
    #[case("\u{1b}[1m::error::a", "\u{1b}[1m\\x3a:error::a")]
    fn own_styles_are_kept_for_a_terminal(#[case] input: &str, #[case] terminal: &str) {
        assert_eq!(for_terminal(input, || true), terminal);
        let file = for_terminal(input, || false);
        assert!(!file.contains('\u{1b}'), "{file}");
    }

    #[test]
    fn sanitizes_texts_of_json() {
        let mut value = serde_json::json!({"\u{1b}": ["a\nb", {"why": ["a\n::error::b"], "n": 1}]});
        sanitize_json(&mut value, &["why"]);
        assert_eq!(value, serde_json::json!({"\\x1b": ["a\\nb", {"why": ["a\n\\x3a:error::b"], "n": 1}]}));
    }

    #[test]
    fn long_line_is_truncated_in_the_middle() {
        let long = format!("note={}end", "a".repeat(262_000));
        let shown = line(&long).into_owned();
        assert!(shown.starts_with("note=aaa") && shown.ends_with("aaend"), "{shown}");
        assert!(shown.contains("…(261658 more letters)…"), "{shown}");
        assert_eq!(line(&shown), shown.as_str());
        let lines = format!("short\n{long}\n{}", "b".repeat(LONGEST));
        assert_eq!(text(&lines), format!("short\n{shown}\n{}", "b".repeat(LONGEST)));
    }

    proptest! {
        #[test]
        fn sanitized_text_has_no_active_characters(input in "(?s).*") {
            let (one, many) = (line(&input).into_owned(), text(&input).into_owned());
            prop_assert!(!one.chars().any(is_unprintable), "{one:?}");
            prop_assert!(!many.chars().any(|letter| is_unprintable(letter) && !matches!(letter, '\n' | '\t')), "{many:?}");
            for line in one.lines().chain(many.lines()) {
                prop_assert!(!is_command(line) && !line.contains("##["), "{line:?}");
            }
            // Sanitised text is not changed again.
            prop_assert_eq!(line(&one), one.as_str());
        }
    }

    #[test]
    fn quoted_words_round_trip() {
        for word in ["cases/a.yaml", "command:python3 'my file.py' $HOME", "", "a\nb", "it's", "~/x", "*"] {
            assert_eq!(shlex::split(&quote(word)), Some(vec![word.to_owned()]), "{word}");
        }
        assert_eq!(quote("cases/a.yaml"), "cases/a.yaml");
    }
}
