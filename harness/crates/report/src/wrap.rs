//! Wraps lines at blanks, so that a terminal does not break them within words.

use super::failure::{REPEAT, WHY};

/// The indent of the rest of a line, from its text.
const HANGING: usize = 2;
/// The signs that may stand before the text of a line.
const SIGNS: [&str; 7] = ["-", "+", "=", "~", ">", "!", "|"];

/// A report, wrapped for a terminal of this width; as it is if the width is unknown. Commands stay
/// on their lines, so that they can be copied.
#[must_use]
pub fn wrap(report: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return report.to_owned() };
    let mut out = String::new();
    for line in report.split_inclusive('\n') {
        let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
        let is_command = [WHY, REPEAT].iter().any(|word| text.trim_start().starts_with(word));
        let pieces = if is_command { vec![text.to_owned()] } else { wrap_line(text, width, hanging(text, width)) };
        out += &(pieces.join("\n") + end);
    }
    out
}

/// The indent of the rest of a line: a little more than that of its text, which follows the signs.
fn hanging(line: &str, width: usize) -> usize {
    let plain: String = Letters(line).filter_map(|letter| letter.text()).collect();
    let mut text = plain.trim_start();
    for sign in SIGNS {
        if let Some(rest) = text.strip_prefix(sign).filter(|rest| rest.starts_with(' ')) {
            text = rest.trim_start();
        }
    }
    (plain.chars().count() - text.chars().count() + HANGING).min(width / 2)
}

/// Wraps a line into pieces of at most `width` columns. The rest of the line is indented. Words
/// that are longer than a piece are broken, after punctuation if there is any.
pub(super) fn wrap_line(line: &str, width: usize, hanging: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = line.to_owned();
    while columns(&rest) > width && width > hanging {
        let at = break_at(&rest, width);
        pieces.push(rest[..at].trim_end().to_owned());
        rest = format!("{}{}", " ".repeat(hanging), rest[at..].trim_start());
    }
    pieces.push(rest);
    pieces
}

/// Where to break a line that is too long: at the last blank that fits, else after punctuation in
/// the second half, else at the limit.
fn break_at(line: &str, width: usize) -> usize {
    let (mut column, mut at) = (0, 0);
    let (mut blank, mut mark) = (None, None);
    let mut has_text = false;
    for letter in Letters(line) {
        if let Some(text) = letter.text() {
            if text == ' ' && has_text {
                blank = Some(at);
            }
            if column == width {
                break;
            }
            has_text |= text != ' ';
            column += 1;
            if column > width / 2 && matches!(text, ',' | ';' | '/' | '=' | '}' | ')') {
                mark = Some(at + text.len_utf8());
            }
        }
        at += letter.len();
    }
    blank.or(mark).unwrap_or(at)
}

/// The number of columns of a line, without its styles.
fn columns(line: &str) -> usize {
    Letters(line).filter_map(|letter| letter.text()).count()
}

/// The letters and escape sequences of a line.
struct Letters<'a>(&'a str);

/// A letter, or an escape sequence that sets a style and has no width.
enum Letter {
    Text(char),
    Style(usize),
}

impl Letter {
    fn text(&self) -> Option<char> {
        match self {
            Self::Text(letter) => Some(*letter),
            Self::Style(_) => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Text(letter) => letter.len_utf8(),
            Self::Style(length) => *length,
        }
    }
}

impl Iterator for Letters<'_> {
    type Item = Letter;

    fn next(&mut self) -> Option<Letter> {
        let letter = self.0.chars().next()?;
        let style = self.0.strip_prefix("\u{1b}[").and_then(|rest| Some(rest.find('m')? + 3));
        let next = style.map_or(Letter::Text(letter), Letter::Style);
        self.0 = &self.0[next.len()..];
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::at_a_blank("  one two three", 10, "  one two\n    three")]
    #[case::below_the_text_of_a_sign("  -   = web 10 ready=10", 16, "  -   = web 10\n        ready=10")]
    #[case::after_punctuation(
        "labels={\"app\":\"web\",\"tier\":\"front\"}",
        24,
        "labels={\"app\":\"web\",\n  \"tier\":\"front\"}"
    )]
    #[case::a_long_word("aaaaaaaaaaaa", 8, "aaaaaaaa\n  aaaa")]
    #[case::a_command_stays_whole(
        "  repeat: lockstep run x --subject ours",
        12,
        "  repeat: lockstep run x --subject ours"
    )]
    #[case::styles_have_no_width("\u{1b}[31mone two\u{1b}[0m", 7, "\u{1b}[31mone two\u{1b}[0m")]
    #[case::lines_that_fit("a\n\nb c\n", 3, "a\n\nb c\n")]
    fn line_is_wrapped(#[case] text: &str, #[case] width: usize, #[case] wrapped: &str) {
        assert_eq!(wrap(text, Some(width)), wrapped);
        assert_eq!(wrap(text, None), text);
    }
}
