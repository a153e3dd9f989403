//! Keyed checksums of Secrets: they say that a Secret has changed, and nothing else about it.
//!
//! Whoever may read workloads reads their annotations, and need not be allowed to read Secrets. A plain
//! checksum gives a guessable value away: all six-digit numbers are tried within a second. So a Secret's
//! checksum is `hmac-sha256:KEY-ID:MAC`, made with a key that only this controller has.
//!
//! The MAC covers the Secret's name, so that nobody finds out what a Secret holds by writing guesses into one
//! of their own and comparing annotations. It covers the plain checksum, not the values, so that a plain one
//! of an older version is turned into a keyed one without the Secret: nothing restarts for it, and a change
//! that nobody watched is still found. The key's id tells a key that was rotated from a Secret that has
//! changed: what the previous key has made is compared with that key and written anew; what an unknown key has
//! made can be compared with nothing, so it is written anew without a restart and reported.
//!
//! Checksums are compared with `==`: nobody sends one to be checked, and both sides stand in an annotation.
//!
//! Borders: nothing in here reads a file or makes a random number. The key is never shown, only its id.
//!
//! Cases: `config-restart/secret-keyed`, `config-restart/secret-adopted-from-unkeyed`,
//! `config-restart/secret-changed-and-adopted-from-unkeyed`, `config-restart/secret-key-unknown`.

use std::fmt;
use std::sync::Arc;

use ring::hmac;
use thiserror::Error;

use super::references::{ConfigKind, ConfigName};
use super::state::ABSENT;
use super::workload::Workload;

/// Opens every keyed checksum.
const SCHEME: &str = "hmac-sha256:";
/// What is covered besides the parts: one key makes ids and checksums, and neither is taken for the other.
const ID: &str = "rollout-controller config-restart key id";
const CHECKSUM: &str = "rollout-controller config-restart secret checksum";
/// A key has at least as many bytes.
const SHORTEST: usize = 32;
/// Bytes of a key's id, and of a checksum.
const ID_BYTES: usize = 4;
const MAC_BYTES: usize = 16;

/// Whether Secrets restart workloads, and how their checksums are made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SecretChecksums {
    /// They do not: only ConfigMaps restart workloads, and no Secret is read.
    #[default]
    None,
    /// Keyed; the safe profile knows no others.
    Keyed(ChecksumKeys),
    /// Plain, as xing's controller makes them; xing's profile knows no others. Whoever may read workloads can
    /// find out what a Secret holds if it can be guessed.
    Unkeyed,
}

/// The key that is in use, and the one that was before it.
#[derive(Clone)]
pub struct ChecksumKeys {
    current: Arc<Key>,
    previous: Option<Arc<Key>>,
}

struct Key {
    key: hmac::Key,
    id: String,
}

/// Why something cannot be a key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChecksumKeyError {
    /// It can be guessed.
    #[error("{which} has {bytes} bytes; at least {SHORTEST} random ones are needed: `openssl rand 32` makes them")]
    TooShort {
        /// Which of the two.
        which: &'static str,
        /// How many it has.
        bytes: usize,
    },
}

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
    /// Reads keys.
    ///
    /// # Errors
    /// If one is too short to be random.
    pub fn new(current: &[u8], previous: Option<&[u8]>) -> Result<Self, ChecksumKeyError> {
        let previous = previous.map(|previous| Key::new("the previous key", previous)).transpose()?.map(Arc::new);
        Ok(Self { current: Arc::new(Key::new("the key", current)?), previous })
    }

    /// The id of the key in use.
    pub fn id(&self) -> &str {
        &self.current.id
    }

    /// The keyed checksum of what has this plain one.
    pub(super) fn checksum(&self, of: &ConfigName, plain: &str) -> String {
        self.current.checksum(of, plain)
    }

    /// The same with the previous key.
    pub(super) fn previous(&self, of: &ConfigName, plain: &str) -> Option<String> {
        self.previous.as_ref().map(|key| key.checksum(of, plain))
    }

    /// Reads a workload's checksums: plain ones of Secrets become keyed, and those of unknown keys are noted.
    pub(super) fn read(&self, workload: &mut Workload) {
        for (text, checksum) in &mut workload.applied {
            match (self.made(text, checksum), named(text)) {
                (Made::Unkeyed, Some(name)) => {
                    *checksum = self.checksum(&name, checksum);
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
        let Some(rest) = checksum.strip_prefix(SCHEME) else { return Made::Unkeyed };
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

impl Key {
    fn new(which: &'static str, bytes: &[u8]) -> Result<Self, ChecksumKeyError> {
        if bytes.len() < SHORTEST {
            return Err(ChecksumKeyError::TooShort { which, bytes: bytes.len() });
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, bytes);
        let id = hex(&mac(&key, &[ID])[..ID_BYTES]);
        Ok(Self { key, id })
    }

    fn checksum(&self, of: &ConfigName, plain: &str) -> String {
        let mac = mac(&self.key, &[CHECKSUM, of.kind.as_str(), &of.namespace, &of.name, plain]);
        format!("{SCHEME}{}:{}", self.id, hex(&mac[..MAC_BYTES]))
    }
}

/// Over each part with its length, so that none runs into the next.
fn mac(key: &hmac::Key, parts: &[&str]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part.as_bytes());
    }
    let mut bytes = [0; 32];
    bytes.copy_from_slice(context.sign().as_ref());
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Debug for ChecksumKeys {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let previous = self.previous.as_ref().map(|key| &key.id);
        to.debug_struct("ChecksumKeys").field("id", &self.current.id).field("previous", &previous).finish()
    }
}

/// By their ids, which are no secret.
impl PartialEq for ChecksumKeys {
    fn eq(&self, other: &Self) -> bool {
        let ids = |keys: &Self| (keys.current.id.clone(), keys.previous.as_ref().map(|key| key.id.clone()));
        ids(self) == ids(other)
    }
}

impl Eq for ChecksumKeys {}
