//! Regular expressions of formats, and the outcome of a match.

use std::sync::LazyLock;

use regex::Regex;

/// Whether a text has a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatMatch {
    /// It has.
    Fits,
    /// It has not.
    Fails,
    /// This server cannot decide.
    Unknown,
}

pub(crate) type LazyRegex = LazyLock<Regex>;

pub(crate) fn expression(text: &str) -> Regex {
    Regex::new(text).expect("the expression is one")
}

pub(crate) fn matches(expression: &LazyRegex, text: &str) -> bool {
    expression.is_match(text)
}
