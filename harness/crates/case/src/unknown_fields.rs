//! Reports fields of manifests and patches that the API does not have: mistakes, or fields of a
//! later version.
//!
//! A server drops such a field, unless the client asks for strict validation, as `kubectl apply`
//! does. Either way such a case does not mean what it says. Fields of custom resources are left to
//! their server.

use kube_apimachinery::{ApiType, UnknownField, VERSION};

use super::diagnostics::{DiagnosticCollector, did_you_mean};
use super::yaml::{YamlKind, YamlNode};

/// Reports unknown fields of a manifest, with the path that the server would report.
pub(super) fn check_manifest(manifest: &YamlNode, report: &mut DiagnosticCollector) {
    let text = |field: &str| manifest.get(field).and_then(YamlNode::as_text).unwrap_or_default();
    let Some(built_in) = ApiType::of(text("apiVersion"), text("kind")) else { return };
    for field in built_in.unknown_fields(&manifest.to_json()) {
        add(manifest, &field, report);
        report.help(
            "as for `kubectl apply`, the server refuses it: to pin that, add `refused: {message: unknown field}`",
        );
    }
}

/// Reports unknown fields of a patch of an object of this type. A JSON patch has them in its paths
/// and values.
pub(super) fn check_patch(api_version: &str, kind: &str, patch: &YamlNode, report: &mut DiagnosticCollector) {
    let Some(built_in) = ApiType::of(api_version, kind) else { return };
    let YamlKind::List(operations) = &patch.kind else {
        for field in built_in.unknown_fields(&patch.to_json()) {
            add(patch, &field, report);
            report.help("the server drops it from a patch, and `kubectl patch` only warns of that");
        }
        return;
    };
    for operation in operations.iter().filter(|it| it.get("op").and_then(YamlNode::as_text) != Some("remove")) {
        let (Some(path), Some(value)) = (operation.get("path"), operation.get("value")) else { continue };
        for field in built_in.unknown_fields_at(path.as_text().unwrap_or_default(), &value.to_json()) {
            let name = field.path.last().map(String::as_str).unwrap_or_default();
            report.add(path, format!("unknown field `{name}`"), hint(&field));
        }
    }
}

fn add(root: &YamlNode, field: &UnknownField, report: &mut DiagnosticCollector) {
    let name = field.path.last().map(String::as_str).unwrap_or_default();
    report.add(key_at(root, &field.path), format!("unknown field `{name}`"), hint(field));
}

fn hint(field: &UnknownField) -> String {
    let name = field.path.last().map(String::as_str).unwrap_or_default();
    did_you_mean(name, field.known_fields.iter().copied())
        .unwrap_or_else(|| format!("{} of Kubernetes {VERSION} has no such field", field.type_name))
}

/// The key that a path leads to, or the last node that exists on it.
fn key_at<'n>(root: &'n YamlNode, path: &[String]) -> &'n YamlNode {
    let (mut at, mut key) = (root, root);
    for name in path {
        let next = match &at.kind {
            YamlKind::Map(map) => map.iter().find(|(key, _)| key.as_key() == *name).map(|(key, value)| (key, value)),
            YamlKind::List(items) => name.parse().ok().and_then(|number: usize| items.get(number)).map(|it| (it, it)),
            _ => None,
        };
        let Some((found, value)) = next else { return key };
        (key, at) = (found, value);
    }
    key
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::parse;

    fn findings_of(steps: &str) -> Vec<String> {
        let text = format!("description: x\ngiven:\n- deployment: {{name: web, image: 'app:1'}}\nsteps:\n{steps}\n");
        match parse("cases/a/b.yaml", "a/b", &text) {
            Ok(_) => Vec::new(),
            Err(crate::CaseError::Invalid(findings)) => findings
                .located()
                .map(|one| format!("{}:{} {}; {}", one.line, one.column, one.message, one.hint))
                .collect(),
            Err(other) => panic!("{other}"),
        }
    }

    const HEAD: &str = "- apply: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: ";

    #[rstest]
    #[case::manifest(&format!("{HEAD}{{replicsa: 4}}}}"), &["5:80 unknown field `replicsa`; did you mean `replicas`?"])]
    #[case::nested(&format!("{HEAD}{{strategy: {{rollingUpdate: {{maxSurg: 1}}}}}}}}"),
        &["5:107 unknown field `maxSurg`; did you mean `maxSurge`?"])]
    #[case::in_a_list(&format!("{HEAD}{{template: {{spec: {{containers: [{{name: a, foo: 1}}]}}}}}}}}"),
        &["5:121 unknown field `foo`; Container of Kubernetes v1.36.3 has no such field"])]
    #[case::refused(&format!("{HEAD}{{replicsa: 4}}}}\n  refused: {{message: unknown field}}"), &[])]
    #[case::labels(&format!("{HEAD}{{template: {{metadata: {{labels: {{any: thing}}}}}}}}}}"), &[])]
    #[case::custom_resource("- apply: {apiVersion: a.example/v1, kind: Deployment, metadata: {name: x}, spec: {replicsa: 4}}", &[])]
    #[case::patch("- patch: {target: deployment/web, patch: {spec: {replica: 4}}}",
        &["5:50 unknown field `replica`; did you mean `replicas`?"])]
    #[case::merge_patch("- patch: {target: deployment/web, type: merge, patch: {spce: {replicas: 4}}}",
        &["5:56 unknown field `spce`; did you mean `spec`?"])]
    #[case::json_patch("- patch: {target: deployment/web, type: json, patch: [{op: add, path: /spec/replica, value: 4}]}",
        &["5:71 unknown field `replica`; did you mean `replicas`?"])]
    #[case::json_patch_of_an_item("- patch: {target: deployment/web, type: json, patch: [{op: replace, path: /spec/template/spec/containers/0/image, value: a}]}", &[])]
    #[case::annotation_by_json_patch("- patch: {target: deployment/web, type: json, patch: [{op: add, path: /metadata/annotations/a~1b, value: c}]}", &[])]
    #[case::directives("- patch: {target: deployment/web, patch: {spec: {strategy: {$retainKeys: [type], type: Recreate}}}}", &[])]
    fn reports_unknown_fields_at_their_location(#[case] steps: &str, #[case] expected: &[&str]) {
        assert_eq!(findings_of(steps), expected);
    }
}
