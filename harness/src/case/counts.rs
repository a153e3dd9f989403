//! Steps that ask for more pods than can be: `ready: {pods: 50}` where a Deployment of three is all
//! that there is.
//!
//! What a conformant controller makes of a case is bounded by what the case itself says: a
//! Deployment that has had one template has no more pods than it wants; one that has had several
//! has at most its replicas and its surge of each. Where the case does something that this
//! arithmetic does not follow (pods that are released, ReplicaSets that are scaled behind a
//! Deployment's back, other writers), nothing is said: whether the step was possible shows when it
//! is played. Pure.

use std::collections::BTreeMap;

use serde_json::Value;

use super::model::{Case, Change, Count, PatchKind, PodOperation, Pods, Step};
use crate::controllers::Controller;
use crate::pointer::At;

/// A step that is impossible, by its line: what is wrong, and what there is.
pub(super) type Impossible = (usize, String, String);

/// The first step that asks for more pods than can be.
pub(super) fn impossible(case: &Case) -> Option<Impossible> {
    if case.controllers.has(Controller::ConfigRestart) || case.beside.is_some() {
        return None;
    }
    let mut so_far = Pool::default();
    case.given.iter().chain(&case.steps).find_map(|step| {
        so_far.step(step);
        too_many(step, &so_far)
    })
}

/// What there may be of one workload's pods.
#[derive(Debug, Clone, Default)]
struct Workload {
    /// The most that were ever wanted.
    replicas: i64,
    /// The largest surge: a number, and a percentage.
    surge: (i64, i64),
    /// How many templates it has had.
    templates: i64,
}

impl Workload {
    fn most(&self) -> i64 {
        if self.templates < 2 {
            return self.replicas;
        }
        let (number, percent) = self.surge;
        let surge = number.max(self.replicas.saturating_mul(percent).saturating_add(99) / 100);
        self.replicas.saturating_add(surge).saturating_mul(self.templates)
    }
}

/// All pods that there may be.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// By `Deployment web`.
    workloads: BTreeMap<String, Workload>,
    /// Pods that the case makes itself.
    bare: i64,
    /// Something was done that the arithmetic does not follow.
    unknown: bool,
}

impl Pool {
    /// What there may be after one more step.
    pub(super) fn step(&mut self, step: &Step) {
        step.during.iter().flat_map(|during| &during.steps).for_each(|inner| self.step(inner));
        step.operation.inner().iter().for_each(|inner| self.step(inner));
        match step.operation.change() {
            Change::Object(manifest) => self.apply(manifest),
            Change::Patch(target, kind, patch) => match target.kind.as_str() {
                "configmap" | "secret" => {}
                "deployment" if kind != PatchKind::Json => self.patch(&target.name, patch),
                _ => self.unknown = true,
            },
            Change::Orphans => self.unknown = true,
            Change::Template(deployment) => self.of("Deployment", deployment).templates += 1,
            Change::Scale(target, replicas) => {
                let kind = if target.kind == "deployment" { "Deployment" } else { "ReplicaSet" };
                // A Deployment's own ReplicaSet, which is scaled behind its back.
                self.unknown |= !self.workloads.contains_key(&format!("{kind} {}", target.name));
                let workload = self.of(kind, &target.name);
                workload.replicas = workload.replicas.max(replicas.into());
            }
            Change::Paused(..) | Change::Nothing => {}
        }
    }

    fn of(&mut self, kind: &str, name: &str) -> &mut Workload {
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
                self.unknown |= replicas.is_none() || surge.is_none() || name.is_empty();
                let workload = self.of(kind, name);
                workload.replicas = workload.replicas.max(replicas.unwrap_or(1));
                let (number, percent) = surge.unwrap_or_default();
                workload.surge = (workload.surge.0.max(number), workload.surge.1.max(percent));
                workload.templates += 1;
            }
            _ => self.unknown = true,
        }
    }

    fn patch(&mut self, name: &str, patch: &Value) {
        let Some(spec) = patch.at("/spec").and_then(Value::as_object) else { return };
        for (field, value) in spec {
            match (field.as_str(), value.as_i64()) {
                ("replicas", Some(replicas)) => {
                    let workload = self.of("Deployment", name);
                    workload.replicas = workload.replicas.max(replicas);
                }
                ("template", _) => self.of("Deployment", name).templates += 1,
                ("paused" | "minReadySeconds" | "revisionHistoryLimit" | "progressDeadlineSeconds", _) => {}
                _ => self.unknown = true,
            }
        }
    }

    /// How many pods are wanted, all in all.
    pub(super) fn wanted(&self) -> u64 {
        let all = self.workloads.values().fold(self.bare, |sum, workload| sum.saturating_add(workload.replicas));
        u64::try_from(all).unwrap_or(0)
    }

    fn most(&self) -> i64 {
        self.workloads.values().fold(self.bare, |sum, workload| sum.saturating_add(workload.most()))
    }

    /// `Deployment web of 3 replicas`.
    fn said(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (name, Workload { replicas, templates, .. }) in &self.workloads {
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

fn too_many(step: &Step, pool: &Pool) -> Option<Impossible> {
    let within = step.during.iter().flat_map(|during| &during.steps);
    if let Some(found) = within.chain(step.operation.inner()).find_map(|inner| too_many(inner, pool)) {
        return Some(found);
    }
    let (pods, becomes) = match step.operation.moves()? {
        (PodOperation::Ready, pods) => (pods, "ready"),
        (PodOperation::Unready, pods) => (pods, "unready"),
        _ => return None,
    };
    let Pods { count: Count::Exactly(wanted), .. } = pods else { return None };
    if pool.unknown || step.refused.is_some() || i64::from(*wanted) <= pool.most() {
        return None;
    }
    let what = format!("{wanted} pods cannot become {becomes} here");
    Some((step.line, what, format!("at most {}: {}", pool.most(), pool.said())))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::case::parse;

    const WEB: &str = "  - deployment: {name: web, replicas: 3, image: \"app:1\"}";

    fn found(given: &str, steps: &str) -> Option<String> {
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
    fn what_cannot_be_is_found(#[case] steps: &str, #[case] what: &str, #[case] there: &str) {
        let error = found(WEB, steps).unwrap();
        assert!(error.contains(what) && error.contains(there), "{error}");
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
    fn what_can_be_is_not(#[case] steps: &str) {
        assert_eq!(found(WEB, steps).filter(|error| error.contains("cannot become")), None);
    }
}
