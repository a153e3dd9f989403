//! Validates names, label keys and values, and other strings with a grammar.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const EXAMPLES: &str = "e.g. 'MyName',  or 'my.name',  or '123-abc', ";

/// Validates a DNS label.
pub fn dns_label(value: &str) -> Vec<String> {
    let mut errors = too_long(value, 63);
    if !is_label(value) {
        errors.push(if is_subdomain(value) {
            "must not contain dots".to_owned()
        } else {
            format!(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an \
                 alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
            )
        });
    }
    errors
}

/// Validates a DNS label of RFC 1035, which begins with a letter.
pub fn dns_1035_label(value: &str) -> Vec<String> {
    let mut errors = too_long(value, 63);
    if !is_label(value) || !value.starts_with(|first: char| first.is_ascii_lowercase()) {
        errors.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an \
             alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
                .to_owned(),
        );
    }
    errors
}

/// Validates the name of a port. Upstream: `IsValidPortName`.
pub fn port_name(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > 15 {
        errors.push("must be no more than 15 characters".to_owned());
    }
    if !value.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase() || byte == b'-') || value.is_empty()
    {
        errors.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !value.bytes().any(|byte| byte.is_ascii_lowercase()) {
        errors.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        errors.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        errors.push("must not begin or end with a hyphen".to_owned());
    }
    errors
}

/// Validates a DNS subdomain.
pub fn dns_subdomain(value: &str) -> Vec<String> {
    let mut errors = too_long(value, 253);
    errors.extend(malformed_subdomain(value));
    errors
}

fn malformed_subdomain(value: &str) -> Option<String> {
    (!is_subdomain(value)).then(|| {
        format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with \
             an alphanumeric character (e.g. 'example.com', regex used for validation is '{LABEL}(\\.{LABEL})*')"
        )
    })
}

/// Validates a domain in which resolvers look up names. Upstream:
/// `IsDNS1123SubdomainWithUnderscore`.
pub fn dns_search(value: &str) -> Vec<String> {
    const LABEL: &str = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
    let mut errors = too_long(value, 253);
    let is_valid = |label: &str| {
        let label = label.strip_prefix('_').unwrap_or(label);
        !label.starts_with('_') && !label.ends_with('_') && is_label(&label.replace('_', "-"))
    };
    if !value.split('.').all(is_valid) {
        errors.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end \
             with an alphanumeric character (e.g. 'example.com', regex used for validation is '{LABEL}(\\.{LABEL})*')"
        ));
    }
    errors
}

/// Validates a DNS subdomain below a wildcard.
pub fn wildcard(value: &str) -> Vec<String> {
    let mut errors = too_long(value, 253);
    if !value.strip_prefix("*.").is_some_and(is_subdomain) {
        errors.push(format!(
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of \
             lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
             '*.example.com', regex used for validation is '\\*\\.{LABEL}(\\.{LABEL})*')"
        ));
    }
    errors
}

/// Validates a segment of a path.
pub fn path_segment(value: &str) -> Vec<String> {
    match value {
        "." | ".." => vec![format!("may not be '{value}'")],
        _ => ["/", "%"]
            .into_iter()
            .filter(|bad| value.contains(bad))
            .map(|bad| format!("may not contain '{bad}'"))
            .collect(),
    }
}

/// Validates the key of a label or annotation.
pub fn key(value: &str) -> Vec<String> {
    let how = || {
        format!(
            "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ({EXAMPLES}regex \
             used for validation is '{NAME}')"
        )
    };
    let mut errors = Vec::new();
    let name = match value.split_once('/') {
        None => value,
        Some((_, name)) if name.contains('/') => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                how()
            )];
        }
        Some(("", name)) => {
            errors.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            let wrong = too_many_bytes(prefix, 253).into_iter().chain(malformed_subdomain(prefix));
            errors.extend(wrong.map(|error| format!("prefix part {error}")));
            name
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else {
        errors.extend(too_many_bytes(name, 63).map(|error| format!("name part {error}")));
    }
    if name.is_empty() || !is_name(name) {
        errors.push(format!("name part {}", how()));
    }
    errors
}

/// Validates the value of a label.
pub fn label_value(value: &str) -> Vec<String> {
    let mut errors: Vec<String> = too_many_bytes(value, 63).into_iter().collect();
    if !value.is_empty() && !is_name(value) {
        errors.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '({NAME})?')"
        ));
    }
    errors
}

/// Validates a percentage.
pub fn percent(value: &str) -> Option<&'static str> {
    let digits = value.strip_suffix('%').unwrap_or_default();
    let fits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (!fits).then_some(
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is \
         '[0-9]+%')",
    )
}

/// Validates a key of a ConfigMap or Secret.
pub fn config_key(value: &str) -> Vec<String> {
    let mut errors = too_long(value, 253);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if value.is_empty() || !value.bytes().all(fits) {
        errors.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', \
             regex used for validation is '[-._a-zA-Z0-9]+')"
                .to_owned(),
        );
    } else if value == "." || value == ".." {
        errors.push(format!("must not be '{value}'"));
    } else if value.starts_with("..") {
        errors.push("must not start with '..'".to_owned());
    }
    errors
}

/// The error for a name of more bytes, which upstream calls characters. Upstream:
/// `validation.MaxLenError`.
fn too_long(value: &str, most: usize) -> Vec<String> {
    if value.len() > most { vec![format!("must be no more than {most} characters")] } else { Vec::new() }
}

/// The error for a part of a label of more bytes. Upstream: `content.MaxLenError`.
fn too_many_bytes(value: &str, most: usize) -> Option<String> {
    (value.len() > most).then(|| format!("must be no more than {most} bytes"))
}

fn is_label(value: &str) -> bool {
    let end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    end(value.bytes().next()) && end(value.bytes().last()) && value.bytes().all(inside)
}

fn is_subdomain(value: &str) -> bool {
    value.split('.').all(is_label)
}

fn is_name(value: &str) -> bool {
    let end = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    end(value.bytes().next()) && end(value.bytes().last()) && value.bytes().all(inside)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("web", 0)]
    #[case("Web", 1)]
    #[case("a.b", 0)]
    #[case("-a", 1)]
    #[case("a..b", 1)]
    #[case("", 1)]
    fn validates_dns_subdomains(#[case] name: &str, #[case] errors: usize) {
        assert_eq!(dns_subdomain(name).len(), errors);
    }

    #[rstest]
    #[case("app", 0)]
    #[case("example.com/App_1", 0)]
    #[case("/app", 1)]
    #[case("a/b/c", 1)]
    #[case("", 2)]
    #[case("a b", 1)]
    fn validates_label_keys(#[case] name: &str, #[case] errors: usize) {
        assert_eq!(key(name).len(), errors);
    }

    #[rstest]
    #[case("25%", true)]
    #[case("%", false)]
    #[case("-1%", false)]
    #[case("25", false)]
    fn validates_percentages(#[case] text: &str, #[case] fits: bool) {
        assert_eq!(percent(text).is_none(), fits);
    }
}
