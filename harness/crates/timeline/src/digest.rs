//! A digest of what a case does, by which a timeline identifies the version of its case.
//!
//! It is computed from the text rather than the parsed case, so that an old recording has a digest
//! even if this build cannot read its case. It excludes what cannot change a recording: comments on
//! lines of their own, blank lines, trailing blanks, the description, the tags, and the case's
//! rules, which are evaluated on a recording. It also excludes values of Secrets: short ones could
//! be found by trying.

use lockstep_recording::secret::redact_text;
use lockstep_support::fingerprint::{DIGITS, fingerprint};

/// The digest of a case file: 16 hexadecimal digits in lower case.
pub fn digest(source: &str) -> String {
    let source = redact_text(source);
    fingerprint(meaningful_lines(&source).flat_map(|line| line.bytes().chain([b'\n'])))
}

/// Parses the digest from a comment of a timeline: `case: 0123456789abcdef`.
pub(super) fn parse(comment: &str) -> Option<String> {
    let digits = comment.trim().strip_prefix("case: ")?;
    let is_digest = digits.len() == DIGITS && digits.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    is_digest.then(|| digits.to_owned())
}

/// The fields of a case that change nothing in a recording.
const IGNORED_FIELDS: [&str; 4] = ["description:", "tags:", "rules:", "expectation:"];

/// The lines that determine what the case does.
fn meaningful_lines(source: &str) -> impl Iterator<Item = &str> {
    let mut left_out = false;
    source.lines().map(str::trim_end).filter(move |line| {
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            return false;
        }
        // A field continues as long as its lines are indented.
        left_out =
            IGNORED_FIELDS.iter().any(|field| line.starts_with(field)) || (left_out && content.len() < line.len());
        !left_out
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{digest, parse};

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
    fn digest_depends_on_meaning_only(#[case] source: &str, #[case] is_same: bool) {
        assert_eq!(digest(source) == digest(CASE), is_same);
    }

    #[test]
    fn digests_are_stable_and_read_back() {
        assert_eq!(digest(""), "cbf29ce484222325");
        assert_eq!(parse(&format!(" case: {}", digest(CASE))), Some(digest(CASE)));
        assert_eq!((parse("case: 12"), parse("case: CBF29CE484222325"), parse("cbf29ce484222325")), (None, None, None));
    }
}
