//! Query parameters: upstream's `ListOptions` with their validation, and the options of writes.

use crate::go::json_errors::raw_base64_error;
use crate::http::request::ApiRequest;
use crate::http::selector::Selector;
use crate::http::status_error::{ApiResult, StatusError};
use crate::types::field_error::FieldError;
use crate::types::kinds::ResourceKind;

/// The maximum length of a field manager's name.
const LONGEST_MANAGER: usize = 128;

/// A numeric parameter, if present.
pub(crate) fn number(request: &ApiRequest, name: &str) -> ApiResult<Option<i64>> {
    match request.param(name) {
        "" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|_| StatusError::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax"))),
    }
}

/// Validates `timeout`, the client's deadline for a request. Upstream: `WithRequestDeadline`.
pub(crate) fn time_out(request: &ApiRequest) -> ApiResult<()> {
    let refused =
        |why: String| StatusError::bad_request(format!("invalid timeout specified in the request URL - {why}"));
    match request.param("timeout") {
        "" => Ok(()),
        text => duration(text).map_err(refused),
    }
}

/// Validates a duration such as `1m30s`. Upstream: Go's `time.ParseDuration`.
fn duration(text: &str) -> Result<(), String> {
    const UNITS: [&str; 8] = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"];
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(());
    }
    let invalid = || format!("time: invalid duration {text:?}");
    if rest.is_empty() {
        return Err(invalid());
    }
    while !rest.is_empty() {
        let is_digit = |c: char| c.is_ascii_digit();
        let after = rest.trim_start_matches(is_digit);
        let after = after.strip_prefix('.').map_or(after, |part| part.trim_start_matches(is_digit));
        if !rest[..rest.len() - after.len()].contains(is_digit) {
            return Err(invalid());
        }
        let unit = &after[..after.find(|c| is_digit(c) || c == '.').unwrap_or(after.len())];
        match unit {
            "" => return Err(format!("time: missing unit in duration {text:?}")),
            unit if !UNITS.contains(&unit) => return Err(format!("time: unknown unit {unit:?} in duration {text:?}")),
            unit => rest = &after[unit.len()..],
        }
    }
    Ok(())
}

/// Validates the options of a list, a watch or a deletion of a collection; returns the selector.
pub(crate) fn list(request: &ApiRequest, kind: &ResourceKind, watch: bool) -> ApiResult<Selector> {
    number(request, "timeoutSeconds")?;
    number(request, "limit")?;
    let selector = Selector::of_query(request.param("labelSelector"), request.param("fieldSelector"))?;
    let errors = if watch { watch_errors(request) } else { list_errors(request) };
    if !errors.is_empty() {
        return Err(StatusError::invalid("meta.k8s.io", "ListOptions", "", &errors));
    }
    selector.check_fields(kind)?;
    Ok(selector.of_stored(kind))
}

/// Validates the options of a write. Upstream: `ValidateCreateOptions` and similar functions.
pub(crate) fn write(request: &ApiRequest) -> ApiResult<()> {
    let (kind, patch) = match request.method.as_str() {
        "POST" => ("CreateOptions", false),
        "PUT" => ("UpdateOptions", false),
        _ => ("PatchOptions", true),
    };
    let mut errors = Vec::new();
    let manager = request.param("fieldManager");
    if request.media_type() == crate::http::request::APPLY {
        if manager.is_empty() {
            errors.push(FieldError::required("fieldManager", "is required for apply patch"));
        }
    } else if patch && request.query.contains_key("force") {
        errors.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
    }
    if manager.len() > LONGEST_MANAGER {
        errors.push(FieldError::too_long("fieldManager", LONGEST_MANAGER));
    }
    if manager.chars().any(|c| c.is_control() || !c.is_ascii()) {
        return Err(StatusError::unsupported("a field manager of other letters than ASCII's"));
    }
    errors.extend(wrong_dry_run(&dry_run(request)));
    let validation = request.param("fieldValidation");
    if !matches!(validation, "" | "Ignore" | "Strict" | "Warn") {
        errors.push(FieldError::unsupported("fieldValidation", validation, &["", "Ignore", "Strict", "Warn"]));
    }
    if errors.is_empty() { Ok(()) } else { Err(StatusError::invalid("meta.k8s.io", kind, "", &errors)) }
}

/// The values of `dryRun`.
pub(crate) fn dry_run(request: &ApiRequest) -> Vec<&str> {
    request.query.get("dryRun").map(|all| all.split('\n').collect()).unwrap_or_default()
}

/// Validates the values of `dryRun`.
pub(crate) fn wrong_dry_run(values: &[&str]) -> Option<FieldError> {
    let wrong = values.iter().any(|one| *one != "All");
    wrong.then(|| FieldError::unsupported("dryRun", values.to_vec(), &["All"]))
}

/// Parses a continue token, whose format is private to this server.
pub(crate) fn continue_position(text: &str) -> ApiResult<(u64, String)> {
    let found = text.split_once(':').and_then(|(version, key)| Some((version.parse().ok()?, key.to_owned())));
    found.ok_or_else(|| match raw_base64_error(text) {
        Some(at) => StatusError::bad_request(format!(
            "invalid continue token: continue key is not valid: illegal base64 data at input byte {at}"
        )),
        None => StatusError::unsupported("a continue token that this server did not issue"),
    })
}

fn list_errors(request: &ApiRequest) -> Vec<FieldError> {
    const MATCH: &str = "resourceVersionMatch";
    let mut errors = Vec::new();
    let (values, version) = (request.param(MATCH), request.param("resourceVersion"));
    if !values.is_empty() {
        if version.is_empty() {
            errors.push(FieldError::forbidden(
                MATCH,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if !request.param("continue").is_empty() {
            errors.push(FieldError::forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
        }
        if !matches!(values, "Exact" | "NotOlderThan") {
            errors.push(FieldError::unsupported(MATCH, values, &["Exact", "NotOlderThan", ""]));
        }
        if values == "Exact" && version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(FieldError::forbidden(MATCH, why));
        }
    }
    if request.query.contains_key("sendInitialEvents") {
        errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    errors
}

fn watch_errors(request: &ApiRequest) -> Vec<FieldError> {
    const MATCH: &str = "resourceVersionMatch";
    let mut errors = Vec::new();
    let (values, sends) = (request.param(MATCH), request.query.contains_key("sendInitialEvents"));
    if sends && values != "NotOlderThan" {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(FieldError::forbidden(MATCH, why));
    }
    if !values.is_empty() {
        if !sends {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden(MATCH, why));
        }
        if values != "NotOlderThan" {
            errors.push(FieldError::unsupported(MATCH, values, &["NotOlderThan"]));
        }
        if !request.param("continue").is_empty() {
            errors.push(FieldError::forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
        }
    }
    errors
}
