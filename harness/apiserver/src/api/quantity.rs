//! Quantities as a real server writes them: `0.5` becomes `500m`, `1024Mi` becomes `1Gi`; and their
//! comparison and sums.
//!
//! A quantity that is short and canonical stays as it was written, which includes some that are
//! not, as `1.500`: what upstream takes for canonical is here too.
//!
//! Upstream: `resource.ParseQuantity`, `CanonicalizeBytes`, `Quantity.Add`, `Sub` and `Cmp`.

use std::cmp::Ordering;
use std::fmt;

/// More digits than these are not read the short way.
const SHORT: i32 = 18;
/// The least power of ten that is kept.
const LEAST: i32 = -9;
const BILLION: i128 = 1_000_000_000;

const FORM: &str = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, i32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// How a quantity's suffix is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Decimal,
    Binary,
    Exponent,
}

/// A quantity, to be compared and added.
#[derive(Debug, Clone)]
pub(crate) struct Quantity {
    billionths: i128,
    form: Form,
    /// As it was written, until it is changed.
    text: Option<String>,
}

impl Quantity {
    pub(crate) fn zero() -> Self {
        Self { billionths: 0, form: Form::Decimal, text: None }
    }

    pub(crate) fn of(number: usize) -> Self {
        let number = i128::try_from(number).unwrap_or(i128::MAX);
        Self { billionths: number.saturating_mul(BILLION), ..Self::zero() }
    }

    /// Reads a quantity that is stored; what is none is zero.
    pub(crate) fn read(text: &str) -> Self {
        let Ok(parts) = Parts::of(text.trim()) else { return Self::zero() };
        Self { billionths: parts.billionths(), form: parts.form, text: Some(text.to_owned()) }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.billionths == 0
    }

    pub(crate) fn is_positive(&self) -> bool {
        self.billionths > 0
    }

    /// In thousandths, rounded up. Upstream: `MilliValue`.
    pub(crate) fn thousandths(&self) -> i128 {
        const EACH: i128 = 1_000_000;
        self.billionths.div_euclid(EACH) + i128::from(self.billionths.rem_euclid(EACH) != 0)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        if self.is_zero() {
            self.form = other.form;
        }
        self.billionths = self.billionths.saturating_add(other.billionths);
        self.text = None;
    }

    /// The difference, or zero if it is below zero.
    pub(crate) fn less(&self, other: &Self) -> Self {
        let billionths = self.billionths.saturating_sub(other.billionths).max(0);
        let form = if self.is_zero() { other.form } else { self.form };
        Self { billionths, form, text: None }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.billionths == other.billionths
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.billionths.cmp(&other.billionths)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => f.write_str(&written(self.billionths, LEAST, self.form).unwrap_or_default()),
        }
    }
}

/// What a quantity consists of.
struct Parts<'a> {
    unsigned: &'a str,
    negative: bool,
    /// Without leading zeros.
    whole: &'a str,
    part: &'a str,
    form: Form,
    /// Of ten, or of two if it is binary.
    exponent: i32,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err(FORM);
        }
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let is_digit = |c: char| c.is_ascii_digit();
        let stripped = unsigned.trim_start_matches('0');
        let whole = &stripped[..stripped.find(|c| !is_digit(c)).unwrap_or(stripped.len())];
        let rest = &stripped[whole.len()..];
        let (part, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(rest.find(|c| !is_digit(c)).unwrap_or(rest.len())),
            None => ("", rest),
        };
        let whole = if whole.is_empty() { "0" } else { whole };
        let after = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let after = after.strip_prefix(['-', '+']).unwrap_or(after);
        if !after.chars().all(is_digit) {
            return Err(FORM);
        }
        let (form, exponent) = form_of(suffix).ok_or(SUFFIX)?;
        Ok(Self { unsigned, negative: text.starts_with('-'), whole, part, form, exponent })
    }

    /// The rest of a billionth counts as one; what no number of this size holds is the largest.
    fn billionths(&self) -> i128 {
        let digits = format!("{}{}", self.whole, self.part);
        let (factor, exponent) = match self.form {
            Form::Binary => (1_i128 << self.exponent, 0),
            _ => (1, self.exponent),
        };
        let length = i32::try_from(self.part.len()).unwrap_or(i32::MAX);
        let scale = exponent.saturating_sub(length).saturating_sub(LEAST);
        let number = digits.parse::<i128>().ok().and_then(|number| number.checked_mul(factor));
        let power = 10_i128.checked_pow(scale.unsigned_abs());
        let found = match (number, power) {
            (Some(0), _) => 0,
            (Some(number), Some(power)) if scale >= 0 => number.saturating_mul(power),
            (Some(number), Some(power)) => number / power + i128::from(number % power != 0),
            (Some(_), None) if scale < 0 => 1,
            _ => i128::MAX,
        };
        if self.negative { -found } else { found }
    }
}

