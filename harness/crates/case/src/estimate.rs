//! Estimates from the case alone how many pods there can be and how long it takes. Finds steps that
//! ask for more pods than can exist, such as `ready: {pods: 50}` where the only workload is a
//! Deployment of three.
//!
//! The case itself bounds how many pods a conformant controller creates: a Deployment that has had
//! one template has at most its replicas; after several templates it has at most replicas and surge
//! for each. If the case does something that this arithmetic cannot follow (released pods,
//! ReplicaSets that are scaled directly, other writers), no step is reported, and the run shows
//! whether the step is possible.
//!
//! The time on the simulated cluster is a fixed time for each sub-step, and a little more for each
//! pod. `ready: {pods: all}` counts as many pods as the case asks for. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use lockstep_recording::controllers::Controller;
use lockstep_support::pointer::JsonPointer;
use serde_json::Value;

use super::model::{Case, CountSpec, DeclaredChange, PatchKind, PodOperation, PodSelection, Step};

/// The time of a sub-step in an optimised build, as docs/performance.md has it.
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

/// An infeasible step: its line, what is wrong, and what exists.
pub(super) type InfeasibleStep = (usize, String, String);

/// Returns the first step that asks for more pods than can exist.
pub(super) fn infeasible_step(case: &Case) -> Option<InfeasibleStep> {
    if case.controllers.has(Controller::ConfigRestart) || case.companion.is_some() {
        return None;
    }
    let mut so_far = PodEstimate::default();
    case.given.iter().chain(&case.steps).find_map(|step| {
        so_far.add_step(step);
        exceeds_estimate(step, &so_far)
    })
}

/// An upper bound for the pods of one workload.
#[derive(Debug, Clone, Default)]
struct WorkloadPods {
    /// The largest number of replicas so far.
    replicas: i64,
    /// The largest surge: a number, and a percentage.
    surge: (i64, i64),
    /// How many templates it has had.
    templates: i64,
}

impl WorkloadPods {
    fn max_pods(&self) -> i64 {
        if self.templates < 2 {
            return self.replicas;
        }
        let (number, percent) = self.surge;
        let surge = number.max(self.replicas.saturating_mul(percent).saturating_add(99) / 100);
        self.replicas.saturating_add(surge).saturating_mul(self.templates)
    }
}

/// An upper bound for all pods of a case.
#[derive(Debug, Default)]
pub(super) struct PodEstimate {
    /// Keyed by `Deployment web`.
    workloads: BTreeMap<String, WorkloadPods>,
    /// Pods that the case creates itself.
    bare: i64,
    /// Whether a step did something that the estimate cannot follow.
    is_unknown: bool,
}

impl PodEstimate {
    /// Adds the pods of one more step.
    pub(super) fn add_step(&mut self, step: &Step) {
        step.inner_steps().for_each(|inner| self.add_step(inner));
        match step.operation.change() {
            DeclaredChange::Object(manifest) => self.apply(manifest),
            DeclaredChange::Patch(target, kind, patch) => match target.kind.as_str() {
                "configmap" | "secret" => {}
                "deployment" if kind != PatchKind::Json => self.patch(&target.name, patch),
                _ => self.is_unknown = true,
            },
            DeclaredChange::Orphans => self.is_unknown = true,
            DeclaredChange::NewTemplate(deployment) => self.workload("Deployment", deployment).templates += 1,
            DeclaredChange::Scale(target, replicas) => {
                let kind = if target.kind == "deployment" { "Deployment" } else { "ReplicaSet" };
                // The case scales a ReplicaSet that a Deployment owns.
                self.is_unknown |= !self.workloads.contains_key(&format!("{kind} {}", target.name));
                let workload = self.workload(kind, &target.name);
                workload.replicas = workload.replicas.max(replicas.into());
            }
            DeclaredChange::Paused(..) | DeclaredChange::Unchanged => {}
        }
    }

    fn workload(&mut self, kind: &str, name: &str) -> &mut WorkloadPods {
        self.workloads.entry(format!("{kind} {name}")).or_default()
    }

    fn apply(&mut self, manifest: &Value) {
        let text = |pointer: &str| manifest.at(pointer).and_then(Value::as_str).unwrap_or_default();
        let (kind, name) = (text("/kind"), text("/metadata/name"));
        match kind {
            "ConfigMap" | "Secret" => {}
            "Pod" => self.bare += 1,
            "Deployment" | "ReplicaSet" => {
                let replicas = manifest.at("/spec/replicas").map_or(Some(1), Value::as_i64);
                let surge = surge(manifest);
                self.is_unknown |= replicas.is_none() || surge.is_none() || name.is_empty();
                let workload = self.workload(kind, name);
                workload.replicas = workload.replicas.max(replicas.unwrap_or(1));
                let (number, percent) = surge.unwrap_or_default();
                workload.surge = (workload.surge.0.max(number), workload.surge.1.max(percent));
                workload.templates += 1;
            }
            _ => self.is_unknown = true,
        }
    }

    fn patch(&mut self, name: &str, patch: &Value) {
        let Some(spec) = patch.at("/spec").and_then(Value::as_object) else { return };
        for (field, value) in spec {
            match (field.as_str(), value.as_i64()) {
                ("replicas", Some(replicas)) => {
                    let workload = self.workload("Deployment", name);
                    workload.replicas = workload.replicas.max(replicas);
                }
                ("template", _) => self.workload("Deployment", name).templates += 1,
                ("paused" | "minReadySeconds" | "revisionHistoryLimit" | "progressDeadlineSeconds", _) => {}
                _ => self.is_unknown = true,
            }
        }
    }

