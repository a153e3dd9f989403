//! Validates numbers. Bounds are floats even for integers, and are converted as in Go.
//!
//! Upstream: `numberValidator` and `swag`.

use serde_json::{Number, Value};

use crate::go::format::float;
use crate::registry::custom::validation_result::{Location, ValidationResult};
use crate::types::custom_schema::Schema;

/// Validates a number.
pub(crate) fn check(schema: &Schema, number: &Number, at: &Location<'_>, result: &mut ValidationResult) {
    let of_type = match schema.types.as_slice() {
        [one] if one == "integer" || one == "number" => one.as_str(),
        _ => "",
    };
    let known = match of_type {
        "integer" => ["int32", "int64"],
        "number" => ["float", "double"],
        _ => ["", ""],
    };
    let format = if known.contains(&schema.format.as_str()) { schema.format.as_str() } else { "" };
    let value = number.as_f64().unwrap_or_default();
    let fits = |value: f64| fits_range(value, of_type, format);
    let range = |what: &str| {
        let format = if format.is_empty() { "(default format)".to_owned() } else { format!("with format {format}") };
        at.general(format!("{what} value must be of type {of_type} {format} in {}", at.path))
    };
    let whole_fits = match (number.as_i64(), of_type, format) {
        (Some(number), "integer", "int32") => i32::try_from(number).is_ok(),
        (Some(_), "integer", _) => true,
        _ => fits(value),
    };
    if !whole_fits {
        result.push(range("Checked"));
    }
    let bounds = &schema.numbers;
    if let Some(factor) = bounds.multiple_of {
        if !fits(factor) {
            result.push(range("MultipleOf"));
        }
        multiple(number, factor, fits(factor), at, result);
    }
    let mut bound = |bound: Option<f64>, name: &str, exclusive: bool, above: bool| {
        let Some(bound) = bound else { return };
        if !fits(bound) {
            result.push(range(name));
        }
        let (breaks, bound, shown) = match number.as_i64().filter(|_| fits(bound)) {
            Some(number) => {
                let bound = to_i64(bound);
                let breaks = if above { number < bound } else { number > bound };
                (breaks || exclusive && number == bound, bound.to_string(), Value::from(number))
            }
            None => {
                let equal = value == bound;
                let breaks = if above { value < bound } else { value > bound };
                (breaks || exclusive && equal, float(bound), Value::from(value))
            }
        };
        if breaks {
            let than = match (above, exclusive) {
                (true, true) => "greater than",
                (true, false) => "greater than or equal to",
                (false, true) => "less than",
                (false, false) => "less than or equal to",
            };
            result.push(at.invalid(shown, &format!("should be {than} {bound}")));
        }
    };
    bound(bounds.minimum, "Minimum boundary", bounds.above, true);
    bound(bounds.maximum, "Maximum boundary", bounds.below, false);
}

fn multiple(number: &Number, factor: f64, native: bool, at: &Location<'_>, result: &mut ValidationResult) {
    let (positive, fits, factor, shown) = match number.as_i64().filter(|_| native) {
        Some(number) => {
            let factor = to_i64(factor);
            (factor > 0, factor > 0 && number % factor == 0, factor.to_string(), Value::from(number))
        }
        None => {
            let value = number.as_f64().unwrap_or_default();
            let times = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
            (factor > 0.0, is_integer(times), float(factor), Value::from(value))
        }
    };
    if !positive {
        let why = format!("factor MultipleOf declared for {} must be positive: {factor}", at.path);
        let factor = factor.parse::<f64>().unwrap_or_default();
        result.push(at.worded(factor, why));
    } else if !fits {
        result.push(at.invalid(shown, &format!("should be a multiple of {factor}")));
    }
}

/// Whether a number fits a type and format. Upstream: `IsValueValidAgainstRange`.
fn fits_range(value: f64, of_type: &str, format: &str) -> bool {
    let whole = value.fract() == 0.0;
    match (of_type, format) {
        ("integer", "int32") => whole && value >= f64::from(i32::MIN) && value <= f64::from(i32::MAX),
        ("integer", _) => whole && (-TWO_TO_63..TWO_TO_63).contains(&value),
        ("number", "float") => (value as f32).is_finite(),
        _ => true,
    }
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// Truncates a float to an integer; the minimum if it is out of range, as in Go.
pub(crate) fn to_i64(value: f64) -> i64 {
    if (-TWO_TO_63..TWO_TO_63).contains(&value) { value as i64 } else { i64::MIN }
}

/// Whether a float counts as an integer; a small error is tolerated. Upstream:
/// `IsFloat64AJSONInteger`.
pub(crate) fn is_integer(value: f64) -> bool {
    const MOST: f64 = 9_007_199_254_740_991.0;
    if !(-MOST..=MOST).contains(&value) {
        return false;
    }
    if value.fract() == 0.0 {
        return true;
    }
    // Go truncates positive numbers; a negative number becomes an unrelated one.
    let whole = value.trunc();
    whole > 0.0 && (value - whole) / (value + whole) < 1e-9
}
