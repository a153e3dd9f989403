//! Rules about quantities.

use std::cmp::Ordering;

use serde_json::Value;

use crate::api::Quantity;
use crate::field::FieldError;

/// A quantity that must not be below zero.
pub(super) fn nonnegative(amount: &Value, path: &str) -> Option<FieldError> {
    let below = read(amount) < Quantity::zero();
    below.then(|| FieldError::invalid(path, amount.clone(), "must be greater than or equal to 0"))
}

/// Whether a quantity is above zero.
pub(super) fn is_positive(amount: &Value) -> bool {
    read(amount).is_positive()
}

/// A quantity that must be whole, as a count is.
pub(super) fn whole(amount: &Value, path: &str) -> Option<FieldError> {
    let thousandths = read(amount).thousandths();
    // Upstream prints fractions in thousandths.
    (thousandths % 1000 != 0).then(|| FieldError::invalid(path, format!("{thousandths}m"), "must be an integer"))
}

/// Whether an amount is a multiple of a size. Upstream: `IsHugePageResourceValueDivisible`.
pub(super) fn is_multiple(amount: &str, size: &str) -> bool {
    let (amount, size) = (Quantity::read(amount), Quantity::read(size));
    size.is_positive() && amount.thousandths() % size.thousandths() == 0
}

/// Compares two quantities.
pub(in super::super) fn compare(one: &Value, other: &Value) -> Ordering {
    read(one).cmp(&read(other))
}

fn read(amount: &Value) -> Quantity {
    Quantity::read(amount.as_str().unwrap_or_default())
}
