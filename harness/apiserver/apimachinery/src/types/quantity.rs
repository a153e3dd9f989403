//! Parses, canonicalizes, compares and adds quantities: `0.5` becomes `500m`, `1024Mi` becomes
//! `1Gi`.
//!
//! Upstream keeps a short quantity as written if it takes it for canonical, which includes a few
//! that are not, such as `1.500`. So does this module.
//!
//! Upstream: `resource.ParseQuantity`, `CanonicalizeBytes`, `Quantity.Add`, `Sub` and `Cmp`.

use std::cmp::Ordering;
use std::fmt;

/// Quantities with more digits are never kept as written.
const MAX_FAST_DIGITS: i32 = 18;
/// The smallest power of ten; smaller fractions are rounded up.
const MIN_SCALE: i32 = -9;
const BILLION: i128 = 1_000_000_000;
const BILLIONTHS_PER_THOUSANDTH: i128 = 1_000_000;

const FORMAT_ERROR: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX_ERROR: &str = "unable to parse quantity's suffix";

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, i32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// The kind of suffix. Upstream: `Format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuantityFormat {
    Decimal,
    Binary,
    Exponent,
}

/// A parsed quantity.
#[derive(Debug, Clone)]
pub struct Quantity {
    billionths: i128,
    format: QuantityFormat,
    /// The original text, until the value changes.
    text: Option<String>,
}

impl Quantity {
    /// No quantity at all.
    pub fn zero() -> Self {
        Self { billionths: 0, format: QuantityFormat::Decimal, text: None }
    }

    /// As many as there are of something.
    pub fn from_count(number: usize) -> Self {
        let number = i128::try_from(number).unwrap_or(i128::MAX);
        Self { billionths: number.saturating_mul(BILLION), ..Self::zero() }
    }

    /// Parses a stored quantity; an invalid one counts as zero.
    pub fn parse_stored(text: &str) -> Self {
        let Ok(parts) = ParsedQuantity::parse(text.trim()) else { return Self::zero() };
        Self { billionths: parts.billionths(), format: parts.format, text: Some(text.to_owned()) }
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.billionths == 0
    }

    /// Whether it is more than zero.
    pub fn is_positive(&self) -> bool {
        self.billionths > 0
    }

    /// The value in thousandths, rounded up. Upstream: `MilliValue`.
    pub fn thousandths(&self) -> i128 {
        self.billionths.div_euclid(BILLIONTHS_PER_THOUSANDTH)
            + i128::from(self.billionths.rem_euclid(BILLIONTHS_PER_THOUSANDTH) != 0)
    }

    /// Adds another quantity; zero takes over its format.
    pub fn add(&mut self, rhs: &Self) {
        if self.is_zero() {
            self.format = rhs.format;
        }
        self.billionths = self.billionths.saturating_add(rhs.billionths);
        self.text = None;
    }

    /// The difference, but at least zero.
    pub fn saturating_sub(&self, rhs: &Self) -> Self {
        let billionths = self.billionths.saturating_sub(rhs.billionths).max(0);
        let format = if self.is_zero() { rhs.format } else { self.format };
        Self { billionths, format, text: None }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, rhs: &Self) -> bool {
        self.billionths == rhs.billionths
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, rhs: &Self) -> Option<Ordering> {
        Some(self.cmp(rhs))
    }
}

impl Ord for Quantity {
    fn cmp(&self, rhs: &Self) -> Ordering {
        self.billionths.cmp(&rhs.billionths)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => f.write_str(text),
            None => f.write_str(&format_number(self.billionths, MIN_SCALE, self.format).unwrap_or_default()),
        }
    }
}

/// The components of a quantity's text.
struct ParsedQuantity<'a> {
    unsigned: &'a str,
    negative: bool,
    /// Without leading zeros.
    integer: &'a str,
    fraction: &'a str,
    format: QuantityFormat,
    /// The exponent of ten, or of two for a binary suffix.
    exponent: i32,
}

