//! The minor version of Kubernetes for which a hash is computed.

use std::fmt;
use std::str::FromStr;
use std::sync::{LazyLock, OnceLock};

use super::table::{GoTypeTable, minors};

/// A minor version of Kubernetes whose controller's pod-template-hash is known: the version of the
/// controller to match, which may differ from the API server's. Parse one with `"1.33".parse()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesMinor(u16);

/// Why a text is not a [`KubernetesMinor`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum KubernetesMinorError {
    /// The text does not have the form of a Kubernetes version.
    #[error("{0:?} is not a version of Kubernetes such as 1.36 or v1.36.3")]
    NotAVersion(String),
    /// The table does not have this minor.
    #[error("the pod-template-hash of Kubernetes 1.{minor} is unknown; choose from {first} to {last}", first = KubernetesMinor::all().next().unwrap_or_default(), last = KubernetesMinor::all().last().unwrap_or_default())]
    Unknown {
        /// The number after `1.`.
        minor: u16,
    },
}

/// A table for each minor, read on first use.
static TABLES: LazyLock<Vec<(KubernetesMinor, OnceLock<GoTypeTable>)>> =
    LazyLock::new(|| minors().map(|number| (KubernetesMinor(number), OnceLock::new())).collect());

impl KubernetesMinor {
    /// All known minors, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLES.iter().map(|(minor, _)| *minor)
    }

    pub(super) fn table(self) -> &'static GoTypeTable {
        let of_self = TABLES.iter().find(|(minor, _)| *minor == self);
        let (_, table) =
            of_self.expect("a KubernetesMinor is only made of the default, which a test looks for, or of a listed one");
        table.get_or_init(|| GoTypeTable::read(self.0))
    }
}

/// 1.36, the minor whose controller this one follows in everything else too.
impl Default for KubernetesMinor {
    fn default() -> Self {
        Self(36)
    }
}

impl fmt::Display for KubernetesMinor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

/// Parses `1.36`, `v1.36`, `v1.36.3` and `v1.36.3-vendor.1`.
impl FromStr for KubernetesMinor {
    type Err = KubernetesMinorError;

    fn from_str(text: &str) -> Result<Self, KubernetesMinorError> {
        let rest = text.strip_prefix('v').unwrap_or(text).strip_prefix("1.");
        let number = rest.and_then(|rest| rest.split('.').next()).and_then(|minor| minor.parse().ok());
        let minor = number.ok_or_else(|| KubernetesMinorError::NotAVersion(text.to_owned()))?;
        Self::all().find(|known| known.0 == minor).ok_or(KubernetesMinorError::Unknown { minor })
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
    fn parses_versions(#[case] text: &str) {
        assert_eq!(text.parse(), Ok(KubernetesMinor::default()));
    }

    #[rstest]
    #[case("", "\"\" is not a version of Kubernetes such as 1.36 or v1.36.3")]
    #[case("2.36", "\"2.36\" is not a version of Kubernetes such as 1.36 or v1.36.3")]
    #[case("1.-36", "\"1.-36\" is not a version of Kubernetes such as 1.36 or v1.36.3")]
    fn refuses_other_texts(#[case] text: &str, #[case] message: &str) {
        assert_eq!(text.parse::<KubernetesMinor>().unwrap_err().to_string(), message);
    }

    #[test]
    fn the_error_for_an_unknown_minor_lists_the_known_ones() {
        let (first, last) = (KubernetesMinor::all().next().unwrap(), KubernetesMinor::all().last().unwrap());
        let message = "1.9".parse::<KubernetesMinor>().unwrap_err().to_string();
        assert_eq!(
            message,
            format!("the pod-template-hash of Kubernetes 1.9 is unknown; choose from {first} to {last}")
        );
    }

    #[test]
    fn every_minor_parses_its_own_text() {
        assert!(KubernetesMinor::all().all(|minor| minor.to_string().parse() == Ok(minor)));
        assert!(KubernetesMinor::all().any(|minor| minor == KubernetesMinor::default()));
    }
}
