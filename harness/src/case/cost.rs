//! How long a case takes on the simulated cluster, roughly: its sub-steps are counted, each of
//! which takes about the same time, and a little more for each pod that there is.
//!
//! Counted is what the case itself says: `ready: {pods: all}` moves as many pods as are wanted.
//! Pure.

use std::time::Duration;

use super::counts::Pool;
use super::model::{Case, Count};

/// What a sub-step takes in an optimised build, as `scripts/performance` measures it.
const EACH: Duration = Duration::from_millis(4);
/// What it takes besides for each pod that is wanted.
const A_POD: Duration = Duration::from_nanos(300);

/// As many pods settle in the time that one settling may take; more of them may take longer. On the
/// simulated cluster one pod is bound to a node in 4 ms.
const PODS: u64 = 1_000;

/// What playing a case costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// The most pods that are wanted at one time.
    pub pods: u64,
    /// How many sub-steps there are.
    pub steps: u64,
    /// How long they take.
    pub time: Duration,
}

impl Cost {
    /// How long one settling may take, where it may take so long in a usual case: in proportion
    /// where more pods are wanted than settle in that time.
    #[must_use]
    pub fn patience(&self, usual: Duration) -> Duration {
        let times = self.pods.div_ceil(PODS).max(1);
        usual.saturating_mul(u32::try_from(times).unwrap_or(u32::MAX))
    }
}

/// The cost of a case.
#[must_use]
pub fn cost(case: &Case) -> Cost {
    let mut so_far = Pool::default();
    let (mut steps, mut pods): (u64, u64) = (0, 0);
    for (step, given) in case.given.iter().map(|step| (step, true)).chain(case.steps.iter().map(|step| (step, false))) {
        so_far.step(step);
        let wanted = so_far.wanted();
        pods = pods.max(wanted);
        steps = steps.saturating_add(match step.operation.moves().filter(|(_, pods)| !pods.atomic && !given) {
            None => 1,
            Some((_, pods)) => match (pods.every, pods.count) {
                (Some(share), _) => wanted.div_ceil(share.of(wanted)),
                (None, Count::All) => wanted,
                (None, Count::Exactly(number)) => number.into(),
            },
        });
    }
    let number = u32::try_from(steps).unwrap_or(u32::MAX);
    let each = EACH.saturating_add(A_POD.saturating_mul(u32::try_from(pods).unwrap_or(u32::MAX)));
    Cost { pods, steps, time: each.saturating_mul(number) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::a_pod_a_step("ready: {pods: all}", 402)]
    #[case::so_many("ready: {pods: 7}", 9)]
    #[case::at_once("ready: {pods: 7, atomic: true}", 3)]
    #[case::in_shares("ready: {every: 10%}", 12)]
    #[case::in_batches("ready: {every: 150}", 5)]
    fn sub_steps_are_counted(#[case] step: &str, #[case] steps: u64) {
        let given = "given:\n  - deployment: {name: web, replicas: 400, image: \"app:1\"}\n";
        let text = format!("description: x.\n{given}steps:\n  - set: {{image: \"app:2\"}}\n  - {step}\n");
        let case = super::super::parse("a/b.yaml", "a/b", &text).unwrap();
        assert_eq!(cost(&case).steps, steps);
        assert_eq!(cost(&case).time, (EACH + A_POD * 400) * u32::try_from(steps).unwrap());
    }

    #[rstest]
    #[case::usual(4, "  - scale: 1000", 20)]
    #[case::scaled(4, "  - scale: 1001", 40)]
    #[case::many(10_000, "  - scale: 2", 200)]
    fn many_pods_may_take_longer_to_settle(#[case] replicas: u32, #[case] step: &str, #[case] seconds: u64) {
        let given = format!("given:\n  - deployment: {{name: web, replicas: {replicas}, image: \"app:1\"}}\n");
        let text = format!("description: x.\n{given}steps:\n{step}\n");
        let case = super::super::parse("a/b.yaml", "a/b", &text).unwrap();
        assert_eq!(cost(&case).patience(Duration::from_secs(20)), Duration::from_secs(seconds));
    }
}
