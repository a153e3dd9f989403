//! Resource quantities: in a canonical form, in which equal amounts such as `1Gi` and `1073741824`
//! are equal, and as upstream stores them in memory, because a dump shows that form.
//!
//! Upstream may store equal amounts differently. It stores an amount as a 64-bit number and a power
//! of ten if that surely fits, and otherwise (`100Ti` already) as a number of any size in
//! billionths. It keeps the original text only if that text is clearly the shortest one. So `128Mi`
//! is stored without its text, and `170Mi` with it.

use std::fmt;

/// A number of digits that always fits 64 bits.
const SAFE_DIGITS: usize = 18;
/// The smallest supported power of ten.
const NANO: i32 = -9;
/// One, in billionths.
const ONE: u128 = 1_000_000_000;
/// The maximum of an amount with a binary suffix.
const MOST: u128 = i64::MAX as u128;

/// A text that is the same for equal amounts: digits without trailing zeros, and a power of ten.
/// `None` if the quantity is invalid or too large.
pub(crate) fn canonical_text(text: &str) -> Option<String> {
    let number = QuantityText::parse(text)?;
    let (power, factor) = Suffix::parse(number.suffix)?.power_and_factor();
    let mut digits = number.digits()?.checked_mul(factor)?;
    let mut exponent = power.checked_sub(i32::try_from(number.fraction.len()).ok()?)?;
    if digits == 0 {
        return Some("0e0".to_owned());
    }
    while digits % 10 == 0 {
        digits /= 10;
        exponent = exponent.checked_add(1)?;
    }
    Some(format!("{}{digits}e{exponent}", if number.negative { "-" } else { "" }))
}

/// A quantity in upstream's form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GoQuantity<'a> {
    amount: GoAmount,
    /// The original text, or empty if upstream does not keep it.
    text: &'a str,
    format: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
enum GoAmount {
    /// `value` times ten to the power of `scale`.
    Small { value: i64, scale: i32 },
    /// `digits` *divided* by ten to the power of `scale`.
    Big { negative: bool, digits: u128, scale: i32 },
}

impl<'a> GoQuantity<'a> {
    /// Parses a quantity. `None` if it is invalid, or if no API server writes it: a very large
    /// amount, or an unusual form of zero.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let number = QuantityText::parse(text)?;
        let suffix = Suffix::parse(number.suffix)?;
        number.small(suffix).or_else(|| number.big(suffix))
    }

    /// Writes the quantity in the format of the dump.
    pub(crate) fn dump(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let (value, scale) = match self.amount {
            GoAmount::Small { value, scale } => (value, scale),
            GoAmount::Big { .. } => (0, 0),
        };
        write!(out, "{{i:(resource.int64Amount){{value:(int64){value} scale:(resource.Scale){scale}}} ")?;
        out.write_str("d:(resource.infDecAmount){Dec:(*inf.Dec)")?;
        match self.amount {
            GoAmount::Small { .. } => out.write_str("<nil>")?,
            GoAmount::Big { negative, digits, scale } => {
                write!(out, "{{unscaled:(big.Int){{neg:(bool){negative} abs:(big.nat)[{}", digits as u64)?;
                let high = digits >> 64;
                if high > 0 {
                    write!(out, " {high}")?;
                }
                write!(out, "]}} scale:(inf.Scale){scale}}}")?;
            }
        }
        write!(out, "}} s:(string){} Format:(resource.Format){}}}", self.text, self.format)
    }
}

/// The meaning of a suffix: a power of ten or of two.
#[derive(Clone, Copy, PartialEq)]
enum Suffix {
    Decimal(i32),
    Exponent(i32),
    Binary(u32),
}

