//! The hash of a template that the table does not know all of: over its JSON in canonical form, so
//! it holds for any field.

use serde_json::Value;

use super::fnv::Fnv;
use crate::model::canonical;

pub(super) fn sum(template: &Value) -> Fnv {
    let mut sum = Fnv::default();
    feed(&mut sum, &canonical(template));
    sum
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
