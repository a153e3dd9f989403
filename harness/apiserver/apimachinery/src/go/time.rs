//! Parses times as Go's `time.Parse` does, with its errors.
//!
//! It knows the two layouts of API objects. It does not know names of months, days and zones.

use std::fmt::Write as _;

use jiff::civil::{Date, DateTime};
use jiff::{SignedDuration, ToSpan as _};

/// Go's `time.RFC3339`.
pub const RFC3339: &str = "2006-01-02T15:04:05Z07:00";
/// The layout of `metav1.MicroTime`. Upstream: `RFC3339Micro`.
pub const RFC3339_MICRO: &str = "2006-01-02T15:04:05.000000Z07:00";

/// The elements of a layout, each with the text before it. Upstream: `nextStdChunk`.
const ELEMENTS: [(&str, &str); 8] =
    [("", "2006"), ("-", "01"), ("-", "02"), ("T", "15"), (":", "04"), (":", "05"), ("", ".000000"), ("", "Z07:00")];

/// Parses a time of a layout as UTC.
///
/// # Errors
/// The text of Go's `ParseError`.
pub fn parse(layout: &str, text: &str) -> Result<DateTime, String> {
    let micro = layout == RFC3339_MICRO;
    let cannot_parse = |element: &str, rest: &str| {
        format!("parsing time {} as {}: cannot parse {} as {}", quote(text), quote(layout), quote(rest), quote(element))
    };
    let refused = |why: &str| format!("parsing time {}: {why}", quote(text));
    let out_of_range = |what: &str| refused(&format!("{what} out of range"));
    let mut rest = text;
    let (mut numbers, mut nanoseconds, mut offset) = ([0_i16; 6], 0, 0);
    for (at, (prefix, element)) in ELEMENTS.into_iter().enumerate() {
        if element == ".000000" && !micro {
            // Seconds without a fraction in the layout can have one all the same.
            (nanoseconds, rest) = optional_fraction(rest);
            continue;
        }
        rest = rest.strip_prefix(prefix).ok_or_else(|| cannot_parse(prefix, rest))?;
        let bad = || cannot_parse(element, rest);
        match element {
            "2006" => (numbers[at], rest) = number(rest, 4, 4).ok_or_else(bad)?,
            ".000000" => (nanoseconds, rest) = fraction(rest, 6).ok_or_else(bad)?,
            "Z07:00" => (offset, rest) = zone(rest).ok_or_else(bad)?.map_err(out_of_range)?,
            _ => {
                let fewest = if element == "15" { 1 } else { 2 };
                (numbers[at], rest) = number(rest, fewest, 2).ok_or_else(bad)?;
                let range = match element {
                    "01" => Some((1..=12, "month")),
                    "15" => Some((0..=23, "hour")),
                    "04" => Some((0..=59, "minute")),
                    "05" => Some((0..=59, "second")),
                    _ => None,
                };
                if let Some((_, name)) = range.filter(|(range, _)| !range.contains(&numbers[at])) {
                    return Err(out_of_range(name));
                }
            }
        }
    }
    if !rest.is_empty() {
        return Err(refused(&format!("extra text: {}", quote(rest))));
    }
    let [year, month, day, hour, minute, second] = numbers;
    let small = |number: i16| i8::try_from(number).unwrap_or_default();
    let date = Date::new(year, small(month), small(day)).map_err(|_| out_of_range("day"))?;
    let time = date.at(small(hour), small(minute), small(second), nanoseconds);
    time.checked_sub(i64::from(offset).seconds()).map_err(|_| out_of_range("year"))
}

/// Whether this is Go's zero time, which is encoded as null.
#[must_use]
pub fn is_zero(time: DateTime) -> bool {
    time.duration_since(Date::constant(1, 1, 1).at(0, 0, 0, 0)) == SignedDuration::ZERO
}

