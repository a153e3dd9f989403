//! PodDisruptionBudgets. Upstream: `pkg/registry/policy/poddisruptionbudget`,
//! `ValidatePodDisruptionBudget`, `printPodDisruptionBudget`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::strategy::Strategy;
use crate::registry::validate::conditions::conditions;
use crate::registry::validate::scalars::counts;
use crate::registry::validate::selectors::selector_of;
use crate::registry::validate::{apps, strategies};
use crate::schema::printers::cells::{age, name, number};
use crate::schema::printers::columns::{AGE, Column, NAME, integer, text};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};
use crate::types::names;

pub(crate) static KIND: ResourceKind = ResourceKind {
    subresources: &["status"],
    short_names: &["pdb"],
    ..kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
};

pub(crate) struct PodDisruptionBudgetStrategy;

impl Strategy for PodDisruptionBudgetStrategy {
    fn name_rule(&self) -> fn(&str) -> Vec<String> {
        names::path_segment
    }

    fn qualifies_finalizers(&self) -> bool {
        false
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn prepare_for_create(&self, budget: &mut Value) {
        budget["status"] = json!({});
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        // Upstream validates metadata last, by the rules of all kinds.
        let errors = validate_spec(&new["spec"]);
        if errors.is_empty() { self.validate_metadata(new) } else { errors }
    }

    fn validate_update(&self, new: &Value, _: &Value) -> Vec<FieldError> {
        validate_spec(&new["spec"])
    }

    fn validate_status_update(&self, new: &Value, _: &Value) -> Vec<FieldError> {
        let status = &new["status"];
        let mut errors = conditions(status, "status");
        errors.extend(counts(status, &["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"]));
        errors
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, text("Min Available"), text("Max Unavailable"), integer("Allowed Disruptions"), AGE] }
    }

    fn cells(&self, budget: &Value, now: Timestamp) -> Vec<Value> {
        let bound = |name: &str| -> Value {
            match &budget["spec"][name] {
                Value::Null => "N/A".into(),
                Value::String(text) => text.as_str().into(),
                number => number.to_string().into(),
            }
        };
        let allowed = number(&budget["status"]["disruptionsAllowed"]);
        vec![name(budget), bound("minAvailable"), bound("maxUnavailable"), allowed.into(), age(budget, now)]
    }
}

fn validate_spec(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (least, most) = (&spec["minAvailable"], &spec["maxUnavailable"]);
    if !least.is_null() && !most.is_null() {
        let selector = apps::selector_text(&spec["selector"]);
        let policy = &spec["unhealthyPodEvictionPolicy"];
        let shown = format!(
            "{{\"MinAvailable\":{least},\"Selector\":{selector},\"MaxUnavailable\":{most},\"UnhealthyPodEvictionPolicy\":{policy}}}"
        );
        errors.push(FieldError::invalid_printed("spec", shown, "minAvailable and maxUnavailable cannot be both set"));
    }
    for (name, value) in [("minAvailable", least), ("maxUnavailable", most)] {
        errors.extend(strategies::int_or_percent(value, &format!("spec.{name}")));
    }
    if !spec["selector"].is_null() {
        errors.extend(selector_of(&spec["selector"], "spec.selector"));
    }
    let among = ["AlwaysAllow", "IfHealthyBudget"];
    if let Some(policy) = spec["unhealthyPodEvictionPolicy"].as_str().filter(|policy| !among.contains(policy)) {
        errors.push(FieldError::unsupported("spec.unhealthyPodEvictionPolicy", policy, &among));
    }
    errors
}
