//! Text that HTML and SVG show as it is, in elements and in quoted attributes.

use crate::plain::acts;

/// With the five letters that mean something replaced, and control characters that no page may
/// hold.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(letter),
            letter if acts(letter) => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}
