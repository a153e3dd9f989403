//! What the short forms of a Deployment and of a ReplicaSet have in common.

use super::finding::Report;
use super::read::{self, Fields};
use super::tree::Node;

/// What every short form must say.
pub(super) fn name_and_image(
    node: &Node,
    what: &str,
    fields: &Fields<'_>,
    report: &mut Report,
) -> Option<(String, String)> {
    let required = |key: &str, report: &mut Report| {
        if fields.lacks(key) {
            report.add(node, format!("the {what} has no `{key}`"), format!("add `{key}: …`"));
        }
        fields.get(key)
    };
    let name = required("name", report).and_then(|node| read::name(node, "the name", report));
    let image = required("image", report).and_then(|node| read::text(node, "the image", report)).map(str::to_owned);
    Some((name?, image?))
}
