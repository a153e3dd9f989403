//! YAML bodies of requests and responses (`application/yaml`).
//!
//! A body is converted to JSON before it is decoded, as upstream does. Upstream reads YAML 1.1,
//! where a plain `yes` is a boolean and a plain `0644` is octal. A body with such a scalar, with
//! duplicate keys or with a syntax error is unsupported.

use serde_json::Value;

use crate::go::json_errors;
use crate::http::limits::MAX_BODY_BYTES;
use crate::http::request::{ApiRequest, check_depth};
use crate::http::status_error::{ApiResult, StatusError};

/// The media type.
pub(crate) const MEDIA_TYPE: &str = "application/yaml";

/// Encodes an object.
///
/// # Errors
/// JSON values cause none.
pub(crate) fn write(value: &Value) -> Result<String, serde_yaml::Error> {
    serde_yaml::to_string(value)
}

/// Converts the body of a request from YAML to JSON, if it is YAML.
pub(crate) fn as_json(request: &ApiRequest) -> ApiResult<Option<ApiRequest>> {
    // A body that is too long is rejected later, in any format.
    if request.media_type() != MEDIA_TYPE || request.body.len() > MAX_BODY_BYTES {
        return Ok(None);
    }
    let value = read(&request.body)?;
    let mut request = request.clone();
    // An absent body must stay absent instead of becoming null.
    if !request.body.is_empty() {
        request.yaml_body = Some(std::mem::replace(&mut request.body, value.to_string().into()));
    }
    crate::http::request::JSON.clone_into(&mut request.content_type);
    Ok(Some(request))
}

/// Rejects text that is nested too deeply before parsing it: the parser takes quadratic time for
/// open brackets. Text that is not JSON may have brackets in strings and comments, so only their
/// number is limited.
pub(crate) fn check_nesting(text: &[u8]) -> ApiResult<()> {
    const MOST_BRACKETS: usize = 5_000;
    check_depth(text)?;
    let brackets = || text.iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
    if brackets() > MOST_BRACKETS && json_errors::syntax_error(text).is_some() {
        return Err(StatusError::unsupported(format!("a body in YAML with more than {MOST_BRACKETS} brackets")));
    }
    Ok(())
}

/// Parses YAML, or rejects what upstream reads differently.
pub(crate) fn read(text: &[u8]) -> ApiResult<Value> {
    check_nesting(text)?;
    let unsupported = |why: String| Err(StatusError::unsupported(format!("a body in YAML {why}")));
    // `serde_yaml::Value` rejects duplicate keys.
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

/// The text between separators, which includes all plain scalars. It also includes text of block
/// scalars, which rejects more than necessary.
fn plain_scalars(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with(['{', '"']));
    lines.flat_map(|line| {
        let line = line.split(" #").next().unwrap_or_default();
        let parts = line.split([',', '[', ']', '{', '}']).flat_map(|part| part.split(": "));
        parts.map(|part| part.trim().trim_start_matches("- ").trim_end_matches(':').trim())
    })
}

/// Whether YAML 1.1 and 1.2 read a plain scalar differently.
fn differs(scalar: &str) -> bool {
    if matches!(scalar.to_ascii_lowercase().as_str(), "y" | "n" | "yes" | "no" | "on" | "off") {
        return true;
    }
    let digits = scalar.strip_prefix(['-', '+']).unwrap_or(scalar);
    let number = digits.starts_with(|letter: char| letter.is_ascii_digit())
        && digits.chars().all(|letter| letter.is_ascii_digit() || matches!(letter, '_' | ':' | '.'));
    let octal = digits.len() > 1 && digits.starts_with('0') && !digits.contains(['.', ':']);
    // Numbers with underscores, and of base 60.
    number && (octal || digits.contains('_') || (digits.contains(':') && digits.matches('.').count() < 2))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_yaml_that_both_versions_agree_on() {
        let text =
            b"metadata:\n  name: web # yes\n  labels: {app: \"yes\", n1: n1}\nlist:\n- 1\n- '0644'\n- a: 10.0.0.1\n";
        let expected = json!({"metadata": {"name": "web", "labels": {"app": "yes", "n1": "n1"}},
            "list": [1, "0644", {"a": "10.0.0.1"}]});
        assert_eq!(read(text).unwrap(), expected);
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
    fn rejects_yaml_that_upstream_reads_differently(#[case] text: &str) {
        assert!(read(text.as_bytes()).unwrap_err().unsupported, "{text}");
    }
}
