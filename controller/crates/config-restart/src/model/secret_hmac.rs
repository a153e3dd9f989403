//! Keyed checksums of Secrets, which show that a Secret has changed and nothing else about it.
//!
//! Everyone who may read workloads can read their annotations, including users who may not read
//! Secrets. A plain checksum reveals a value that can be guessed: trying all six-digit numbers
//! takes less than a second. So the checksum of a Secret is `hmac-sha256:KEY-ID:MAC`, made with a
//! key that only this controller has.
//!
//! The MAC covers the Secret's name. Otherwise a user could write guesses into a Secret of their
//! own and compare the annotations. It covers the plain checksum instead of the values, so a plain
//! checksum of an older version can be converted to a keyed one without the Secret: the conversion
//! restarts nothing, and a change that happened while the controller was not running is still
//! found.
//!
//! The key ID distinguishes a rotated key from a changed Secret. A checksum that was made with the
//! previous key is compared by that key and written again with the current one. A checksum of an
//! unknown key cannot be compared, so it is written again without a restart, and an event reports
//! it.
//!
//! Comparing checksums with `==` is safe, although it does not take constant time: both sides come
//! from annotations and not from an attacker's request.
//!
//! The keys are in `settings/checksum_keys.rs`; this module sees only their IDs and MACs.
//!
//! Cases: `config-restart/safe/secret-keyed`, `config-restart/safe/secret-adopted-from-unkeyed`,
//! `config-restart/safe/secret-changed-and-adopted-from-unkeyed`,
//! `config-restart/safe/secret-key-unknown`.

use crate::model::annotation_codec::ABSENT;
use crate::model::key_selection;
use crate::model::workload::WorkloadFacts;
use crate::names::{ConfigKind, ConfigName};
use crate::settings::{ChecksumKey, ChecksumKeys};

/// Starts every keyed checksum.
const SCHEME: &str = "hmac-sha256:";
/// Domain separation: the same key also makes key IDs, and an ID must never be a valid checksum.
const CHECKSUM: &str = "rollout-controller config-restart secret checksum";
const MAC_BYTES: usize = 16;

/// How a recorded checksum was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChecksumOrigin {
    /// Without a key, by an older version or by xing's controller.
    Unkeyed,
    /// With the current or the previous key, or it needs none: it says that the Secret was absent,
    /// or it is a ConfigMap's.
    KnownKey,
    /// With another key.
    UnknownKey,
}

impl ChecksumKeys {
    pub(crate) fn checksum(&self, of: &ConfigName, plain: &str) -> String {
        checksum(&self.current, of, plain)
    }

    /// The same, made with the previous key.
    pub(crate) fn previous_checksum(&self, of: &ConfigName, plain: &str) -> Option<String> {
        self.previous.as_ref().map(|key| checksum(key, of, plain))
    }

    /// Converts a workload's plain checksums of Secrets to keyed ones, and notes those of unknown
    /// keys.
    pub(crate) fn rekey_checksums(&self, workload: &mut WorkloadFacts) {
        for (text, checksum) in &mut workload.checksums {
            match (self.origin(text, checksum), parse_config_name(text)) {
                (ChecksumOrigin::Unkeyed, Some(name)) => {
                    let (keys, plain) = key_selection::split_checksum(checksum);
                    *checksum = format!("{keys}{}", self.checksum(&name, plain));
                    workload.has_unkeyed_checksums = true;
                }
                (ChecksumOrigin::UnknownKey, _) => drop(workload.unknown_key.insert(text.clone())),
                _ => {}
            }
        }
    }

    /// How the recorded checksum of a config was made.
    pub(crate) fn origin(&self, of: &str, checksum: &str) -> ChecksumOrigin {
        if checksum == ABSENT || !is_secret(of) {
            return ChecksumOrigin::KnownKey;
        }
        let Some(rest) = key_selection::split_checksum(checksum).1.strip_prefix(SCHEME) else {
            return ChecksumOrigin::Unkeyed;
        };
        let id = rest.split(':').next().unwrap_or_default();
        let keys = [Some(&self.current), self.previous.as_ref()];
        if keys.into_iter().flatten().any(|key| key.id == id) {
            ChecksumOrigin::KnownKey
        } else {
            ChecksumOrigin::UnknownKey
        }
    }
}

/// Whether the name, as annotations have it, is a Secret's.
pub(crate) fn is_secret(name: &str) -> bool {
    name.split('/').next() == Some(ConfigKind::Secret.as_str())
}

/// Parses the name of a config in an annotation.
pub(crate) fn parse_config_name(text: &str) -> Option<ConfigName> {
    let (kind, rest) = text.split_once('/')?;
    let (namespace, name) = rest.split_once('/')?;
    let kind = ConfigKind::ALL.into_iter().find(|known| known.as_str() == kind)?;
    Some(ConfigName { kind, namespace: namespace.to_owned(), name: name.to_owned() })
}

fn checksum(key: &ChecksumKey, of: &ConfigName, plain: &str) -> String {
    let mac = key.mac(&[CHECKSUM, of.kind.as_str(), &of.namespace, &of.name, plain], MAC_BYTES);
    format!("{SCHEME}{}:{mac}", key.id)
}
