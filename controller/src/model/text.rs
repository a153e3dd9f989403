//! JSON as text: written at the end of another, and put together from texts that are there.

use serde::Serialize;
use serde_json::Value;

/// The beginning of a text: annotations and answers may be far longer than what people or other
/// programs are to read.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    &text[..end.unwrap_or(0)]
}

/// JSON that becomes part of another text.
pub(super) struct Rest<'a> {
    pub(super) text: &'a [u8],
    /// How much of it is there already.
    pub(super) copied: usize,
}

impl Rest<'_> {
    pub(super) fn copy_until(&mut self, at: usize, text: &mut Vec<u8>) {
        text.extend_from_slice(&self.text[self.copied..at]);
        self.copied = at;
    }

    /// What comes next are the other fields of a map, if it has more.
    pub(super) fn separate(&self, text: &mut Vec<u8>) {
        if self.text.get(self.copied) != Some(&b'}') {
            text.push(b',');
        }
    }
}

/// JSON as text. Its `Display` writes the same, and takes three times as long.
pub(super) fn written(value: &Value) -> String {
    serde_json::to_string(value).expect("the keys of a JSON value are strings")
}

/// The same, at the end of a text.
pub(super) fn write(text: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(text, value).expect("the keys of a JSON value are strings");
}

/// Another field of a map is to follow.
pub(super) fn separate(text: &mut Vec<u8>) {
    if text.last() != Some(&b'{') {
        text.push(b',');
    }
}
