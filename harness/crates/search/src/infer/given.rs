//! The initial objects as the `given` of a case: each known template is rolled out, the oldest
//! revision first.

use lockstep_support::pointer::JsonPointer;
use serde_json::Value;

use super::live::{self, LiveObjects, Revisions, int, ready_since, text, uid};
use super::step_text::StepText;
use super::template::TemplateShape;
use super::user_writes::{creation, finalizer_step, finalizers};

/// The beginning of the case.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// Its steps.
    pub(super) steps: Vec<StepText>,
    /// Translates the cluster's revisions into the case's.
    pub(super) revisions: Revisions,
}

impl Given {
    /// For the existing objects. With `terminates` the end of a pod's deletion is a step of its
    /// own.
    pub(super) fn of(live: &LiveObjects<'_>, terminates: bool) -> Self {
        let Some(deployment) = live.deployment() else { return Self::default() };
        let mut sets: Vec<&Value> = live.sets().into_iter().filter(|set| live::revision(set).is_some()).collect();
        sets.sort_by_key(|set| live::revision(set));
        let name = text(deployment, "/metadata/name");
        let paused = deployment.at("/spec/paused") == Some(&Value::Bool(true));
        let mut steps = vec![StepText::plain(creation(deployment, sets.first().copied().unwrap_or(deployment)))];
        let mut generation = 1;
        if sets.is_empty() && paused {
            let step = steps.pop().map(|created| created.step).unwrap_or_default();
            steps.push(StepText::plain(format!("{}, paused: true}}", step.trim_end_matches('}'))));
        }
        let wait = Some(int(deployment, "/spec/minReadySeconds")).filter(|seconds| *seconds > 0);
        let wait = || wait.map(|seconds| StepText::plain(format!("advance: {}s", seconds + 1)));
        for (number, pair) in (2..).zip(sets.windows(2)) {
            let [before, after] = pair else { continue };
            steps.push(StepText::plain("ready: {pods: all}"));
            steps.extend(wait());
            let (before, after) =
                (TemplateShape::of(&live::template(before)), TemplateShape::of(&live::template(after)));
            let wording = before.change_to(&after, name, number);
            let note = wording.left_out.map(|places| format!("the template also differs in {places}"));
            steps.push(StepText::noted(wording.step, note));
            // A Recreate waits until the old pods are gone.
            if terminates && text(deployment, "/spec/strategy/type") == "Recreate" {
                steps.push(StepText::plain("terminate: {pods: all}"));
            }
            generation += 1;
        }
        let ready = readiness(live, &sets);
        let waits = ready.is_some();
        steps.extend(ready);
        steps.extend(wait().filter(|_| waits));
        if paused && !sets.is_empty() {
            steps.push(StepText::plain(format!("pause: {name}")));
            generation += 1;
        }
        let has_finalizers = |object: &Value| !finalizers(object).is_empty();
        steps.extend(has_finalizers(deployment).then(|| finalizer_step(&format!("deployment/{name}"), deployment)));
        for (number, set) in (1..).zip(&sets).filter(|(_, set)| has_finalizers(set)) {
            steps.push(finalizer_step(&format!("replicaset/rs{number}"), set));
        }
        let revisions = Revisions::new(&sets, int(deployment, "/metadata/generation"), generation);
        Self { steps, revisions }
    }
}

/// The step that makes as many pods of the newest ReplicaSet ready as were.
fn readiness(live: &LiveObjects<'_>, sets: &[&Value]) -> Option<StepText> {
    let newest = sets.last()?;
    let used = sets.iter().filter(|set| int(set, "/spec/replicas") > 0).count();
    let pods = live.pods(uid(newest));
    let ready = pods.iter().filter(|pod| ready_since(pod).is_some()).count();
    if used <= 1 && ready == pods.len() {
        return (ready > 0).then(|| StepText::plain("ready: {pods: all}"));
    }
    let note = Some(
        "the recording begins in the middle of a rollout; its sizes may have come about in another way".to_owned(),
    );
    (ready > 0).then(|| StepText::noted(format!("ready: {{pods: {ready}}}"), note))
}
