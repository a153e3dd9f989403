//! Validates where a pod may be scheduled: affinities, spread constraints and gates. Upstream:
//! `validateAffinity`, `validateTopologySpreadConstraints`, `validateSchedulingGates`.
//!
//! It does not know `matchLabelKeys` and `mismatchLabelKeys`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::registry::validate::scalars::{invalid, items, text};
use crate::registry::validate::selectors::{label_values, operator_and_key, selector_of, unknown_operator};
use crate::types::field_error::FieldError;
use crate::types::names;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Validates the affinities of a pod.
pub(crate) fn affinity(errors: &mut Vec<FieldError>, spec: &Value, path: &str) {
    let (affinity, path) = (&spec["affinity"], format!("{path}.affinity"));
    let (nodes, at) = (&affinity["nodeAffinity"], format!("{path}.nodeAffinity"));
    if nodes[REQUIRED].is_object() {
        let at = format!("{at}.{REQUIRED}");
        if nodes[REQUIRED]["nodeSelectorTerms"].as_array().is_none_or(Vec::is_empty) {
            let why = "must have at least one node selector term";
            errors.push(FieldError::required(&format!("{at}.nodeSelectorTerms"), why));
        }
        items(&nodes[REQUIRED], "nodeSelectorTerms", &at).for_each(|(term, at)| node_term(errors, term, &at));
    }
    for (term, at) in items(nodes, PREFERRED, &at) {
        errors.extend(weight(term, &at));
        node_term(errors, &term["preference"], &format!("{at}.preference"));
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let (pods, at) = (&affinity[kind], format!("{path}.{kind}"));
        items(pods, REQUIRED, &at).for_each(|(term, at)| pod_term(errors, term, &at));
        for (term, at) in items(pods, PREFERRED, &at) {
            errors.extend(weight(term, &at));
            pod_term(errors, &term["podAffinityTerm"], &format!("{at}.podAffinityTerm"));
        }
    }
}

fn weight(term: &Value, path: &str) -> Option<FieldError> {
    let weight = term["weight"].as_i64().unwrap_or(0);
    let why = "must be in the range 1-100";
    (!(1..=100).contains(&weight)).then(|| FieldError::invalid(&format!("{path}.weight"), weight, why))
}

/// Upstream: `ValidateNodeSelectorTerm`, which accepts any values of labels.
fn node_term(errors: &mut Vec<FieldError>, term: &Value, path: &str) {
    for (requirement, path) in items(term, "matchExpressions", path) {
        operator_and_key(errors, requirement, &path, true);
        if path.contains(REQUIRED) {
            label_values(errors, requirement, &path);
        }
    }
    for (requirement, path) in items(term, "matchFields", path) {
        errors.extend(match text(requirement, "operator") {
            "In" | "NotIn" => (requirement["values"].as_array().map_or(0, Vec::len) != 1).then(|| {
                let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                FieldError::required(&format!("{path}.values"), why)
            }),
            operator => Some(unknown_operator(operator, &path)),
        });
        if text(requirement, "key") != "metadata.name" {
            let why = "not a valid field selector key";
            errors.push(FieldError::invalid(&format!("{path}.key"), text(requirement, "key"), why));
            continue;
        }
        for (value, at) in items(requirement, "values", &path) {
            let value = value.as_str().unwrap_or_default();
            errors.extend(invalid(&at, value, names::dns_subdomain(value)));
        }
    }
}

/// Upstream: `validatePodAffinityTerm`.
fn pod_term(errors: &mut Vec<FieldError>, term: &Value, path: &str) {
    for name in ["labelSelector", "namespaceSelector"] {
        errors.extend(selector_of(&term[name], &format!("{path}.{name}")));
    }
    for (namespace, _) in items(term, "namespaces", path) {
        let namespace = namespace.as_str().unwrap_or_default();
        errors.extend(invalid(&format!("{path}.namespace"), namespace, names::dns_label(namespace)));
    }
    let (key, at) = (text(term, "topologyKey"), format!("{path}.topologyKey"));
    if key.is_empty() {
        errors.push(FieldError::required(&at, "can not be empty"));
    }
    errors.extend(invalid(&at, key, names::key(key)));
}

/// Validates the spread constraints of a pod.
pub(crate) fn spread_constraints(errors: &mut Vec<FieldError>, spec: &Value, path: &str) {
    const ACTIONS: [&str; 2] = ["DoNotSchedule", "ScheduleAnyway"];
    let positive = |number: i64, path: String| {
        (number <= 0).then(|| FieldError::invalid(&path, number, "must be greater than zero"))
    };
    let all = spec["topologySpreadConstraints"].as_array().map_or(&[][..], Vec::as_slice);
    for (index, (constraint, path)) in items(spec, "topologySpreadConstraints", path).enumerate() {
        errors.extend(positive(constraint["maxSkew"].as_i64().unwrap_or(0), format!("{path}.maxSkew")));
        let (key, action) = (text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"));
        if key.is_empty() {
            errors.push(FieldError::required(&format!("{path}.topologyKey"), "can not be empty"));
        }
        if !ACTIONS.contains(&action) {
            errors.push(FieldError::unsupported(&format!("{path}.whenUnsatisfiable"), action, &ACTIONS));
        }
        let is_same = |other: &Value| text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action;
        if all[index + 1..].iter().any(is_same) {
            let at = format!("{path}.{{topologyKey, whenUnsatisfiable}}");
            errors.push(FieldError::duplicate(&at, format!("{{{key}, {action}}}")));
        }
        if let Some(domains) = constraint["minDomains"].as_i64() {
            let at = format!("{path}.minDomains");
            errors.extend(positive(domains, at.clone()));
            if action != "DoNotSchedule" {
                let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                errors.push(FieldError::invalid(&at, domains, why));
            }
        }
        for name in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if let Some(policy) = constraint[name].as_str().filter(|policy| !matches!(*policy, "Honor" | "Ignore")) {
                errors.push(FieldError::unsupported(&format!("{path}.{name}"), policy, &["Honor", "Ignore"]));
            }
        }
        errors.extend(selector_of(&constraint["labelSelector"], &format!("{path}.labelSelector")));
    }
}

/// Validates the scheduling gates of a pod.
pub(crate) fn gates(errors: &mut Vec<FieldError>, spec: &Value, path: &str) {
    let mut seen = BTreeSet::new();
    for (gate, path) in items(spec, "schedulingGates", path) {
        let name = text(gate, "name");
        errors.extend(invalid(&path, name, names::key(name)));
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&path, name));
        }
    }
}
