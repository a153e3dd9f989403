//! LimitRanges. Upstream: `pkg/registry/core/limitrange`, `ValidateLimitRange`.

use std::cmp::Ordering;

use serde_json::Value;

use crate::registry::defaults::{entry, items, round_up, set};
use crate::registry::resource_list::{HUGE_PAGES, is_native};
use crate::registry::strategy::{FieldPaths, Strategy};
use crate::registry::validate::{container, quantity, quota};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};
use crate::types::names;
use crate::types::quantity::Quantity;

pub(crate) static KIND: ResourceKind =
    ResourceKind { short_names: &["limits"], ..kind("", "v1", "limitranges", "LimitRange") };

/// The amounts of an item.
const LISTS: [&str; 5] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];

pub(crate) struct LimitRangeStrategy;

impl Strategy for LimitRangeStrategy {
    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn reset_fields(&self, _: &str) -> FieldPaths {
        &[]
    }

    fn set_defaults(&self, body: &mut Value) {
        items(&mut body["spec"], "limits").for_each(default_limit);
    }

    fn generates_missing_name(&self) -> bool {
        true
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_spec(&new["spec"]));
        errors
    }

    fn validate_update(&self, new: &Value, _: &Value) -> Vec<FieldError> {
        self.validate(new)
    }
}

/// For containers, the default limit is the maximum, and the default request is the limit or the
/// minimum.
fn default_limit(limit: &mut Value) {
    round_up(limit, &LISTS);
    if limit["type"] != "Container" {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
        for (name, amount) in limit[from].as_object().cloned().unwrap_or_default() {
            set(entry(limit, to), &name, amount);
        }
    }
}

fn validate_spec(spec: &Value) -> Vec<FieldError> {
    const STANDARD: [&str; 3] = ["Pod", "Container", "PersistentVolumeClaim"];
    let mut errors = Vec::new();
    let mut types: Vec<&str> = Vec::new();
    for (at, limit) in spec["limits"].as_array().into_iter().flatten().enumerate() {
        let path = format!("spec.limits[{at}]");
        let kind = limit["type"].as_str().unwrap_or_default();
        let wrong = names::key(kind);
        if wrong.is_empty() && !kind.contains('/') && !STANDARD.contains(&kind) {
            let why = "must be a standard limit type or fully qualified";
            errors.push(FieldError::invalid(&format!("{path}.type"), kind, why));
        }
        errors.extend(wrong.into_iter().map(|wrong| FieldError::invalid(&format!("{path}.type"), kind, wrong)));
        if types.contains(&kind) {
            errors.push(FieldError::duplicate(&format!("{path}.type"), kind));
        }
        types.push(kind);
        let of = |list: &str| limit[list].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let is_of_pods = matches!(kind, "Pod" | "Container");
        let rule = if is_of_pods { container::resource_name } else { quota::resource_name };
        // Pods as a whole have no defaults.
        let has_list = |list: &str| kind != "Pod" || !matches!(list, "default" | "defaultRequest");
        for list in LISTS {
            if has_list(list) {
                let names = of(list).map(|name| rule(name, &format!("{path}.{list}[{name}]")));
                errors.extend(names.flatten());
            } else if of(list).next().is_some() {
                let why = "may not be specified when `type` is 'Pod'";
                errors.push(FieldError::forbidden(&format!("{path}.{list}"), why));
            }
        }
        if kind == "PersistentVolumeClaim" && ["min", "max"].iter().all(|list| limit[list].get("storage").is_none()) {
            let why = "either minimum or maximum storage value is required, but neither was provided";
            errors.push(FieldError::required(&format!("{path}.limits"), why));
        }
        let mut names: Vec<&str> = LISTS.iter().filter(|list| has_list(list)).flat_map(|list| of(list)).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let value = |list: &str| limit[list].get(name).filter(|_| has_list(list));
            let mut above = |lower: &str, upper: &str, field: &str, reported: &str, names: (&str, &str)| {
                if let (Some(less), Some(more), Some(printed)) = (value(lower), value(upper), value(reported))
                    && quantity::compare(less, more) == Ordering::Greater
                {
                    let why = format!("{} {} is greater than {} {}", names.0, text(less), names.1, text(more));
                    errors.push(FieldError::invalid(&format!("{path}.{field}[{name}]"), text(printed), why));
                }
            };
            above("min", "max", "min", "min", ("min value", "max value"));
            above("min", "defaultRequest", "defaultRequest", "defaultRequest", ("min value", "default request value"));
            above("defaultRequest", "max", "defaultRequest", "defaultRequest", ("default request value", "max value"));
            above(
                "defaultRequest",
                "default",
                "defaultRequest",
                "defaultRequest",
                ("default request value", "default limit value"),
            );
            above("min", "default", "default", "min", ("min value", "default value"));
            above("default", "max", "default", "max", ("default value", "max value"));
            errors.extend(validate_ratio(limit, name, &path));
            if let (Some(default), Some(request)) = (value("default"), value("defaultRequest"))
                && !is_overcommit_allowed(name)
                && quantity::compare(default, request) != Ordering::Equal
            {
                let why = format!(
                    "default value {} must equal to defaultRequest value {} in {name}",
                    text(default),
                    text(request)
                );
                errors.push(FieldError::invalid(&format!("{path}.defaultRequest[{name}]"), text(request), why));
            }
        }
    }
    errors
}

/// Validates the maximum ratio of the limit and the request of a resource.
fn validate_ratio(limit: &Value, name: &str, path: &str) -> Vec<FieldError> {
    let amount = |list: &str| limit[list].get(name).map(|amount| Quantity::parse_stored(text(amount)));
    let Some(ratio) = amount("maxLimitRequestRatio") else { return Vec::new() };
    let mut errors = Vec::new();
    let mut wrong = |why: String| {
        errors.push(FieldError::invalid(&format!("{path}.maxLimitRequestRatio[{name}]"), ratio.to_string(), why));
    };
    if ratio < Quantity::from_count(1) {
        wrong(format!("ratio {ratio} is less than 1"));
    }
    if let (Some(least), Some(most)) = (amount("min"), amount("max")) {
        let largest = most.thousandths() as f64 / least.thousandths() as f64;
        if ratio.thousandths() as f64 / 1000.0 > largest {
            wrong(format!("ratio {ratio} is greater than max/min = {largest:.6}"));
        }
    }
    errors
}

/// Upstream: `IsOvercommitAllowed`.
fn is_overcommit_allowed(name: &str) -> bool {
    is_native(name) && !name.starts_with(HUGE_PAGES)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
