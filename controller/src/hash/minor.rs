//! Which minor of Kubernetes computes a hash.

use std::fmt;
use std::str::FromStr;
use std::sync::{LazyLock, OnceLock};

use super::table::{Table, minors};

/// A minor of Kubernetes whose controller's pod-template-hash is known here: that of the controller
/// to be equal to, whatever the API server's is. Read one with `"1.33".parse()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Minor(u16);

/// Why there is no such [`Minor`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MinorError {
    /// It is no version of Kubernetes.
    #[error("{0:?} is not a version of Kubernetes such as 1.36 or v1.36.3")]
    NotAVersion(String),
    /// The table has no such minor.
    #[error("the pod-template-hash of Kubernetes 1.{minor} is unknown; choose from {first} to {last}", first = Minor::all().next().unwrap_or_default(), last = Minor::all().last().unwrap_or_default())]
    Unknown {
        /// The number after `1.`.
        minor: u16,
    },
}

/// The tables that have been asked for so far, a place for each minor that there is.
static TABLES: LazyLock<Vec<(Minor, OnceLock<Table>)>> =
    LazyLock::new(|| minors().map(|number| (Minor(number), OnceLock::new())).collect());

impl Minor {
    /// Every minor that is known, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLES.iter().map(|(minor, _)| *minor)
    }

    pub(super) fn table(self) -> &'static Table {
        let of_self = TABLES.iter().find(|(minor, _)| *minor == self);
        let (_, table) =
            of_self.expect("a Minor is only made of the default, which a test looks for, or of a listed one");
        table.get_or_init(|| Table::read(self.0))
    }
}

/// The minor whose controller is followed in all else too: 1.36.
impl Default for Minor {
    fn default() -> Self {
        Self(36)
    }
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

/// Reads `1.36`, `v1.36`, `v1.36.3`, `v1.36.3-vendor.1`.
impl FromStr for Minor {
    type Err = MinorError;

    fn from_str(text: &str) -> Result<Self, MinorError> {
        let rest = text.strip_prefix('v').unwrap_or(text).strip_prefix("1.");
        let number = rest.and_then(|rest| rest.split('.').next()).and_then(|minor| minor.parse().ok());
        let minor = number.ok_or_else(|| MinorError::NotAVersion(text.to_owned()))?;
        Self::all().find(|known| known.0 == minor).ok_or(MinorError::Unknown { minor })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("1.36")]
    #[case("v1.36")]
    #[case("v1.36.3")]
    #[case("v1.36.3-vendor.1")]
    fn versions(#[case] text: &str) {
        assert_eq!(text.parse(), Ok(Minor::default()));
    }

    #[rstest]
    #[case("", "\"\" is not a version of Kubernetes such as 1.36 or v1.36.3")]
    #[case("2.36", "\"2.36\" is not a version of Kubernetes such as 1.36 or v1.36.3")]
    #[case("1.-36", "\"1.-36\" is not a version of Kubernetes such as 1.36 or v1.36.3")]
    fn no_versions(#[case] text: &str, #[case] message: &str) {
        assert_eq!(text.parse::<Minor>().unwrap_err().to_string(), message);
    }

    #[test]
    fn an_unknown_minor_says_which_are_known() {
        let (first, last) = (Minor::all().next().unwrap(), Minor::all().last().unwrap());
        let message = "1.9".parse::<Minor>().unwrap_err().to_string();
        assert_eq!(
            message,
            format!("the pod-template-hash of Kubernetes 1.9 is unknown; choose from {first} to {last}")
        );
    }

    #[test]
    fn every_minor_reads_back() {
        assert!(Minor::all().all(|minor| minor.to_string().parse() == Ok(minor)));
        assert!(Minor::all().any(|minor| minor == Minor::default()));
    }
}
