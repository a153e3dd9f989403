//! Fields of the mappings that a case is made of: each with its name, what it takes, and a
//! sentence.
//!
//! One list of fields is all that there is of a mapping: the names that its reader knows and
//! suggests, its part of the JSON schema, and its table on the reference page come from it.

use serde_json::{Value, json};

use super::read;
use super::schema::{integer, reference, text, words};

/// A field of a mapping.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    /// As a case writes it.
    pub(super) name: &'static str,
    /// What it takes.
    pub(super) takes: Type,
    /// Whether it cannot be left out.
    pub(super) required: bool,
    /// One sentence.
    pub(super) says: &'static str,
}

/// What a field takes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type {
    /// One of these words.
    Words(&'static [&'static str]),
    /// A whole number.
    Whole {
        /// The least.
        least: i64,
        /// The most.
        most: i64,
    },
    /// A whole number from zero; where the server must refuse the step, any number.
    Count {
        /// The most.
        most: i64,
    },
    /// Anything else. The schema is asked with whether the server must refuse the step.
    Is(fn(bool) -> Value, &'static str),
}

pub(super) const TEXT: Type = Type::Is(|_| text(), "a string");
pub(super) const TEXTS: Type = Type::Is(|_| reference("texts"), "a mapping from texts to texts");
pub(super) const NAME: Type = Type::Is(|_| reference("name"), "a name");
pub(super) const BOOLEAN: Type = Type::Is(|_| json!({"type": "boolean"}), "`true` or `false`");
pub(super) const DURATION: Type = Type::Is(|_| reference("duration"), "a length of time, such as `90s` or `1h 30m`");

impl Field {
    /// One that may be left out.
    pub(super) const fn new(name: &'static str, takes: Type, says: &'static str) -> Self {
        Self { name, takes, required: false, says }
    }

    /// One that may not.
    pub(super) const fn required(name: &'static str, takes: Type, says: &'static str) -> Self {
        Self { name, takes, required: true, says }
    }
}

impl Type {
    /// As JSON schema; `refused`: whether the server must refuse the step.
    pub(super) fn schema(self, refused: bool) -> Value {
        match self {
            Self::Words(all) => words(all),
            Self::Whole { least, most } => integer(least, most),
            Self::Count { .. } if refused => integer(i32::MIN.into(), i32::MAX.into()),
            Self::Count { most } => integer(0, most),
            Self::Is(schema, _) => schema(refused),
        }
    }

    /// For a person.
    pub(super) fn words(self) -> String {
        let range = |least: i64, most: i64| match most {
            most if most >= i64::from(i32::MAX) => format!("a number, at least {least}"),
            most => format!("a number from {least} to {most}"),
        };
        match self {
            Self::Words(all) => read::list(all).replace(" and ", " or "),
            Self::Whole { least, most } => range(least, most),
            Self::Count { most } => range(0, most),
            Self::Is(_, words) => words.to_owned(),
        }
    }
}

/// The names of these fields.
pub(super) fn names(fields: &[Field]) -> Vec<&'static str> {
    fields.iter().map(|field| field.name).collect()
}
