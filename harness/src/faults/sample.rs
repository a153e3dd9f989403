//! Some of many points, the same for the same seed, and of every kind its share.

use std::collections::BTreeMap;

use super::points::{Kind, Point};
use crate::fingerprint::fingerprint;

/// At most so many of the points, kind by kind in turns; in each kind in an order that the seed decides.
pub fn sample(points: Vec<Point>, most: Option<usize>, seed: u64) -> Vec<Point> {
    let most = most.unwrap_or(points.len());
    if points.len() <= most {
        return points;
    }
    let mut kinds: BTreeMap<Kind, Vec<(String, Point)>> = BTreeMap::new();
    for point in points {
        let order = fingerprint(format!("{seed} {point}").bytes());
        kinds.entry(point.kind).or_default().push((order, point));
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
        let some = sample(all(), Some(9), 7);
        assert_eq!(some, sample(all(), Some(9), 7));
        assert_ne!(some, sample(all(), Some(9), 8));
        let of = |kind| some.iter().filter(|point| point.kind == kind).count();
        assert_eq!((of(Kind::CrashBefore), of(Kind::Lost), of(Kind::Lag)), (4, 4, 1));
    }

    #[test]
    fn what_fits_is_taken_as_it_is() {
        assert_eq!(sample(all(), None, 1), all());
        assert_eq!(sample(all(), Some(100), 1).len(), 41);
    }
}