impl Suffix {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "n" => Self::Decimal(-9),
            "u" => Self::Decimal(-6),
            "m" => Self::Decimal(-3),
            "" => Self::Decimal(0),
            "k" => Self::Decimal(3),
            "M" => Self::Decimal(6),
            "G" => Self::Decimal(9),
            "T" => Self::Decimal(12),
            "P" => Self::Decimal(15),
            "E" => Self::Decimal(18),
            "Ki" => Self::Binary(10),
            "Mi" => Self::Binary(20),
            "Gi" => Self::Binary(30),
            "Ti" => Self::Binary(40),
            "Pi" => Self::Binary(50),
            "Ei" => Self::Binary(60),
            _ => Self::Exponent(text.strip_prefix(['e', 'E'])?.parse().ok()?),
        })
    }

    /// A power of ten, and a factor besides.
    fn power_and_factor(self) -> (i32, u128) {
        match self {
            Self::Decimal(power) | Self::Exponent(power) => (power, 1),
            Self::Binary(power) => (0, 1 << power),
        }
    }

    fn format(self) -> &'static str {
        match self {
            Self::Decimal(_) => "DecimalSI",
            Self::Exponent(_) => "DecimalExponent",
            Self::Binary(_) => "BinarySI",
        }
    }
}

/// The parts of a quantity's text, without leading zeros.
#[derive(Clone, Copy)]
struct QuantityText<'a> {
    text: &'a str,
    negative: bool,
    /// At least one digit.
    integer: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

