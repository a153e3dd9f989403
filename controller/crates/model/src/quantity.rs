//! Resource quantities in a canonical form, in which equal amounts such as `1Gi` and `1073741824`
//! are equal.

/// A quantity as digits times a power of ten, where the digits have no trailing zeros.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CanonicalQuantity {
    digits: i128,
    exponent: i32,
}

impl CanonicalQuantity {
    /// Parses a quantity; `None` if it is invalid or too large.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-')).unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(fraction) || !is_number(whole.trim_start_matches(['+', '-'])) || whole.len() + fraction.len() == 0
        {
            return None;
        }
        let mut digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let mut exponent = -i32::try_from(fraction.len()).ok()?;
        match suffix {
            "n" => exponent -= 9,
            "u" => exponent -= 6,
            "m" => exponent -= 3,
            "" => {}
            "k" => exponent += 3,
            "M" => exponent += 6,
            "G" => exponent += 9,
            "T" => exponent += 12,
            "P" => exponent += 15,
            "E" => exponent += 18,
            "Ki" => digits = digits.checked_mul(1 << 10)?,
            "Mi" => digits = digits.checked_mul(1 << 20)?,
            "Gi" => digits = digits.checked_mul(1 << 30)?,
            "Ti" => digits = digits.checked_mul(1 << 40)?,
            "Pi" => digits = digits.checked_mul(1 << 50)?,
            "Ei" => digits = digits.checked_mul(1 << 60)?,
            _ => exponent = exponent.checked_add(suffix.strip_prefix(['e', 'E'])?.parse().ok()?)?,
        }
        while digits != 0 && digits % 10 == 0 {
            digits /= 10;
            exponent = exponent.checked_add(1)?;
        }
        Some(Self { digits, exponent: if digits == 0 { 0 } else { exponent } })
    }

    /// A text that is the same for equal amounts.
    pub(super) fn text(&self) -> String {
        format!("{}e{}", self.digits, self.exponent)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1Gi", "1073741824", true)]
    #[case("1000m", "1", true)]
    #[case("0.5", "500m", true)]
    #[case("1e3", "1k", true)]
    #[case("1E", "1000P", true)]
    #[case("0", "0Mi", true)]
    #[case("1G", "1Gi", false)]
    #[case("-1", "1", false)]
    fn quantities_are_equal_by_amount(#[case] one: &str, #[case] two: &str, #[case] is_equal: bool) {
        assert_eq!(CanonicalQuantity::parse(one).unwrap() == CanonicalQuantity::parse(two).unwrap(), is_equal);
    }

    #[rstest]
    #[case("")]
    #[case("much")]
    #[case("1Zi")]
    #[case("Gi")]
    fn refuses_invalid_quantities(#[case] text: &str) {
        assert_eq!(CanonicalQuantity::parse(text), None);
    }
}
