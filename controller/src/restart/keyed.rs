//! Keyed checksums of Secrets: they say that a Secret has changed, and nothing else about it.
//!
//! Whoever may read workloads reads their annotations, and need not be allowed to read Secrets. A
//! plain checksum gives a guessable value away: all six-digit numbers are tried within a second. So
//! a Secret's checksum is `hmac-sha256:KEY-ID:MAC`, made with a key that only this controller has.
//!
//! The MAC covers the Secret's name, so that nobody finds out what a Secret holds by writing
//! guesses into one of their own and comparing annotations. It covers the plain checksum, not the
//! values, so that a plain one of an older version is turned into a keyed one without the Secret:
//! nothing restarts for it, and a change that nobody watched is still found. The key's id tells a
//! key that was rotated from a Secret that has changed: what the previous key has made is compared
//! with that key and written anew; what an unknown key has made can be compared with nothing, so it
//! is written anew without a restart and reported.
//!
//! Checksums are compared with `==`: nobody sends one to be checked, and both sides stand in an
//! annotation.
//!
//! Borders: the keys themselves are `settings/checksum_keys.rs`; in here nothing sees more of one
//! than its id and its MACs.
//!
//! Cases: `config-restart/secret-keyed`, `config-restart/secret-adopted-from-unkeyed`,
//! `config-restart/secret-changed-and-adopted-from-unkeyed`, `config-restart/secret-key-unknown`.

use super::references::{ConfigKind, ConfigName};
use super::selection;
use super::state::ABSENT;
use super::workload::Workload;
use crate::settings::{ChecksumKey, ChecksumKeys};

/// Opens every keyed checksum.
const SCHEME: &str = "hmac-sha256:";
/// What is covered besides the parts: one key makes ids and checksums, and neither is taken for the
/// other.
const CHECKSUM: &str = "rollout-controller config-restart secret checksum";
/// Bytes of a checksum.
const MAC_BYTES: usize = 16;

/// How a checksum in an annotation was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// Without a key, by an older version or by xing's controller.
    Unkeyed,
    /// With one of the keys that are here; or it says that there was no Secret.
    Known,
    /// With another key.
    Foreign,
}

impl ChecksumKeys {
    /// The keyed checksum of what has this plain one.
    pub(super) fn checksum(&self, of: &ConfigName, plain: &str) -> String {
        checksum(&self.current, of, plain)
    }

    /// The same with the previous key.
    pub(super) fn previous(&self, of: &ConfigName, plain: &str) -> Option<String> {
        self.previous.as_ref().map(|key| checksum(key, of, plain))
    }

    /// Reads a workload's checksums: plain ones of Secrets become keyed, and those of unknown keys
    /// are noted.
    pub(super) fn read(&self, workload: &mut Workload) {
        for (text, checksum) in &mut workload.applied {
            match (self.made(text, checksum), named(text)) {
                (Made::Unkeyed, Some(name)) => {
                    let (keys, plain) = selection::parts(checksum);
                    *checksum = format!("{keys}{}", self.checksum(&name, plain));
                    workload.rekeyed = true;
                }
                (Made::Foreign, _) => drop(workload.unknown_key.insert(text.clone())),
                _ => {}
            }
        }
    }

    /// How the checksum of a config was made; those of ConfigMaps have no key.
    pub(super) fn made(&self, of: &str, checksum: &str) -> Made {
        if checksum == ABSENT || !is_secret(of) {
            return Made::Known;
        }
        let Some(rest) = selection::parts(checksum).1.strip_prefix(SCHEME) else { return Made::Unkeyed };
        let id = rest.split(':').next().unwrap_or_default();
        let keys = [Some(&self.current), self.previous.as_ref()];
        if keys.into_iter().flatten().any(|key| key.id == id) { Made::Known } else { Made::Foreign }
    }
}

/// Whether the name, as annotations have it, is a Secret's.
pub(super) fn is_secret(name: &str) -> bool {
    name.split('/').next() == Some(ConfigKind::Secret.as_str())
}

/// The name in an annotation, with its parts apart.
pub(super) fn named(text: &str) -> Option<ConfigName> {
    let (kind, rest) = text.split_once('/')?;
    let (namespace, name) = rest.split_once('/')?;
    let kind = ConfigKind::ALL.into_iter().find(|known| known.as_str() == kind)?;
    Some(ConfigName { kind, namespace: namespace.to_owned(), name: name.to_owned() })
}

fn checksum(key: &ChecksumKey, of: &ConfigName, plain: &str) -> String {
    let mac = key.mac(&[CHECKSUM, of.kind.as_str(), &of.namespace, &of.name, plain], MAC_BYTES);
    format!("{SCHEME}{}:{mac}", key.id)
}
