//! Which keys of a config restart a workload, where its annotation names them.
//!
//! The annotation lists `configmap/NAME/KEY` and `secret/NAME/KEY`, comma separated. A config that
//! it names restarts the workload for these keys alone, as far as the template uses them; a config
//! that it does not name restarts for all that is used. An annotation with an entry that cannot be
//! read selects nothing, so every key counts: too much restarts rather than too little, and an
//! Event says so.
//!
//! A checksum over selected keys names them: `keys=KEY,KEY;CHECKSUM`. So a change of the annotation
//! can be told from a change of data, by a controller that was away for both, too: what is there
//! now is hashed over the keys that the old checksum names. If that is equal, the pods have it, and
//! the checksum is written anew for the new keys without a restart. If not, a change was due by the
//! old keys, and it is carried out.
//!
//! Cases: `config-restart/keys-selected`, `config-restart/keys-annotation-changed-while-away`,
//! `config-restart/keys-appear-and-killed`, `config-restart/keys-annotation-unreadable`.

use std::collections::{BTreeMap, BTreeSet};

use super::pace::QUOTED;
use super::references::{ConfigKind, Use};
use crate::model::beginning;

/// Opens a checksum over selected keys.
const SELECTED: &str = "keys=";
/// The longest key that the API accepts.
const LONGEST: usize = 253;
/// Bytes of a list in an annotation that are read. An annotation may have 256 KiB, and its parts
/// take many times that.
pub(super) const LONGEST_LIST: usize = 16 << 10;

/// Keys that restart a workload, by config as annotations name it: `configmap/settings`.
pub type Selection = BTreeMap<String, BTreeSet<String>>;

/// Reads the annotation.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(annotation: Option<&str>) -> Result<Selection, String> {
    let mut selection = Selection::new();
    let annotation = annotation.unwrap_or_default();
    if annotation.len() > LONGEST_LIST {
        return Err(format!("it has more than {} KiB", LONGEST_LIST >> 10));
    }
    let entries = annotation.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    for entry in entries {
        let parts: Vec<&str> = entry.split('/').collect();
        let entry = beginning(entry, QUOTED);
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

/// Whether the API accepts it as a key of a config. No such key has a comma or a semicolon.
fn is_key(key: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    !key.is_empty() && key.len() <= LONGEST && key.bytes().all(fits)
}

/// What of a config counts, if these keys of it are selected.
pub(super) fn narrowed(used: &Use, keys: Option<&BTreeSet<String>>) -> Use {
    let Some(keys) = keys else { return used.clone() };
    let keys = if used.whole { keys.clone() } else { keys.intersection(&used.keys).cloned().collect() };
    Use { whole: false, keys, selected: true, ..used.clone() }
}

/// The checksum of what is used, as it is written: with the keys, where these are selected.
pub(super) fn written(used: &Use, checksum: String) -> String {
    if !used.selected {
        return checksum;
    }
    let keys: Vec<&str> = used.keys.iter().map(String::as_str).collect();
    format!("{SELECTED}{};{checksum}", keys.join(","))
}

/// A checksum as it was written: what names its keys, and the rest.
pub(super) fn parts(checksum: &str) -> (&str, &str) {
    let end = checksum.strip_prefix(SELECTED).and_then(|_| checksum.find(';'));
    checksum.split_at(end.map_or(0, |end| end + 1))
}

/// What a checksum on a workload was made of; where it names no keys, of what its template uses.
pub(super) fn made_of(checksum: &str, template: &Use) -> Use {
    let (keys, _) = parts(checksum);
    let Some(keys) = keys.strip_prefix(SELECTED) else { return template.clone() };
    let keys = keys.trim_end_matches(';').split(',').filter(|key| !key.is_empty());
    Use { whole: false, keys: keys.map(str::to_owned).collect(), selected: true, ..template.clone() }
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
    fn reads(#[case] text: Option<&str>, #[case] expected: &str) {
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
    fn refuses(#[case] text: &str, #[case] expected: &str) {
        let problem = read(Some(text)).unwrap_err();
        assert!(problem.starts_with(expected), "{problem}");
    }

    #[test]
    fn only_keys_that_the_template_uses_are_left() {
        let whole = Use { whole: true, required: true, ..Use::default() };
        assert_eq!(narrowed(&whole, None), whole);
        let selected = narrowed(&whole, Some(&set(&["a", "b"])));
        assert_eq!((selected.whole, selected.selected, selected.required), (false, true, true));
        assert_eq!(selected.keys, set(&["a", "b"]));
        let some = Use { keys: set(&["b", "c"]), ..Use::default() };
        assert_eq!(narrowed(&some, Some(&set(&["a", "b"]))).keys, set(&["b"]));
    }

    #[rstest]
    #[case(&["a", "b"], "keys=a,b;00", "keys=a,b;")]
    #[case(&[], "keys=;00", "keys=;")]
    fn keys_are_written_and_read_again(#[case] keys: &[&str], #[case] text: &str, #[case] names: &str) {
        let template = Use { whole: true, ..Use::default() };
        let selected = narrowed(&template, Some(&set(keys)));
        assert_eq!(written(&selected, "00".to_owned()), text);
        assert_eq!(parts(text), (names, "00"));
        assert_eq!(made_of(text, &template), selected);
    }

    #[test]
    fn a_checksum_without_keys_is_of_what_the_template_uses() {
        let template = Use { whole: true, ..Use::default() };
        assert_eq!(written(&template, "00".to_owned()), "00");
        for text in ["00", "absent", "", "hmac-sha256:1:2", "keys=a"] {
            assert_eq!((parts(text), made_of(text, &template)), (("", text), template.clone()));
        }
    }
}
