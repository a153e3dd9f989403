//! The words of a timeline's line: separated by blanks; JSON strings may contain blanks.

/// A value as one word: bare if it contains neither blanks, quotes nor control characters, else as
/// a JSON string.
pub(super) fn quote(text: &str) -> String {
    let bare = !text.is_empty() && text.chars().all(|c| !c.is_whitespace() && !c.is_control() && c != '"');
    if bare { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// The words of a line. Blanks inside of JSON strings do not separate.
pub(super) fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    let mut quoted = false;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        if c == ' ' && !quoted {
            if let Some(from) = start.take() {
                words.push(&line[from..at]);
            }
            continue;
        }
        start.get_or_insert(at);
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
    }
    words.extend(start.map(|from| &line[from..]));
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::{quote, words};

    #[rstest]
    #[case("", vec![])]
    #[case("rs1 10 -> 8  desired=12", vec!["rs1", "10", "->", "8", "desired=12"])]
    #[case(r#"a="b c" d"#, vec![r#"a="b c""#, "d"])]
    #[case(r#"a={"k":"x \" y"} b"#, vec![r#"a={"k":"x \" y"}"#, "b"])]
    fn splits_outside_of_strings(#[case] line: &str, #[case] expected: Vec<&str>) {
        assert_eq!(words(line), expected);
    }

    proptest! {
        #[test]
        fn a_quoted_value_is_one_word(text in ".*") {
            let quoted = quote(&text);
            prop_assert_eq!(words(&quoted), vec![quoted.as_str()]);
        }
    }
}
