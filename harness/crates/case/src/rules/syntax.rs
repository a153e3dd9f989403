//! The text of a rule: its tree, and where in it a mistake is.

use std::ops::Range;

use cel::common::ast::IdedExpr;
use cel::parser::PrattParser;

/// A mistake in an expression, and its position in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) at: Range<usize>,
    pub(crate) message: String,
    pub(crate) hint: String,
    /// The unknown word, and the known ones.
    pub(crate) unknown: Option<(String, Vec<&'static str>)>,
}

/// Parses the tree of an expression. The crate's other parser needs more stack for a few brackets
/// than a thread has.
pub(super) fn parse(text: &str) -> Result<IdedExpr, cel::ParseErrors> {
    PrattParser::default().parse(text)
}

/// The first position of a word as a whole word; the whole text if there is none.
pub(super) fn find_word(text: &str, word: &str) -> Range<usize> {
    let part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let alone = |at: &usize| !part(text[..*at].chars().next_back()) && !part(text[at + word.len()..].chars().next());
    let found = text.match_indices(word).map(|(at, _)| at).find(alone);
    found.map_or(0..text.len(), |at| at..at + word.len())
}

/// Converts a line and column of CEL's parser to the bytes of the word there.
pub(super) fn word_at(text: &str, (line, column): (isize, isize)) -> Range<usize> {
    let line = usize::try_from(line - 1).unwrap_or(0);
    let begins: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let column = usize::try_from(column - 1).unwrap_or(0);
    let at = text[begins..].char_indices().nth(column).map_or(text.len(), |(at, _)| begins + at);
    let word = text[at..].find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len() - at).max(1);
    at..(at + word).min(text.len().max(at))
}
