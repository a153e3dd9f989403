//! The keys for the checksums of Secrets, their ids, and the MACs made with them.
//!
//! `model/secret_hmac.rs` explains what the MAC of a checksum covers, and why there is one.
//!
//! Nothing here reads a file or makes a random number. A key is never shown, only its id.

use std::fmt;
use std::sync::Arc;

use ring::hmac;
use thiserror::Error;

/// The input of an id: it differs from all inputs of checksums, so the two cannot be confused.
const ID: &str = "rollout-controller config-restart key id";
/// Least bytes of a key.
const MIN_KEY_BYTES: usize = 32;
/// Bytes of a key's id.
const ID_BYTES: usize = 4;

/// Whether Secrets restart workloads, and how their checksums are computed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SecretChecksums {
    /// Secrets restart nothing, and no Secret is read.
    #[default]
    None,
    /// Keyed; the only kind in profile safe.
    Keyed(ChecksumKeys),
    /// Plain, as in xing's controller and the only kind in its profile. Anyone who may read
    /// workloads can find out a Secret's value if it can be guessed.
    Unkeyed,
}

/// The current key, and the previous one.
#[derive(Clone)]
pub struct ChecksumKeys {
    pub(crate) current: Arc<ChecksumKey>,
    pub(crate) previous: Option<Arc<ChecksumKey>>,
}

pub(crate) struct ChecksumKey {
    key: hmac::Key,
    pub(crate) id: String,
}

/// Why bytes cannot be a key.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChecksumKeyError {
    /// It is so short that it can be guessed.
    #[error(
        "{key_name} has {bytes} bytes; at least {MIN_KEY_BYTES} random ones are needed: `openssl rand 32` makes them"
    )]
    TooShort {
        /// Which of the two keys.
        key_name: &'static str,
        /// Its length.
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

    /// The id of the current key.
    pub fn id(&self) -> &str {
        &self.current.id
    }
}

impl ChecksumKey {
    fn new(key_name: &'static str, bytes: &[u8]) -> Result<Self, ChecksumKeyError> {
        if bytes.len() < MIN_KEY_BYTES {
            return Err(ChecksumKeyError::TooShort { key_name, bytes: bytes.len() });
        }
        let key = hmac::Key::new(hmac::HMAC_SHA256, bytes);
        let id = mac(&key, &[ID], ID_BYTES);
        Ok(Self { key, id })
    }

    /// The first `bytes` bytes of the MAC of these parts, in hexadecimal.
    pub(crate) fn mac(&self, parts: &[&str], bytes: usize) -> String {
        mac(&self.key, parts, bytes)
    }
}

/// Each part is preceded by its length, so that parts cannot run into each other.
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

/// Compares the ids, which are not secret.
impl PartialEq for ChecksumKeys {
    fn eq(&self, other: &Self) -> bool {
        let ids = |keys: &Self| (keys.current.id.clone(), keys.previous.as_ref().map(|key| key.id.clone()));
        ids(self) == ids(other)
    }
}

impl Eq for ChecksumKeys {}
