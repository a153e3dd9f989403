//! What versions of upstream are known to decide differently, and in which cases that shows: the
//! table in `cases/known-changes.yaml`. `lockstep versions` finds such changes; a person gives the
//! reason.
//!
//! This module does no I/O: `cli::handover` reads the file.

use lockstep_timeline::versions::Minor;
use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// The table's file, under the folder of the cases.
pub const FILE: &str = "known-changes.yaml";

/// One entry of the table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownChange {
    /// What the newer versions do, and what the older did.
    pub behaviour: String,
    /// The last minor that was played without the change, and the first with it. `None`: any two
    /// minors differ, and only a handover shows it.
    #[serde(default, deserialize_with = "two_minors")]
    pub between: Option<[Minor; 2]>,
    /// Upstream's function that changed.
    pub function: String,
    /// The cases that show it.
    pub cases: Vec<String>,
}

impl KnownChange {
    /// Whether these two minors decide this case differently because of the change.
    #[must_use]
    pub fn concerns(&self, case: &str, minors: [Minor; 2]) -> bool {
        let [one, other] = minors;
        let (older, newer) = (one.min(other), one.max(other));
        let spans = self.between.map_or(older < newer, |[until, since]| older <= until && since <= newer);
        spans && self.cases.iter().any(|known| known == case)
    }
}

fn two_minors<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<[Minor; 2]>, D::Error> {
    let [until, since] = <[String; 2]>::deserialize(deserializer)?;
    let minor = |text: &str| text.parse::<Minor>().map_err(D::Error::custom);
    let (until, since) = (minor(&until)?, minor(&since)?);
    match until < since {
        true => Ok(Some([until, since])),
        false => Err(D::Error::custom(format!("{until} is not before {since}"))),
    }
}

/// Read the table.
///
/// # Errors
/// The parser's message, with line and column.
pub fn parse(text: &str) -> Result<Vec<KnownChange>, String> {
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn table(between: &str) -> String {
        format!("- behaviour: x\n{between}  function: f\n  cases: [rolling/a]\n")
    }

    #[rstest]
    #[case::apart("rolling/a", [33, 36], true)]
    #[case::in_the_other_direction("rolling/a", [37, 15], true)]
    #[case::both_before("rolling/a", [29, 33], false)]
    #[case::both_since("rolling/a", [37, 36], false)]
    #[case::another_case("rolling/b", [33, 36], false)]
    fn change_concerns_minors_on_both_sides(#[case] name: &str, #[case] minors: [u32; 2], #[case] stands: bool) {
        let known = parse(&table("  between: [v1.33, v1.36]\n")).unwrap();
        assert_eq!(known[0].concerns(name, minors.map(Minor::new)), stands);
    }

    #[test]
    fn change_of_every_minor_concerns_any_two() {
        let known = parse(&table("")).unwrap();
        assert!(known[0].concerns("rolling/a", [33, 36].map(Minor::new)));
        assert!(!known[0].concerns("rolling/a", [36, 36].map(Minor::new)));
    }

    #[rstest]
    #[case::in_the_wrong_order("  between: [v1.36, v1.33]\n", "v1.36 is not before v1.33")]
    #[case::no_version("  between: [now, v1.33]\n", "`now` is not a version of Kubernetes")]
    #[case::an_unknown_word("  since: v1.33\n", "since")]
    fn table_with_a_mistake_is_refused(#[case] between: &str, #[case] expected: &str) {
        let error = parse(&table(between)).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