impl<'a> ParsedQuantity<'a> {
    fn parse(text: &'a str) -> Result<Self, &'static str> {
        if text.is_empty() {
            return Err(FORMAT_ERROR);
        }
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let is_digit = |c: char| c.is_ascii_digit();
        let stripped = unsigned.trim_start_matches('0');
        let integer = &stripped[..stripped.find(|c| !is_digit(c)).unwrap_or(stripped.len())];
        let rest = &stripped[integer.len()..];
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(rest.find(|c| !is_digit(c)).unwrap_or(rest.len())),
            None => ("", rest),
        };
        let integer = if integer.is_empty() { "0" } else { integer };
        let after = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let after = after.strip_prefix(['-', '+']).unwrap_or(after);
        if !after.chars().all(is_digit) {
            return Err(FORMAT_ERROR);
        }
        let (format, exponent) = format_of(suffix).ok_or(SUFFIX_ERROR)?;
        Ok(Self { unsigned, negative: text.starts_with('-'), integer, fraction, format, exponent })
    }

    /// The digits before and after the point.
    fn digits(&self) -> String {
        format!("{}{}", self.integer, self.fraction)
    }

    /// The power of ten of the last digit.
    fn scale(&self) -> i32 {
        let length = i32::try_from(self.fraction.len()).unwrap_or(i32::MAX);
        if self.format == QuantityFormat::Binary { 0 } else { self.exponent }.saturating_sub(length)
    }

    /// Whether upstream takes the fast path, in 64 bits.
    fn is_short(&self) -> bool {
        let length = |text: &str| i32::try_from(text.len()).unwrap_or(i32::MAX);
        let precision = match self.format {
            QuantityFormat::Binary if self.fraction.is_empty() => {
                15 - length(self.integer) - self.exponent * 3 / 10 - 1
            }
            QuantityFormat::Binary => -1,
            _ => MAX_FAST_DIGITS - length(&self.digits()),
        };
        precision >= 0 && self.scale() >= MIN_SCALE
    }

    /// Whether upstream keeps the text of a short one; `None` if the number is too large.
    fn looks_canonical(&self) -> Option<bool> {
        let digits = self.digits();
        let number = digits.parse::<i128>().ok()?;
        Some(match self.format {
            QuantityFormat::Binary => self.exponent % 10 == 0 && number & 7 != 0,
            _ => self.scale() % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0'),
        })
    }

