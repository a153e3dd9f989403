//! What Reloader evaluates of a ConfigMap or a Secret: its checksum, its labels, and its
//! annotations with the value `true`.
//!
//! The checksum equals Reloader's byte for byte, because it is the value of the variable that
//! restarts a workload: SHA-1, in hex, over `key=value` of all keys, sorted and joined by `;`. The
//! values of a Secret are the bytes, not their base64. Different data that join to the same text
//! have the same checksum. SHA-1 has no security purpose here.
//!
//! Cases: `config-restart/reloader/joined-values`, `config-restart/reloader/binary-data`,
//! `config-restart/reloader/auto-secret`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use k8s_openapi::ByteString;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use rollout_model::Meta;
use serde_json::Value;

use crate::names::ConfigKind;
use crate::settings::ReloaderAnnotations;

/// The traits of a config; its data is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReloaderTraits {
    pub(crate) checksum: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) marks: BTreeSet<String>,
}

impl ReloaderTraits {
    /// Drops everything that the rules do not need: annotations may have 256 KiB, and labels are
    /// needed only when the config arrives.
    pub(crate) fn retain_relevant(&mut self, names: &ReloaderAnnotations) {
        self.labels.clear();
        self.marks.retain(|mark| *mark == names.ignore || *mark == names.search_match);
    }
}

/// Reads the traits of a config. The values are as in the API's JSON.
pub(crate) fn read_traits(
    kind: ConfigKind,
    meta: &Meta,
    data: Option<&BTreeMap<String, String>>,
    binary: &BTreeMap<String, String>,
) -> ReloaderTraits {
    let data = data.into_iter().flatten().map(|(key, value)| match kind {
        ConfigKind::ConfigMap => (key, value.as_bytes().to_vec()),
        ConfigKind::Secret => (key, decode_secret_value(value)),
    });
    let binary = binary.iter().map(|(key, value)| (key, value.as_bytes().to_vec()));
    let marks = meta.annotations.iter().filter(|(_, value)| *value == "true").map(|(name, _)| name.clone());
    ReloaderTraits { checksum: checksum(data.chain(binary)), labels: meta.labels.clone(), marks: marks.collect() }
}

fn checksum<'a>(entries: impl Iterator<Item = (&'a String, Vec<u8>)>) -> String {
    let mut entries: Vec<Vec<u8>> =
        entries.map(|(key, value)| [key.as_bytes(), b"=", value.as_slice()].concat()).collect();
    entries.sort_unstable();
    let mut text = String::with_capacity(40);
    for byte in digest(&SHA1_FOR_LEGACY_USE_ONLY, &entries.join(b";".as_slice())).as_ref() {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The bytes of a Secret's value. A server stores only base64, so other text need not be handled
/// well.
fn decode_secret_value(value: &str) -> Vec<u8> {
    serde_json::from_value(Value::from(value)).map_or_else(|_| value.as_bytes().to_vec(), |ByteString(bytes)| bytes)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// The checksums are from golden timelines.
    #[rstest]
    #[case::a_config_map(ConfigKind::ConfigMap, &[("k", "2")], &[], "e5eb05bb23136deb5962f9004ae449e74f7e0547")]
    #[case::a_secret(ConfigKind::Secret, &[("k", "Mg==")], &[], "e5eb05bb23136deb5962f9004ae449e74f7e0547")]
    #[case::nothing(ConfigKind::ConfigMap, &[], &[], "da39a3ee5e6b4b0d3255bfef95601890afd80709")]
    fn checksums_equal_those_of_reloader(
        #[case] kind: ConfigKind,
        #[case] data: &[(&str, &str)],
        #[case] binary: &[(&str, &str)],
        #[case] expected: &str,
    ) {
        let map = |entries: &[(&str, &str)]| {
            entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(read_traits(kind, &Meta::default(), Some(&map(data)), &map(binary)).checksum, expected);
    }

    #[test]
    fn data_that_join_to_the_same_text_have_the_same_checksum() {
        let of = |entries: &[(&str, &str)]| {
            let entries: Vec<_> = entries.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes())).collect();
            checksum(entries.iter().map(|(key, value)| (key, value.to_vec())))
        };
        assert_eq!(of(&[("a", "b;c=d")]), of(&[("a", "b"), ("c", "d")]));
        assert_ne!(of(&[("a", "b")]), of(&[("a", "c")]));
    }
}
