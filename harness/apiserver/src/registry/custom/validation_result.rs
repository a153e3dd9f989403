//! Where a value is in an object, and the errors that its validation found.

use std::collections::BTreeSet;

use crate::types::field_error::FieldError;

#[derive(Default)]
pub(crate) struct ValidationResult {
    pub(crate) errors: Vec<FieldError>,
    /// The errors as text, to avoid duplicates.
    pub(crate) error_texts: BTreeSet<String>,
    /// The number of passed checks: if no alternative fits, the errors of the one with the most
    /// passed checks are reported.
    pub(crate) passed: usize,
    /// The feature by which this server cannot decide.
    pub(crate) undecided: Option<String>,
}

impl ValidationResult {
    /// Adds the result of another validation.
    pub(crate) fn merge(&mut self, rhs: Self) {
        rhs.errors.into_iter().for_each(|error| self.push(error));
        self.passed += rhs.passed;
        self.undecided = self.undecided.take().or(rhs.undecided);
    }

    pub(crate) fn push(&mut self, error: FieldError) {
        if self.error_texts.insert(format!("{error:?}")) {
            self.errors.push(error);
        }
    }

    pub(crate) fn of(error: Option<FieldError>) -> Self {
        let mut result = Self::default();
        error.into_iter().for_each(|error| result.push(error));
        result
    }

    /// Adds the result of one check of the schema.
    pub(crate) fn step(&mut self, rhs: Self) {
        self.merge(rhs);
        self.passed += 1;
    }
}

pub(crate) struct Location<'a> {
    pub(crate) prefix: &'a str,
    pub(crate) path: &'a str,
}
