//! Properties of all inputs: the bounds of a rolling update, and deterministic planning.

use proptest::prelude::*;
use rollout_model::names;

use super::fixtures::{TestDeployment, TestReplicaSet, apply, apply_plan, now};
use crate::RuleSettings;
use crate::deployment::{DeploymentAction, plan};

/// The size of a ReplicaSet, smaller than a bound, and how many of its pods are available.
fn size(bound: i32) -> impl Strategy<Value = (i32, i32)> {
    (0..bound).prop_flat_map(|expected| (Just(expected), 0..=expected))
}

prop_compose! {
    /// A rolling Deployment in any state, with sizes smaller than a bound: they may already exceed
    /// those of the rollout, as after a user's change.
    fn world_below(bound: i32)(
        replicas in 0..bound,
        (surge, unavailable) in (0..8_i32, 0..8_i32).prop_filter("API validation", |bounds| *bounds != (0, 0)),
        percent in any::<bool>(),
        new in proptest::option::of(size(bound)),
        old in proptest::collection::vec(size(bound), 0..4),
    ) -> TestDeployment {
        let mut fixture = TestDeployment::new(replicas).annotate(names::REVISION, "9");
        fixture = if percent {
            fixture.bounds(format!("{}%", surge * 10), format!("{}%", unavailable * 10))
        } else {
            fixture.bounds(surge, unavailable)
        };
        let max = crate::deployment::sizes::max_replicas(&fixture.observe().deployment);
        for (age, (expected, available)) in old.iter().enumerate() {
            let set = TestReplicaSet::new(&format!("rs{age}"), *expected, age as u32).revision(age + 1);
            fixture = fixture.with(set.sized_for(replicas, max).healthy(*available));
        }
        if let Some((expected, available)) = new {
            let set = TestReplicaSet::new("new", expected, 30).current().revision(9);
            fixture = fixture.with(set.sized_for(replicas, max).healthy(available));
        }
        fixture
    }
}

fn world() -> impl Strategy<Value = TestDeployment> {
    world_below(30)
}

/// Mostly small: a rollout that goes wrong goes wrong with few pods, too, and each takes its turn.
fn mostly_small_world() -> impl Strategy<Value = TestDeployment> {
    prop_oneof![15 => world_below(8), 1 => world_below(30)]
}

fn expected(fixture: &TestDeployment) -> i64 {
    fixture.sets.iter().map(|set| set["spec"]["replicas"].as_i64().unwrap()).sum()
}

fn available(fixture: &TestDeployment) -> i64 {
    fixture.sets.iter().map(|set| set["status"]["availableReplicas"].as_i64().unwrap_or(0)).sum()
}

/// Applies plans until nothing is left to do, without any change of pods.
fn settle(mut fixture: TestDeployment) -> TestDeployment {
    loop {
        let plan = fixture.plan();
        if plan.is_idle() {
            return fixture;
        }
        fixture = apply(&fixture, &plan);
    }
}

/// Makes pods ready one by one until all are, with `order` choosing the ReplicaSet each time.
/// Returns the final sizes and revisions.
fn ready_in(order: &[prop::sample::Index], fixture: &TestDeployment) -> Vec<(String, i64, String)> {
    let mut fixture = settle(fixture.clone());
    for turn in order.iter().cycle() {
        let mut waiting: Vec<_> = fixture
            .sets
            .iter_mut()
            .filter(|set| {
                set["status"]["readyReplicas"].as_i64().unwrap_or(0) < set["spec"]["replicas"].as_i64().unwrap()
            })
            .collect();
        if waiting.is_empty() {
            break;
        }
        let turn = turn.index(waiting.len());
        let ready = waiting[turn]["status"]["readyReplicas"].as_i64().unwrap_or(0) + 1;
        for field in ["readyReplicas", "availableReplicas"] {
            waiting[turn]["status"][field] = ready.into();
        }
        fixture = settle(fixture);
    }
    let row = |set: &serde_json::Value| {
        let revision = set["metadata"]["annotations"][names::REVISION].to_string();
        (set["metadata"]["name"].to_string(), set["spec"]["replicas"].as_i64().unwrap(), revision)
    };
    fixture.sets.iter().map(row).collect()
}

fn all_ready(mut fixture: TestDeployment) -> TestDeployment {
    for set in &mut fixture.sets {
        for field in ["replicas", "readyReplicas", "availableReplicas"] {
            set["status"][field] = set["spec"]["replicas"].clone();
        }
    }
    fixture
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_exceeds_max_surge(fixture in world()) {
        let most = i64::from(crate::deployment::sizes::max_replicas(&fixture.observe().deployment));
        let after = apply_plan(&fixture);
        prop_assert!(expected(&after) <= most.max(expected(&fixture)), "{} > {most}", expected(&after));
    }

    #[test]
    fn never_goes_below_min_available_by_its_own_writes(fixture in world()) {
        let floor = i64::from(crate::deployment::sizes::min_available(&fixture.observe().deployment));
        let after = apply_plan(&fixture);
        // A new ReplicaSet above what is asked for is cut to that, whatever of it is available.
        let too_many_new = fixture.sets.iter().any(|set| {
            set["metadata"]["name"] == "new" && set["spec"]["replicas"].as_i64() > fixture.deployment["spec"]["replicas"].as_i64()
        });
        prop_assume!(!too_many_new);
        prop_assert!(available(&after) >= floor.min(available(&fixture)), "{} < {floor}", available(&after));
    }

    #[test]
    fn planning_is_deterministic(fixture in world()) {
        let (observed, settings) = (fixture.observe(), RuleSettings::default());
        prop_assert_eq!(plan(&observed, now(), &settings), plan(&observed, now(), &settings));
    }

    /// If every pod becomes ready at once, a rollout completes, and then nothing more is planned.
    #[test]
    fn a_rollout_completes_and_settles(fixture in world()) {
        let mut fixture = fixture;
        for _ in 0..400 {
            if fixture.plan().is_idle() {
                break;
            }
            fixture = all_ready(apply_plan(&fixture));
        }
        prop_assert!(fixture.plan().is_idle());
        let replicas = fixture.deployment["spec"]["replicas"].as_i64().unwrap();
        prop_assert_eq!(expected(&fixture), replicas);
        prop_assert_eq!(fixture.deployment["status"]["updatedReplicas"].as_i64().unwrap_or(0), replicas);
    }

    /// The order in which pods become ready changes the course of a rollout but not its result.
    #[test]
    fn the_result_does_not_depend_on_the_order_of_ready_pods(
        fixture in mostly_small_world(),
        one in proptest::collection::vec(any::<prop::sample::Index>(), 1..12),
        other in proptest::collection::vec(any::<prop::sample::Index>(), 1..12),
    ) {
        prop_assert_eq!(ready_in(&one, &fixture), ready_in(&other, &fixture));
    }

    #[test]
    fn writes_the_status_once_and_an_event_for_each_resize(fixture in world()) {
        let plan = fixture.plan();
        let statuses = plan.actions().filter(|action| matches!(action, DeploymentAction::UpdateStatus(_))).count();
        prop_assert!(statuses <= 1);
        let resized = super::fixtures::planned_sizes(&plan).iter().filter(|(name, size)| {
            *size > 0 || fixture.sets.iter().any(|set| set["metadata"]["name"] == **name)
        }).count();
        prop_assert_eq!(super::fixtures::event_messages(&plan).len(), resized);
    }
}
