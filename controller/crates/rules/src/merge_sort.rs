//! A sort for upstream's comparisons that are not total orders.

use std::cmp::Ordering;

/// Up to this many items are sorted by insertion, as in Go's `sort.Sort`.
pub(crate) const INSERTION_SORT_LIMIT: usize = 12;

/// Sorts by a comparison that may not be a total order. For such a comparison the standard
/// library's sorts may panic; this one returns the items in an unspecified order. It is stable and
/// needs n·log n comparisons.
pub(crate) fn merge_sort<T>(items: Vec<T>, compare: impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut runs: Vec<Vec<T>> = Vec::new();
    for item in items {
        match runs.last_mut() {
            Some(run) if run.len() < INSERTION_SORT_LIMIT => {
                let mut place = run.len();
                while place > 0 && compare(&item, &run[place - 1]).is_lt() {
                    place -= 1;
                }
                run.insert(place, item);
            }
            _ => runs.push(vec![item]),
        }
    }
    while runs.len() > 1 {
        let mut pairs = std::mem::take(&mut runs).into_iter();
        while let Some(first) = pairs.next() {
            runs.push(match pairs.next() {
                Some(second) => merge(first, second, &compare),
                None => first,
            });
        }
    }
    runs.pop().unwrap_or_default()
}

fn merge<T>(first: Vec<T>, second: Vec<T>, compare: &impl Fn(&T, &T) -> Ordering) -> Vec<T> {
    let mut all = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter().peekable(), second.into_iter().peekable());
    while let (Some(a), Some(b)) = (first.peek(), second.peek()) {
        let next = if compare(b, a).is_lt() { second.next() } else { first.next() };
        all.extend(next);
    }
    all.extend(first);
    all.extend(second);
    all
}
