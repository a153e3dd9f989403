//! Validates CustomResourceDefinitions with upstream's messages.
//!
//! Upstream: `apis/apiextensions/validation`. CEL rules are not compiled, so their errors are not
//! reported; a definition with rules gets a warning.

mod conversion;
mod defaults;
mod fields;
mod internal;
pub(crate) mod members;
mod schemas;
mod structural;

use std::collections::{BTreeMap, BTreeSet};

use internal::InternalSpec;
use serde_json::Value;

use crate::go::format::{is_printable, json};
use crate::registry::custom::checks::members::{children, flag, list, one_of, required_text, subschema, text};
use crate::registry::validate::meta;
use crate::types::field_error::FieldError;
use crate::types::formats::is_recognized;
use crate::types::names;

/// The warning for a definition with CEL rules.
pub(crate) const RULES_NOT_EVALUATED: &str =
    "this server does not evaluate the rules of x-kubernetes-validations: it accepts objects that break them";

/// Validates a new definition.
pub(crate) fn validate_definition(new: &Value) -> Vec<FieldError> {
    let spec = &new["spec"];
    let name = format!("{}.{}", text(&spec["names"], "plural"), text(spec, "group"));
    let mut errors = meta::definition(&new["metadata"], &name);
    errors.extend(check_spec(spec));
    errors.extend(check_status(new));
    errors.extend(approval(new, None));
    errors.extend(preserve_unknown_fields_error(spec));
    errors
}

/// Validates an updated definition.
pub(crate) fn validate_definition_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = check_spec(&new["spec"]);
    let conditions = list(&old["status"]["conditions"]);
    let established = conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True");
    let at_last = established.then_some(["/scope", "/names/kind"]).into_iter().flatten();
    for pointer in at_last.chain(["/group", "/names/plural"]) {
        let at = |object: &Value| object["spec"].pointer(pointer).cloned().unwrap_or_default();
        if at(new) != at(old) {
            let path = format!("spec{}", pointer.replace('/', "."));
            errors.push(FieldError::invalid(&path, at(new), "field is immutable"));
        }
    }
    errors.extend(check_status(new));
    errors.extend(approval(new, Some(old)));
    if !flag(&old["spec"], "preserveUnknownFields") {
        errors.extend(preserve_unknown_fields_error(&new["spec"]));
    }
    errors
}

/// Validates an updated status.
pub(crate) fn validate_definition_status(new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check_names(&new["status"]["acceptedNames"], "status.acceptedNames", &mut errors);
    errors
}

/// The feature of a valid definition that this server does not support, if any.
pub(crate) fn undecided(spec: &Value) -> Option<String> {
    list(&spec["versions"])
        .iter()
        .find_map(|version| defaults::check(&version["schema"]["openAPIV3Schema"], "").undecided)
}

/// Whether the spec of a stored definition is valid: upstream tolerates errors that existed before
/// an update.
pub(crate) fn is_valid(body: &Value) -> bool {
    check_spec(&body["spec"]).is_empty() && preserve_unknown_fields_error(&body["spec"]).is_none()
}

/// Validates the accepted names and the stored versions.
fn check_status(body: &Value) -> Vec<FieldError> {
    const PATH: &str = "status.storedVersions";
    let mut errors = validate_definition_status(body);
    let stored = list(&body["status"]["storedVersions"]);
    let shown = json(&body["status"]["storedVersions"]);
    if stored.is_empty() {
        errors.push(FieldError::invalid_printed(PATH, "null".to_owned(), "must have at least one stored version"));
        return errors;
    }
    // By name; the last index of a duplicate name counts. Each version removes its name.
    let mut unmatched: BTreeMap<&str, usize> =
        stored.iter().enumerate().map(|(at, name)| (name.as_str().unwrap_or_default(), at)).collect();
    for version in list(&body["spec"]["versions"]) {
        let name = text(version, "name");
        if unmatched.remove(name).is_none() && flag(version, "storage") {
            let why = format!("must have the storage version {name}");
            errors.push(FieldError::invalid_printed(PATH, shown.clone(), why));
        }
    }
    for (name, at) in unmatched {
        let why = format!(
            "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
             until a storage migration ensures no data remains persisted in {name} and removes {name} from \
             status.storedVersions"
        );
        errors.push(FieldError::invalid(&format!("{PATH}[{at}]"), name, why));
    }
    errors
}

