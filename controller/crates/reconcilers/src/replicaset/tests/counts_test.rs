//! A plan made from counts of pods equals the plan made from individual pods.

use std::sync::Arc;

use controller_client::api::{Cache, CacheUpdate, NamespacedName};
use proptest::prelude::*;
use rollout_model::ReplicaSet;

use super::fixtures::{TestPod, ago, make_plan, now, pod, raw};
use crate::decisions::rollouts::RuleSettings;
use crate::replicaset::observe::{observe, observe_counts};
use crate::replicaset::report;

/// A watch event for a pod with one of ten names, in any state.
fn pod_state() -> impl Strategy<Value = (u8, Option<TestPod>)> {
    let phase = prop_oneof![6 => Just("Running"), 1 => Just("Failed"), 1 => Just("Succeeded"), 1 => Just("Pending")];
    let labels = prop_oneof![6 => Just(("team", "a")), 2 => Just(("team", "b")), 1 => Just(("app", "other"))];
    let owner = prop_oneof![12 => Just(Some("rs")), 1 => Just(Some("old")), 1 => Just(None)];
    let states = (prop::bool::ANY, prop::bool::weighted(0.2), prop::bool::weighted(0.1));
    (0..10_u8, phase, labels, owner, states).prop_map(|(name, phase, (key, value), owner, (ready, going, gone))| {
        let pod = pod(&name.to_string()).phase(phase).label(key, value);
        let pod = if ready { pod.ready(ago(5)) } else { pod };
        let pod = if going { pod.deleting() } else { pod };
        let pod = match owner {
            Some(uid) => pod.owned_by(uid),
            None => pod.orphan(),
        };
        (name, (!gone).then_some(pod))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn counts_and_pods_give_the_same_plan(all in prop::collection::vec(pod_state(), 1..40), replicas in 0..12_i32, may in prop::bool::ANY) {
        let (mut cache, key) = (Cache::default(), NamespacedName::new("ns", "rs"));
        cache.apply(CacheUpdate::ReplicaSet(key.clone(), Some(Arc::new(ReplicaSet::read(raw(replicas)).unwrap()))));
        for (name, pod) in all {
            cache.apply(CacheUpdate::Pod(NamespacedName::new("ns", &name.to_string()), pod.map(TestPod::arc)));
        }
        let outstanding = (!may).then_some("rs");
        let each = observe(&cache, &key, outstanding).unwrap();
        let plan = make_plan(&each);
        let Some(counts) = observe_counts(&cache, &key, outstanding) else {
            prop_assert!(cache.pods_of("ns", "").next().is_some(), "only pods without an owner ask for each pod");
            return Ok(());
        };
        let brief = make_plan(&counts);
        prop_assert_eq!(brief.has_named_pods(), plan.has_named_pods());
        if !plan.has_named_pods() {
            prop_assert_eq!(&brief.adjustment, &plan.adjustment);
            let describe = |observed, active| report(observed, active, None, now(), &RuleSettings::default());
            prop_assert_eq!(describe(&counts, &brief.active), describe(&each, &plan.active));
        }
    }
}
