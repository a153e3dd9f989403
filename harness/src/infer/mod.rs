//! From a recording to a case: what users and nodes did becomes steps, and what the controllers did
//! is left to whoever plays the case.
//!
//! A recording of a live cluster has every version of every object and says nothing of steps. Most
//! versions have one possible author: only users change a Deployment's spec, only kubelets make
//! pods ready, only the controllers write a status, a ReplicaSet or a revision. So the versions
//! that no controller can have written are the steps, in their order:
//!
//! * `live` is the state of the objects at a moment, and whether the controllers had settled by
//!   then: what comes before they have is one step with what went before it (`together`), as it is
//!   not known in which order they saw the two.
//! * `given` makes what was there at the beginning: each ReplicaSet that is kept is a template that
//!   was rolled out.
//! * `moves` finds what was done, `timing` what was done because time had passed; `written` words
//!   what users wrote, `template` their changes of pod templates, `steps` makes steps of it.
//! * `foreign` is what others wrote of ReplicaSets; `refused` is why pods were not made, as far as
//!   a recording shows it.
//! * `arrange` has the other ways to put what came before the controllers had settled.
//! * `marks` puts a mark for each step into the recording, so that it can be judged as if the case
//!   had been played; `revisions` counts as the case does.
//!
//! Pure: a recording in, a case and a recording out. What the case cannot say is a comment in it.
//!
//! The borders: one Deployment; pods that are alike but for their readiness; a container and its
//! image and variables for the whole template.

mod arrange;
mod flow;
mod foreign;
mod given;
mod live;
mod marks;
mod moves;
mod refused;
mod revisions;
mod steps;
mod template;
mod timing;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Value;

pub use arrange::{Arrangement, Arrangements, arrangements};
pub use marks::{OTHERS, staged};

use self::given::Given;
use self::live::{DEPLOYMENT, Live, POD, REPLICA_SET, deployments, int, is_deleting, text, versions};
use self::marks::{Marking, annotated, marked};
use self::moves::{Scan, Scanned};
use self::steps::Step;
use crate::case::{Case, CaseError, LONGEST_NAME, parse};
use crate::pointer::At;
use crate::recording::{Change, Entry, Recording, Settling, Version};
use crate::timeline::StepId;

/// A case, and the recording that it was inferred from with a mark for each of its steps.
#[derive(Debug, Clone)]
pub struct Inferred {
    /// The case; its file's text is its `source`.
    pub case: Arc<Case>,
    /// The recording, as if the case had been played.
    pub recording: Recording,
    /// The recording as it is, with a mark for each step.
    pub annotated: Recording,
    /// The steps in which several things came before the controllers had settled, and how many:
    /// what was decided within them is chance.
    pub concurrent: BTreeMap<StepId, usize>,
    /// The steps after which the next begins before the controllers have settled: what is there in
    /// between is chance.
    pub left: BTreeSet<StepId>,
    /// The last step, if the recording ends before the controllers have settled: it may lack
    /// decisions.
    pub cut: Option<StepId>,
    /// The step from which on the recording lacks something that matters, and what: why pods were
    /// refused, or when a quota was free.
    pub unseen: Option<(StepId, String)>,
    /// The case's text up to its steps.
    head: String,
    /// The text of each step.
    steps: Vec<String>,
}

impl Inferred {
    /// How many steps the case has.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The case with these of its steps alone, numbered from 0.
    ///
    /// # Errors
    /// [`InferError::Invalid`]: a step asks for what one that is left out makes.
    pub fn only(&self, kept: &BTreeSet<usize>) -> Result<Arc<Case>, InferError> {
        let steps = self.steps.iter().enumerate().filter(|(at, _)| kept.contains(at));
        let source: String = self.head.clone() + &steps.map(|(_, step)| step.as_str()).collect::<String>();
        Ok(Arc::new(parse(&self.case.path, &self.case.name, &source)?))
    }
}

