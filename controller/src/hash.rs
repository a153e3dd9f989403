//! The pod-template-hash: a short name for a template.
//!
//! Upstream hashes a dump of its own Go structs, so its value changes from version to version; its behaviour never depends on
//! the value, only on names being stable and on collisions being noticed. So this is the same 32-bit FNV-1a over the template's
//! canonical JSON, in the same alphabet, which can form no words and is safe in labels and DNS names.

use serde_json::Value;

use crate::model::canonical;

const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The hash of a template; another one for each collision met so far.
pub fn pod_template_hash(template: &Value, collision_count: Option<i32>) -> String {
    let mut sum = Fnv::new();
    feed(&mut sum, &canonical(template));
    if let Some(count) = collision_count {
        sum.write(&count.to_le_bytes());
    }
    sum.0.to_string().bytes().map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()])).collect()
}

/// FNV-1a, 32 bits.
struct Fnv(u32);

impl Fnv {
    fn new() -> Self {
        Self(0x811c_9dc5)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        }
    }
}

/// Feeds JSON with its keys sorted, whatever order the map type of this build keeps.
fn feed(sum: &mut Fnv, value: &Value) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            sum.write(b"{");
            for key in keys {
                sum.write(Value::from(key.as_str()).to_string().as_bytes());
                sum.write(b":");
                feed(sum, &map[key]);
                sum.write(b",");
            }
            sum.write(b"}");
        }
        Value::Array(items) => {
            sum.write(b"[");
            for item in items {
                feed(sum, item);
                sum.write(b",");
            }
            sum.write(b"]");
        }
        other => sum.write(other.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn template(image: &str) -> Value {
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": image}]}})
    }

    #[test]
    fn is_stable() {
        assert_eq!(pod_template_hash(&template("app:1"), None), "f54cbb7f8");
    }

    /// Upstream: util/hash_test.go, a thousand image tags.
    #[test]
    fn a_thousand_images_give_a_thousand_hashes() {
        let all: BTreeSet<String> =
            (0..1000).map(|n| pod_template_hash(&template(&format!("app:v0.{n}")), None)).collect();
        assert_eq!(all.len(), 1000);
    }

    /// Upstream: TestComputeHash.
    #[test]
    fn each_collision_gives_another_hash() {
        let all: BTreeSet<String> = [None, Some(0), Some(1), Some(2)]
            .iter()
            .map(|count| pod_template_hash(&template("app:1"), *count))
            .collect();
        assert_eq!(all.len(), 4);
    }
}
