//! Infers a case from a recording: what users and nodes did becomes steps, and the controllers
//! under test decide the rest.
//!
//! A recording of a live cluster has every version of every object, but no steps. Most versions
//! have only one possible author: only users change a Deployment's spec, only kubelets make pods
//! ready, only the controllers write a status, a ReplicaSet or a revision. So the versions that no
//! controller can have written are the steps, in their order:
//!
//! * `live` is the state of the objects at one moment, whether the controllers had settled, and the
//!   translation of revisions into the case's. Things that happen before that are one step
//!   (`together`), as it is unknown in which order the controllers saw them.
//! * The initial objects are the case's `given`: each existing ReplicaSet is a template that was
//!   rolled out, the oldest revision first.
//! * `moves` finds what was done, and `timing` what was done because time had passed; `user_writes`
//!   writes the steps of users, `template` their changes of pod templates, and `steps` combines all
//!   steps, each a `step_text`. It also lists the possible orders of concurrent things.
//! * `foreign` handles writes of other clients to ReplicaSets.
//! * `marks` marks each step in the recording, so that it can be judged as if the case had been
//!   run.
//!
//! Pure: a recording goes in, a case and a recording come out. What a case cannot express becomes a
//! comment in it.
//!
//! Limits: one Deployment; pods that differ only in their readiness; the template is represented by
//! one container with its image and variables.

mod foreign;
mod live;
mod marks;
mod moves;
mod step_text;
mod steps;
mod template;
mod timing;
mod user_writes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use lockstep_case::{Case, CaseError, LONGEST_NAME, parse};
use lockstep_recording::{ChangeType, ObjectVersion, Recording, RecordingEntry, Settling};
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::StepId;
pub use marks::staged;
use serde_json::Value;
pub use steps::{Arrangement, Arrangements, arrangements};

use self::live::{
    DEPLOYMENT, FOREGROUND, LiveObjects, POD, REPLICA_SET, Revisions, deployments, has_finalizer, int, is_deleting,
    ready_since, text, uid, versions,
};
use self::marks::{Marking, annotate_recording, mark_recording};
use self::moves::{Scan, ScanResult};
use self::step_text::StepText;
use self::steps::InferredStep;
use self::template::CaseTemplates;
use self::user_writes::{creation, finalizer_step, finalizers};

/// A case, and the recording that it was inferred from, with a mark for each step.
#[derive(Debug, Clone)]
pub struct InferredCase {
    /// The case, whose `source` is the text of its file.
    pub case: Arc<Case>,
    /// The recording, as if the case had been run.
    pub recording: Recording,
    /// The recording as it is, with a mark for each step.
    pub annotated: Recording,
    /// The steps in which several things happened before the controllers had settled, and how many:
    /// the decisions in between are chance.
    pub concurrent: BTreeMap<StepId, usize>,
    /// The steps after which the next one begins before the controllers have settled: the state in
    /// between is chance.
    pub unsettled: BTreeSet<StepId>,
    /// The last step, if the recording ends before the controllers have settled: it may lack
    /// decisions.
    pub incomplete_step: Option<StepId>,
    /// The step from which on the recording lacks something that matters, and what: why pods were
    /// refused, or when a quota was free.
    pub unknown: Option<(StepId, String)>,
    /// The case's text before its steps.
    head: String,
    /// The text of each step.
    steps: Vec<String>,
}

impl InferredCase {
    /// The number of steps of the case.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The case with only these of its steps, numbered from 0.
    ///
    /// # Errors
    /// [`InferError::Invalid`]: a step depends on one that was removed.
    pub fn with_steps(&self, indexes: &BTreeSet<usize>) -> Result<Arc<Case>, InferError> {
        let steps = self.steps.iter().enumerate().filter(|(at, _)| indexes.contains(at));
        let source: String = self.head.clone() + &steps.map(|(_, step)| step.as_str()).collect::<String>();
        Ok(Arc::new(parse(&self.case.path, &self.case.name, &source)?))
    }
}

