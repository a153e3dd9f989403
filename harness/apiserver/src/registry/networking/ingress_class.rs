//! IngressClasses. One can be the default of Ingresses that name none; they have no other effect.
//! Upstream: `pkg/registry/networking/ingressclass`, `ValidateIngressClass`, `printIngressClass`.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::registry::defaults::set;
use crate::registry::state::Server;
use crate::registry::strategy::{FieldPaths, Strategy};
use crate::schema::printers::cells::{age, or};
use crate::schema::printers::columns::{AGE, Column, NAME, text};
use crate::types::field_error::FieldError;
use crate::types::kinds::{ResourceKind, kind};
use crate::types::names;

/// The annotation of the class of Ingresses that name none.
const DEFAULT_CLASS: &str = "ingressclass.kubernetes.io/is-default-class";
/// The maximum length of the name of a controller.
const LONGEST_CONTROLLER: usize = 250;
const SCOPES: [&str; 2] = ["Cluster", "Namespace"];

pub(crate) static KIND: ResourceKind =
    ResourceKind { namespaced: false, ..kind("networking.k8s.io", "v1", "ingressclasses", "IngressClass") };

pub(crate) struct IngressClassStrategy;

impl Strategy for IngressClassStrategy {
    fn has_generation(&self) -> bool {
        true
    }

    fn reset_fields(&self, _: &str) -> FieldPaths {
        &[]
    }

    fn set_defaults(&self, class: &mut Value) {
        if let Some(parameters) = class["spec"].get_mut("parameters").filter(|parameters| parameters.is_object()) {
            set(parameters, "scope", json!("Cluster"));
        }
    }

    fn validate(&self, new: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata(new);
        errors.extend(validate_controller(&new["spec"]));
        errors.extend(validate_parameters(&new["spec"]["parameters"]));
        errors
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = self.validate_metadata_update(new, old);
        let controller = |class: &Value| or(&class["spec"]["controller"], "").to_owned();
        if controller(new) != controller(old) {
            errors.push(FieldError::invalid("spec.controller", controller(new), "field is immutable"));
        }
        errors.extend(self.validate(new));
        errors
    }

    fn columns(&self) -> &'static [Column] {
        const { &[NAME, text("Controller"), text("Parameters"), AGE] }
    }

    fn cells(&self, class: &Value, now: Timestamp) -> Vec<Value> {
        let is_default = class["metadata"]["annotations"][DEFAULT_CLASS] == "true";
        let name = format!("{}{}", or(&class["metadata"]["name"], ""), if is_default { " (default)" } else { "" });
        let parameters = &class["spec"]["parameters"];
        let shown = if parameters.is_null() {
            "<none>".to_owned()
        } else {
            let group = parameters["apiGroup"].as_str().map_or(String::new(), |group| format!(".{group}"));
            format!("{}{group}/{}", or(&parameters["kind"], ""), or(&parameters["name"], ""))
        };
        vec![name.into(), or(&class["spec"]["controller"], "").into(), shown.into(), age(class, now)]
    }
}

/// The class of Ingresses that name none: the newest of those that are marked.
pub(crate) fn default_class(server: &Server) -> Option<String> {
    let all = server.store.list(&KIND, "");
    let marked = all.filter(|class| class.body["metadata"]["annotations"][DEFAULT_CLASS] == "true");
    let newest = marked.max_by(|one, other| {
        let created = one.meta("creationTimestamp").cmp(other.meta("creationTimestamp"));
        created.then_with(|| other.meta("name").cmp(one.meta("name")))
    });
    newest.map(|class| class.meta("name").to_owned())
}

/// Upstream: `IsDomainPrefixedPath`.
fn validate_controller(spec: &Value) -> Vec<FieldError> {
    const PATH: &str = "spec.controller";
    let controller = or(&spec["controller"], "");
    let mut errors = Vec::new();
    if controller.len() > LONGEST_CONTROLLER {
        errors.push(FieldError::too_long(PATH, LONGEST_CONTROLLER));
    }
    if controller.is_empty() {
        errors.push(FieldError::required(PATH, ""));
        return errors;
    }
    let Some((host, path)) = controller.split_once('/').filter(|(host, path)| !host.is_empty() && !path.is_empty())
    else {
        let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push(FieldError::invalid(PATH, controller, why));
        return errors;
    };
    errors.extend(names::dns_subdomain(host).into_iter().map(|wrong| FieldError::invalid(PATH, host, wrong)));
    let allowed = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
    if !path.chars().all(allowed) {
        let why = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
        errors.push(FieldError::invalid(PATH, path, why));
    }
    errors
}

