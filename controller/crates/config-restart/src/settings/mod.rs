//! What an operator sets about restarts, as plain data with defaults.
//!
//! Only `followed` interprets a setting. The other modules implement those that concern them.

mod checksum_keys;
mod reloader;
mod restart;
mod webhook;

pub(crate) use checksum_keys::ChecksumKey;
pub use checksum_keys::{ChecksumKeyError, ChecksumKeys, SecretChecksums};
pub(crate) use reloader::parse_go_bool;
pub use reloader::{ReloadStrategy, ReloaderAnnotations, ReloaderFlagError, ReloaderSettings};
pub use restart::{Budget, GroupSettings, Limit, Profile, RestartSettings, Window};
pub use webhook::{Webhook, WebhookFormat, WebhookUrl};