/// Why no case can be inferred from a recording.
#[derive(Debug, thiserror::Error)]
pub enum InferError {
    /// The recording has no Deployment.
    #[error("the recording shows no Deployment, so there is nothing that a case could be about")]
    NoDeployment,
    /// The recording has several Deployments.
    #[error("the recording shows several Deployments ({0}); capture one of them at a time")]
    Several(String),
    /// The Deployment's name is too long for a case.
    #[error("the Deployment's name has {0} letters, and a case allows 63; `capture --anonymise` gives it a short one")]
    LongName(usize),
    /// Nothing happened.
    #[error(
        "nothing happens in the recording: no user changed the Deployment, and no pod became ready, failed or went"
    )]
    Nothing,
    /// The inferred case is invalid.
    #[error("what was inferred is not a valid case; please report this with the recording:\n{0}")]
    Invalid(#[from] CaseError),
}

/// Infer a case called `area/name` from a recording. The things of concurrent steps are arranged as
/// `arranged` says.
///
/// # Errors
/// See [`InferError`].
pub fn infer(recording: &Recording, name: &str, arranged: &Arrangements) -> Result<InferredCase, InferError> {
    one_deployment(recording)?;
    let terminates = recreates(recording);
    let stage = settled_after(recording, stage(recording), terminates);
    let mut live = LiveObjects::new(terminates);
    let mut there: Vec<&ObjectVersion> = versions(&recording.entries[..stage]).collect();
    there.sort_by_key(|version| live::revision(&version.object));
    for version in there {
        live.apply(version);
    }
    let given = GivenSteps::of(&live, terminates);
    let scan = Scan::new(live, given.revisions.clone(), given.templates.clone(), terminates, recording);
    let ScanResult { happenings, settled, unknown } = scan.scan(recording, stage);
    let timed = deployments(recording).any(|object| int(object, "/spec/minReadySeconds") > 0);
    let mut steps = steps::steps(&happenings, arranged, timed);
    if steps.is_empty() {
        return Err(InferError::Nothing);
    }
    let unknown = unknown.map(|(entry, why)| (steps.iter().rposition(|step| step.begins_by(entry)).unwrap_or(0), why));
    if let Some((at, why)) = &unknown {
        steps[*at].doubt(why);
    }
    let head = head(recording, &given, terminates);
    let texts: Vec<String> = steps.iter().map(text_of).collect();
    let case = parse(&format!("{name}.yaml"), name, &(head.clone() + &texts.concat()))?;
    let is_cut = !settled && !ends_settled(recording);
    let foreign_entries: BTreeSet<usize> =
        happenings.iter().filter(|one| one.is_recorded()).map(|one| one.entry).collect();
    let (revisions, is_settled) = (&given.revisions, !is_cut);
    let marking =
        Marking { case: &case, steps: &steps, foreign_entries: &foreign_entries, revisions, terminates, is_settled };
    let annotated = annotate_recording(recording, stage, &marking);
    let recording = mark_recording(recording, stage, &marking);
    let ids = || (1..).zip(&steps).map(|(index, step)| (last_part(index, step), step));
    let concurrent = ids().filter(|(_, step)| step.is_concurrent()).map(|(id, step)| (id, step.things.len())).collect();
    let unsettled = ids().filter(|(_, step)| step.is_left).map(|(id, _)| id).collect();
    let incomplete_step = ids().last().filter(|_| is_cut).map(|(id, _)| id);
    let unknown = unknown.map(|(at, why)| (StepId { index: u32::try_from(at + 1).unwrap_or(u32::MAX), part: 0 }, why));
    Ok(InferredCase {
        case: Arc::new(case),
        recording,
        annotated,
        concurrent,
        unsettled,
        incomplete_step,
        unknown,
        head,
        steps: texts,
    })
}

