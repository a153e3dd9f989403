//! A file name from data, such as the name of an object, a case or a subject.

use std::fmt::{Display, Formatter};
use std::path::{Path, PathBuf};

use lockstep_support::fingerprint::fingerprint;

/// The longest name in bytes, without fingerprint and extension; the system's own limit is 255
/// bytes.
const LONGEST: usize = 180;

/// A single component of a path. It has neither separators nor `..`, and no characters that a shell
/// or a terminal would interpret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileName(String);

impl FileName {
    /// Converts any text. Names stay distinct as far as letters and digits differ; a long one is
    /// cut and ends with its fingerprint.
    pub fn of(text: &str) -> Self {
        let safe = |letter: char| if letter.is_alphanumeric() || "-._@".contains(letter) { letter } else { '_' };
        let name: String = text.chars().map(safe).collect();
        if name.chars().all(|letter| letter == '.') {
            return Self("_".repeat(name.len().clamp(1, LONGEST)));
        }
        match name.char_indices().find(|(at, letter)| at + letter.len_utf8() > LONGEST) {
            Some((end, _)) => Self(format!("{}-{}", &name[..end], fingerprint(text.bytes()))),
            None => Self(name),
        }
    }

    /// Appends an extension: `.ndjson`.
    pub fn with_ending(self, ending: &'static str) -> Self {
        Self(self.0 + ending)
    }

    /// Converts a name with several components, such as a case's `AREA/NAME`, to a path with an
    /// extension.
    pub fn path_of(text: &str, ending: &'static str) -> PathBuf {
        let (folders, name) = text.rsplit_once('/').unwrap_or(("", text));
        let folders = folders.split('/').filter(|folder| !folder.is_empty()).map(Self::of);
        folders.chain([Self::of(name).with_ending(ending)]).collect()
    }
}

impl AsRef<Path> for FileName {
    fn as_ref(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl Display for FileName {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Component;

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("command:./a b/../c", "command_._a_b_.._c")]
    #[case("..", "__")]
    #[case("", "_")]
    fn name_becomes_path_component(#[case] name: &str, #[case] expected: &str) {
        assert_eq!(FileName::of(name).to_string(), expected);
    }

    #[test]
    fn long_name_is_cut_and_stays_unique() {
        for letter in ["é", "a", "𝐀", "."] {
            let long = letter.repeat(400);
            let name = |end: &str| FileName::of(&format!("{long}{end}")).with_ending(".ndjson").to_string();
            let (one, other) = (name("1"), name("2"));
            assert!(one.len() < 250 && one != other, "{one}");
        }
        assert!(FileName::of(&".".repeat(400)).to_string().len() < 250);
    }

    #[rstest]
    #[case("rolling/a", "rolling/a.ndjson")]
    #[case("a", "a.ndjson")]
    #[case("../../etc/x", "__/__/etc/x.ndjson")]
    #[case("/etc/x", "etc/x.ndjson")]
    #[case("a/..", "a/__.ndjson")]
    #[case("", "_.ndjson")]
    fn path_of_name_stays_below_its_folder(#[case] name: &str, #[case] expected: &str) {
        let path = FileName::path_of(name, ".ndjson");
        assert_eq!(path, Path::new(expected));
        assert!(path.components().all(|part| matches!(part, Component::Normal(_))));
    }
}
