//! The text of a rule: its tree, and where in it a mistake is.

use std::ops::Range;

use cel::common::ast::IdedExpr;
use cel::parser::PrattParser;

/// Operators of other languages, and those of CEL.
const OTHER_LANGUAGES: [(&str, &str); 6] =
    [("=", "=="), ("and", "&&"), ("or", "||"), ("not", "!"), ("&", "&&"), ("|", "||")];

/// The longest rule, in bytes.
const LONGEST: usize = 1_000;
/// The deepest nesting of brackets and of `?`.
const DEEPEST: usize = 16;
/// The most operators and dots, each of which makes the tree deeper; `&&` and `||` do not.
const MOST: usize = 40;

/// The stack, in bytes, that reading and evaluating the largest rule may take. The parser and the
/// interpreter take 30 kB for each level of a tree when they are not optimised, and the limits
/// above allow some sixty levels; a thread has 2 MB.
const STACK: usize = 8 * 1_024 * 1_024;

/// A mistake in an expression, and its position in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) at: Range<usize>,
    pub(crate) message: String,
    pub(crate) hint: String,
    /// The unknown word, and the known ones.
    pub(crate) unknown: Option<(String, Vec<&'static str>)>,
}

/// Replaces comments by spaces, so that no word of them is found, and all else stays where it is.
pub(super) fn without_comments(text: &str) -> String {
    let (mut result, mut quote, mut escaped) = (String::with_capacity(text.len()), None, false);
    let mut in_comment = false;
    for (at, letter) in text.char_indices() {
        in_comment = letter != '\n' && (in_comment || quote.is_none() && text[at..].starts_with("//"));
        match quote {
            _ if in_comment => {
                result.extend(std::iter::repeat_n(' ', letter.len_utf8()));
                continue;
            }
            None => quote = Some(letter).filter(|letter| matches!(letter, '\'' | '"')),
            Some(open) if open == letter && !escaped => quote = None,
            Some(_) => {}
        }
        escaped = letter == '\\' && !escaped;
        result.push(letter);
    }
    result
}

/// Parses a rule.
///
/// # Errors
/// It is not CEL, or it is too complex to be parsed.
pub(super) fn parse_rule(text: &str) -> Result<IdedExpr, Vec<Mistake>> {
    complexity_error(text).map_or(Ok(()), |mistake| Err(vec![mistake]))?;
    parse(text).map_err(|errors| {
        let mistake = |error: &cel::ParseError| {
            let at = word_at(text, error.pos);
            let word = text.get(at.clone()).unwrap_or_default();
            let meant = OTHER_LANGUAGES.iter().find(|(elsewhere, _)| *elsewhere == word);
            let hint = meant.map_or_else(|| error.msg.clone(), |(_, here)| format!("did you mean `{here}`?"));
            Mistake { at, message: "this is not CEL".to_owned(), hint, unknown: None }
        };
        // Later errors of the parser follow from the first.
        errors.errors.iter().take(1).map(mistake).collect()
    })
}

/// Parses the tree of an expression. The crate's other parser needs more stack for a few brackets
/// than a thread has.
pub(super) fn parse(text: &str) -> Result<IdedExpr, cel::ParseErrors> {
    with_enough_stack(|| PrattParser::default().parse(text))
}

/// Calls a function that parses or evaluates a rule, on a stack that is large enough for it.
pub(super) fn with_enough_stack<T>(function: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK / 2, STACK, function)
}

/// Reports expressions that would overflow the stack: the parser and the interpreter recurse at
/// every bracket and operator.
fn complexity_error(text: &str) -> Option<Mistake> {
    let mistake =
        |at, problem: &str, hint: String| Some(Mistake { at, message: problem.to_owned(), hint, unknown: None });
    if text.len() > LONGEST {
        return mistake(0..text.len(), "the rule is too long", format!("at most {LONGEST} bytes; split it"));
    }
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' | '?' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return mistake(at..at + 1, "the rule is nested too deeply", format!("at most {DEEPEST} levels; split it"));
        }
    }
    let sign = |letter: &char| matches!(letter, '.' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!');
    let signs = text.split(['&', '|']).map(|part| part.chars().filter(sign).count()).max().unwrap_or(0);
    if signs > MOST {
        return mistake(0..text.len(), "the rule has too many operators", format!("at most {MOST} in a row; split it"));
    }
    None
}

/// The first position of a word as a whole word; the whole text if there is none.
pub(super) fn find_word(text: &str, word: &str) -> Range<usize> {
    let part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let alone = |at: &usize| !part(text[..*at].chars().next_back()) && !part(text[at + word.len()..].chars().next());
    let found = text.match_indices(word).map(|(at, _)| at).find(alone);
    found.map_or(0..text.len(), |at| at..at + word.len())
}

/// Converts a line and column of CEL's parser to the bytes of the word there.
fn word_at(text: &str, (line, column): (isize, isize)) -> Range<usize> {
    let line = usize::try_from(line - 1).unwrap_or(0);
    let begins: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let column = usize::try_from(column - 1).unwrap_or(0);
    let at = text[begins..].char_indices().nth(column).map_or(text.len(), |(at, _)| begins + at);
    let word = text[at..].find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len() - at).max(1);
    at..(at + word).min(text.len().max(at))
}