/// Why no case can be inferred from a recording.
#[derive(Debug, thiserror::Error)]
pub enum InferError {
    /// There is no Deployment in it.
    #[error("the recording shows no Deployment, so there is nothing that a case could be about")]
    NoDeployment,
    /// There are several.
    #[error("the recording shows several Deployments ({0}); capture one of them at a time")]
    Several(String),
    /// Its name is longer than those of a case.
    #[error("the Deployment's name has {0} letters, and a case allows 63; `capture --anonymise` gives it a short one")]
    LongName(usize),
    /// Nothing happened.
    #[error(
        "nothing happens in the recording: no user changed the Deployment, and no pod became ready, failed or went"
    )]
    Nothing,
    /// What was inferred is no valid case.
    #[error("what was inferred is not a valid case; please report this with the recording:\n{0}")]
    Invalid(#[from] CaseError),
}

/// Infer a case called `area/name` from a recording. Steps in which several things came before the
/// controllers had settled are put as `arranged` says.
///
/// # Errors
/// See [`InferError`].
pub fn infer(recording: &Recording, name: &str, arranged: &Arrangements) -> Result<Inferred, InferError> {
    one_deployment(recording)?;
    let terminates = recreates(recording);
    let stage = settled_after(recording, stage(recording), terminates);
    let mut live = Live::new(terminates);
    let mut there: Vec<&Version> = versions(&recording.entries[..stage]).collect();
    there.sort_by_key(|version| live::revision(&version.object));
    for version in there {
        live.apply(version);
    }
    let given = Given::of(&live, terminates);
    let scan = Scan::new(live, given.revisions.clone(), terminates, recording);
    let Scanned { happenings, settled, unseen } = scan.all(recording, stage);
    let timed = deployments(recording).any(|object| int(object, "/spec/minReadySeconds") > 0);
    let mut steps = steps::steps(&happenings, arranged, timed);
    if steps.is_empty() {
        return Err(InferError::Nothing);
    }
    let unseen = unseen.map(|(entry, why)| (steps.iter().rposition(|step| step.begins_by(entry)).unwrap_or(0), why));
    if let Some((at, why)) = &unseen {
        steps[*at].doubt(why);
    }
    let head = head(recording, &given, terminates);
    let texts: Vec<String> = steps.iter().map(text_of).collect();
    let case = parse(&format!("{name}.yaml"), name, &(head.clone() + &texts.concat()))?;
    let is_cut = !settled && !ends_settled(recording);
    let moved: BTreeSet<usize> = happenings.iter().filter(|one| one.is_recorded()).map(|one| one.entry).collect();
    let (revisions, is_settled) = (&given.revisions, !is_cut);
    let marking = Marking { case: &case, steps: &steps, moved: &moved, revisions, terminates, is_settled };
    let annotated = annotated(recording, stage, &marking);
    let recording = marked(recording, stage, &marking);
    let ids = || (1..).zip(&steps).map(|(index, step)| (last_part(index, step), step));
    let concurrent = ids().filter(|(_, step)| step.is_concurrent()).map(|(id, step)| (id, step.things.len())).collect();
    let left = ids().filter(|(_, step)| step.is_left).map(|(id, _)| id).collect();
    let cut = ids().last().filter(|_| is_cut).map(|(id, _)| id);
    let unseen = unseen.map(|(at, why)| (StepId { index: u32::try_from(at + 1).unwrap_or(u32::MAX), part: 0 }, why));
    Ok(Inferred { case: Arc::new(case), recording, annotated, concurrent, left, cut, unseen, head, steps: texts })
}

/// The case's file, up to its steps.
fn head(recording: &Recording, given: &Given, terminates: bool) -> String {
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

fn text_of(step: &Step) -> String {
    let label = step.label.as_ref().map(|label| format!("    label: {label}\n"));
    line(&step.line, step.notes.iter()) + &label.unwrap_or_default()
}

fn line<'a>(step: &str, notes: impl Iterator<Item = &'a String>) -> String {
    notes.map(|note| format!("  # {note}\n")).collect::<String>() + &format!("  - {step}\n")
}

