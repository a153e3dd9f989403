//! Checksums of the data of a ConfigMap or a Secret, computed when the object arrives, so that no
//! value is stored.
//!
//! The checksum of all data equals xing's byte for byte, so taking over workloads that xing's
//! controller has annotated does not restart them all. It is the first eight bytes of SHA-256, in
//! hex, over the data map as Go's encoder writes it. It does not cover `binaryData` (defect X12).
//! If a config has `binaryData`, or a workload uses only some keys, a checksum over the used data
//! replaces it; both have the same format. No checksum of a Secret that is made here leaves the
//! process: see `secret_hmac`.
//!
//! Case: `config-restart/safe/s17-binary-data`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use ring::digest::{Context, SHA256, digest};

use crate::model::references::ConfigUsage;

/// The checksums of one ConfigMap or Secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Digest {
    data_checksum: String,
    keys: BTreeMap<String, [u8; 16]>,
    has_binary: bool,
}

impl Digest {
    /// From a ConfigMap's `data` and `binaryData`, or a Secret's `data`. The values are as in the
    /// API's JSON; base64 stays base64.
    pub(crate) fn of(data: Option<&BTreeMap<String, String>>, binary: &BTreeMap<String, String>) -> Self {
        let key = |(key, value): (&String, &String)| (key.clone(), short_hash(&[value.as_bytes()]));
        let keys = data.into_iter().flatten().map(key).chain(binary.iter().map(key)).collect();
        Self {
            data_checksum: short_hex(digest(&SHA256, go_json(data).as_bytes()).as_ref()),
            keys,
            has_binary: !binary.is_empty(),
        }
    }

    /// xing's checksum, over the whole `data` map.
    pub(crate) fn data_checksum(&self) -> &str {
        &self.data_checksum
    }

    /// The checksum of what a workload uses.
    pub(crate) fn usage_checksum(&self, usage: &ConfigUsage) -> String {
        if usage.all_keys && !self.has_binary {
            return self.data_checksum.clone();
        }
        let mut context = Context::new(&SHA256);
        let mut add = |key: &str, value: Option<&[u8; 16]>| {
            context.update(&key.len().to_be_bytes());
            context.update(key.as_bytes());
            context.update(&[u8::from(value.is_some())]);
            context.update(value.map_or(&[], <[u8; 16]>::as_slice));
        };
        if usage.all_keys {
            self.keys.iter().for_each(|(key, value)| add(key, Some(value)));
        } else {
            usage.keys.iter().for_each(|key| add(key, self.keys.get(key)));
        }
        short_hex(context.finish().as_ref())
    }

    /// The used keys whose values differ from those before.
    pub(crate) fn changed_keys(&self, before: &Self, usage: &ConfigUsage) -> BTreeSet<String> {
        let all = self.keys.keys().chain(before.keys.keys());
        let differs = |key: &&String| self.keys.get(*key) != before.keys.get(*key);
        all.filter(differs).filter(|key| usage.all_keys || usage.keys.contains(*key)).cloned().collect()
    }
}

/// Shows no checksums, because those of Secrets are not keyed here.
impl fmt::Debug for Digest {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Digest").field("keys", &self.keys.keys()).finish_non_exhaustive()
    }
}

/// Sixteen bytes are enough to distinguish values.
fn short_hash(parts: &[&[u8]]) -> [u8; 16] {
    let mut context = Context::new(&SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&context.finish().as_ref()[..16]);
    bytes
}