/// The case's text before its steps.
fn head(recording: &Recording, given: &GivenSteps, terminates: bool) -> String {
    let header = &recording.header;
    let (deployment, cluster) = (name_of_deployment(recording), header.cluster.title());
    let mut out = format!("# Inferred from a recording of {}, {cluster}.\n", header.started);
    out += "# Left out: what the containers are, beyond the image and the variables of the first.\n";
    let _ = writeln!(out, "description: What was done to deployment {deployment} in a recording.");
    if terminates {
        out += "terminations: held\n";
    }
    if !given.steps.is_empty() {
        out += "given:\n";
        given.steps.iter().for_each(|step| out += &line(&step.step, step.note.iter()));
    }
    out + "steps:\n"
}

fn text_of(step: &InferredStep) -> String {
    let label = step.label.as_ref().map(|label| format!("    label: {label}\n"));
    line(&step.line, step.notes.iter()) + &label.unwrap_or_default()
}

fn line<'a>(step: &str, notes: impl Iterator<Item = &'a String>) -> String {
    // A server's message may have several lines.
    let notes = notes.flat_map(|note| note.lines()).map(|note| format!("  # {note}\n"));
    notes.collect::<String>() + &format!("  - {step}\n")
}

/// The number of entries with the initial objects: up to the first settling.
fn stage(recording: &Recording) -> usize {
    let first =
        recording.entries.iter().position(|entry| matches!(entry, RecordingEntry::Step(mark) if mark.index > 0));
    let given = &recording.entries[..first.unwrap_or(recording.entries.len())];
    let settled = match first {
        Some(_) => given.iter().rposition(|entry| matches!(entry, RecordingEntry::Settled(_))),
        None => given.iter().position(|entry| matches!(entry, RecordingEntry::Settled(_))),
    };
    let stage = settled.map_or(0, |at| at + 1);
    // A Deployment that no controller has seen yet is created by a step, and so is everything
    // before it.
    let is_seen = |version: &ObjectVersion| match version.kind.as_str() {
        DEPLOYMENT => int(&version.object, "/status/observedGeneration") > 0,
        kind => [REPLICA_SET, POD].contains(&kind),
    };
    let there = || versions(&recording.entries[..stage]);
    if there().any(|version| version.kind == DEPLOYMENT) && there().any(is_seen) { stage } else { 0 }
}

/// The number of entries with the initial objects, after the controllers have updated the statuses:
/// the recording of a live cluster may begin before that. Returns `stage` unchanged if a user
/// writes in between.
fn settled_after(recording: &Recording, stage: usize, terminates: bool) -> usize {
    if stage == 0 || recording.entries.iter().any(|entry| matches!(entry, RecordingEntry::Step(_))) {
        return stage;
    }
    let mut live = LiveObjects::new(terminates);
    for version in versions(&recording.entries[..stage]) {
        live.apply(version);
    }
    let asked = |live: &LiveObjects<'_>| {
        let deployment = live.deployment();
        deployment.map(|one| (int(one, "/metadata/generation"), user_writes::user_annotations(one)))
    };
    let first = asked(&live);
    for (at, entry) in recording.entries.iter().enumerate().skip(stage) {
        if live.has_settled() {
            return at;
        }
        if let RecordingEntry::Object(version) = entry {
            live.apply(version);
        }
        if asked(&live) != first {
            return stage;
        }
    }
    stage
}

/// The last sub-step of a step.
fn last_part(index: u32, step: &InferredStep) -> StepId {
    let parts = u32::try_from(step.entries.len()).unwrap_or(u32::MAX);
    StepId { index, part: if parts > 1 { parts } else { 0 } }
}

/// Whether the recording says that the controllers had settled at its end.
fn ends_settled(recording: &Recording) -> bool {
    let last = recording
        .entries
        .iter()
        .rev()
        .find(|entry| matches!(entry, RecordingEntry::Settled(_) | RecordingEntry::Object(_)));
    matches!(last, Some(RecordingEntry::Settled(Settling { unsettled: None, .. })))
}

fn name_of_deployment(recording: &Recording) -> &str {
    deployments(recording).next().map_or("", |object| text(object, "/metadata/name"))
}

