//! The pod-template-hash, bit for bit as upstream has it: so a ReplicaSet has the name that
//! kube-controller-manager would give it.
//!
//! Upstream writes its Go struct `v1.PodTemplateSpec` out as text, field names, types and internals
//! included, and takes FNV-1a over that. So the hash depends on how that struct was declared in the
//! minor that computes it:
//!
//! ```text
//!  fields.txt ──► table ──► dump ──► fnv ──► eight to ten letters
//!  (every minor)  (one)     (quantity)
//!                             └─ meets what the table does not know ──► stable
//! ```
//!
//! `fields.txt` is made from upstream's own declarations by `scripts/hash-fields/generate`; a new
//! minor is one run of it and no code. The template is taken as the API server gives it, with its
//! defaults filled in, as upstream's informer sees it.
//!
//! A field newer than the table (the server's minor may be ahead of the controller's), or a value
//! that no API server sends, is not guessed at: such a template gets the hash of `stable`, which
//! knows no fields. Upstream would leave a field that it does not know out, and take two templates
//! that differ only there for one; here they stay two. Nothing but the name depends on which of the
//! two hashes it is: ReplicaSets are found by their template, and a name that is taken is a
//! collision like any other.
//!
//! A template, a count of collisions and a minor come in; a hash goes out. Borders: no ReplicaSet,
//! no settings, no client.

mod dump;
mod fnv;
mod minor;
mod quantity;
mod stable;
mod table;

use fnv::Fnv;
pub use minor::{Minor, MinorError};
use serde_json::Value;

/// In it, no hash can spell a word; digits, all that is ever encoded, become its letters 49 to 58
/// modulo 27.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The hash of a template as the controller of a minor computes it; another one for each collision
/// met so far (upstream: `ComputeHash`).
pub fn pod_template_hash(template: &Value, collision_count: Option<i32>, minor: Minor) -> String {
    let mut sum = Fnv::default();
    if dump::dump(template, minor.table(), &mut sum).is_err() {
        sum = stable::sum(template);
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