/// The first eight bytes, in hex.
pub(crate) fn short_hex(bytes: &[u8]) -> String {
    bytes.iter().take(8).fold(String::with_capacity(16), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(crate) fn text_checksum(text: &str) -> String {
    short_hex(digest(&SHA256, text.as_bytes()).as_ref())
}

/// Encodes a map like Go's `json.Marshal`: keys sorted by bytes, no spaces, and `<`, `>`, `&` and
/// two line separators escaped.
fn go_json(map: Option<&BTreeMap<String, String>>) -> String {
    let Some(map) = map else { return "null".to_owned() };
    let mut text = String::from("{");
    for (n, (key, value)) in map.iter().enumerate() {
        if n > 0 {
            text.push(',');
        }
        go_string(&mut text, key);
        text.push(':');
        go_string(&mut text, value);
    }
    text.push('}');
    text
}

/// Encodes a string like Go 1.20, which has no short form for backspace and form feed.
fn go_string(to: &mut String, from: &str) {
    to.push('"');
    for c in from.chars() {
        match c {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(to, "\\u{:04x}", u32::from(c));
            }
            _ => to.push(c),
        }
    }
    to.push('"');
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn digest_of(data: &[(&str, &str)], binary: &[(&str, &str)]) -> Digest {
        Digest::of(Some(&map(data)), &map(binary))
    }

    fn keys(names: &[&str]) -> ConfigUsage {
        ConfigUsage { keys: names.iter().map(|name| (*name).to_owned()).collect(), ..ConfigUsage::default() }
    }

    fn all() -> ConfigUsage {
        ConfigUsage { all_keys: true, ..ConfigUsage::default() }
    }

    /// Scenario 16. The first two are from xing's own tests.
    #[rstest]
    #[case::a_config_map(Some(map(&[("key", "value")])), "e43abcf337524483")]
    #[case::a_secret(Some(map(&[("key", "dmFsdWU=")])), "fed7a27106a07691")]
    #[case::no_data(None, "74234e98afe7498f")]
    #[case::an_empty_map(Some(map(&[])), "44136fa355b3678a")]
    #[case::two_keys(Some(map(&[("b", "2"), ("a", "1")])), "21f76dfbfe6dfe21")]
    #[case::escaped(Some(map(&[("k", "a<b&c>")])), "ac2fb6e0e5409a14")]
    #[case::a_line_break(Some(map(&[("k", "x\ny")])), "e185db1e3c7236a9")]
    #[case::a_secret_with_bytes(Some(map(&[("a", "MQ=="), ("b", "/wA=")])), "739c4b945439af23")]
    #[case::not_joined(Some(map(&[("a", "b;c=d")])), "5c71c892cb7fd4b4")]
    #[case::not_joined_either(Some(map(&[("a", "b"), ("c", "d")])), "b85c7da93e879051")]
    fn checksums_equal_those_of_xings_controller(
        #[case] data: Option<BTreeMap<String, String>>,
        #[case] checksum: &str,
    ) {
        let digest = Digest::of(data.as_ref(), &BTreeMap::new());
        assert_eq!(digest.data_checksum(), checksum);
        assert_eq!(digest.usage_checksum(&all()), checksum);
    }

    #[test]
    fn control_characters_are_escaped_like_in_go_1_20() {
        let mut text = String::new();
        go_string(&mut text, "\u{8}\u{c}\u{1}\r\n\t\"\\\u{2028}é\u{7f}");
        assert_eq!(text, "\"\\u0008\\u000c\\u0001\\r\\n\\t\\\"\\\\\\u2028é\u{7f}\"");
    }

    /// Scenario 17 (X12).
    #[test]
    fn binary_data_counts_and_does_not_change_xings_checksum() {
        let (before, after) = (digest_of(&[("a", "1")], &[("b", "AA==")]), digest_of(&[("a", "1")], &[("b", "AQ==")]));
        assert_eq!(before.data_checksum(), after.data_checksum());
        assert_ne!(before.usage_checksum(&all()), after.usage_checksum(&all()));
        assert_ne!(before.usage_checksum(&all()), before.data_checksum());
        assert_eq!(before.changed_keys(&after, &all()), ["b".to_owned()].into());
    }

    /// Scenario 18.
    #[test]
    fn only_used_keys_affect_the_checksum() {
        let (before, after) =
            (digest_of(&[("k1", "1"), ("k2", "1")], &[]), digest_of(&[("k1", "1"), ("k2", "2")], &[]));
        assert_eq!(before.usage_checksum(&keys(&["k1"])), after.usage_checksum(&keys(&["k1"])));
        assert_ne!(before.usage_checksum(&keys(&["k2"])), after.usage_checksum(&keys(&["k2"])));
        assert_ne!(
            before.usage_checksum(&keys(&["k1", "k3"])),
            before.usage_checksum(&keys(&["k1"])),
            "one that is missing is known to be"
        );
        assert_eq!(after.changed_keys(&before, &keys(&["k1"])), BTreeSet::new());
    }
}
