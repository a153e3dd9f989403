//! A digest of what a case means, so that a timeline knows which version of its case it belongs to.
//!
//! It is taken from the text, not from the parsed case: an old recording is digested even where
//! this build no longer reads its case. What cannot change the meaning is left out: comments on
//! lines of their own, blank lines, blanks at the end of a line, the description, the tags, and the
//! case's rules, which are asked of a recording and change nothing in it. Nor do values of Secrets
//! go into it: short ones could be found by trying.

use crate::fingerprint::{DIGITS, fingerprint};
use crate::secret::redacted;

/// The digest of a case file's text: 16 hexadecimal digits in lower case.
pub(crate) fn digest(source: &str) -> String {
    let source = redacted(source);
    fingerprint(meaning(&source).flat_map(|line| line.bytes().chain([b'\n'])))
}

/// The digest in a comment of a timeline: `case: 0123456789abcdef`.
pub(super) fn parse(comment: &str) -> Option<String> {
    let digits = comment.trim().strip_prefix("case: ")?;
    let is_digest = digits.len() == DIGITS && digits.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    is_digest.then(|| digits.to_owned())
}

/// The fields of a case that change nothing in a recording.
const LEFT_OUT: [&str; 4] = ["description:", "tags:", "rules:", "expectation:"];

/// The lines that say what the case does.
fn meaning(source: &str) -> impl Iterator<Item = &str> {
    let mut left_out = false;
    source.lines().map(str::trim_end).filter(move |line| {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            return false;
        }
        // A field goes on as long as its lines are indented.
        left_out = LEFT_OUT.iter().any(|field| line.starts_with(field)) || (left_out && content.len() < line.len());
        !left_out
    })
}

#[cfg(test)]
mod tests {
    use super::{digest, parse};
    use rstest::rstest;

    const CASE: &str = "description: x\ngiven:\n  - deployment: web\nsteps:\n  - scale: 12\n";

    #[rstest]
    #[case::comments("# a\ndescription: x\ngiven:\n  # b\n  - deployment: web\nsteps:\n  - scale: 12\n", true)]
    #[case::blanks("description: x\n\ngiven:  \r\n  - deployment: web\n  \nsteps:\n  - scale: 12", true)]
    #[case::description("description: y\ngiven:\n  - deployment: web\nsteps:\n  - scale: 12\n", true)]
    #[case::tags("description: x\ntags: [smoke]\ngiven:\n  - deployment: web\nsteps:\n  - scale: 12\n", true)]
    #[case::long_description("description: >\n  y\n\n  z\ngiven:\n  - deployment: web\nsteps:\n  - scale: 12\n", true)]
    #[case::description_at_the_end("given:\n  - deployment: web\nsteps:\n  - scale: 12\ndescription: x\n", true)]
    #[case::rules(
        "description: x\ngiven:\n  - deployment: web\nsteps:\n  - scale: 12\nrules:\n  always:\n    - pods.size() < 3\n",
        true
    )]
    #[case::a_step("description: x\ngiven:\n  - deployment: web\nsteps:\n  - scale: 13\n", false)]
    #[case::given("description: x\ngiven:\n  - deployment: api\nsteps:\n  - scale: 12\n", false)]
    #[case::indentation("description: x\ngiven:\n - deployment: web\nsteps:\n  - scale: 12\n", false)]
    fn only_the_meaning_counts(#[case] source: &str, #[case] same: bool) {
        assert_eq!(digest(source) == digest(CASE), same);
    }

    #[test]
    fn digests_are_stable_and_read_back() {
        assert_eq!(digest(""), "cbf29ce484222325");
        assert_eq!(parse(&format!(" case: {}", digest(CASE))), Some(digest(CASE)));
        assert_eq!((parse("case: 12"), parse("case: CBF29CE484222325"), parse("cbf29ce484222325")), (None, None, None));
    }
}
