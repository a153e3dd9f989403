//! Estimates how long a case takes on the simulated cluster: a fixed time for each sub-step, and a
//! little more for each pod. Pure.
//!
//! The estimate reads the case alone, so `ready: {pods: all}` counts as many pods as the case asks
//! for.

use std::time::Duration;

use super::feasibility::PodEstimate;
use super::model::{Case, CountSpec};

/// The time of a sub-step in an optimised build, as `scripts/performance` measures it.
const PER_STEP: Duration = Duration::from_millis(4);
/// The additional time of a sub-step for each desired pod.
const PER_POD: Duration = Duration::from_nanos(300);

/// How many pods settle within the usual timeout; more pods get more time. The simulated cluster
/// binds one pod in 4 ms.
const SETTLED_PODS: u64 = 1_000;

/// What it costs to run a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// The largest number of desired pods at any time.
    pub pods: u64,
    /// The number of sub-steps.
    pub steps: u64,
    /// The estimated time.
    pub time: Duration,
}

impl Cost {
    /// The timeout of one settling, given the timeout of a usual case. It grows with the number of
    /// desired pods.
    #[must_use]
    pub fn settle_timeout(&self, usual: Duration) -> Duration {
        let times = self.pods.div_ceil(SETTLED_PODS).max(1);
        usual.saturating_mul(u32::try_from(times).unwrap_or(u32::MAX))
    }
}

/// Estimates the cost of a case.
#[must_use]
pub fn cost(case: &Case) -> Cost {
    let mut so_far = PodEstimate::default();
    let (mut steps, mut pods): (u64, u64) = (0, 0);
    for (step, given) in case.given.iter().map(|step| (step, true)).chain(case.steps.iter().map(|step| (step, false))) {
        so_far.add_step(step);
        let wanted = so_far.desired_pods();
        pods = pods.max(wanted);
        steps = steps.saturating_add(match step.operation.pod_operation().filter(|(_, pods)| !pods.atomic && !given) {
            None => 1,
            Some((_, pods)) => match (pods.every, pods.count) {
                (Some(share), _) => wanted.div_ceil(share.of(wanted)),
                (None, CountSpec::All) => wanted,
                (None, CountSpec::Exactly(number)) => number.into(),
            },
        });
    }
    let number = u32::try_from(steps).unwrap_or(u32::MAX);
    let each = PER_STEP.saturating_add(PER_POD.saturating_mul(u32::try_from(pods).unwrap_or(u32::MAX)));
    Cost { pods, steps, time: each.saturating_mul(number) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::all_pods("ready: {pods: all}", 402)]
    #[case::a_number("ready: {pods: 7}", 9)]
    #[case::atomic("ready: {pods: 7, atomic: true}", 3)]
    #[case::by_percentage("ready: {every: 10%}", 12)]
    #[case::by_number("ready: {every: 150}", 5)]
    fn counts_sub_steps(#[case] step: &str, #[case] steps: u64) {
        let given = "given:\n  - deployment: {name: web, replicas: 400, image: \"app:1\"}\n";
        let text = format!("description: x.\n{given}steps:\n  - set: {{image: \"app:2\"}}\n  - {step}\n");
        let case = super::super::parse("a/b.yaml", "a/b", &text).unwrap();
        assert_eq!(cost(&case).steps, steps);
        assert_eq!(cost(&case).time, (PER_STEP + PER_POD * 400) * u32::try_from(steps).unwrap());
    }

    #[rstest]
    #[case::usual(4, "  - scale: 1000", 20)]
    #[case::scaled(4, "  - scale: 1001", 40)]
    #[case::many(10_000, "  - scale: 2", 200)]
    fn settle_timeout_grows_with_pods(#[case] replicas: u32, #[case] step: &str, #[case] seconds: u64) {
        let given = format!("given:\n  - deployment: {{name: web, replicas: {replicas}, image: \"app:1\"}}\n");
        let text = format!("description: x.\n{given}steps:\n{step}\n");
        let case = super::super::parse("a/b.yaml", "a/b", &text).unwrap();
        assert_eq!(cost(&case).settle_timeout(Duration::from_secs(20)), Duration::from_secs(seconds));
    }
}
