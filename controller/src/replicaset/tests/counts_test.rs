//! A plan from counts of pods is the plan from each pod.

use std::sync::Arc;

use proptest::prelude::*;

use super::fixtures::{Made, ago, now, planned, pod, raw};
use crate::Settings;
use crate::api::{Cache, Change, Key};
use crate::model::ReplicaSet;
use crate::replicaset::{observe, observe_counts, report};

/// A pod of one of ten names, in any state: what a watch may show of it.
fn shown() -> impl Strategy<Value = (u8, Option<Made>)> {
    let phase = prop_oneof![6 => Just("Running"), 1 => Just("Failed"), 1 => Just("Succeeded"), 1 => Just("Pending")];
    let labels = prop_oneof![6 => Just(("team", "a")), 2 => Just(("team", "b")), 1 => Just(("app", "other"))];
    let owner = prop_oneof![12 => Just(Some("rs")), 1 => Just(Some("old")), 1 => Just(None)];
    let states = (prop::bool::ANY, prop::bool::weighted(0.2), prop::bool::weighted(0.1));
    (0..10_u8, phase, labels, owner, states).prop_map(|(name, phase, (key, value), owner, (ready, going, gone))| {
        let made = pod(&name.to_string()).phase(phase).label(key, value);
        let made = if ready { made.ready(ago(5)) } else { made };
        let made = if going { made.going() } else { made };
        let made = match owner {
            Some(uid) => made.owned_by(uid),
            None => made.orphan(),
        };
        (name, (!gone).then_some(made))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn counts_decide_what_pods_decide(all in prop::collection::vec(shown(), 1..40), wanted in 0..12_i32, may in prop::bool::ANY) {
        let (mut cache, key) = (Cache::default(), Key::new("ns", "rs"));
        cache.take(Change::ReplicaSet(key.clone(), Some(Arc::new(ReplicaSet::read(raw(wanted)).unwrap()))));
        for (name, made) in all {
            cache.take(Change::Pod(Key::new("ns", &name.to_string()), made.map(Made::arc)));
        }
        let outstanding = (!may).then_some("rs");
        let each = observe(&cache, &key, outstanding).unwrap();
        let plan = planned(&each);
        let Some(counts) = observe_counts(&cache, &key, outstanding) else {
            prop_assert!(cache.pods_of("ns", "").next().is_some(), "only pods without an owner ask for each pod");
            return Ok(());
        };
        let brief = planned(&counts);
        prop_assert_eq!(brief.names_pods(), plan.names_pods());
        if !plan.names_pods() {
            prop_assert_eq!(&brief.work, &plan.work);
            let told = |observed, active| report(observed, active, None, now(), &Settings::default());
            prop_assert_eq!(told(&counts, &brief.active), told(&each, &plan.active));
        }
    }
}
