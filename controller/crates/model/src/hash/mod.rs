//! `pod-template-hash`: bit for bit as upstream's, so that a ReplicaSet gets the same name as from
//! kube-controller-manager.
//!
//! Upstream dumps its Go struct `v1.PodTemplateSpec` as text, with field names, types and
//! internals, and computes FNV-1a over that text. So the hash depends on the declaration of the
//! struct in the minor version that computes it:
//!
//! ```text
//!  fields.txt ──► table ──► dump ──► fnv ──► eight to ten letters
//!  (every minor)  (one)     (quantity)
//!                             └─ a value that the table lacks ──► fallback
//! ```
//!
//! `scripts/hash-fields/generate` makes `fields.txt` from upstream's declarations; a new minor
//! needs one run of it and no code. The template must be as the API server returns it, with
//! defaults, as upstream's informer gets it.
//!
//! A template with a field that the table does not know (the server's minor may be newer than the
//! controller's) or with a value that no API server sends gets the hash of `fallback`, which works
//! for any JSON. Upstream would ignore an unknown field and treat two templates that differ only
//! there as equal; here they differ. Only the name of the ReplicaSet depends on which hash is used:
//! ReplicaSets are found by their template, and a name that is taken is handled as a collision.
//!
//! The input is a template, a collision count and a minor; the output is a hash. This module knows
//! no ReplicaSet, no settings and no client.

mod dump;
mod fallback;
mod fnv;
mod minor;
mod table;

use fnv::Fnv;
pub use minor::{KubernetesMinor, KubernetesMinorError};
use serde_json::Value;

/// Upstream's alphabet, in which no hash can spell a word. Only digits are encoded; they become the
/// letters 49 to 58 modulo 27.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The hash of a template as the controller of this minor computes it. Each collision count gives
/// another hash (upstream: `ComputeHash`).
pub fn pod_template_hash(template: &Value, collision_count: Option<i32>, minor: KubernetesMinor) -> String {
    let mut sum = Fnv::default();
    if dump::dump(template, minor.table(), &mut sum).is_err() {
        sum = fallback::hash(template);
    }
    if let Some(count) = collision_count {
        sum.write(&count.to_le_bytes());
        sum.write(&[0; 4]);
    }
    encode(&sum)
}

fn encode(sum: &Fnv) -> String {
    sum.value().to_string().bytes().map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()])).collect()
}

#[cfg(test)]
mod tests;
