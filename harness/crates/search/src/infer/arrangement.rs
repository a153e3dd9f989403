//! Arranges concurrent things in a step: a recording does not show in which order the controllers
//! saw the things that happened before they had settled. `replay` tries the arrangements until one
//! reproduces the recording.

use std::collections::BTreeMap;

/// How the things of one step are arranged. They are numbered from 0 in the order in which the
/// server stored them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrangement {
    /// One by one, in this order, without settling in between.
    Order(Vec<usize>),
    /// The first one, and the others in its middle, when the controller requests this decision.
    During(String),
}

/// By the number of the step, from 1.
pub type Arrangements = BTreeMap<u32, Arrangement>;

/// With more things only some orders are tried.
const ALL_ORDERS: usize = 3;

/// The arrangements of this many things, in which the controllers made these `decisions`, the
/// likely ones first.
#[must_use]
pub fn arrangements(things: usize, decisions: &[String]) -> Vec<Arrangement> {
    let stored: Vec<usize> = (0..things).collect();
    let mut orders = vec![stored.clone()];
    if things <= ALL_ORDERS {
        orders.extend(permutations(&stored).into_iter().skip(1));
    } else {
        // The last one seen first, and so on.
        orders.extend((1..things).map(|by| stored.iter().map(|thing| (thing + things - by) % things).collect()));
    }
    let during = decisions.iter().cloned().map(Arrangement::During);
    orders.into_iter().map(Arrangement::Order).chain(during).collect()
}

/// All permutations, the given one first.
fn permutations(things: &[usize]) -> Vec<Vec<usize>> {
    if things.is_empty() {
        return vec![Vec::new()];
    }
    let chosen = |at: usize| {
        let mut rest = things.to_vec();
        let one = rest.remove(at);
        permutations(&rest).into_iter().map(move |order| [vec![one], order].concat())
    };
    (0..things.len()).flat_map(chosen).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generates_every_order_of_three_things_then_during() {
        let ways = arrangements(3, &["rs1 2 -> 1".to_owned()]);
        assert_eq!(ways.len(), 7);
        assert_eq!(ways[0], Arrangement::Order(vec![0, 1, 2]));
        assert!(ways.contains(&Arrangement::Order(vec![2, 0, 1])));
        assert_eq!(ways[6], Arrangement::During("rs1 2 -> 1".to_owned()));
    }

    #[test]
    fn generates_few_orders_of_many_things() {
        let ways = arrangements(5, &[]);
        assert_eq!(ways.len(), 5);
        assert_eq!(ways[1], Arrangement::Order(vec![4, 0, 1, 2, 3]));
    }
}
