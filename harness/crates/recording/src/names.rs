//! Checks names in a recording that become file names, because a recording may come from anywhere.

use lockstep_support::sanitize;

use super::{Header, RecordingError};

/// Refuses names that would lead out of the folder of recordings, or that are not names.
pub(super) fn check(header: &Header) -> Result<(), RecordingError> {
    let bad = |field: &'static str, name: &str, rule: &'static str| {
        Err(RecordingError::Name { field, name: sanitize::line(name).into_owned(), rule })
    };
    let case = &header.case;
    let parts: Vec<&str> = case.split('/').collect();
    let is_name = |part: &&str| !part.is_empty() && part.chars().any(|letter| letter != '.') && !part.contains('\\');
    if parts.len() > 2 || !parts.iter().all(is_name) || !sanitize::is_one_line(case) {
        return bad("case", case, "`AREA/NAME`, neither of them of dots alone");
    }
    let subject = &header.subject.name;
    if subject.is_empty() || !sanitize::is_one_line(subject) {
        return bad("subject", subject, "one line of plain text");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::Recording;
    use crate::testing::RecordingBuilder;

    fn read(case: &str, subject: &str) -> Result<Recording, RecordingError> {
        let mut recording = RecordingBuilder::rolled_out(1).end();
        case.clone_into(&mut recording.header.case);
        subject.clone_into(&mut recording.header.subject.name);
        let mut text = Vec::new();
        recording.write(&mut text).unwrap();
        Recording::read(text.as_slice())
    }

    #[rstest]
    #[case("../../x", "ours")]
    #[case("..", "ours")]
    #[case("rolling/..", "ours")]
    #[case("/etc/x", "ours")]
    #[case("/x", "ours")]
    #[case("a/b/c", "ours")]
    #[case("a/", "ours")]
    #[case("", "ours")]
    #[case("a\\..\\b", "ours")]
    #[case("a/b\u{1b}[2J", "ours")]
    #[case("a/b", "")]
    #[case("a/b", "ours\n::error::x")]
    fn refuses_names_that_lead_out_of_the_folder(#[case] case: &str, #[case] subject: &str) {
        let error = read(case, subject).unwrap_err();
        assert!(matches!(error, RecordingError::Name { .. }), "{error}");
        assert!(!error.to_string().contains(['\u{1b}', '\n']), "{error:?}");
    }

    #[rstest]
    #[case("rolling/a.b-c_d", "command:../bin/x --flag 'a b'")]
    #[case("x", "deployment:./deploy")]
    #[case("größe/..x", "upstream:v1.35.0")]
    fn accepts_other_names(#[case] case: &str, #[case] subject: &str) {
        assert_eq!(read(case, subject).unwrap().header.case, case);
    }
}