impl<'a> QuantityText<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
        if !rest.trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let (integer, rest) = split_digits(rest.trim_start_matches('0'));
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
        Some(Self {
            text,
            negative: text.starts_with('-'),
            integer: if integer.is_empty() { "0" } else { integer },
            fraction,
            suffix,
        })
    }

    /// The quantity in 64 bits, if upstream stores it so.
    fn small(self, suffix: Suffix) -> Option<GoQuantity<'a>> {
        let length = self.integer.len() + self.fraction.len();
        let (power, factor) = match suffix {
            Suffix::Decimal(power) | Suffix::Exponent(power) if length <= SAFE_DIGITS => (power, 1),
            // Upstream's estimate of the digits that a power of two leaves.
            Suffix::Binary(power) if self.fraction.is_empty() && length + power as usize * 3 / 10 < 15 => {
                (0, 1 << power)
            }
            _ => return None,
        };
        let scale = power.checked_sub(i32::try_from(self.fraction.len()).ok()?).filter(|scale| *scale >= NANO)?;
        let digits = self.digits()?;
        let value = i64::try_from(digits).ok()?.checked_mul(factor)?;
        let is_canonical = match suffix {
            Suffix::Binary(_) => digits % 8 != 0,
            _ => scale % 3 == 0 && !self.integer.starts_with('0') && digits % 1000 != 0,
        };
        Some(GoQuantity {
            amount: GoAmount::Small { value: if self.negative { -value } else { value }, scale },
            text: if is_canonical || self.text == "0" { self.text } else { "" },
            format: suffix.format(),
        })
    }

    /// The quantity in billionths, rounded up.
    fn big(self, suffix: Suffix) -> Option<GoQuantity<'a>> {
        let (power, factor) = suffix.power_and_factor();
        let mut digits = self.digits()?.checked_mul(factor).filter(|digits| *digits > 0)?;
        let shift = power.checked_sub(NANO)?.checked_sub(i32::try_from(self.fraction.len()).ok()?)?;
        let ten = 10_u128.checked_pow(shift.unsigned_abs());
        digits = if shift >= 0 { digits.checked_mul(ten?)? } else { ten.map_or(1, |ten| digits.div_ceil(ten)) };
        let (mut scale, mut format) = (-NANO, suffix.format());
        if matches!(suffix, Suffix::Binary(_)) {
            if digits > MOST * ONE {
                (digits, scale) = (MOST, 0);
            } else if digits < ONE {
                format = Suffix::Decimal(0).format();
            }
        }
        Some(GoQuantity { amount: GoAmount::Big { negative: self.negative, digits, scale }, text: "", format })
    }

    fn digits(self) -> Option<u128> {
        let digit = |sum: u128, digit: u8| sum.checked_mul(10)?.checked_add(u128::from(digit - b'0'));
        self.integer.bytes().chain(self.fraction.bytes()).try_fold(0, digit)
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn small(value: i64, scale: i32) -> GoAmount {
        GoAmount::Small { value, scale }
    }

    /// An amount in billionths.
    fn big(digits: u128) -> GoAmount {
        GoAmount::Big { negative: false, digits, scale: 9 }
    }

    /// Each as k8s.io/apimachinery v0.36.3 stores it; a hundred thousand more were compared once.
    #[rstest]
    #[case("0", small(0, 0), "0", "DecimalSI")]
    #[case("00", small(0, 0), "", "DecimalSI")]
    #[case("100m", small(100, -3), "100m", "DecimalSI")]
    #[case("1000m", small(1000, -3), "", "DecimalSI")]
    #[case("1500m", small(1500, -3), "1500m", "DecimalSI")]
    #[case("0.5", small(5, -1), "", "DecimalSI")]
    #[case("1.500", small(1500, -3), "1.500", "DecimalSI")]
    #[case("+5", small(5, 0), "+5", "DecimalSI")]
    #[case("-5", small(-5, 0), "-5", "DecimalSI")]
    #[case("5.125k", small(5125, 0), "5.125k", "DecimalSI")]
    #[case("1e3", small(1, 3), "1e3", "DecimalExponent")]
    #[case("1E4", small(1, 4), "", "DecimalExponent")]
    #[case("1E", small(1, 18), "1E", "DecimalSI")]
    #[case("128Mi", small(128 << 20, 0), "", "BinarySI")]
    #[case("170Mi", small(170 << 20, 0), "170Mi", "BinarySI")]
    #[case("99Ti", small(99 << 40, 0), "99Ti", "BinarySI")]
    #[case("100Ti", big((100 << 40) * ONE), "", "BinarySI")]
    #[case("1.5Gi", big((3 << 29) * ONE), "", "BinarySI")]
    #[case("16Ei", GoAmount::Big { negative: false, digits: MOST, scale: 0 }, "", "BinarySI")]
    #[case("0.0001Ki", big(102_400_000), "", "DecimalSI")]
    #[case("1234567890123456789", big(1_234_567_890_123_456_789 * ONE), "", "DecimalSI")]
    #[case("0.1n", big(1), "", "DecimalSI")]
    #[case("1e-99", big(1), "", "DecimalExponent")]
    fn stores_quantities_as_upstream(
        #[case] text: &str,
        #[case] amount: GoAmount,
        #[case] expected_text: &str,
        #[case] format: &str,
    ) {
        let quantity = GoQuantity::parse(text).unwrap();
        assert_eq!((&quantity.amount, quantity.text, quantity.format), (&amount, expected_text, format));
    }

    #[rstest]
    #[case::nothing("")]
    #[case::no_number("much")]
    #[case::no_suffix("1Zi")]
    #[case::two_points("1.2.3")]
    #[case::no_exponent("1e")]
    #[case::beyond_reckoning("1234567890123456789e30")]
    #[case::zero_that_only_people_write("0Ei")]
    fn refuses_invalid_and_unusual_quantities(#[case] text: &str) {
        assert_eq!(GoQuantity::parse(text), None);
    }

    /// A number of any size is written as 64-bit words, the lowest first.
    #[rstest]
    #[case(
        "100Ti",
        "d:(resource.infDecAmount){Dec:(*inf.Dec){unscaled:(big.Int){neg:(bool)false \
        abs:(big.nat)[8568098291072368640 5960]} scale:(inf.Scale)9}} s:(string) Format:(resource.Format)BinarySI}"
    )]
    #[case(
        "0.1n",
        "d:(resource.infDecAmount){Dec:(*inf.Dec){unscaled:(big.Int){neg:(bool)false abs:(big.nat)[1]} \
        scale:(inf.Scale)9}} s:(string) Format:(resource.Format)DecimalSI}"
    )]
    #[case("170Mi", "d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string)170Mi Format:(resource.Format)BinarySI}")]
    fn dumps_quantities_as_upstream(#[case] text: &str, #[case] end: &str) {
        let mut out = String::new();
        GoQuantity::parse(text).unwrap().dump(&mut out).unwrap();
        assert!(out.ends_with(end), "{out}");
    }

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
        assert_eq!(canonical_text(one).unwrap() == canonical_text(two).unwrap(), is_equal);
    }

    #[rstest]
    #[case("")]
    #[case("much")]
    #[case("1Zi")]
    #[case("Gi")]
    fn refuses_invalid_quantities(#[case] text: &str) {
        assert_eq!(canonical_text(text), None);
    }
}
