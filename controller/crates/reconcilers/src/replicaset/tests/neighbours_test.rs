//! The neighbours that a sync reads from the cache are those that matter.

use std::sync::Arc;

use controller_client::api::{Cache, CacheUpdate, NamespacedName};
use rollout_model::{Pod, ReplicaSet};
use serde_json::json;

use super::fixtures::{TestPod, now, pod, raw};
use crate::decisions::rollouts::replicaset::choose_pods_to_delete;
use crate::replicaset::observe::observe;

/// The neighbours from the cache give the same ranks as all pods, for few pods and for many.
#[test]
fn cached_neighbours_give_the_same_ranks_as_all_pods() {
    for many in [4, 150] {
        let (mut cache, key) = (Cache::default(), NamespacedName::new("ns", "rs"));
        let put = |cache: &mut Cache, pod: TestPod| {
            let pod = pod.arc();
            cache.apply(CacheUpdate::Pod(NamespacedName::new("ns", &pod.name), Some(pod)));
        };
        let mut raw = raw(1);
        raw["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "web", "controller": true}]);
        cache.apply(CacheUpdate::ReplicaSet(key.clone(), Some(Arc::new(ReplicaSet::read(raw).unwrap()))));
        for number in 0..many {
            put(&mut cache, pod(&format!("own-{number:03}")).node(&format!("n{number}")).ready(None));
        }
        put(&mut cache, pod("beside").node("n2").owned_by("other").label("app", "db"));
        put(&mut cache, pod("new").node("n3").owned_by("other"));
        put(&mut cache, pod("elsewhere").node("n-other").owned_by("other"));
        let observed = observe(&cache, &key, None).unwrap();
        let names: Vec<_> = observed.neighbours.iter().map(|pod| pod.name.as_str()).collect();
        assert_eq!(names, ["beside", "own-002", "new", "own-003"]);
        let all: Vec<_> = cache.pods_in("ns").cloned().collect();
        let chosen = |neighbours: &[Arc<Pod>]| {
            let chosen = choose_pods_to_delete(&observed.pods, &observed.siblings, neighbours, 3, now());
            chosen.into_iter().map(|pod| pod.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(chosen(&observed.neighbours), ["own-003", "own-000", "own-001"]);
        assert_eq!(chosen(&all), chosen(&observed.neighbours));
    }
}
