//! The keys of a config that restart a workload, if its annotation selects keys.
//!
//! The annotation is a comma-separated list of `configmap/NAME/KEY` and `secret/NAME/KEY`. A config
//! that it names restarts the workload for these keys only, as far as the template uses them. A
//! config that it does not name restarts the workload for everything that the template uses. If any
//! entry cannot be read, the annotation selects nothing and every key counts, because restarting
//! too much is safer than restarting too little. An Event reports it.
//!
//! A checksum over selected keys names them: `keys=KEY,KEY;CHECKSUM`. This lets the controller
//! distinguish a change of the annotation from a change of the data, even if it was not running for
//! both. It hashes the current data over the keys that the old checksum names. If the result is
//! equal, the pods have this data, and the checksum is written for the new keys without a restart.
//! Otherwise a change was due by the old keys, and the workload restarts.
//!
//! Cases: `config-restart/safe/keys-selected`,
//! `config-restart/safe/keys-annotation-changed-while-away`,
//! `config-restart/safe/keys-appear-and-killed`, `config-restart/safe/keys-annotation-unreadable`.

use std::collections::{BTreeMap, BTreeSet};

use rollout_model::beginning;

use crate::model::references::ConfigUsage;
use crate::names::{ConfigKind, MAX_QUOTED_BYTES};

/// Starts a checksum over selected keys.
const KEYS_PREFIX: &str = "keys=";
/// The longest key that the API accepts.
const MAX_KEY_BYTES: usize = 253;
/// How many bytes of a list in an annotation are read. An annotation may have 256 KiB, and its
/// parsed form takes many times that.
pub(crate) const MAX_LIST_BYTES: usize = 16 << 10;

/// The selected keys of each config; the annotation's name for a config is `configmap/settings`.
pub type KeySelection = BTreeMap<String, BTreeSet<String>>;

/// Reads the annotation.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn read(annotation: Option<&str>) -> Result<KeySelection, String> {
    let mut selection = KeySelection::new();
    let annotation = annotation.unwrap_or_default();
    if annotation.len() > MAX_LIST_BYTES {
        return Err(format!("it has more than {} KiB", MAX_LIST_BYTES >> 10));
    }
    let entries = annotation.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    for entry in entries {
        let parts: Vec<&str> = entry.split('/').collect();
        let entry = beginning(entry, MAX_QUOTED_BYTES);
        let (kind, name, key) = match parts.as_slice() {
            [kind, name, key] if !name.is_empty() && is_key(key) => (*kind, *name, *key),
            _ => return Err(format!("{entry:?} is not configmap/NAME/KEY or secret/NAME/KEY")),
        };
        if !ConfigKind::ALL.iter().any(|known| known.as_str() == kind) {
            return Err(format!("{entry:?} begins with neither configmap/ nor secret/"));
        }
        selection.entry(format!("{kind}/{name}")).or_default().insert(key.to_owned());
    }
    Ok(selection)
}

/// Whether the API accepts it as a key of a config. Such keys have no comma and no semicolon.
fn is_key(key: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !key.is_empty() && key.len() <= MAX_KEY_BYTES && key.bytes().all(fits)
}

/// The usage of a config, restricted to the selected keys if there are any.
pub(crate) fn narrow_usage(usage: &ConfigUsage, keys: Option<&BTreeSet<String>>) -> ConfigUsage {
    let Some(keys) = keys else { return usage.clone() };
    let keys = if usage.all_keys { keys.clone() } else { keys.intersection(&usage.keys).cloned().collect() };
    ConfigUsage { all_keys: false, keys, selected: true, ..usage.clone() }
}

/// The checksum of a usage as the annotation has it: with the names of the keys if they are
/// selected.
pub(crate) fn format_checksum(usage: &ConfigUsage, checksum: String) -> String {
    if !usage.selected {
        return checksum;
    }
    let keys: Vec<&str> = usage.keys.iter().map(String::as_str).collect();
    format!("{KEYS_PREFIX}{};{checksum}", keys.join(","))
}

