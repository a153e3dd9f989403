//! Validates update strategies. Upstream: `ValidateDeploymentStrategy`,
//! `ValidateDaemonSetUpdateStrategy`, and those of StatefulSets.

use serde_json::Value;

use crate::registry::validate::scalars::nonnegative;
use crate::types::field_error::FieldError;
use crate::types::names;

/// Upstream: `ValidateDeploymentStrategy`.
pub(crate) fn deployment(strategy: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.strategy";
    let rolling = &strategy["rollingUpdate"];
    match strategy["type"].as_str().unwrap_or_default() {
        "Recreate" if rolling.is_null() => Vec::new(),
        "Recreate" => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            vec![FieldError::forbidden(&format!("{PATH}.rollingUpdate"), why)]
        }
        "RollingUpdate" => rolling_update(rolling, &format!("{PATH}.rollingUpdate")),
        other => {
            let strategy_text = strategy_text(other, rolling, &["maxUnavailable", "maxSurge"]);
            vec![FieldError::unsupported_printed(PATH, strategy_text, &["Recreate", "RollingUpdate"])]
        }
    }
}

/// The first part of `ValidateStatefulSetSpec`.
pub(crate) fn stateful_set(spec: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.updateStrategy";
    let mut errors = Vec::new();
    let policy = spec["podManagementPolicy"].as_str().unwrap_or_default();
    if !matches!(policy, "OrderedReady" | "Parallel") {
        let why = "must be 'OrderedReady' or 'Parallel'";
        errors.push(FieldError::invalid("spec.podManagementPolicy", policy, why));
    }
    let (strategy, rolling) = (&spec["updateStrategy"], &spec["updateStrategy"]["rollingUpdate"]);
    let path = format!("{PATH}.rollingUpdate");
    match strategy["type"].as_str().unwrap_or_default() {
        "OnDelete" if rolling.is_null() => {}
        "OnDelete" => {
            errors.push(FieldError::invalid_printed(
                &path,
                rolling_update_text(rolling),
                "only allowed for updateStrategy 'RollingUpdate'",
            ));
        }
        "RollingUpdate" => nonnegative(&mut errors, rolling, &path, "partition"),
        other => {
            let strategy_text = if rolling.is_null() { "null".to_owned() } else { rolling_update_text(rolling) };
            let strategy_text = format!("{{\"Type\":{},\"RollingUpdate\":{strategy_text}}}", Value::from(other));
            errors.push(FieldError::invalid_printed(PATH, strategy_text, "must be 'RollingUpdate' or 'OnDelete'"));
        }
    }
    errors
}

fn rolling_update_text(rolling: &Value) -> String {
    let partition = rolling["partition"].as_i64().unwrap_or(0);
    format!("{{\"Partition\":{partition},\"MaxUnavailable\":{}}}", rolling["maxUnavailable"])
}

/// Upstream: `ValidateDaemonSetUpdateStrategy`.
pub(crate) fn daemon_set(strategy: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.updateStrategy";
    let rolling = &strategy["rollingUpdate"];
    match strategy["type"].as_str().unwrap_or_default() {
        "OnDelete" => Vec::new(),
        "RollingUpdate" => {
            let of = |name: &str| format!("{PATH}.rollingUpdate.{name}");
            let names = ["maxUnavailable", "maxSurge"];
            let mut errors: Vec<FieldError> =
                names.iter().flat_map(|name| number_or_percent(&rolling[name], &of(name))).collect();
            errors.extend(names.iter().filter_map(|name| above_100_percent(&rolling[name], &of(name))));
            match (amount(&rolling["maxUnavailable"]) != 0, amount(&rolling["maxSurge"]) != 0) {
                (true, true) => {
                    let why = "may not be set when maxUnavailable is non-zero";
                    errors.push(FieldError::invalid(&of("maxSurge"), rolling["maxSurge"].clone(), why));
                }
                (false, false) => {
                    errors.push(FieldError::required(&of("maxUnavailable"), "cannot be 0 when maxSurge is 0"));
                }
                _ => {}
            }
            errors
        }
        other => {
            let strategy_text = strategy_text(other, rolling, &["maxUnavailable", "maxSurge"]);
            vec![FieldError::unsupported_printed(PATH, strategy_text, &["RollingUpdate", "OnDelete"])]
        }
    }
}

/// Prints a strategy as upstream's internal type, with its names and without pointers.
fn strategy_text(kind: &str, rolling: &Value, fields: &[&str]) -> String {
    let rolling = if rolling.is_null() {
        "null".to_owned()
    } else {
        let number = |name: &str| if rolling[name].is_null() { Value::from(0) } else { rolling[name].clone() };
        let fields =
            fields.iter().map(|name| format!("\"{}{}\":{}", name[..1].to_uppercase(), &name[1..], number(name)));
        format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
    };
    format!("{{\"Type\":{},\"RollingUpdate\":{rolling}}}", Value::from(kind))
}

fn rolling_update(rolling: &Value, path: &str) -> Vec<FieldError> {
    let of = |name: &str| format!("{path}.{name}");
    let names = ["maxUnavailable", "maxSurge"];
    let mut errors: Vec<FieldError> =
        names.iter().flat_map(|name| number_or_percent(&rolling[name], &of(name))).collect();
    let unavailable = &rolling["maxUnavailable"];
    if amount(unavailable) == 0 && amount(&rolling["maxSurge"]) == 0 {
        let why = "may not be 0 when `maxSurge` is 0";
        errors.push(FieldError::invalid(&of("maxUnavailable"), unavailable.clone(), why));
    }
    errors.extend(above_100_percent(unavailable, &of("maxUnavailable")));
    errors
}

/// Upstream: `ValidatePositiveIntOrPercent` and `IsNotMoreThan100Percent`.
pub(crate) fn int_or_percent(value: &Value, path: &str) -> Vec<FieldError> {
    number_or_percent(value, path).into_iter().chain(above_100_percent(value, path)).collect()
}

/// Upstream: `ValidatePositiveIntOrPercent`.
fn number_or_percent(value: &Value, path: &str) -> Option<FieldError> {
    match value {
        Value::String(text) => names::percent(text).map(|why| FieldError::invalid(path, text.clone(), why)),
        Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
            Some(FieldError::invalid(path, value.clone(), "must be greater than or equal to 0"))
        }
        _ => None,
    }
}

/// Upstream: `IsNotMoreThan100Percent`.
fn above_100_percent(value: &Value, path: &str) -> Option<FieldError> {
    let above = value.as_str().is_some_and(|text| names::percent(text).is_none()) && amount(value) > 100;
    above.then(|| FieldError::invalid(path, value.clone(), "must not be greater than 100%"))
}

/// The number of an int-or-percent; 0 if it is invalid.
fn amount(value: &Value) -> i64 {
    match value {
        Value::String(text) => text.strip_suffix('%').unwrap_or(text).parse().unwrap_or(0),
        value => value.as_i64().unwrap_or(0),
    }
}
