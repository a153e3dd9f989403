//! Quantities: numbers with a suffix. Upstream: `resource.Quantity`.

use std::cmp::Ordering;

use serde_json::Value;

use crate::field::FieldError;

/// A quantity that must not be below zero.
pub(super) fn nonnegative(amount: &Value, path: &str) -> Option<FieldError> {
    let text = amount.as_str().unwrap_or_default();
    let below = text.starts_with('-') && number(text) != 0.0;
    below.then(|| FieldError::invalid(path, text, "must be greater than or equal to 0"))
}

/// Whether a quantity is above zero.
pub(super) fn is_positive(amount: &Value) -> bool {
    number(amount.as_str().unwrap_or_default()) > 0.0
}

/// A quantity that must be whole, as a count is.
pub(super) fn whole(amount: &Value, path: &str) -> Option<FieldError> {
    let text = amount.as_str().unwrap_or_default();
    let number = number(text);
    if number.fract() == 0.0 {
        return None;
    }
    // Upstream prints fractions in thousandths.
    Some(FieldError::invalid(path, format!("{}m", (number * 1000.0).round()), "must be an integer"))
}

/// Compares two quantities.
pub(in super::super) fn compare(one: &Value, other: &Value) -> Ordering {
    let number = |value: &Value| number(value.as_str().unwrap_or_default());
    number(one).total_cmp(&number(other))
}

fn number(text: &str) -> f64 {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1024.0_f64.powi(2),
        "Gi" => 1024.0_f64.powi(3),
        "Ti" => 1024.0_f64.powi(4),
        "Pi" => 1024.0_f64.powi(5),
        "Ei" => 1024.0_f64.powi(6),
        _ => 1.0,
    };
    digits.parse::<f64>().unwrap_or(0.0) * factor
}