fn check_spec(spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let group = text(spec, "group");
    let wrong = names::dns_subdomain(group);
    if group.is_empty() {
        errors.push(FieldError::required("spec.group", ""));
    } else if !wrong.is_empty() {
        errors.push(FieldError::invalid("spec.group", group, wrong.join(",")));
    } else if !group.contains('.') {
        errors.push(FieldError::invalid("spec.group", group, "should be a domain with at least one dot"));
    }
    one_of(spec, "scope", "spec", &["Cluster", "Namespaced"], &mut errors);
    let lifted = InternalSpec::new(spec);
    let (top, versions) = (&lifted.top, &lifted.versions);
    if !top["schema"]["openAPIV3Schema"].is_object() {
        for (at, version) in versions.iter().enumerate() {
            if !version["schema"]["openAPIV3Schema"].is_object() {
                errors.push(FieldError::required(&format!("spec.versions[{at}].schema.openAPIV3Schema"), ""));
            }
        }
    }
    if flag(spec, "preserveUnknownFields") && list(&spec["versions"]).iter().any(has_defaults) {
        let why = "must be false in order to use defaults in the schema";
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, why));
    }
    for (at, version) in versions.iter().enumerate() {
        let (path, name) = (format!("spec.versions[{at}]"), text(version, "name"));
        let wrong = names::dns_1035_label(name);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(&format!("{path}.name"), name, wrong.join(",")));
        }
        check_version(version, top, &path, &mut errors);
    }
    let names: BTreeSet<&str> = versions.iter().map(|version| text(version, "name")).collect();
    if names.len() != versions.len() {
        errors.push(FieldError::invalid_printed(
            "spec.versions",
            lifted.versions_text(),
            "must contain unique version names",
        ));
    }
    if versions.iter().filter(|version| flag(version, "storage")).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid_printed("spec.versions", lifted.versions_text(), why));
    }
    // The internal form also has the name of the first version.
    let first = versions.first().map_or("", |version| text(version, "name"));
    let wrong = names::dns_1035_label(first);
    if !first.is_empty() && !wrong.is_empty() {
        errors.push(FieldError::invalid("spec.version", first, wrong.join(",")));
    }
    for name in ["plural", "singular", "kind", "listKind"] {
        required_text(&spec["names"], name, "spec.names", &mut errors);
    }
    check_names(&spec["names"], "spec.names", &mut errors);
    let status = versions.iter().chain([top]).any(|version| version["subresources"]["status"].is_object());
    if let Some(schema) = subschema(&top["schema"], "openAPIV3Schema") {
        schemas::check(schema, status, "spec.validation.openAPIV3Schema", &mut errors);
    }
    fields::subresources(&top["subresources"], "spec.subresources", &mut errors);
    fields::columns(&top["additionalPrinterColumns"], "spec.additionalPrinterColumns", &mut errors);
    if !list(&top["selectableFields"]).is_empty() {
        if top["schema"].is_null() {
            let why = "may only be set when validations.schema is included";
            errors.push(FieldError::invalid("spec.selectableFields", "", why));
        } else {
            let schema = &top["schema"]["openAPIV3Schema"];
            fields::selectable(&top["selectableFields"], schema, "spec", &mut errors);
        }
    }
    conversion::check(spec, &mut errors);
    errors
}

fn check_version(version: &Value, top: &Value, path: &str, errors: &mut Vec<FieldError>) {
    deprecation_warning(version, path, errors);
    let schema = subschema(&version["schema"], "openAPIV3Schema");
    // Fields at the top apply to all versions.
    let subresources = if top["subresources"].is_null() { &version["subresources"] } else { &top["subresources"] };
    if let Some(schema) = schema {
        let status = subresources["status"].is_object();
        schemas::check(schema, status, &format!("{path}.schema.openAPIV3Schema"), errors);
    }
    fields::subresources(&version["subresources"], &format!("{path}.subresources"), errors);
    fields::columns(&version["additionalPrinterColumns"], &format!("{path}.additionalPrinterColumns"), errors);
    if !list(&version["selectableFields"]).is_empty() {
        match schema {
            Some(schema) => fields::selectable(&version["selectableFields"], schema, path, errors),
            None => {
                let why = "may only be set when `version.schema.openAPIV3Schema` is not included";
                errors.push(FieldError::invalid(&format!("{path}.selectableFields"), "", why));
            }
        }
    }
}

fn deprecation_warning(version: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(warning) = version["deprecationWarning"].as_str() else { return };
    let path = format!("{path}.deprecationWarning");
    let mut wrong = |why: String| errors.push(FieldError::invalid_printed(&path, json(&warning.into()), why));
    if !flag(version, "deprecated") {
        wrong("can only be set for deprecated versions".to_owned());
        return;
    }
    if warning.len() > 256 {
        wrong("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        wrong("must not be an empty string".to_owned());
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, letter)| !is_printable(*letter)) {
        wrong(format!("must only contain printable UTF-8 characters; non-printable character found at index {at}"));
    }
}

