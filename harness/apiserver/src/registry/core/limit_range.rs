//! LimitRanges. Upstream: `pkg/registry/core/limitrange`, `ValidateLimitRange`.

use std::cmp::Ordering;

use serde_json::Value;

use crate::registry::defaults::{entry, items, round_up, set};
use crate::registry::strategy::{FieldPaths, Strategy};
use crate::registry::validate::unsupported_fields::unsupported_field;
use crate::registry::validate::{container, quantity};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};
use crate::types::names;

pub(crate) static KIND: ResourceKind =
    ResourceKind { short_names: &["limits"], ..kind("", "v1", "limitranges", "LimitRange") };

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

    fn unsupported_feature(&self, new: &Value, _: Option<&Value>) -> Option<String> {
        let mut all = new["spec"]["limits"].as_array().into_iter().flatten();
        all.find_map(|one| match one["type"].as_str() {
            Some("Container") => unsupported_field("LimitRange", one, &["maxLimitRequestRatio"]),
            other => Some(format!("a LimitRange of the type {}", other.unwrap_or_default())),
        })
    }
}

/// For containers, the default limit is the maximum, and the default request is the limit or the
/// minimum.
fn default_limit(limit: &mut Value) {
    round_up(limit, &["max", "min", "default", "defaultRequest"]);
    if limit["type"] != "Container" {
        return;
    }
    for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
        for (name, amount) in limit[from].as_object().cloned().unwrap_or_default() {
            set(entry(limit, to), &name, amount);
        }
    }
}

/// Validates a LimitRange with items for containers only.
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
        for list in ["max", "min", "default", "defaultRequest"].into_iter().filter(|_| kind == "Container") {
            let names = of(list).map(|name| container::resource_name(name, &format!("{path}.{list}[{name}]")));
            errors.extend(names.flatten());
        }
        let mut names: Vec<&str> =
            ["max", "min", "default", "defaultRequest"].iter().flat_map(|list| of(list)).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let value = |list: &str| limit[list].get(name);
            let mut above = |lower: &str, upper: &str, field: &str, reported: &str, names: (&str, &str)| {
                if let (Some(less), Some(more), Some(printed)) = (value(lower), value(upper), value(reported))
                    && quantity::compare(less, more) == Ordering::Greater
                {
                    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
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
        }
    }
    errors
}
