//! Validates formats of strings, numbers and integers.
//!
//! Upstream: `kube-openapi/pkg/validation/strfmt` and `apiserver/validation/formats.go`. Where only
//! Go's parser of email addresses or bracketed hosts could decide, the result is unknown.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use crate::types::addresses::{email, is_cidr, is_hostname, is_ip, is_mac, uri};
use crate::types::expressions::{FormatMatch, LazyRegex, expression, matches};

/// The checked string formats, by name without dashes.
const CHECKED: [&str; 26] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "datetime",
    "duration",
    "email",
    "hexcolor",
    "hostname",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "k8slongname",
    "k8sshortname",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

/// Whether a format applies to a type. Others are ignored, and the definition gets a warning.
pub fn is_recognized(format: &str, of_type: &str) -> bool {
    match of_type {
        "" | "string" => is_checked(format),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

/// Whether strings are checked for a format.
pub fn is_checked(format: &str) -> bool {
    CHECKED.contains(&format.replace('-', "").as_str())
}

/// Checks a text against a format; unchecked formats accept every text.
pub fn check_format(format: &str, text: &str) -> FormatMatch {
    let fits = match format.replace('-', "").as_str() {
        "bsonobjectid" => text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "byte" => matches(&BASE64, text),
        "cidr" => is_cidr(text),
        "creditcard" => is_credit_card(text),
        "date" => is_date(text),
        "datetime" => is_date_time(text),
        "duration" => is_duration(text),
        "email" => return email(text),
        "hexcolor" => matches(&COLOR, text),
        "hostname" => is_hostname(text),
        "ipv4" => text.contains('.') && is_ip(text),
        "ipv6" => text.contains(':') && text.parse::<Ipv6Addr>().is_ok(),
        "isbn" => is_isbn10(text) || is_isbn13(text),
        "isbn10" => is_isbn10(text),
        "isbn13" => is_isbn13(text),
        "k8slongname" => text.len() <= 253 && text.split('.').all(is_name),
        "k8sshortname" => text.len() <= 63 && is_name(text),
        "mac" => is_mac(text.as_bytes()),
        "rgbcolor" => matches(&RGB, text),
        "ssn" => text.len() == 11 && matches(&SSN, text),
        "uri" => return uri(text),
        "uuid" => matches(&UUID, text),
        "uuid3" => is_uuid_of('3', text),
        "uuid4" => is_uuid_of('4', text),
        "uuid5" => is_uuid_of('5', text),
        _ => true,
    };
    if fits { FormatMatch::Fits } else { FormatMatch::Fails }
}

static BASE64: LazyRegex =
    LazyLock::new(|| expression("^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"));
static COLOR: LazyRegex = LazyLock::new(|| expression("^#?(?:[0-9a-fA-F]{3}){1,2}$"));
static RGB: LazyRegex = LazyLock::new(|| {
    let part = r"[\t\n\f\r ]*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\f\r ]*";
    expression(&format!(r"^rgb\({part},{part},{part}\)$"))
});
static SSN: LazyRegex = LazyLock::new(|| expression("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"));
static UUID: LazyRegex =
    LazyLock::new(|| expression("^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$"));
static CREDIT_CARD: LazyRegex = LazyLock::new(|| {
    expression(
        "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}|\
         3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
    )
});
/// A component of Scala's duration syntax: a number and a unit.
static LONG_DURATION: LazyRegex = LazyLock::new(|| expression("([0-9]+)[\\t\\n\\f\\r ]*([A-Za-zµ]+)"));
static TIME: LazyRegex =
    LazyLock::new(|| expression("^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$"));

/// A UUID of this version, which its 13th digit shows.
fn is_uuid_of(version: char, text: &str) -> bool {
    let digits: Vec<char> = text.chars().filter(|letter| *letter != '-').collect();
    let variant = version == '3' || matches!(digits.get(16), Some('8' | '9' | 'a' | 'b' | 'A' | 'B'));
    matches(&UUID, text) && digits.get(12) == Some(&version) && variant
}

fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let (first, last) = (text.bytes().next(), text.bytes().last());
    first.is_some_and(inner) && last.is_some_and(inner) && text.bytes().all(|byte| inner(byte) || byte == b'-')
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
    let [year, month, day] = parts.as_slice() else { return false };
    if [year.len(), month.len(), day.len()] != [4, 2, 2] || !parts.iter().all(digits) {
        return false;
    }
    let number = |text: &str| text.parse::<u32>().unwrap_or_default();
    let year = number(year);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match number(month) {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return false,
    };
    (1..=days).contains(&number(day))
}

fn is_date_time(text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    let Some(found) = TIME.captures(time) else { return false };
    is_date(date) && &found[1] <= "23" && &found[2] <= "59" && &found[3] <= "59"
}

/// A Go duration (`1h30m`), or any text that contains a component such as `2 minutes`.
fn is_duration(text: &str) -> bool {
    if is_go_duration(text) {
        return true;
    }
    let mut found = false;
    for part in LONG_DURATION.captures_iter(text) {
        if part[1].parse::<i64>().is_err() {
            return false;
        }
        let unit = part[2].to_lowercase();
        found |= ["ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"].contains(&unit.as_str())
            || ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"]
                .iter()
                .any(|name| unit.starts_with(name));
    }
    found
}

fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(rest);
        let after = &rest[whole..];
        let fraction = after.strip_prefix('.').map_or(0, digits);
        if whole + fraction == 0 || whole > 0 && rest[..whole].parse::<u64>().is_ok_and(|n| n > 1 << 63) {
            return false;
        }
        if whole > 0 && rest[..whole].parse::<u64>().is_err() {
            return false;
        }
        let after = after.strip_prefix('.').map_or(after, |after| &after[fraction..]);
        let unit = after.find(|letter: char| letter == '.' || letter.is_ascii_digit()).unwrap_or(after.len());
        if !["ns", "us", "µs", "μs", "ms", "s", "m", "h"].contains(&&after[..unit]) {
            return false;
        }
        rest = &after[unit..];
    }
    true
}

fn digits_of(text: &str) -> Vec<u32> {
    text.chars().filter_map(|letter| letter.to_digit(10)).collect()
}

fn is_credit_card(text: &str) -> bool {
    let text: String = text.chars().filter(char::is_ascii_digit).collect();
    let sum: u32 = digits_of(&text)
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| match (at % 2, digit * 2) {
            (0, _) => *digit,
            (_, double) => double / 10 + double % 10,
        })
        .sum();
    matches(&CREDIT_CARD, &text) && sum.is_multiple_of(10)
}

fn book(text: &str) -> String {
    text.chars().filter(|letter| !matches!(letter, '-' | ' ' | '\t' | '\n' | '\r' | '\u{c}')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let text = book(text);
    let (Some(first), Some(last)) = (text.get(..9), text.get(9..)) else { return false };
    let last = match last {
        "X" => 10,
        digit if digit.len() == 1 && digit.bytes().all(|byte| byte.is_ascii_digit()) => digits_of(digit)[0],
        _ => return false,
    };
    let digits = digits_of(first);
    let sum: u32 = digits.iter().zip(1..).map(|(digit, place)| digit * place).sum();
    digits.len() == 9 && first.is_ascii() && (sum + 10 * last).is_multiple_of(11)
}

fn is_isbn13(text: &str) -> bool {
    let text = book(text);
    let digits = digits_of(&text);
    if text.len() != 13 || digits.len() != 13 {
        return false;
    }
    let sum: u32 = digits.iter().zip([1, 3].into_iter().cycle()).take(12).map(|(digit, factor)| digit * factor).sum();
    digits[12] == (10 - sum % 10) % 10
}
