//! Query parameters: upstream's `ListOptions` and their validation, and the options of writes.

use super::call::Call;
use super::field::FieldError;
use super::kinds::Kind;
use super::problem::{Outcome, Problem};
use super::select::Selector;
use super::syntax::raw_base64_fault;

/// The longest name of a field manager.
const LONGEST_MANAGER: usize = 128;

/// A numeric parameter, if present.
pub(super) fn number(call: &Call, name: &str) -> Outcome<Option<i64>> {
    match call.param(name) {
        "" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|_| Problem::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax"))),
    }
}

/// Checks `timeout`, the time that a client gives a request. Upstream: `WithRequestDeadline`.
pub(super) fn time_out(call: &Call) -> Outcome<()> {
    let refused = |why: String| Problem::bad_request(format!("invalid timeout specified in the request URL - {why}"));
    match call.param("timeout") {
        "" => Ok(()),
        text => duration(text).map_err(refused),
    }
}

/// Whether a text is a duration, as `1m30s`. Upstream: Go's `time.ParseDuration`.
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

/// The options of a list, a watch or a deletion of a collection.
pub(super) fn list(call: &Call, kind: &Kind, watch: bool) -> Outcome<Selector> {
    number(call, "timeoutSeconds")?;
    number(call, "limit")?;
    let selector = Selector::of_query(call.param("labelSelector"), call.param("fieldSelector"))?;
    let errors = if watch { of_watch(call) } else { of_list(call) };
    if !errors.is_empty() {
        return Err(Problem::invalid("meta.k8s.io", "ListOptions", "", &errors));
    }
    selector.check_fields(kind)?;
    Ok(if kind.is_new_event() { selector.renamed(super::events::field_of_core) } else { selector })
}

/// Validates the options of a write. Upstream: `ValidateCreateOptions` and its like.
pub(super) fn write(call: &Call) -> Outcome<()> {
    let (kind, patch) = match call.method.as_str() {
        "POST" => ("CreateOptions", false),
        "PUT" => ("UpdateOptions", false),
        _ => ("PatchOptions", true),
    };
    let mut errors = Vec::new();
    let manager = call.param("fieldManager");
    if call.form() == super::body::APPLY {
        if manager.is_empty() {
            errors.push(FieldError::required("fieldManager", "is required for apply patch"));
        }
    } else if patch && call.query.contains_key("force") {
        errors.push(FieldError::forbidden("force", "may not be specified for non-apply patch"));
    }
    if manager.len() > LONGEST_MANAGER {
        errors.push(FieldError::too_long("fieldManager", LONGEST_MANAGER));
    }
    if manager.chars().any(|c| c.is_control() || !c.is_ascii()) {
        return Err(Problem::unsupported("a field manager of other letters than ASCII's"));
    }
    errors.extend(wrong_dry_run(&dry_run(call)));
    let validation = call.param("fieldValidation");
    if !matches!(validation, "" | "Ignore" | "Strict" | "Warn") {
        errors.push(FieldError::unsupported("fieldValidation", validation, &["", "Ignore", "Strict", "Warn"]));
    }
    if errors.is_empty() { Ok(()) } else { Err(Problem::invalid("meta.k8s.io", kind, "", &errors)) }
}

/// The values of `dryRun`.
pub(super) fn dry_run(call: &Call) -> Vec<&str> {
    call.query.get("dryRun").map(|all| all.split('\n').collect()).unwrap_or_default()
}

/// Validates the values of `dryRun`.
pub(super) fn wrong_dry_run(how: &[&str]) -> Option<FieldError> {
    let wrong = how.iter().any(|one| *one != "All");
    wrong.then(|| FieldError::unsupported("dryRun", how.to_vec(), &["All"]))
}

/// Reads a continue token, which is in this server's own form.
pub(super) fn place(text: &str) -> Outcome<(u64, String)> {
    let found = text.split_once(':').and_then(|(version, key)| Some((version.parse().ok()?, key.to_owned())));
    found.ok_or_else(|| match raw_base64_fault(text) {
        Some(at) => Problem::bad_request(format!(
            "invalid continue token: continue key is not valid: illegal base64 data at input byte {at}"
        )),
        None => Problem::unsupported("a continue token that this server did not issue"),
    })
}

fn of_list(call: &Call) -> Vec<FieldError> {
    const MATCH: &str = "resourceVersionMatch";
    let mut errors = Vec::new();
    let (how, version) = (call.param(MATCH), call.param("resourceVersion"));
    if !how.is_empty() {
        if version.is_empty() {
            errors.push(FieldError::forbidden(
                MATCH,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if !call.param("continue").is_empty() {
            errors.push(FieldError::forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
        }
        if !matches!(how, "Exact" | "NotOlderThan") {
            errors.push(FieldError::unsupported(MATCH, how, &["Exact", "NotOlderThan", ""]));
        }
        if how == "Exact" && version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(FieldError::forbidden(MATCH, why));
        }
    }
    if call.query.contains_key("sendInitialEvents") {
        errors.push(FieldError::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    errors
}

fn of_watch(call: &Call) -> Vec<FieldError> {
    const MATCH: &str = "resourceVersionMatch";
    let mut errors = Vec::new();
    let (how, sends) = (call.param(MATCH), call.query.contains_key("sendInitialEvents"));
    if sends && how != "NotOlderThan" {
        let why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(FieldError::forbidden(MATCH, why));
    }
    if !how.is_empty() {
        if !sends {
            let why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden(MATCH, why));
        }
        if how != "NotOlderThan" {
            errors.push(FieldError::unsupported(MATCH, how, &["NotOlderThan"]));
        }
        if !call.param("continue").is_empty() {
            errors.push(FieldError::forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
        }
    }
    errors
}
