//! Escapes text for HTML and SVG, in elements and in quoted attributes.

use lockstep_support::sanitize::is_unprintable;

/// Replace the five special characters, and control characters that a page must not contain.
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
            letter if is_unprintable(letter) => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}