    /// The value in billionths, rounded up and saturating.
    fn billionths(&self) -> i128 {
        let digits = self.digits();
        let (factor, exponent) = match self.format {
            QuantityFormat::Binary => (1_i128 << self.exponent, 0),
            _ => (1, self.exponent),
        };
        let length = i32::try_from(self.fraction.len()).unwrap_or(i32::MAX);
        let scale = exponent.saturating_sub(length).saturating_sub(MIN_SCALE);
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

/// The canonical text of a quantity.
///
/// # Errors
/// The message of upstream's decoder.
pub(crate) fn canonical(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let parts = ParsedQuantity::parse(text)?;
    let ParsedQuantity { unsigned, format, exponent, .. } = parts;
    let Ok(number) = parts.digits().parse::<i128>() else { return Ok(text.to_owned()) };
    if parts.is_short() && parts.looks_canonical() == Some(true) {
        return Ok(text.to_owned());
    }
    let scale = parts.scale();
    let factor = if format == QuantityFormat::Binary { 1_i128 << exponent } else { 1 };
    // A number too large for `i128` stays as written.
    let format_number = number.checked_mul(factor).and_then(|number| format_number(number, scale, format));
    let format_number = format_number.unwrap_or_else(|| unsigned.to_owned());
    Ok(if text.starts_with('-') && format_number != "0" { format!("-{format_number}") } else { format_number })
}

/// A canonical quantity in whole thousandths, rounded away from zero; `None` if it is in whole
/// thousandths. Upstream: `Quantity.RoundUp`, as `SetDefaults_ResourceList` calls it.
pub fn rounded_to_thousandths(text: &str) -> Option<String> {
    const MILLI_SCALE: i32 = -3;
    let parts = ParsedQuantity::parse(text).ok()?;
    let quantity = Quantity { billionths: parts.billionths().abs(), format: parts.format, text: None };
    if quantity.billionths % BILLIONTHS_PER_THOUSANDTH == 0 {
        return None;
    }
    let rounded = format_number(quantity.thousandths(), MILLI_SCALE, parts.format)?;
    Some(if parts.negative { format!("-{rounded}") } else { rounded })
}

/// Whether upstream holds two valid quantities differently in memory.
pub(crate) fn differ_in_memory(first: &str, second: &str) -> bool {
    first != second && InMemoryQuantity::of(first) != InMemoryQuantity::of(second)
}

/// A quantity as `ParseQuantity` leaves it: a short one as a scaled integer, with its text if that
/// looks canonical; any other as a decimal.
#[derive(Debug, PartialEq)]
struct InMemoryQuantity {
    text: Option<String>,
    is_short: bool,
    /// Significant digits.
    number: i128,
    scale: i32,
    format: QuantityFormat,
}

impl InMemoryQuantity {
    /// `None` if it is malformed or too large for this module.
    fn of(text: &str) -> Option<Self> {
        if text == "0" {
            let format = QuantityFormat::Decimal;
            return Some(Self { text: Some(text.to_owned()), is_short: true, number: 0, scale: 0, format });
        }
        let parts = ParsedQuantity::parse(text).ok()?;
        let (is_short, stays) = (parts.is_short(), parts.looks_canonical()?);
        let factor = if parts.format == QuantityFormat::Binary { 1_i128 << parts.exponent } else { 1 };
        let number = parts.digits().parse::<i128>().ok()?.checked_mul(factor)?;
        Some(Self {
            text: (is_short && stays).then(|| text.to_owned()),
            is_short,
            number: if parts.negative { -number } else { number },
            scale: parts.scale(),
            format: parts.format,
        })
    }
}

fn format_of(suffix: &str) -> Option<(QuantityFormat, i32)> {
    let among = |all: &[(&str, i32)]| all.iter().find(|(name, _)| *name == suffix).map(|(_, exponent)| *exponent);
    if let Some(exponent) = among(&DECIMAL) {
        return Some((QuantityFormat::Decimal, exponent));
    }
    if let Some(exponent) = among(&BINARY) {
        return Some((QuantityFormat::Binary, exponent));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((QuantityFormat::Exponent, exponent.parse().ok()?))
}

/// Formats `number` × 10^`scale`; `None` if that is too large.
fn format_number(mut number: i128, mut scale: i32, format: QuantityFormat) -> Option<String> {
    // Round fractions of a billionth up.
    while scale < MIN_SCALE {
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
    if format == QuantityFormat::Binary
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
    Some(match format {
        QuantityFormat::Exponent if scale == 0 => number.to_string(),
        QuantityFormat::Exponent => format!("{number}e{scale}"),
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

    // Go's `reflect.DeepEqual` of the parsed quantities.
    #[rstest]
    #[case("250m", "250m", false)]
    #[case("0.25", "250m", true)]
    #[case("1000m", "1", true)]
    #[case("8192Ki", "8Mi", false)]
    #[case("2048Mi", "2Gi", true)]
    #[case("0.5Gi", "512Mi", true)]
    #[case("0m", "0", true)]
    fn parsed_quantities_differ_in_memory(#[case] given: &str, #[case] stored: &str, #[case] expected: bool) {
        assert_eq!(differ_in_memory(given, stored), expected);
    }

    // The results of Go's `resource.MustParse(text).String()`.
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
    fn canonical_quantity_matches_upstream(#[case] text: &str, #[case] format_number: &str) {
        assert_eq!(canonical(text).as_deref(), Ok(format_number));
    }

    #[rstest]
    #[case("100u", Some("1m"))]
    #[case("1500u", Some("2m"))]
    #[case("1n", Some("1m"))]
    #[case("-100u", Some("-1m"))]
    #[case("1m", None)]
    #[case("250m", None)]
    #[case("102400m", None)]
    #[case("1.5", None)]
    #[case("64Mi", None)]
    #[case("16Ei", None)]
    fn rounds_to_thousandths_away_from_zero(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(rounded_to_thousandths(text).as_deref(), expected);
    }

    #[rstest]
    #[case("", FORMAT_ERROR)]
    #[case("x", FORMAT_ERROR)]
    #[case("5x", FORMAT_ERROR)]
    #[case("5 Mi", FORMAT_ERROR)]
    #[case("5kk", SUFFIX_ERROR)]
    #[case("5e", SUFFIX_ERROR)]
    #[case("5m3", SUFFIX_ERROR)]
    fn rejects_malformed_quantity_with_upstream_message(#[case] text: &str, #[case] message: &str) {
        assert_eq!(canonical(text), Err(message));
    }
}