/// A quantity as it is stored.
///
/// # Errors
/// The message of upstream's decoder.
pub(super) fn canonical(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let Parts { unsigned, whole, part, form, exponent, .. } = Parts::of(text)?;
    let digits = format!("{whole}{part}");
    let length = |text: &str| i32::try_from(text.len()).unwrap_or(i32::MAX);
    let precision = match form {
        Form::Binary if part.is_empty() => 15 - length(whole) - exponent * 3 / 10 - 1,
        Form::Binary => -1,
        _ => SHORT - length(&digits),
    };
    let scale = if form == Form::Binary { 0 } else { exponent } - length(part);
    let Ok(number) = digits.parse::<i128>() else { return Ok(text.to_owned()) };
    let is_short = precision >= 0 && scale >= LEAST;
    let stays = match form {
        Form::Binary => exponent % 10 == 0 && number & 7 != 0,
        _ => scale % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0'),
    };
    if is_short && stays {
        return Ok(text.to_owned());
    }
    let factor = if form == Form::Binary { 1_i128 << exponent } else { 1 };
    // What no number of this size holds stays as it was written.
    let written = number.checked_mul(factor).and_then(|number| written(number, scale, form));
    let written = written.unwrap_or_else(|| unsigned.to_owned());
    Ok(if text.starts_with('-') && written != "0" { format!("-{written}") } else { written })
}

fn form_of(suffix: &str) -> Option<(Form, i32)> {
    let among = |all: &[(&str, i32)]| all.iter().find(|(name, _)| *name == suffix).map(|(_, exponent)| *exponent);
    if let Some(exponent) = among(&DECIMAL) {
        return Some((Form::Decimal, exponent));
    }
    if let Some(exponent) = among(&BINARY) {
        return Some((Form::Binary, exponent));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((Form::Exponent, exponent.parse().ok()?))
}

/// `number` × 10^`scale`; `None` where that is too large.
fn written(mut number: i128, mut scale: i32, form: Form) -> Option<String> {
    // The rest of a billionth counts as one.
    while scale < LEAST {
        number = number / 10 + i128::from(number % 10 != 0);
        scale += 1;
    }
    if number == 0 {
        return Some("0".to_owned());
    }
    while number % 10 == 0 {
        number /= 10;
        scale += 1;
    }
    let value = || 10_i128.checked_pow(u32::try_from(scale).ok()?)?.checked_mul(number);
    if form == Form::Binary
        && let Some(mut value) = value().map(|value| value.min(i128::from(i64::MAX)))
        && value >= 1024
    {
        let mut suffix = "";
        for (name, _) in BINARY {
            if value % 1024 != 0 {
                break;
            }
            (value, suffix) = (value / 1024, name);
        }
        return Some(format!("{value}{suffix}"));
    }
    while scale % 3 != 0 {
        number = number.checked_mul(10)?;
        scale -= 1;
    }
    Some(match form {
        Form::Exponent if scale == 0 => number.to_string(),
        Form::Exponent => format!("{number}e{scale}"),
        _ => {
            let found = DECIMAL.iter().find(|(_, exponent)| *exponent == scale);
            format!("{number}{}", found.map_or("", |(name, _)| name))
        }
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    // What Go's `resource.MustParse(text).String()` gives.
    #[rstest]
    #[case("1", "1")]
    #[case("0", "0")]
    #[case("-0", "0")]
    #[case("0.5", "500m")]
    #[case("0.1", "100m")]
    #[case(".5", "500m")]
    #[case("1.5", "1500m")]
    #[case("1.500", "1.500")]
    #[case("1000m", "1")]
    #[case("1500m", "1500m")]
    #[case("2000", "2k")]
    #[case("1000000", "1M")]
    #[case("1200", "1200")]
    #[case("100Mi", "100Mi")]
    #[case("64Mi", "64Mi")]
    #[case("1024Ki", "1Mi")]
    #[case("2048Mi", "2Gi")]
    #[case("1.5Gi", "1536Mi")]
    #[case("0.5Mi", "512Ki")]
    #[case("0.1Ki", "102400m")]
    #[case("512", "512")]
    #[case("1e3", "1e3")]
    #[case("1E3", "1E3")]
    #[case("1000e0", "1e3")]
    #[case("12e1", "120")]
    #[case("-1.5Gi", "-1536Mi")]
    #[case("+5", "+5")]
    #[case(" 5 ", "5")]
    #[case("0.0000000001", "1n")]
    #[case("100n", "100n")]
    #[case("16Ei", "9223372036854775807")]
    fn a_quantity_is_written_as_upstream_does(#[case] text: &str, #[case] written: &str) {
        assert_eq!(canonical(text).as_deref(), Ok(written));
    }

    #[rstest]
    #[case("", FORM)]
    #[case("x", FORM)]
    #[case("5x", FORM)]
    #[case("5 Mi", FORM)]
    #[case("5kk", SUFFIX)]
    #[case("5e", SUFFIX)]
    #[case("5m3", SUFFIX)]
    fn what_is_no_quantity_is_told(#[case] text: &str, #[case] told: &str) {
        assert_eq!(canonical(text), Err(told));
    }
}
