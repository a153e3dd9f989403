//! YAML: the bodies of requests and answers in `application/yaml`.
//!
//! A body is turned into JSON before it is read, as upstream does. Upstream reads YAML 1.1, where a
//! plain `yes` is a boolean and a plain `0644` is octal. A body with such a scalar, with a key that
//! stands twice or with a syntax error is refused as unsupported.

use serde_json::Value;

use super::call::{Call, LONGEST_BODY, check_depth};
use super::problem::{Outcome, Problem};
use super::syntax;

/// The media type.
pub(super) const MEDIA_TYPE: &str = "application/yaml";

/// Writes an object.
///
/// # Errors
/// None that JSON can cause.
pub(super) fn write(value: &Value) -> Result<String, serde_yaml::Error> {
    serde_yaml::to_string(value)
}

/// The request with its body in JSON, if it is in YAML.
pub(super) fn as_json(call: &Call) -> Outcome<Option<Call>> {
    // One that is too long is refused later, in any form.
    if call.form() != MEDIA_TYPE || call.body.len() > LONGEST_BODY {
        return Ok(None);
    }
    let value = read(&call.body)?;
    let mut call = call.clone();
    // Without a body an option is absent, not null.
    if !call.body.is_empty() {
        call.written = Some(std::mem::replace(&mut call.body, value.to_string().into()));
    }
    super::server::JSON.clone_into(&mut call.content_type);
    Ok(Some(call))
}

/// Refuses a text that is nested too deep, before it is parsed: the parser takes quadratic time for
/// open brackets. What is no JSON may have brackets in texts and comments, so that their number
/// counts.
pub(super) fn check_nesting(text: &[u8]) -> Outcome<()> {
    const MOST_BRACKETS: usize = 5_000;
    check_depth(text)?;
    let brackets = || text.iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if brackets() > MOST_BRACKETS && syntax::fault(text).is_some() {
        return Err(Problem::unsupported(format!("a body in YAML with more than {MOST_BRACKETS} brackets")));
    }
    Ok(())
}

/// Reads YAML, or refuses what upstream reads in another way.
pub(super) fn read(text: &[u8]) -> Outcome<Value> {
    check_nesting(text)?;
    let unsupported = |why: String| Err(Problem::unsupported(format!("a body in YAML {why}")));
    // Into YAML's own value, because that one refuses keys that stand twice.
    let value: serde_yaml::Value = match serde_yaml::from_slice(text) {
        Ok(value) => value,
        Err(error) => return unsupported(format!("that cannot be read: {error}")),
    };
    let scalars = String::from_utf8_lossy(text);
    if let Some(scalar) = plain_scalars(&scalars).find(|scalar| differs(scalar)) {
        return unsupported(format!("with the plain scalar {scalar}, which YAML 1.1 reads in another way"));
    }
    match serde_json::to_value(&value) {
        Ok(value) => Ok(value),
        Err(error) => unsupported(format!("that JSON cannot hold: {error}")),
    }
}

/// What may be plain scalars: the text between a line's separators. Text within block scalars is
/// among it, which refuses more than it must.
fn plain_scalars(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with(['{', '"']));
    lines.flat_map(|line| {
        let line = line.split(" #").next().unwrap_or_default();
        let parts = line.split([',', '[', ']', '{', '}']).flat_map(|part| part.split(": "));
        parts.map(|part| part.trim().trim_start_matches("- ").trim_end_matches(':').trim())
    })
}

/// Whether YAML 1.1 reads a plain scalar as something else than YAML 1.2 does.
fn differs(scalar: &str) -> bool {
    if matches!(scalar.to_ascii_lowercase().as_str(), "y" | "n" | "yes" | "no" | "on" | "off") {
        return true;
    }
    let digits = scalar.strip_prefix(['-', '+']).unwrap_or(scalar);
    let number = digits.starts_with(|letter: char| letter.is_ascii_digit())
        && digits.chars().all(|letter| letter.is_ascii_digit() || matches!(letter, '_' | ':' | '.'));
    let octal = digits.len() > 1 && digits.starts_with('0') && !digits.contains(['.', ':']);
    // Numbers with a separator, and of base 60.
    number && (octal || digits.contains('_') || (digits.contains(':') && digits.matches('.').count() < 2))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_both_versions_read_alike_is_read() {
        let text =
            b"metadata:\n  name: web # yes\n  labels: {app: \"yes\", n1: n1}\nlist:\n- 1\n- '0644'\n- a: 10.0.0.1\n";
        let wanted = json!({"metadata": {"name": "web", "labels": {"app": "yes", "n1": "n1"}},
            "list": [1, "0644", {"a": "10.0.0.1"}]});
        assert_eq!(read(text).unwrap(), wanted);
        assert_eq!(read(b"{\"a\": \"yes\"}").unwrap(), json!({"a": "yes"}));
    }

    #[rstest]
    #[case("a: yes")]
    #[case("a: {b: off}")]
    #[case("- on")]
    #[case("y: 1")]
    #[case("mode: 0644")]
    #[case("a: 1_000")]
    #[case("a: 1:30")]
    #[case("a: 1\na: 2")]
    #[case("a: [")]
    fn what_upstream_reads_in_another_way_is_refused(#[case] text: &str) {
        assert!(read(text.as_bytes()).unwrap_err().unsupported, "{text}");
    }
}
