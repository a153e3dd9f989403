//! The hash of a template with fields that the table does not know: FNV-1a over its canonical JSON,
//! which works for any field.

use serde_json::Value;

use super::fnv::Fnv;
use crate::canonical_template;

pub(super) fn hash(template: &Value) -> Fnv {
    let mut sum = Fnv::default();
    feed(&mut sum, &canonical_template(template));
    sum
}

/// Feeds JSON with sorted keys, independently of the map type of this build.
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
