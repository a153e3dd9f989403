//! Validates quantities.

use std::cmp::Ordering;

use serde_json::Value;

use crate::types::field_error::FieldError;
use crate::types::quantity::Quantity;

/// Validates a quantity that must not be negative.
pub(crate) fn nonnegative(amount: &Value, path: &str) -> Option<FieldError> {
    let below = read(amount) < Quantity::zero();
    below.then(|| FieldError::invalid(path, amount.clone(), "must be greater than or equal to 0"))
}

/// Whether a quantity is positive.
pub(crate) fn is_positive(amount: &Value) -> bool {
    read(amount).is_positive()
}

/// Validates a quantity that must be an integer, such as a count.
pub(crate) fn integer(amount: &Value, path: &str) -> Option<FieldError> {
    let thousandths = read(amount).thousandths();
    // Upstream prints fractions in thousandths.
    (thousandths % 1000 != 0).then(|| FieldError::invalid(path, format!("{thousandths}m"), "must be an integer"))
}

/// Whether an amount is a multiple of a size. Upstream: `IsHugePageResourceValueDivisible`.
pub(crate) fn is_multiple(amount: &str, size: &str) -> bool {
    let (amount, size) = (Quantity::parse_stored(amount), Quantity::parse_stored(size));
    size.is_positive() && amount.thousandths() % size.thousandths() == 0
}

/// Compares two quantities.
pub(crate) fn compare(first: &Value, second: &Value) -> Ordering {
    read(first).cmp(&read(second))
}

fn read(amount: &Value) -> Quantity {
    Quantity::parse_stored(amount.as_str().unwrap_or_default())
}
