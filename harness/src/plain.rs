//! Text of others, fit to be shown: what a recording, a case file or a subject says reaches a
//! terminal, an annotation or a page without acting there.
//!
//! ```text
//! subject, recording, case file ──► plain::line, plain::text ──► terminal, standard output of a job, report
//! ```
//!
//! A terminal obeys control characters, a reader is misled by characters that reorder what stands
//! beside them, and a job of GitHub Actions obeys a line of standard output that begins with
//! `::command::` or contains `##[`. All of them are shown as escapes (`\x1b`, `\u{202e}`,
//! `\x3a:error::`), so that a reader sees that they are there. Of a line that is longer than a
//! reader reads, such as an annotation of 256 KiB, the beginning and the end are shown. Anything
//! else stays as it is, and plain text costs one look at each letter. HTML is escaped by
//! [`crate::report::page`], JSON by its own rules.
//!
//! Borders: what is *stored* (an object of a recording, a subject's log) stays as it was said; only
//! what is shown is changed.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value;

/// A longer line, in letters, is shown by its beginning and its end.
const LONGEST: usize = 1_000;
/// How many letters of it, at the beginning and at the end.
const SHOWN: [usize; 2] = [250, 100];

/// One line: line breaks and tabs are shown as escapes too.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    shown(text, false)
}

/// Several lines: line breaks and tabs stay, `\r\n` becomes `\n`.
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    shown(text, true)
}

/// Make a text that is kept one line of plain text.
pub(crate) fn tidy(text: &mut String) {
    if let Cow::Owned(plain) = line(text) {
        *text = plain;
    }
}

/// Make a text that is kept plain, line by line.
pub(crate) fn tidy_lines(lines: &mut String) {
    if let Cow::Owned(plain) = text(lines) {
        *lines = plain;
    }
}

/// Whether a text can be shown on one line as it is.
pub(crate) fn is_one_line(text: &str) -> bool {
    matches!(line(text), Cow::Borrowed(_))
}

/// Several lines of any length, with the styles of `report` and `annotate-snippets` where they are
/// wanted.
#[must_use]
pub(crate) fn printed(text: &str, styles: impl FnOnce() -> bool) -> Cow<'_, str> {
    let plain = harmless(text, true);
    if matches!(plain, Cow::Borrowed(_)) || !text.contains('\u{1b}') || !styles() {
        return plain;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, style)) = next_style(rest) {
        out.push_str(&harmless(before, true));
        out.push_str(style);
        rest = &rest[before.len() + style.len()..];
    }
    out.push_str(&harmless(rest, true));
    Cow::Owned(out)
}

/// The text before the first style that the harness itself uses, and that style.
fn next_style(text: &str) -> Option<(&str, &str)> {
    text.match_indices("\u{1b}[").find_map(|(at, begin)| {
        let codes = &text[at + begin.len()..];
        let codes = &codes[..codes.find('m')?];
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_colour = |code: &str| code.len() == 2 && code.starts_with(['3', '9']) && is_number(code);
        // Not the one that hides text.
        let is_style = matches!(codes, "" | "0" | "1" | "2" | "3" | "4")
            || is_colour(codes)
            || codes.strip_prefix("38;5;").is_some_and(is_number);
        is_style.then(|| (&text[..at], &text[at..at + begin.len() + codes.len() + 1]))
    })
}

/// Make every text of a JSON value plain, also the keys: one line each, but for the values of these
/// keys.
pub(crate) fn tidy_json(value: &mut Value, of_lines: &[&str]) {
    fn walk(value: &mut Value, lines: bool, of_lines: &[&str]) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(plain) = harmless(text, lines) {
                    *text = plain;
                }
            }
            Value::Array(all) => all.iter_mut().for_each(|one| walk(one, lines, of_lines)),
            Value::Object(all) => {
                *all = std::mem::take(all)
                    .into_iter()
                    .map(|(key, mut value)| {
                        walk(&mut value, of_lines.contains(&key.as_str()), of_lines);
                        (harmless(&key, false).into_owned(), value)
                    })
                    .collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    walk(value, false, of_lines);
}

/// JSON that neither a terminal nor a job obeys: control characters and `##[`, which JSON itself
/// leaves in its strings, are written as JSON's escapes.
#[must_use]
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts) && !text.contains("##[") {
        return Cow::Borrowed(text);
    }
    // It stands in strings only: JSON itself has no such letter.
    let text = text.replace("##[", "#\\u0023[");
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' => out.push(letter),
            // All of them are in the first plane, so one escape will do.
            letter if acts(letter) => drop(write!(out, "\\u{:04x}", u32::from(letter))),
            letter => out.push(letter),
        }
    }
    Cow::Owned(out)
}

/// A line, or its beginning and its end where it is too long to be read.
#[must_use]
pub(crate) fn shortened(line: &str) -> Cow<'_, str> {
    cut(line, LONGEST)
}

/// A text, or its beginning and its end where it has more letters than this.
pub(crate) fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    // No letter takes less than a byte.
    let letters = if text.len() > longest { text.chars().count() } else { 0 };
    if letters <= longest {
        return Cow::Borrowed(text);
    }
    let shown = SHOWN.map(|shown| shown.min(longest / 4));
    let begin: String = text.chars().take(shown[0]).collect();
    let end: String = text.chars().skip(letters - shown[1]).collect();
    let left_out = letters - shown[0] - shown[1];
    Cow::Owned(format!("{begin}…({left_out} more letters)…{end}"))
}

