//! The keys for the checksums of Secrets: read from bytes, known by their ids, and what a MAC is
//! made with.
//!
//! What the MAC of a checksum covers, and why there is one, `restart/keyed.rs` says.
//!
//! Borders: nothing in here reads a file or makes a random number. A key is never shown, only its
//! id.

use std::fmt;
use std::sync::Arc;

use ring::hmac;
use thiserror::Error;

/// What an id covers: one key makes ids and checksums, and neither is taken for the other.
const ID: &str = "rollout-controller config-restart key id";
/// A key has at least as many bytes.
const SHORTEST: usize = 32;
/// Bytes of a key's id.
const ID_BYTES: usize = 4;

/// Whether Secrets restart workloads, and how their checksums are made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SecretChecksums {
    /// They do not: only ConfigMaps restart workloads, and no Secret is read.
    #[default]
    None,
    /// Keyed; the safe profile knows no others.
    Keyed(ChecksumKeys),
    /// Plain, as xing's controller makes them; xing's profile knows no others. Whoever may read
    /// workloads can find out what a Secret holds if it can be guessed.
    Unkeyed,
}

/// The key that is in use, and the one that was before it.
#[derive(Clone)]
pub struct ChecksumKeys {
    pub(crate) current: Arc<ChecksumKey>,
    pub(crate) previous: Option<Arc<ChecksumKey>>,
}

/// One key.
pub(crate) struct ChecksumKey {
    key: hmac::Key,
    pub(crate) id: String,
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

impl ChecksumKeys {
    /// Reads keys.
    ///
    /// # Errors
    /// If one is too short to be random.
    pub fn new(current: &[u8], previous: Option<&[u8]>) -> Result<Self, ChecksumKeyError> {
        let previous =
            previous.map(|previous| ChecksumKey::new("the previous key", previous)).transpose()?.map(Arc::new);
        Ok(Self { current: Arc::new(ChecksumKey::new("the key", current)?), previous })
    }

    /// The id of the key in use.
    pub fn id(&self) -> &str {
        &self.current.id
    }
}

impl ChecksumKey {
    fn new(which: &'static str, bytes: &[u8]) -> Result<Self, ChecksumKeyError> {
        if bytes.len() < SHORTEST {
            return Err(ChecksumKeyError::TooShort { which, bytes: bytes.len() });
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, bytes);
        let id = mac(&key, &[ID], ID_BYTES);
        Ok(Self { key, id })
    }

    /// The MAC of these parts, cut off after so many bytes, in hexadecimal.
    pub(crate) fn mac(&self, parts: &[&str], bytes: usize) -> String {
        mac(&self.key, parts, bytes)
    }
}

/// Over each part with its length, so that none runs into the next.
fn mac(key: &hmac::Key, parts: &[&str], bytes: usize) -> String {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(&(part.len() as u64).to_be_bytes());
        context.update(part.as_bytes());
    }
    context.sign().as_ref().iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
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
