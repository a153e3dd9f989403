//! Evaluates JSON pointers such as `/metadata/labels/app` without allocating.
//!
//! serde_json's `pointer` allocates two strings for each token, to decode `~0` and `~1`. The server
//! evaluates about a hundred pointers per request, hardly any with a tilde; this took a tenth of
//! its time.

use serde_json::Value;

/// Evaluation of JSON pointers.
pub trait JsonPointer {
    /// The value at a pointer, if any: the same as serde_json's `pointer`.
    fn at(&self, pointer: &str) -> Option<&Value>;
}

impl JsonPointer for Value {
    fn at(&self, pointer: &str) -> Option<&Value> {
        let (mut value, mut rest) = (self, pointer);
        while let Some(words) = rest.strip_prefix('/') {
            // Tokens are short: a search algorithm for long texts is slower.
            let end = words.bytes().position(|sign| matches!(sign, b'/' | b'~')).unwrap_or(words.len());
            let (word, left) = words.split_at(end);
            value = match value {
                Self::Object(fields) if !left.starts_with('~') => fields.get(word)?,
                Self::Object(_) | Self::Array(_) => return value.pointer(rest),
                _ => return None,
            };
            rest = left;
        }
        rest.is_empty().then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn matches_serde_json_pointer() {
        let value = json!({"a": {"b": [1, {"c": null}]}, "": 2, "x/y": 3});
        for pointer in [
            "",
            "/",
            "/a",
            "/a/b",
            "/a/b/0",
            "/a/b/1/c",
            "/a/b/2",
            "/a/c",
            "/a/b/x",
            "a",
            "/a/b/0/c",
            "/a/b/+1",
            "/a/b/01",
            "/x~1y",
            "/a~",
            "/a/~0",
            "/a~0/b",
            "~",
            "/a/b/1/c~1",
        ] {
            assert_eq!(value.at(pointer), value.pointer(pointer), "{pointer}");
        }
    }
}