fn shown(text: &str, lines: bool) -> Cow<'_, str> {
    let harmless = harmless(text, lines);
    let is_long = |line: &str| matches!(shortened(line), Cow::Owned(_));
    match lines {
        true if harmless.split('\n').any(is_long) => {
            Cow::Owned(harmless.split('\n').map(shortened).collect::<Vec<_>>().join("\n"))
        }
        false if is_long(&harmless) => Cow::Owned(shortened(&harmless).into_owned()),
        _ => harmless,
    }
}

/// What acts as escapes.
fn harmless(text: &str, lines: bool) -> Cow<'_, str> {
    let is_plain = |letter: char| !acts(letter) || lines && matches!(letter, '\n' | '\t');
    if text.chars().all(is_plain) && !text.contains("##[") && !text.lines().any(is_command) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let text = if lines { Cow::Owned(text.replace("\r\n", "\n")) } else { Cow::Borrowed(text) };
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push_str(if lines { "\n" } else { "\\n" });
        }
        // On one line only the first can be taken for a command.
        one_line(line, lines, lines || number == 0, &mut out);
    }
    Cow::Owned(out)
}

fn one_line(line: &str, tabs: bool, first: bool, out: &mut String) {
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
            letter if !acts(letter) => out.push(letter),
            letter if u32::from(letter) < 0x100 => drop(write!(out, "\\x{:02x}", u32::from(letter))),
            letter => drop(write!(out, "\\u{{{:x}}}", u32::from(letter))),
        }
    }
}

/// Whether a job of GitHub Actions takes a line for a command: `::name …::…`, blanks before it or
/// not.
fn is_command(line: &str) -> bool {
    // What is shown as an escape does not hide one: the job trims more than blanks.
    let begins = line.trim_start_matches(|letter: char| letter.is_whitespace() || acts(letter));
    begins.strip_prefix("::").is_some_and(|rest| rest.contains("::"))
}

/// Whether a letter does something instead of being seen: control characters, line separators, and
/// what changes the direction of text.
pub(crate) fn acts(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        || letter == '\u{feff}'
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
    fn one_line_is_shown(#[case] said: &str, #[case] seen: &str) {
        assert_eq!(line(said), seen);
    }

    #[rstest]
    #[case("one\n\ttwo\n", "one\n\ttwo\n")]
    #[case("one\r\ntwo\rthree", "one\ntwo\\rthree")]
    #[case("one\n  ::add-mask::x\n::group::y", "one\n  \\x3a:add-mask::x\n\\x3a:group::y")]
    #[case("\u{1b}[2K\n\u{2028}", "\\x1b[2K\n\\u{2028}")]
    fn several_lines_are_shown(#[case] said: &str, #[case] seen: &str) {
        assert_eq!(text(said), seen);
    }

    #[test]
    fn json_says_the_same_without_control_characters() {
        let said = serde_json::json!({"a": "\u{1b}\u{9b}\u{202e}\u{7f}", "##[error]": "###[error] \\##["});
        let written = said.to_string();
        assert!(!json(&written).chars().any(acts) && !json(&written).contains("##["));
        assert_eq!(serde_json::from_str::<Value>(&json(&written)).unwrap(), said);
    }

    #[rstest]
    #[case("\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m: a\n\tb", "\u{1b}[1m\u{1b}[38;5;9merror\u{1b}[0m: a\n\tb")]
    #[case(
        "\u{1b}[32mgood\u{1b}[0m \u{1b}[2J\u{1b}]0;title\u{7}",
        "\u{1b}[32mgood\u{1b}[0m \\x1b[2J\\x1b]0;title\\x07"
    )]
    #[case("\u{1b}[8mhidden\u{1b}[38;5;m", "\\x1b[8mhidden\\x1b[38;5;m")]
    #[case("\u{1b}[1m::error::a", "\u{1b}[1m\\x3a:error::a")]
    fn own_styles_reach_a_terminal(#[case] said: &str, #[case] terminal: &str) {
        assert_eq!(printed(said, || true), terminal);
        let file = printed(said, || false);
        assert!(!file.contains('\u{1b}'), "{file}");
    }

    #[test]
    fn texts_of_json_become_plain() {
        let mut value = serde_json::json!({"\u{1b}": ["a\nb", {"why": ["a\n::error::b"], "n": 1}]});
        tidy_json(&mut value, &["why"]);
        assert_eq!(value, serde_json::json!({"\\x1b": ["a\\nb", {"why": ["a\n\\x3a:error::b"], "n": 1}]}));
    }

    #[test]
    fn a_long_line_is_shown_by_its_ends() {
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
        fn whatever_is_said_nothing_acts(said in "(?s).*") {
            let (one, many) = (line(&said).into_owned(), text(&said).into_owned());
            prop_assert!(!one.chars().any(acts), "{one:?}");
            prop_assert!(!many.chars().any(|letter| acts(letter) && !matches!(letter, '\n' | '\t')), "{many:?}");
            for line in one.lines().chain(many.lines()) {
                prop_assert!(!is_command(line) && !line.contains("##["), "{line:?}");
            }
            // What has been made plain stays as it is.
            prop_assert_eq!(line(&one), one.as_str());
        }
    }
}
