//! Whole rollouts: one pod becomes ready at a time, and the decisions are compared with those that
//! the cases record from upstream.

use insta::assert_snapshot;
use rollout_model::names;

use super::fixtures::{TestDeployment, TestReplicaSet, apply_plan, planned_sizes, template};

/// A settled Deployment with one ReplicaSet of ready pods, before its template changes.
fn settled_deployment(replicas: i32, fixture: TestDeployment) -> TestDeployment {
    let max = crate::deployment::sizes::max_replicas(&fixture.observe().deployment);
    let set = TestReplicaSet::new("rs1", replicas, 1).revision(1).sized_for(replicas, max).healthy(replicas);
    fixture.annotate(names::REVISION, "1").with(set)
}

/// Applies plans until nothing is left to do. Returns the sizes that they set, in order.
fn settle(fixture: &mut TestDeployment) -> String {
    let mut steps = Vec::new();
    for _ in 0..50 {
        let plan = fixture.plan();
        if plan.is_idle() {
            return steps.join("; ");
        }
        for (name, size) in planned_sizes(&plan) {
            let name = if name.starts_with("foo-") { "new" } else { &name };
            steps.push(format!("{name} {size}"));
        }
        *fixture = apply_plan(fixture);
    }
    panic!("never settles: {}", steps.join("; "));
}

/// Makes one pod of the new ReplicaSet ready; `false` if all are.
fn make_pod_ready(fixture: &mut TestDeployment) -> bool {
    let Some(new) = fixture.sets.iter_mut().find(|set| set["metadata"]["name"] != "rs1") else {
        return false;
    };
    let ready = new["status"]["readyReplicas"].as_i64().unwrap_or(0);
    if ready >= new["spec"]["replicas"].as_i64().unwrap() {
        return false;
    }
    for field in ["readyReplicas", "availableReplicas"] {
        new["status"][field] = (ready + 1).into();
    }
    true
}

fn rollout_sizes(mut fixture: TestDeployment) -> String {
    let mut lines = vec![settle(&mut fixture)];
    while make_pod_ready(&mut fixture) {
        lines.push(format!("ready  {}", settle(&mut fixture)).trim_end().to_owned());
    }
    lines.join("\n")
}

/// Case `rolling/quarter-on-ten`.
#[test]
fn rolls_out_ten_pods_with_quarter_bounds() {
    assert_snapshot!(rollout_sizes(settled_deployment(10, TestDeployment::new(10).bounds("25%", "25%"))), @r"
new 3; rs1 8; new 5
ready  rs1 7; new 6
ready  rs1 6; new 7
ready  rs1 5; new 8
ready  rs1 4; new 9
ready  rs1 3; new 10
ready  rs1 2
ready  rs1 1
ready  rs1 0
ready
ready
");
}

/// Case `rolling/surge-1-unavailable-0`.
#[test]
fn rolls_out_with_surge_1_and_unavailable_0() {
    assert_snapshot!(rollout_sizes(settled_deployment(3, TestDeployment::new(3).bounds(1, 0))), @r"
new 1
ready  rs1 2; new 2
ready  rs1 1; new 3
ready  rs1 0
");
}

/// Case `scale/up-in-mid-rollout`: a rollout stuck at eight old and five new pods is scaled to
/// thirty, then gets a third template.
#[test]
fn scales_and_rolls_over_in_mid_rollout() {
    let mut fixture = settled_deployment(10, TestDeployment::new(10).bounds(3, 2));
    let mut lines = vec![settle(&mut fixture)];
    fixture = fixture.spec("replicas", 30);
    lines.push(format!("scale  {}", settle(&mut fixture)));
    fixture.deployment["spec"]["template"] = template("app:third");
    for set in &mut fixture.sets {
        if set["metadata"]["name"] != "rs1" {
            set["metadata"]["name"] = "rs2".into();
        }
    }
    lines.push(format!("third  {}", settle(&mut fixture)));
    assert_snapshot!(lines.join("\n"), @r"
new 3; rs1 8; new 5
scale  rs1 20; new 13
third  new 0; rs1 15; new 5
");
}
