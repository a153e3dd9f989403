//! What a ConfigMap or a Secret holds, as checksums: taken when it arrives, so that no value is
//! kept.
//!
//! The checksum of a whole one is xing's, byte for byte, so that workloads which that controller
//! has annotated are taken over without a wave of restarts: the first eight bytes of SHA-256, in
//! hex, over the data map as Go's encoder writes it. It says nothing about `binaryData` (defect
//! X12). Where that is there, or where a workload uses single keys only, a checksum over what is
//! used takes its place; it looks the same. Of a Secret, no checksum that is made here leaves the
//! process: see `keyed`.
//!
//! Case: `config-restart/s17-safe-binary-data`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};

use ring::digest::{Context, SHA256, digest};

use super::references::Use;

/// Checksums of one ConfigMap or Secret.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Digest {
    whole: String,
    keys: BTreeMap<String, [u8; 16]>,
    has_binary: bool,
}

impl Digest {
    /// Of a ConfigMap's data and binaryData, or a Secret's data and nothing; values as the wire has
    /// them, base64 as base64.
    pub(crate) fn of(data: Option<&BTreeMap<String, String>>, binary: &BTreeMap<String, String>) -> Self {
        let key = |(key, value): (&String, &String)| (key.clone(), short(&[value.as_bytes()]));
        let keys = data.into_iter().flatten().map(key).chain(binary.iter().map(key)).collect();
        Self { whole: hex(digest(&SHA256, go_json(data).as_bytes()).as_ref()), keys, has_binary: !binary.is_empty() }
    }

    /// Of the whole data map, as xing's controller takes it.
    pub(crate) fn whole(&self) -> &str {
        &self.whole
    }

    /// Of what a workload uses of it.
    pub(crate) fn used(&self, used: &Use) -> String {
        if used.whole && !self.has_binary {
            return self.whole.clone();
        }
        let mut context = Context::new(&SHA256);
        let mut add = |key: &str, value: Option<&[u8; 16]>| {
            context.update(&key.len().to_be_bytes());
            context.update(key.as_bytes());
            context.update(&[u8::from(value.is_some())]);
            context.update(value.map_or(&[], <[u8; 16]>::as_slice));
        };
        if used.whole {
            self.keys.iter().for_each(|(key, value)| add(key, Some(value)));
        } else {
            used.keys.iter().for_each(|key| add(key, self.keys.get(key)));
        }
        hex(context.finish().as_ref())
    }

    /// Keys that differ from what it was before, of those that are used.
    pub(crate) fn changed_keys(&self, before: &Self, used: &Use) -> BTreeSet<String> {
        let all = self.keys.keys().chain(before.keys.keys());
        let differs = |key: &&String| self.keys.get(*key) != before.keys.get(*key);
        all.filter(differs).filter(|key| used.whole || used.keys.contains(*key)).cloned().collect()
    }
}

/// Without checksums: a Secret's have no key in here.
impl fmt::Debug for Digest {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Digest").field("keys", &self.keys.keys()).finish_non_exhaustive()
    }
}

/// Sixteen bytes that tell values apart.
fn short(parts: &[&[u8]]) -> [u8; 16] {
    let mut context = Context::new(&SHA256);
    parts.iter().for_each(|part| context.update(part));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&context.finish().as_ref()[..16]);
    bytes
}

/// The first eight bytes, in hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(8).fold(String::with_capacity(16), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The checksum of a text.
pub(super) fn text(text: &str) -> String {
    hex(digest(&SHA256, text.as_bytes()).as_ref())
}

/// A map as Go's `json.Marshal` writes it: keys sorted by bytes, no spaces, `<`, `>`, `&` and two
/// line separators escaped.
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

/// A string as Go 1.20 writes it, which has no short form for backspace and form feed.
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

    fn keys(names: &[&str]) -> Use {
        Use { keys: names.iter().map(|name| (*name).to_owned()).collect(), ..Use::default() }
    }

    fn all() -> Use {
        Use { whole: true, ..Use::default() }
    }

    /// Scenario 16: the first two are xing's own vectors.
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
    fn golden(#[case] data: Option<BTreeMap<String, String>>, #[case] checksum: &str) {
        let digest = Digest::of(data.as_ref(), &BTreeMap::new());
        assert_eq!(digest.whole(), checksum);
        assert_eq!(digest.used(&all()), checksum);
    }

    #[test]
    fn control_characters_are_written_as_go_1_20_does() {
        let mut text = String::new();
        go_string(&mut text, "\u{8}\u{c}\u{1}\r\n\t\"\\\u{2028}é\u{7f}");
        assert_eq!(text, "\"\\u0008\\u000c\\u0001\\r\\n\\t\\\"\\\\\\u2028é\u{7f}\"");
    }

    /// Scenario 17 (X12).
    #[test]
    fn binary_data_counts_and_does_not_change_xings_checksum() {
        let (before, after) = (digest_of(&[("a", "1")], &[("b", "AA==")]), digest_of(&[("a", "1")], &[("b", "AQ==")]));
        assert_eq!(before.whole(), after.whole());
        assert_ne!(before.used(&all()), after.used(&all()));
        assert_ne!(before.used(&all()), before.whole());
        assert_eq!(before.changed_keys(&after, &all()), ["b".to_owned()].into());
    }

    /// Scenario 18.
    #[test]
    fn only_keys_that_are_used_count() {
        let (before, after) =
            (digest_of(&[("k1", "1"), ("k2", "1")], &[]), digest_of(&[("k1", "1"), ("k2", "2")], &[]));
        assert_eq!(before.used(&keys(&["k1"])), after.used(&keys(&["k1"])));
        assert_ne!(before.used(&keys(&["k2"])), after.used(&keys(&["k2"])));
        assert_ne!(
            before.used(&keys(&["k1", "k3"])),
            before.used(&keys(&["k1"])),
            "one that is missing is known to be"
        );
        assert_eq!(after.changed_keys(&before, &keys(&["k1"])), BTreeSet::new());
    }
}
