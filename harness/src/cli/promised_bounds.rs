//! `bounds:` of a workload: whether a case's Deployments have the bounds that the workload always
//! has. A golden timeline has the sizes of the case's own bounds, which no controller of a kind
//! without fields for them could follow.

use std::collections::BTreeSet;

use lockstep_case::Case;
use lockstep_case::model::{DeclaredChange, PatchKind, Step};
use lockstep_timeline::Bounds;
use lockstep_workload::Workload;
use serde_json::{Value, json};

/// Whether the sizes of the case's timeline follow from other bounds than those that the workload
/// promises, for any number of replicas that the case sets.
pub(super) fn has_other_bounds(case: &Case, workload: &Workload) -> bool {
    if workload.bounds.is_empty() || !workload.claims().sizes {
        return false;
    }
    let mut declared = DeclaredBounds::default();
    case.given.iter().chain(&case.steps).for_each(|step| declared.add(step));
    declared.changes_bounds || declared.deployments.iter().any(|one| declared.differ(one, workload))
}

/// What a case declares of its Deployments' bounds.
#[derive(Default)]
struct DeclaredBounds<'a> {
    deployments: Vec<&'a Value>,
    /// All numbers of replicas that any of them gets.
    replicas: BTreeSet<i64>,
    /// Whether a patch sets other bounds, or what only the run shows.
    changes_bounds: bool,
}

impl<'a> DeclaredBounds<'a> {
    fn add(&mut self, step: &'a Step) {
        step.inner_steps().for_each(|inner| self.add(inner));
        match step.operation.change() {
            DeclaredChange::Object(manifest) if manifest["kind"] == "Deployment" => {
                self.replicas.insert(manifest["spec"]["replicas"].as_i64().unwrap_or(1));
                self.deployments.push(manifest);
            }
            DeclaredChange::Patch(target, kind, patch) if target.kind == "deployment" => {
                let text = patch.to_string();
                self.changes_bounds |=
                    text.contains("strategy") || kind == PatchKind::Json && text.contains("replicas");
                self.replicas.extend(patch["spec"]["replicas"].as_i64());
            }
            DeclaredChange::Scale(_, replicas) => {
                self.replicas.insert(replicas.into());
            }
            _ => {}
        }
    }

    /// Whether this Deployment has other bounds once it is one of these workloads.
    fn differ(&self, deployment: &Value, workload: &Workload) -> bool {
        self.replicas.iter().any(|replicas| {
            let mut own = deployment.clone();
            own["spec"]["replicas"] = json!(replicas);
            let mut promised = own.clone();
            workload.as_workload(&mut promised);
            workload.as_deployment(&mut promised);
            Bounds::of(&own) != Bounds::of(&promised)
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::same("maxSurge: 1, maxUnavailable: 0", "set: {image: 'app:2'}", true, false)]
    #[case::same_after_rounding("maxSurge: 20%, maxUnavailable: 0", "scale: 5", true, false)]
    #[case::other_surge("maxSurge: 3, maxUnavailable: 0", "set: {image: 'app:2'}", true, true)]
    #[case::defaults("paused: false", "set: {image: 'app:2'}", true, true)]
    #[case::other_when_scaled("maxSurge: 20%, maxUnavailable: 0", "scale: 6", true, true)]
    #[case::strategy_changes(
        "maxSurge: 1, maxUnavailable: 0",
        "patch: {target: deployment/web, patch: {spec: {strategy: {rollingUpdate: {maxSurge: 2}}}}}",
        true,
        true
    )]
    #[case::within_another_step(
        "maxSurge: 20%, maxUnavailable: 0",
        "together: [{scale: 6}, {set: {image: 'app:2'}}]",
        true,
        true
    )]
    #[case::sizes_are_not_claimed("maxSurge: 3", "set: {image: 'app:2'}", false, false)]
    fn case_with_other_bounds_is_known(
        #[case] fields: &str,
        #[case] step: &str,
        #[case] claims_sizes: bool,
        #[case] expected: bool,
    ) {
        let text = format!(
            "description: x\ngiven:\n  - deployment: {{name: web, replicas: 4, image: 'app:1', {fields}}}\nsteps:\n  - {step}\n"
        );
        let case = lockstep_case::parse("cases/a/b.yaml", "a/b", &text).unwrap();
        let unclaimed: &[&str] = if claims_sizes { &[] } else { &["replicasets.sizes"] };
        let workload = Workload::from_json(json!({
            "apiVersion": "example.org/v1", "kind": "WebApp", "plural": "webapps", "paths": {"/spec/strategy": null},
            "bounds": {"maxSurge": 1, "maxUnavailable": 0}, "unclaimed": unclaimed,
        }))
        .unwrap();
        assert_eq!(has_other_bounds(&case, &workload), expected);
    }
}
