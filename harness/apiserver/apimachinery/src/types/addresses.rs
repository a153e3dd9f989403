//! Formats of network addresses, hosts, email and URIs, as Go's standard library parses them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use crate::types::expressions::{FormatMatch, LazyRegex, expression, matches};

static HOST_LETTERS: LazyRegex = LazyLock::new(|| expression(r"^[a-zA-Z0-9\p{S}\p{L}]+$"));
static LETTERS: LazyRegex = LazyLock::new(|| expression(r"^[a-zA-Z\p{L}]+$"));

/// An IP address; leading zeros are allowed.
pub fn is_ip(text: &str) -> bool {
    match text.find(['.', ':']).map(|at| &text[at..=at]) {
        Some(".") => ipv4(text).is_some(),
        Some(_) => ipv6(text).is_some(),
        None => false,
    }
}

/// Parses a number with optional leading zeros. Go stops at 16777215.
fn small(text: &str, radix: u32) -> Option<u32> {
    let digits = text.trim_start_matches('0');
    let plain = !text.is_empty() && text.bytes().all(|byte| char::from(byte).is_digit(radix));
    (plain && digits.len() < 7).then(|| u32::from_str_radix(digits, radix).unwrap_or(0))
}

fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let parts: Option<Vec<u8>> = text.split('.').map(|part| small(part, 10)?.try_into().ok()).collect();
    <[u8; 4]>::try_from(parts?).ok().map(Ipv4Addr::from)
}

fn ipv6(text: &str) -> Option<Ipv6Addr> {
    // The address without leading zeros, as Rust's parser requires it.
    let plain = text.split(':').map(|part| match part.contains('.') {
        true => ipv4(part).map(|address| address.to_string()),
        false if part.is_empty() => Some(String::new()),
        false => small(part, 16).map(|number| format!("{number:x}")),
    });
    plain.collect::<Option<Vec<_>>>()?.join(":").parse().ok()
}

/// A CIDR; leading zeros are allowed.
pub fn is_cidr(text: &str) -> bool {
    cidr(text).is_some()
}

/// The address of a CIDR and its number of bits; leading zeros are allowed. Upstream:
/// `ParseCIDRSloppy`.
pub fn cidr(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = text.split_once('/')?;
    let (address, most) = match ipv4(address) {
        Some(address) => (IpAddr::V4(address), 32),
        None => (IpAddr::V6(ipv6(address)?), 128),
    };
    small(bits, 10).filter(|bits| *bits <= most).map(|bits| (address, bits))
}

/// A MAC address of 6, 8 or 20 bytes.
pub fn is_mac(text: &[u8]) -> bool {
    let (group, mark) = match text {
        [_, _, mark @ (b':' | b'-'), ..] => (2, *mark),
        [_, _, _, _, b'.', ..] => (4, b'.'),
        _ => return false,
    };
    let groups: Vec<&[u8]> = text.split(|byte| *byte == mark).collect();
    let fits = groups.iter().all(|one| one.len() == group && one.iter().all(u8::is_ascii_hexdigit));
    fits && matches!(groups.len() * group / 2, 6 | 8 | 20)
}

/// A host name as JSON Schema's format `hostname` has it, with letters of any alphabet.
pub fn is_hostname(text: &str) -> bool {
    if text.len() > 255 || text.split('.').any(|part| part.len() > 63) {
        return false;
    }
    let letters = |text: &str| matches(&HOST_LETTERS, text);
    let Some((domains, top)) = text.rsplit_once('.') else {
        let mut all = text.chars();
        let first = all.next().map(String::from).unwrap_or_default();
        let rest = all.as_str().strip_prefix('-').unwrap_or(all.as_str());
        return letters(&first) && (rest.is_empty() || letters(rest)) && rest.chars().count() <= 62;
    };
    let label = |label: &str| {
        let plain = label.replace('-', "");
        letters(&plain) && !label.starts_with('-') && !label.ends_with('-') && label.chars().count() <= 63
    };
    domains.split('.').all(label) && matches(&LETTERS, top) && (2..=63).contains(&top.chars().count())
}

/// An email address. With a display name, comments or quotes the result is unknown.
pub fn email(text: &str) -> FormatMatch {
    let fits = |fits: bool| if fits { FormatMatch::Fits } else { FormatMatch::Fails };
    if !text.contains('@') {
        return FormatMatch::Fails;
    }
    if text.contains(|letter: char| !(letter.is_ascii_graphic() || letter > '\u{9f}'))
        || text.contains(['(', ')', '<', '>', '[', ']', ':', ';', '"', ',', '\\'])
    {
        return FormatMatch::Unknown;
    }
    let atom = |text: &str| text.split('.').all(|part| !part.is_empty());
    fits(text.split_once('@').is_some_and(|(name, host)| atom(name) && atom(host) && !host.contains('@')))
}

/// An absolute URI or an absolute path. Upstream: `url.ParseRequestURI`.
pub fn uri(text: &str) -> FormatMatch {
    if text.is_empty() || text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return FormatMatch::Fails;
    }
    if text == "*" {
        return FormatMatch::Fits;
    }
    let (scheme, rest) = match text.find(|letter: char| !(letter.is_ascii_alphanumeric() || "+-.".contains(letter))) {
        Some(0) if text.starts_with(':') => return FormatMatch::Fails,
        Some(at) if text[at..].starts_with(':') && text.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            (&text[..at], &text[at + 1..])
        }
        _ => ("", text),
    };
    let rest = rest.split('?').next().unwrap_or_default();
    if !rest.starts_with('/') {
        return if scheme.is_empty() { FormatMatch::Fails } else { FormatMatch::Fits };
    }
    let mut path = rest;
    if let Some(after) = rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
        let (authority, below) = after.find('/').map_or((after, ""), |at| after.split_at(at));
        path = below;
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        if host.contains(['[', ']']) {
            return FormatMatch::Unknown;
        }
        let odd = |letter: char| !(letter.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(letter));
        if !is_host(scheme, host) || user.contains(odd) || !is_escaped(user, |_| true) {
            return FormatMatch::Fails;
        }
    }
    if is_escaped(path, |_| true) { FormatMatch::Fits } else { FormatMatch::Fails }
}

fn is_host(scheme: &str, host: &str) -> bool {
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    let strict = matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https");
    if !port.bytes().all(|byte| byte.is_ascii_digit()) || strict && host.matches(':').count() > 1 {
        return false;
    }
    let odd = |letter: char| {
        letter.is_ascii() && !(letter.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:<>\"%".contains(letter))
    };
    !host.contains(odd) && is_escaped(host, |byte| byte >= 0x80 || byte == b'%')
}

/// Whether every `%` begins an escape, of a byte that may be escaped.
fn is_escaped(text: &str, may: fn(u8) -> bool) -> bool {
    text.split('%').skip(1).all(|after| {
        let digits = after.as_bytes().get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let byte = digits.and_then(|_| u8::from_str_radix(&after[..2], 16).ok());
        byte.is_some_and(may)
    })
}