/// How many entries show what was there at the beginning: up to the first time that all had
/// settled.
fn stage(recording: &Recording) -> usize {
    let first = recording.entries.iter().position(|entry| matches!(entry, Entry::Step(mark) if mark.index > 0));
    let given = &recording.entries[..first.unwrap_or(recording.entries.len())];
    let settled = match first {
        Some(_) => given.iter().rposition(|entry| matches!(entry, Entry::Settled(_))),
        None => given.iter().position(|entry| matches!(entry, Entry::Settled(_))),
    };
    let stage = settled.map_or(0, |at| at + 1);
    // A Deployment that no controller has seen yet is about to be created: that is a step, and so
    // is what came before it.
    let is_seen = |version: &Version| match version.kind.as_str() {
        DEPLOYMENT => int(&version.object, "/status/observedGeneration") > 0,
        kind => [REPLICA_SET, POD].contains(&kind),
    };
    let there = || versions(&recording.entries[..stage]);
    if there().any(|version| version.kind == DEPLOYMENT) && there().any(is_seen) { stage } else { 0 }
}

/// How many entries show what was there at the beginning, once the controllers have counted it: the
/// recording of a live cluster may begin while they do. As many as before where a user writes
/// meanwhile.
fn settled_after(recording: &Recording, stage: usize, terminates: bool) -> usize {
    if stage == 0 || recording.entries.iter().any(|entry| matches!(entry, Entry::Step(_))) {
        return stage;
    }
    let mut live = Live::new(terminates);
    for version in versions(&recording.entries[..stage]) {
        live.apply(version);
    }
    let asked = |live: &Live<'_>| {
        let deployment = live.deployment();
        deployment.map(|one| (int(one, "/metadata/generation"), written::user_annotations(one)))
    };
    let first = asked(&live);
    for (at, entry) in recording.entries.iter().enumerate().skip(stage) {
        if live.has_settled() {
            return at;
        }
        if let Entry::Object(version) = entry {
            live.apply(version);
        }
        if asked(&live) != first {
            return stage;
        }
    }
    stage
}

/// The last sub-step of a step.
fn last_part(index: u32, step: &Step) -> StepId {
    let parts = u32::try_from(step.entries.len()).unwrap_or(u32::MAX);
    StepId { index, part: if parts > 1 { parts } else { 0 } }
}

/// Whether the recording says that all had settled in its end.
fn ends_settled(recording: &Recording) -> bool {
    let last = recording.entries.iter().rev().find(|entry| matches!(entry, Entry::Settled(_) | Entry::Object(_)));
    matches!(last, Some(Entry::Settled(Settling { unsettled: None, .. })))
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

/// Whether a Recreate or a deletion in the foreground waits for pods to be gone, so that their end
/// is a step. It is none where they go at once.
fn recreates(recording: &Recording) -> bool {
    let mut going: BTreeMap<&str, u64> = BTreeMap::new();
    let lingers = versions(&recording.entries).filter(|version| version.kind == POD).any(|version| {
        let name = version.name.as_str();
        if version.change == Change::Deleted {
            return going.remove(name).is_some_and(|since| version.at.saturating_sub(since) >= LINGERS);
        }
        if is_deleting(&version.object) {
            going.entry(name).or_insert(version.at);
        }
        false
    });
    let waits = |version: &Version| {
        let finalizers = version.object.at("/metadata/finalizers").and_then(Value::as_array);
        text(&version.object, "/spec/strategy/type") == "Recreate"
            || finalizers.is_some_and(|all| all.iter().any(|one| one == "foregroundDeletion"))
    };
    (lingers || !going.is_empty()) && versions(&recording.entries).any(waits)
}

/// A pod that takes longer to go, in milliseconds, is seen going; so is one that is there until the
/// end.
const LINGERS: u64 = 500;

#[cfg(test)]
mod tests;
