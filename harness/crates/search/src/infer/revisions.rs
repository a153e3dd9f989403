//! Translates revisions and generations of a cluster into those of a case, which begins without
//! objects.

use std::collections::BTreeMap;

use serde_json::Value;

use super::live::{self, REVISION, REVISION_HISTORY, int};

/// Translates the cluster's numbers into the case's.
#[derive(Debug, Default, Clone)]
pub(super) struct Revisions {
    /// The initial revisions, counted from 1.
    first: BTreeMap<i64, i64>,
    /// The difference of the Deployment's generations.
    generations: i64,
}

impl Revisions {
    /// For these ReplicaSets and a Deployment of this generation, which is `of_case` in the case
    /// before its first step.
    pub(super) fn new(sets: &[&Value], generation: i64, of_case: i64) -> Self {
        let mut known: Vec<i64> = sets.iter().filter_map(|set| live::revision(set)).collect();
        known.sort_unstable();
        known.dedup();
        Self { first: known.into_iter().zip(1..).collect(), generations: generation - of_case }
    }

    /// A revision in the case.
    pub(super) fn of(&self, revision: i64) -> i64 {
        let (last, count) = self.first.iter().next_back().map_or((0, 0), |(last, count)| (*last, *count));
        self.first.get(&revision).copied().unwrap_or(if revision > last { revision - last + count } else { revision })
    }

    /// Replace the numbers of a Deployment or a ReplicaSet by the case's.
    pub(super) fn apply(&self, kind: &str, object: &mut Value) {
        if kind == live::DEPLOYMENT {
            for place in ["/metadata/generation", "/status/observedGeneration"] {
                let number = int(object, place);
                if let Some(field) = object.pointer_mut(place) {
                    *field = Value::from((number - self.generations).max(0));
                }
            }
        }
        let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) else {
            return;
        };
        for key in [REVISION, REVISION_HISTORY] {
            if let Some(Value::String(text)) = annotations.get_mut(key) {
                let numbers: Option<Vec<i64>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
                let Some(numbers) = numbers else { continue };
                *text = numbers.into_iter().map(|number| self.of(number).to_string()).collect::<Vec<_>>().join(",");
            }
        }
    }
}