    /// The number of desired pods of all workloads.
    pub(super) fn desired_pods(&self) -> u64 {
        let all = self.workloads.values().fold(self.bare, |sum, workload| sum.saturating_add(workload.replicas));
        u64::try_from(all).unwrap_or(0)
    }

    fn max_pods(&self) -> i64 {
        self.workloads.values().fold(self.bare, |sum, workload| sum.saturating_add(workload.max_pods()))
    }

    /// `Deployment web of 3 replicas`.
    fn describe(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (name, WorkloadPods { replicas, templates, .. }) in &self.workloads {
            let templates = if *templates < 2 { String::new() } else { format!(" and {templates} templates") };
            parts.push(format!("{name} of {replicas} replicas{templates}"));
        }
        if self.bare > 0 {
            parts.push(format!("{} bare pods", self.bare));
        }
        if parts.is_empty() { "no workload at all".to_owned() } else { parts.join(", ") }
    }
}

/// The surge of a manifest's strategy: a number, and a percentage.
fn surge(manifest: &Value) -> Option<(i64, i64)> {
    if manifest.at("/spec/strategy/type").and_then(Value::as_str) == Some("Recreate") {
        return Some((0, 0));
    }
    match manifest.at("/spec/strategy/rollingUpdate/maxSurge") {
        None | Some(Value::Null) => Some((0, 25)),
        Some(Value::String(text)) => Some((0, text.strip_suffix('%')?.parse().ok()?)),
        Some(number) => Some((number.as_i64()?, 0)),
    }
}

fn exceeds_estimate(step: &Step, pool: &PodEstimate) -> Option<InfeasibleStep> {
    if let Some(found) = step.inner_steps().find_map(|inner| exceeds_estimate(inner, pool)) {
        return Some(found);
    }
    let (pods, becomes) = match step.operation.pod_operation()? {
        (PodOperation::Ready, pods) => (pods, "ready"),
        (PodOperation::Unready, pods) => (pods, "unready"),
        _ => return None,
    };
    let PodSelection { count: CountSpec::Exactly(wanted), .. } = pods else { return None };
    if pool.is_unknown || step.refused.is_some() || i64::from(*wanted) <= pool.max_pods() {
        return None;
    }
    let what = format!("{wanted} pods cannot become {becomes} here");
    Some((step.line, what, format!("at most {}: {}", pool.max_pods(), pool.describe())))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::parse;

    const WEB: &str = "  - deployment: {name: web, replicas: 3, image: \"app:1\"}";

    fn error_of(given: &str, steps: &str) -> Option<String> {
        let text = format!("description: x\ngiven:\n{given}\nsteps:\n{steps}\n");
        parse("a/b.yaml", "a/b", &text).err().map(|error| error.to_string())
    }

    #[rstest]
    #[case::more_than_there_are(
        "  - ready: {pods: 50}",
        "50 pods cannot become ready here",
        "at most 3: Deployment web of 3 replicas"
    )]
    #[case::one_more("  - ready: {pods: 4}", "4 pods cannot", "at most 3")]
    #[case::unready("  - unready: {pods: 4}", "4 pods cannot become unready here", "at most 3")]
    #[case::after_a_scale("  - scale: 5\n  - ready: {pods: 6}", "6 pods cannot", "at most 5")]
    #[case::after_a_rollout(
        "  - set: {image: \"app:2\"}\n  - ready: {pods: 9}",
        "9 pods cannot",
        "at most 8: Deployment web of 3 replicas and 2 templates"
    )]
    #[case::together("  - together: [{scale: 4}, {ready: {pods: 5}}]", "5 pods cannot", "at most 4")]
    fn reports_step_that_needs_too_many_pods(#[case] steps: &str, #[case] message: &str, #[case] hint: &str) {
        let error = error_of(WEB, steps).unwrap();
        assert!(error.contains(message) && error.contains(hint), "{error}");
        assert!(error.contains("a/b.yaml:"), "{error}");
    }

    #[rstest]
    #[case::all_of_them("  - ready: {pods: 3}")]
    #[case::of_a_rollout("  - set: {image: \"app:2\"}\n  - ready: {pods: 8}")]
    #[case::scaled("  - scale: 9\n  - ready: {pods: 9}")]
    #[case::patched("  - patch: {target: deployment/web, patch: {spec: {replicas: 9}}}\n  - ready: {pods: 9}")]
    #[case::not_followed(
        "  - patch: {target: deployment/web, type: json, patch: [{op: add, path: /spec/replicas, value: 9}]}\n  - ready: {pods: 9}"
    )]
    #[case::orphans("  - delete: {target: deployment/web, cascade: orphan}\n  - ready: {pods: 9}")]
    fn accepts_step_that_may_be_possible(#[case] steps: &str) {
        assert_eq!(error_of(WEB, steps).filter(|error| error.contains("cannot become")), None);
    }

    #[rstest]
    #[case::all_pods("ready: {pods: all}", 402)]
    #[case::a_number("ready: {pods: 7}", 9)]
    #[case::atomic("ready: {pods: 7, atomic: true}", 3)]
    #[case::by_percentage("ready: {every: 10%}", 12)]
    #[case::by_number("ready: {every: 150}", 5)]
    fn counts_sub_steps(#[case] step: &str, #[case] steps: u64) {
        let given = "given:\n  - deployment: {name: web, replicas: 400, image: \"app:1\"}\n";
        let text = format!("description: x.\n{given}steps:\n  - set: {{image: \"app:2\"}}\n  - {step}\n");
        let case = parse("a/b.yaml", "a/b", &text).unwrap();
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
        let case = parse("a/b.yaml", "a/b", &text).unwrap();
        assert_eq!(cost(&case).settle_timeout(Duration::from_secs(20)), Duration::from_secs(seconds));
    }
}
