//! Samples points: deterministic for a seed and case, and balanced between the kinds.

use std::collections::BTreeMap;

use lockstep_support::fingerprint::fingerprint;

use super::points::{FaultKind, Point};

/// Select at most `most` of a case's points, taking one of each kind in turn. Seed and case decide
/// which kind is first and which points of a kind are selected, so that a few points of each of
/// many cases cover all kinds.
pub fn sample(points: Vec<Point>, case: &str, most: Option<usize>, seed: u64) -> Vec<Point> {
    let most = most.unwrap_or(points.len());
    if points.len() <= most {
        return points;
    }
    let order = |of: &dyn std::fmt::Display| fingerprint(format!("{seed} {case} {of}").bytes());
    let mut kinds: BTreeMap<(String, FaultKind), Vec<(String, Point)>> = BTreeMap::new();
    for point in points {
        let kind = (order(&point.kind), point.kind);
        kinds.entry(kind).or_default().push((order(&point), point));
    }
    // In descending order, as points are taken from the end.
    kinds.values_mut().for_each(|of_kind| of_kind.sort_by(|a, b| b.cmp(a)));
    let mut chosen = Vec::new();
    while chosen.len() < most {
        for of_kind in kinds.values_mut() {
            if chosen.len() < most {
                chosen.extend(of_kind.pop().map(|(_, point)| point));
            }
        }
    }
    chosen.sort();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::PointLocation;

    fn all() -> Vec<Point> {
        let location = |nth| PointLocation::Write { line: 5, resource: "replicasets".to_owned(), nth };
        let kinds = [FaultKind::CrashBefore, FaultKind::Lost];
        let mut all: Vec<_> =
            (1..=20).flat_map(|nth| kinds.map(|kind| Point { kind, location: location(nth) })).collect();
        all.push(Point { kind: FaultKind::Lag, location: PointLocation::Watch("pods".to_owned()) });
        all
    }

    #[test]
    fn sample_is_deterministic_and_balanced() {
        let some = sample(all(), "a/b", Some(9), 7);
        assert_eq!(some, sample(all(), "a/b", Some(9), 7));
        assert_ne!(some, sample(all(), "a/b", Some(9), 8));
        assert_ne!(some, sample(all(), "a/c", Some(9), 7));
        let of = |kind| some.iter().filter(|point| point.kind == kind).count();
        assert_eq!((of(FaultKind::CrashBefore), of(FaultKind::Lost), of(FaultKind::Lag)), (4, 4, 1));
    }

    #[test]
    fn small_sets_are_not_sampled() {
        assert_eq!(sample(all(), "a/b", None, 1), all());
        assert_eq!(sample(all(), "a/b", Some(100), 1).len(), 41);
    }

    #[test]
    fn single_points_of_many_cases_cover_every_kind() {
        let kind = |case: u32| sample(all(), &case.to_string(), Some(1), 1)[0].kind;
        let kinds: std::collections::BTreeSet<_> = (0..30).map(kind).collect();
        assert_eq!(kinds.len(), 3);
    }
}