/// A number of as many digits, and the text after it. Upstream: `getnum`.
fn number(text: &str, fewest: usize, most: usize) -> Option<(i16, &str)> {
    let digits = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    (digits >= fewest).then(|| number.parse().ok().map(|number| (number, rest)))?
}

/// A fraction of exactly as many digits in nanoseconds, and the text after it. Upstream:
/// `parseNanoseconds`.
fn fraction(text: &str, digits: usize) -> Option<(i32, &str)> {
    let rest = text.strip_prefix(['.', ','])?;
    let known = rest.bytes().take(digits).take_while(u8::is_ascii_digit).count();
    let (fraction, rest) = rest.split_at(known);
    (known == digits).then(|| format!("{fraction:0<9.9}").parse().ok().map(|number| (number, rest)))?
}

/// The fraction after seconds, if there is one.
fn optional_fraction(text: &str) -> (i32, &str) {
    let digits = text.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    if digits == 0 { (0, text) } else { fraction(text, digits).unwrap_or((0, text)) }
}

/// The offset of a zone in seconds, and the text after it; an error names the part that is out of
/// range.
fn zone(text: &str) -> Option<Result<(i32, &str), &'static str>> {
    if let Some(rest) = text.strip_prefix('Z') {
        return Some(Ok((0, rest)));
    }
    let (hours, rest) = number(text.get(1..)?, 2, 2)?;
    let (minutes, rest) = number(rest.strip_prefix(':')?, 2, 2)?;
    let seconds = (i32::from(hours) * 60 + i32::from(minutes)) * 60;
    if hours > 24 {
        return Some(Err("time zone offset hour"));
    }
    if minutes > 60 {
        return Some(Err("time zone offset minute"));
    }
    match text.as_bytes()[0] {
        b'+' => Some(Ok((seconds, rest))),
        b'-' => Some(Ok((-seconds, rest))),
        _ => None,
    }
}

/// Quotes a text as the errors of Go's package `time` do.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            b' '..=0x7f => quoted.push(char::from(byte)),
            _ => write!(quoted, "\\x{byte:02x}").expect("a String takes any text"),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    // What Go 1.26 says.
    #[rstest]
    #[case(RFC3339, "2020-01-01T00:00:00.5Z", "2020-01-01T00:00:00.5")]
    #[case(RFC3339, "2020-01-01T1:00:00,25+01:30", "2019-12-31T23:30:00.25")]
    #[case(RFC3339_MICRO, "2020-01-01T00:00:00.123456-23:00", "2020-01-01T23:00:00.123456")]
    #[case(RFC3339_MICRO, "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999")]
    fn parses_what_go_parses(#[case] layout: &str, #[case] text: &str, #[case] utc: &str) {
        assert_eq!(parse(layout, text).map(|time| time.to_string()), Ok(utc.to_owned()));
    }

    #[rstest]
    #[case(RFC3339, "2020-01-01 00:00:00Z", r#" as "2006-01-02T15:04:05Z07:00": cannot parse " 00:00:00Z" as "T""#)]
    #[case(RFC3339, "2020-01-01T00:00Z", r#" as "2006-01-02T15:04:05Z07:00": cannot parse "Z" as ":""#)]
    #[case(RFC3339, "2021-02-29T00:00:00Z", ": day out of range")]
    #[case(RFC3339, "2020-1-01T00:00:00Z", r#" as "2006-01-02T15:04:05Z07:00": cannot parse "1-01T00:00:00Z" as "01""#)]
    #[case(RFC3339, "2020-01-01T00:00:00+25:00", ": time zone offset hour out of range")]
    #[case(RFC3339, "2020-01-01T00:00:00Zx", r#": extra text: "x""#)]
    #[case(
        RFC3339_MICRO,
        "2020-01-01T00:00:00Z",
        r#" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#
    )]
    fn refuses_with_the_error_of_go(#[case] layout: &str, #[case] text: &str, #[case] error: &str) {
        assert_eq!(parse(layout, text).unwrap_err(), format!("parsing time \"{text}\"{error}"));
    }
}
