//! Comments: at most 100 columns, and none that says nothing.

use crate::repository::{Breach, Repository};

/// The longest line of a comment, in characters.
const WIDTH: usize = 100;
/// Doc comments that say nothing, in small letters and without the slashes.
const EMPTY: [&str; 12] = [
    "see the module.",
    "all of them.",
    "all of it.",
    "which.",
    "nothing.",
    "the same.",
    "itself.",
    "as above.",
    "the rest.",
    "one of them.",
    "see above.",
    "what it says.",
];

/// Comments of Rust files.
pub(crate) fn check(repository: &Repository) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for source in &repository.sources {
        let lines: Vec<&str> = repository.texts[&source.path].lines().collect();
        let (mut in_code, mut previous) = (false, 0);
        for comment in &source.comments {
            in_code &= comment.line == previous + 1;
            previous = comment.line;
            if comment.text.trim_start_matches(['/', '!']).trim_start().starts_with("```") {
                in_code = !in_code;
            }
            if in_code {
                continue;
            }
            let line = lines[comment.line - 1];
            // One behind code begins where the code ends.
            let is_alone = line.trim_start() == comment.text.trim_end();
            let length = if is_alone { line.chars().count() } else { comment.text.chars().count() };
            // An address, a path and a row of a table cannot be broken.
            let text = comment.text.trim_start_matches(['/', '!']).trim();
            if length > WIDTH && text.contains(' ') && !text.starts_with('|') {
                let message = format!("a comment has {length} columns; {WIDTH} is the most");
                breaches.push(Breach::new(&source.path, comment.line, message));
            }
            let text = text.to_lowercase();
            if EMPTY.contains(&text.as_str()) && comment.text.starts_with("///") {
                let message = format!("a doc comment says nothing: '{text}'; delete it");
                breaches.push(Breach::new(&source.path, comment.line, message));
            }
        }
    }
    breaches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_wide_comment_and_an_empty_one() {
        let (wide, code) = ("wide ".repeat(25), format!("// ```\n// {}\n// ```\n", "wide ".repeat(25)));
        let text = format!("/// See the module.\nfn a() {{}}\n// {wide}\n// {}\n{code}", "w".repeat(120));
        let repository = Repository::new([("x.rs".to_owned(), text)].into());
        let lines: Vec<usize> = check(&repository).iter().map(|breach| breach.line).collect();
        assert_eq!(lines, [1, 3]);
    }
}