fn one_deployment(recording: &Recording) -> Result<(), InferError> {
    let names: BTreeSet<&str> = deployments(recording).map(|object| text(object, "/metadata/name")).collect();
    match *names.into_iter().collect::<Vec<_>>() {
        [] => Err(InferError::NoDeployment),
        [name] if name.len() > LONGEST_NAME => Err(InferError::LongName(name.len())),
        [_] => Ok(()),
        ref several => Err(InferError::Several(several.join(", "))),
    }
}

/// Whether a Recreate or a foreground deletion waits for pods to be gone, so that their end is a
/// step. It is not a step if they are gone at once.
fn recreates(recording: &Recording) -> bool {
    let mut going: BTreeMap<&str, u64> = BTreeMap::new();
    let lingers = versions(&recording.entries).filter(|version| version.kind == POD).any(|version| {
        let name = version.name.as_str();
        if version.change == ChangeType::Deleted {
            return going.remove(name).is_some_and(|since| version.at.saturating_sub(since) >= LINGERS);
        }
        if is_deleting(&version.object) {
            going.entry(name).or_insert(version.at);
        }
        false
    });
    let waits = |version: &ObjectVersion| {
        text(&version.object, "/spec/strategy/type") == "Recreate" || has_finalizer(&version.object, FOREGROUND)
    };
    (lingers || !going.is_empty()) && versions(&recording.entries).any(waits)
}

/// A pod whose deletion takes longer, in milliseconds, is recorded as terminating; so is one that
/// remains until the end.
const LINGERS: u64 = 500;

/// The beginning of the case, which creates the initial objects.
#[derive(Debug, Default)]
struct GivenSteps {
    steps: Vec<StepText>,
    /// Translates the cluster's revisions into the case's.
    revisions: Revisions,
    templates: CaseTemplates,
}

impl GivenSteps {
    /// For the existing objects. With `terminates` the end of a pod's deletion is a step of its
    /// own.
    fn of(live: &LiveObjects<'_>, terminates: bool) -> Self {
        let Some(deployment) = live.deployment() else { return Self::default() };
        let mut sets: Vec<&Value> = live.sets().into_iter().filter(|set| live::revision(set).is_some()).collect();
        sets.sort_by_key(|set| live::revision(set));
        let name = text(deployment, "/metadata/name");
        let paused = deployment.at("/spec/paused") == Some(&Value::Bool(true));
        let mut steps = vec![StepText::plain(creation(deployment, sets.first().copied()))];
        let mut generation = 1;
        let wait = Some(int(deployment, "/spec/minReadySeconds")).filter(|seconds| *seconds > 0);
        let wait = || wait.map(|seconds| StepText::plain(format!("advance: {}s", seconds + 1)));
        let mut templates = CaseTemplates::default();
        templates.create(&live::template(sets.first().unwrap_or(&deployment)));
        for pair in sets.windows(2) {
            let [before, after] = pair else { continue };
            steps.push(StepText::plain("ready: {pods: all}"));
            steps.extend(wait());
            steps.push(templates.change(&live::template(before), &live::template(after), name).into_given_step());
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
            // A template that waits for the end of the pause has no ReplicaSet.
            let newest = sets.last().map(|set| live::template(set)).unwrap_or_default();
            let pending = live::template(deployment);
            if pending != newest {
                steps.push(templates.change(&newest, &pending, name).into_given_step());
                generation += 1;
            }
        }
        let has_finalizers = |object: &Value| !finalizers(object).is_empty();
        steps.extend(has_finalizers(deployment).then(|| finalizer_step(&format!("deployment/{name}"), deployment)));
        for (number, set) in (1..).zip(&sets).filter(|(_, set)| has_finalizers(set)) {
            steps.push(finalizer_step(&format!("replicaset/rs{number}"), set));
        }
        let revisions = Revisions::new(&sets, int(deployment, "/metadata/generation"), generation);
        Self { steps, revisions, templates }
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

#[cfg(test)]
mod tests;