/// Upstream: `ValidateCustomResourceDefinitionNames`.
fn check_names(names: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let label = |name: String, given: &str, mixed: bool, errors: &mut Vec<FieldError>| {
        let wrong = names::dns_1035_label(&if mixed { given.to_lowercase() } else { given.to_owned() });
        if !wrong.is_empty() {
            let mixed = if mixed { "may have mixed case, but should otherwise match: " } else { "" };
            errors.push(FieldError::invalid(&format!("{path}.{name}"), given, format!("{mixed}{}", wrong.join(","))));
        }
    };
    for (name, mixed) in [("plural", false), ("singular", false), ("kind", true), ("listKind", true)] {
        let given = text(names, name);
        if !given.is_empty() {
            label(name.to_owned(), given, mixed, errors);
        }
    }
    let each = |name: &str, errors: &mut Vec<FieldError>| {
        for (at, given) in list(&names[name]).iter().enumerate() {
            label(format!("{name}[{at}]"), given.as_str().unwrap_or_default(), false, errors);
        }
    };
    each("shortNames", errors);
    let kind = text(names, "kind");
    if !kind.is_empty() && kind == text(names, "listKind") {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(&format!("{path}.listKind"), kind, why));
    }
    each("categories", errors);
}

const APPROVAL: &str = "api-approved.kubernetes.io";
const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// The status, the reason and the message of the condition of a definition whose group belongs to
/// the Kubernetes community and needs an approval.
pub(crate) fn approval_condition(body: &Value) -> Option<(&'static str, &'static str, String)> {
    let group = text(&body["spec"], "group");
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    is_protected.then(|| approval_state(body))
}

/// Upstream: `GetAPIApprovalState`.
fn approval_state(body: &Value) -> (&'static str, &'static str, String) {
    let why = format!("protected groups must have approval annotation \"{APPROVAL}\"");
    match text(&body["metadata"]["annotations"], APPROVAL) {
        "" => ("False", "MissingAnnotation", format!("{why}, {SEE}")),
        given if given.starts_with("unapproved") => {
            ("False", "UnapprovedAnnotation", format!("not approved: {given:?}"))
        }
        given if conversion::is_absolute_url(given) => ("True", "ApprovedAnnotation", format!("approved in {given}")),
        _ => {
            let why = format!("{why} with either a URL or a reason starting with \"unapproved\", {SEE}");
            ("False", "InvalidAnnotation", why)
        }
    }
}

/// Groups of the Kubernetes community need an approval annotation. Upstream: `validateAPIApproval`.
fn approval(new: &Value, old: Option<&Value>) -> Option<FieldError> {
    const PATH: &str = "metadata.annotations[api-approved.kubernetes.io]";
    let (_, state, why) = approval_condition(new)?;
    if old.is_some_and(|old| approval_state(old).1 == state) {
        return None;
    }
    match state {
        "MissingAnnotation" => Some(FieldError::required(PATH, &why)),
        "InvalidAnnotation" => Some(FieldError::invalid(PATH, text(&new["metadata"]["annotations"], APPROVAL), why)),
        _ => None,
    }
}

fn preserve_unknown_fields_error(spec: &Value) -> Option<FieldError> {
    const WHY: &str = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema \
                       instead";
    flag(spec, "preserveUnknownFields").then(|| FieldError::invalid("spec.preserveUnknownFields", true, WHY))
}

/// Visits a schema and its subschemas in upstream's order. Upstream: `SchemaHas`.
fn visit(schema: &Value, visitor: &mut dyn FnMut(&Value)) {
    visitor(schema);
    let mut one = |schema: &Value| {
        if schema.is_object() {
            visit(schema, visitor);
        }
    };
    one(&schema["items"]);
    for name in ["items", "allOf", "anyOf", "oneOf"] {
        list(&schema[name]).iter().for_each(&mut one);
    }
    one(&schema["not"]);
    children(schema, "properties").for_each(|(_, schema)| one(schema));
    one(&schema["additionalProperties"]);
    children(schema, "patternProperties").for_each(|(_, schema)| one(schema));
    one(&schema["additionalItems"]);
    for name in ["definitions", "dependencies"] {
        children(schema, name).for_each(|(_, schema)| one(schema));
    }
}

fn has_defaults(version: &Value) -> bool {
    let mut has = false;
    visit(&version["schema"]["openAPIV3Schema"], &mut |schema| has |= !schema["default"].is_null());
    has
}

/// The warnings for a definition: newly unrecognized formats, and CEL rules, which this server does
/// not evaluate.
pub(crate) fn definition_warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let (formats, has_rules) = formats_and_rules(new);
    let before = old.map(|old| formats_and_rules(old).0).unwrap_or_default();
    let mut warnings: Vec<String> = Vec::new();
    for format in formats.iter().filter(|format| !before.contains(format)) {
        let warning = format!("unrecognized format {}", crate::go::format::quote(format));
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    warnings.extend(has_rules.then(|| RULES_NOT_EVALUATED.to_owned()));
    warnings
}

fn formats_and_rules(body: &Value) -> (Vec<String>, bool) {
    let (mut formats, mut has_rules) = (Vec::new(), false);
    for version in list(&body["spec"]["versions"]) {
        visit(&version["schema"]["openAPIV3Schema"], &mut |schema| {
            let format = text(schema, "format");
            if !format.is_empty() && !is_recognized(format, text(schema, "type")) {
                formats.push(format.to_owned());
            }
            has_rules |= !list(&schema["x-kubernetes-validations"]).is_empty();
        });
    }
    (formats, has_rules)
}
