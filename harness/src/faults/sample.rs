//! Some of many points, the same for the same seed and case, and of every kind its share.

use std::collections::BTreeMap;

use super::points::{Kind, Point};
use crate::fingerprint::fingerprint;

/// At most so many of a case's points, kind by kind in turns. Seed and case decide which kind comes
/// first, so that few points of each of many cases are of every kind, and which points of a kind
/// do.
pub fn sample(points: Vec<Point>, case: &str, most: Option<usize>, seed: u64) -> Vec<Point> {
    let most = most.unwrap_or(points.len());
    if points.len() <= most {
        return points;
    }
    let order = |of: &dyn std::fmt::Display| fingerprint(format!("{seed} {case} {of}").bytes());
    let mut kinds: BTreeMap<(String, Kind), Vec<(String, Point)>> = BTreeMap::new();
    for point in points {
        let kind = (order(&point.kind), point.kind);
        kinds.entry(kind).or_default().push((order(&point), point));
    }
    // From the end, so that the first is the last.
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
    use crate::faults::Where;

    fn all() -> Vec<Point> {
        let place = |nth| Where::Write { line: 5, resource: "replicasets".to_owned(), nth };
        let kinds = [Kind::CrashBefore, Kind::Lost];
        let mut all: Vec<_> = (1..=20).flat_map(|nth| kinds.map(|kind| Point { kind, place: place(nth) })).collect();
        all.push(Point { kind: Kind::Lag, place: Where::Watch("pods".to_owned()) });
        all
    }

    #[test]
    fn a_seed_repeats_itself_and_every_kind_has_its_share() {
        let some = sample(all(), "a/b", Some(9), 7);
        assert_eq!(some, sample(all(), "a/b", Some(9), 7));
        assert_ne!(some, sample(all(), "a/b", Some(9), 8));
        assert_ne!(some, sample(all(), "a/c", Some(9), 7));
        let of = |kind| some.iter().filter(|point| point.kind == kind).count();
        assert_eq!((of(Kind::CrashBefore), of(Kind::Lost), of(Kind::Lag)), (4, 4, 1));
    }

    #[test]
    fn what_fits_is_taken_as_it_is() {
        assert_eq!(sample(all(), "a/b", None, 1), all());
        assert_eq!(sample(all(), "a/b", Some(100), 1).len(), 41);
    }

    #[test]
    fn one_point_of_many_cases_is_of_every_kind() {
        let kind = |case: u32| sample(all(), &case.to_string(), Some(1), 1)[0].kind;
        let kinds: std::collections::BTreeSet<_> = (0..30).map(kind).collect();
        assert_eq!(kinds.len(), 3);
    }
}