/// Splits a recorded checksum into the prefix that names its keys and the rest.
pub(crate) fn split_checksum(checksum: &str) -> (&str, &str) {
    let end = checksum.strip_prefix(KEYS_PREFIX).and_then(|_| checksum.find(';'));
    checksum.split_at(end.map_or(0, |end| end + 1))
}

/// The usage that a recorded checksum covers; without named keys it is the template's.
pub(crate) fn checksum_usage(checksum: &str, template: &ConfigUsage) -> ConfigUsage {
    let (keys, _) = split_checksum(checksum);
    let Some(keys) = keys.strip_prefix(KEYS_PREFIX) else { return template.clone() };
    let keys = keys.trim_end_matches(';').split(',').filter(|key| !key.is_empty());
    ConfigUsage { all_keys: false, keys: keys.map(str::to_owned).collect(), selected: true, ..template.clone() }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[rstest]
    #[case::none(None, "")]
    #[case::empty(Some(" "), "")]
    #[case::one(Some("configmap/c/k"), "configmap/c k")]
    #[case::some(Some("configmap/c/b, secret/s/p.q-r_1 ,configmap/c/a,"), "configmap/c a b; secret/s p.q-r_1")]
    fn reads_the_annotation(#[case] text: Option<&str>, #[case] expected: &str) {
        let selection = read(text).unwrap();
        let words = |(name, keys): (&String, &BTreeSet<String>)| {
            std::iter::once(name).chain(keys).map(String::as_str).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(selection.iter().map(words).collect::<Vec<_>>().join("; "), expected);
    }

    #[rstest]
    #[case::no_key("configmap/c", r#""configmap/c" is not configmap/NAME/KEY or secret/NAME/KEY"#)]
    #[case::an_empty_key("configmap/c/", r#""configmap/c/" is not"#)]
    #[case::an_empty_name("configmap//k", r#""configmap//k" is not"#)]
    #[case::more("configmap/c/k/l", r#""configmap/c/k/l" is not"#)]
    #[case::another_kind("pod/c/k", r#""pod/c/k" begins with neither configmap/ nor secret/"#)]
    #[case::no_such_key("configmap/c/k;l", r#""configmap/c/k;l" is not"#)]
    #[case::one_of_two("configmap/c/k, c/k", r#""c/k" is not"#)]
    fn refuses_invalid_entries(#[case] text: &str, #[case] expected: &str) {
        let problem = read(Some(text)).unwrap_err();
        assert!(problem.starts_with(expected), "{problem}");
    }

    #[test]
    fn selection_is_restricted_to_keys_that_the_template_uses() {
        let all_keys = ConfigUsage { all_keys: true, required: true, ..ConfigUsage::default() };
        assert_eq!(narrow_usage(&all_keys, None), all_keys);
        let selected = narrow_usage(&all_keys, Some(&set(&["a", "b"])));
        assert_eq!((selected.all_keys, selected.selected, selected.required), (false, true, true));
        assert_eq!(selected.keys, set(&["a", "b"]));
        let some = ConfigUsage { keys: set(&["b", "c"]), ..ConfigUsage::default() };
        assert_eq!(narrow_usage(&some, Some(&set(&["a", "b"]))).keys, set(&["b"]));
    }

    #[rstest]
    #[case(&["a", "b"], "keys=a,b;00", "keys=a,b;")]
    #[case(&[], "keys=;00", "keys=;")]
    fn selected_keys_round_trip_through_the_checksum(#[case] keys: &[&str], #[case] text: &str, #[case] names: &str) {
        let template = ConfigUsage { all_keys: true, ..ConfigUsage::default() };
        let selected = narrow_usage(&template, Some(&set(keys)));
        assert_eq!(format_checksum(&selected, "00".to_owned()), text);
        assert_eq!(split_checksum(text), (names, "00"));
        assert_eq!(checksum_usage(text, &template), selected);
    }

    #[test]
    fn checksum_without_keys_covers_what_the_template_uses() {
        let template = ConfigUsage { all_keys: true, ..ConfigUsage::default() };
        assert_eq!(format_checksum(&template, "00".to_owned()), "00");
        for text in ["00", "absent", "", "hmac-sha256:1:2", "keys=a"] {
            assert_eq!((split_checksum(text), checksum_usage(text, &template)), (("", text), template.clone()));
        }
    }
}
