//! Shared by the short forms of Deployments and ReplicaSets.

use super::diagnostics::DiagnosticCollector;
use super::read::{self, MappingFields};
use super::yaml::YamlNode;

/// Reads the two fields that every short form requires.
pub(super) fn name_and_image(
    node: &YamlNode,
    noun: &str,
    fields: &MappingFields<'_>,
    report: &mut DiagnosticCollector,
) -> Option<(String, String)> {
    let required = |key: &str, report: &mut DiagnosticCollector| {
        if fields.lacks(key) {
            report.add(node, format!("the {noun} has no `{key}`"), format!("add `{key}: …`"));
        }
        fields.get(key)
    };
    let name = required("name", report).and_then(|node| read::name(node, "the name", report));
    let image = required("image", report).and_then(|node| read::text(node, "the image", report)).map(str::to_owned);
    Some((name?, image?))
}
