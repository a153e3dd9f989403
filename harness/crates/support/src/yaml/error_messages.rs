//! Explains errors of the YAML parser to readers.

use super::{MAX_DEPTH, MAX_NODES, YamlError};

/// A part of the parser's message, what is wrong, and what to do. The first match applies.
const MESSAGES: [(&str, &str, &str); 17] = [
    ("tabs disallowed", "a tab in the indentation", "indent YAML with spaces"),
    (
        "mapping values are not allowed",
        "a second `: ` in one line",
        "put the value in quotes, or check the indentation",
    ),
    ("unclosed quote", "this quote is never closed", "add the other one"),
    ("unclosed bracket", "this bracket is never closed", "add the other one"),
    ("Documents {", "a second document", "one case per file; remove `---`"),
    ("number is too large", "this number is too large", "more than 64 bits"),
    ("non-finite float", "this is not a number", "write a finite one"),
    ("Depth {", "nested too deeply", "nesting exceeds 32 levels"),
    ("recursion limit exceeded", "nested too deeply", "nesting exceeds 32 levels"),
    ("alias replay limit", "the aliases expand to too many values", "write out what the case needs"),
    ("Nodes {", "the file holds too much", "the file has more than 50,000 nodes"),
    ("recursive references", "this alias refers to itself", "an alias cannot be inside its own anchor"),
    ("unknown anchor", "unknown anchor", "`&name` must stand before `*name`"),
    ("!!binary", "a binary value", "a case has only plain values"),
    ("nsupported tag", "an unknown tag", "leave out what begins with `!`, or put it in quotes"),
    (
        "did not find expected key",
        "the indentation matches no line above",
        "indent it like the other fields of the same mapping",
    ),
    ("unexpected EOF", "this is not allowed here", "a comma or a bracket too many or too few?"),
];

impl YamlError {
    /// Converts the parser's message without its location; `rest` is the text from that location
    /// on.
    pub(crate) fn from_message(span: std::ops::Range<usize>, message: &str, rest: &str) -> Self {
        let said =
            |what: &str, hint: &str| Self { span: span.clone(), message: what.to_owned(), hint: hint.to_owned() };
        if rest.starts_with("<<<<<<<") || rest.starts_with("=======") || rest.starts_with(">>>>>>>") {
            return said("a merge conflict", "choose one side");
        }
        if let Some((_, what, hint)) = MESSAGES.iter().find(|(part, ..)| message.contains(part)) {
            return match *what {
                "nested too deeply" => said(what, &format!("at most {MAX_DEPTH} levels")),
                "the aliases expand to too many values" | "the file holds too much" => {
                    said(what, &format!("at most {MAX_NODES} values"))
                }
                _ => said(what, hint),
            };
        }
        if message.contains("unexpected character")
            && let Some(letter) = rest.chars().next().filter(|letter| !letter.is_control())
        {
            return said("this is not YAML", &format!("nothing begins with `{letter}`; put it in quotes"));
        }
        said("this is not YAML", message)
    }
}