/// Upstream: `validateIngressClassParametersReference`.
fn validate_parameters(parameters: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if parameters.is_null() {
        return errors;
    }
    let at = |name: &str| format!("spec.parameters.{name}");
    let invalid = |name: &str, value: &str, wrong: Vec<String>| {
        let path = at(name);
        wrong.into_iter().map(move |wrong| FieldError::invalid(&path, value, wrong)).collect::<Vec<_>>()
    };
    if let Some(group) = parameters["apiGroup"].as_str() {
        errors.extend(invalid("apiGroup", group, names::dns_subdomain(group)));
    }
    for name in ["kind", "name"] {
        match or(&parameters[name], "") {
            "" => errors.push(FieldError::required(&at(name), "")),
            value => errors.extend(invalid(name, value, names::path_segment(value))),
        }
    }
    let namespace = parameters["namespace"].as_str();
    match (parameters["scope"].as_str(), namespace) {
        (None, _) => errors.push(FieldError::required(&at("scope"), "")),
        (Some("Namespace"), None) => {
            errors.push(FieldError::required(&at("namespace"), "`parameters.scope` is set to 'Namespace'"));
        }
        (Some("Namespace"), Some(name)) => errors.extend(invalid("namespace", name, names::dns_label(name))),
        (Some("Cluster"), Some(_)) => {
            errors.push(FieldError::forbidden(&at("namespace"), "`parameters.scope` is set to 'Cluster'"));
        }
        (Some("Cluster"), None) => {}
        (Some(other), _) => errors.push(FieldError::unsupported(&at("scope"), other, &SCOPES)),
    }
    errors
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn paths(class: &Value, old: Option<&Value>) -> Vec<String> {
        let strategy = IngressClassStrategy;
        let errors = old.map_or_else(|| strategy.validate(class), |old| strategy.validate_update(class, old));
        errors.iter().map(|error| error.cause()["field"].as_str().unwrap().to_owned()).collect()
    }

    fn class(spec: &Value) -> Value {
        let mut class = json!({"metadata": {"name": "a"}, "spec": spec});
        IngressClassStrategy.set_defaults(&mut class);
        class
    }

    #[rstest]
    #[case(json!({"controller": "acme.io/foo"}), &[])]
    #[case(json!({}), &["spec.controller"])]
    #[case(json!({"controller": "acme.io"}), &["spec.controller"])]
    #[case(json!({"controller": "acme.io/a b"}), &["spec.controller"])]
    #[case(json!({"controller": "acme.io/a", "parameters": {"kind": "A", "name": "b"}}), &[])]
    #[case(json!({"controller": "acme.io/a", "parameters": {"kind": "A", "name": ""}}), &["spec.parameters.name"])]
    #[case(json!({"controller": "acme.io/a", "parameters": {"kind": "A", "name": "b", "namespace": "c"}}),
        &["spec.parameters.namespace"])]
    #[case(json!({"controller": "acme.io/a", "parameters": {"kind": "A", "name": "b", "scope": "Namespace"}}),
        &["spec.parameters.namespace"])]
    #[case(json!({"controller": "acme.io/a", "parameters": {"kind": "A", "name": "b", "scope": "Pod"}}),
        &["spec.parameters.scope"])]
    fn validates_spec_as_upstream(#[case] spec: Value, #[case] expected: &[&str]) {
        assert_eq!(paths(&class(&spec), None), expected);
    }

    #[test]
    fn controller_is_immutable() {
        let old = class(&json!({"controller": "acme.io/foo"}));
        assert_eq!(paths(&class(&json!({"controller": "acme.io/bar"})), Some(&old)), ["spec.controller"]);
        assert!(paths(&old, Some(&old)).is_empty());
    }

    #[test]
    fn default_class_is_marked_in_tables() {
        let mut class = class(
            &json!({"controller": "acme.io/foo", "parameters": {"apiGroup": "acme.io", "kind": "A", "name": "b"}}),
        );
        class["metadata"]["annotations"][DEFAULT_CLASS] = "true".into();
        let cells = IngressClassStrategy.cells(&class, Timestamp::UNIX_EPOCH);
        assert_eq!(cells[..3], [json!("a (default)"), json!("acme.io/foo"), json!("A.acme.io/b")]);
    }
}
