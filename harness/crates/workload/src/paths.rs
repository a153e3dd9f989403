//! The paths of a description: from a field of a Deployment or ReplicaSet to where another kind has
//! it.

use std::collections::BTreeMap;

/// Objects whose own fields can be mapped, too.
const OPEN_FIELDS: [&str; 2] = ["/spec/selector/", "/spec/template/"];
/// The fields that every case needs.
const REQUIRED_FIELDS: [&str; 4] = ["/spec", "/spec/replicas", "/spec/selector", "/spec/template"];

/// The group and the version of `GROUP/VERSION`.
pub fn split_group(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Checks that this is `GROUP/VERSION`.
pub(super) fn check_group_version(api_version: &str) -> Result<(), String> {
    match api_version.split('/').filter(|word| !word.is_empty()).count() {
        2 => Ok(()),
        _ => Err(format!("`{api_version}` is not GROUP/VERSION")),
    }
}

/// Checks an entry of `paths`: a field of this kind, and where the other kind has it.
pub(super) fn check_path(
    (field, kind): (&str, &str),
    fields: &[&str],
    path: &str,
    own: Option<&str>,
) -> Result<(), String> {
    let parts = std::iter::once(path).chain(own.into_iter().flat_map(|own| own.splitn(2, '#')));
    if let Some(pointer) = parts.into_iter().find(|pointer| !pointer.starts_with('/')) {
        return Err(format!("`{field}`: `{pointer}` is not a JSON pointer such as /spec/replicas"));
    }
    let is_open = OPEN_FIELDS.iter().any(|open| path.starts_with(open));
    if !is_open && !fields.contains(&path) {
        return Err(format!("`{field}`: {kind} has no field `{path}`; it has {}", fields.join(", ")));
    }
    if own.is_none() && (is_open || REQUIRED_FIELDS.contains(&path)) {
        return Err(format!("`{field}`: `{path}: null`: the cases need this field; say where the kind has it"));
    }
    Ok(())
}

/// Whether a path of a description leads nowhere for this field.
pub(super) fn lacks_field(paths: &BTreeMap<String, Option<String>>, field: &str) -> bool {
    let leads_nowhere = |(path, own): (&String, &Option<String>)| {
        own.is_none() && field.strip_prefix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    paths.iter().any(leads_nowhere)
}
