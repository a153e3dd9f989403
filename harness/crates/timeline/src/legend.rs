//! The meaning of the short words of a timeline, so that a reader does not need a page of
//! documentation first.

use super::decide::SHORT_NAMES;
use super::object::OWN_PREFIX;

/// What appears in a timeline, and its meaning.
const SIGNS: [(&str, &str); 33] = [
    ("given", "the objects that the case begins with, and what was decided about them"),
    ("step 2.1  ready 1", "the first part of step 2 of the case, and what was done in it"),
    ("      = …", "an object once the namespace had settled"),
    ("      ~ …", "what the case did in the middle of the step, between two requests"),
    ("      ! …", "an invariant that was broken"),
    (
        "rs1, rs2",
        "the ReplicaSets, named in the order in which they appear; `web/rs1` where there are several Deployments",
    ),
    ("rs2 created 1", "the ReplicaSet was created with spec.replicas 1"),
    ("rs1 3 -> 2", "spec.replicas went from 3 to 2"),
    ("= rs1 2/3", "spec.replicas 2, status.replicas 3"),
    ("= web 4", "status.replicas 4"),
    (
        "updated, ready, available, unavailable",
        "status.updatedReplicas, readyReplicas, availableReplicas, unavailableReplicas",
    ),
    ("generation=1/2", "status.observedGeneration 1, metadata.generation 2"),
    ("pods=3", "pods that are not being deleted"),
    (
        "Progressing=True(…)",
        "a condition: its status, and its reason; `incomplete` for the reasons of a rollout under way",
    ),
    ("×2", "the Event was reported twice"),
    (
        "rs1 pods  deleted=2",
        "two pods of the ReplicaSet were deleted; created=, adopted= and released= in the same way",
    ),
    ("odd=labels", "what of the new pods is not as the ReplicaSet's template says"),
    ("name=unusual", "the new ReplicaSet is not called DEPLOYMENT-HASH"),
    ("template=differs", "the new ReplicaSet has another pod template than the Deployment"),
    ("labels=, templateLabels=, selector=", "of a new ReplicaSet, where they are not the Deployment's and the hash"),
    ("owner=none", "no controller owns the ReplicaSet; `other`: one that is not a Deployment of the case"),
    ("blockOwnerDeletion=false", "the new ReplicaSet does not block the deletion of its owner"),
    ("annotations={…}", "annotations of a user's that were written; null for one that was removed"),
    ("spec.template=changed", "a field of the spec was written"),
    ("template.annotations=, template.env=", "annotations and variables of the pod template that were written"),
    ("finalizers=changed", "the finalizers were written; `some`: the new ReplicaSet has them"),
    ("otherOwners=changed", "owner references but the controller's were written; `some`: the new ReplicaSet has them"),
    ("minReadySeconds=30", "spec.minReadySeconds, where it is not 0"),
    ("fullyLabeled=1", "status.fullyLabeledReplicas, where it is not status.replicas"),
    ("terminating=, terminatingPods=", "status.terminatingReplicas, and the pods that are being deleted"),
    ("paused=true, deleting=true", "spec.paused; the deletion of the object has begun"),
    ("collisionCount=1", "status.collisionCount, where it is not 0"),
    ("message={…}", "what was sent to the webhook"),
];

/// The full key of the annotation with this short name: `desired` stands for
/// `deployment.kubernetes.io/desired-replicas`.
#[must_use]
pub fn annotation_key(short: &str) -> Option<String> {
    let (key, _) = SHORT_NAMES.into_iter().find(|(_, name)| *name == short)?;
    Some(format!("{OWN_PREFIX}{key}"))
}

/// The legend, one line for each sign.
#[must_use]
pub fn legend() -> String {
    let annotations =
        SHORT_NAMES.into_iter().map(|(key, short)| (format!("{short}="), format!("the annotation {OWN_PREFIX}{key}")));
    let signs = SIGNS.into_iter().map(|(sign, means)| (sign.to_owned(), means.to_owned()));
    let lines: Vec<(String, String)> = signs.chain(annotations).collect();
    let width = lines.iter().map(|(sign, _)| sign.chars().count()).max().unwrap_or(0);
    lines.iter().map(|(sign, means)| format!("  {sign:width$}  {means}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Timeline;
    use super::*;

    /// Conditions have the API's names, and fields of a spec their own.
    #[test]
    fn the_legend_explains_each_word_of_the_golden_timelines() {
        let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../cases")];
        let mut timelines = Vec::new();
        while let Some(folder) = folders.pop() {
            let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
            let (below, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
            folders.extend(below);
            timelines.extend(files.into_iter().filter(|path| path.extension().is_some_and(|it| it == "timeline")));
        }
        let (mut seen, legend) = (0, legend());
        for path in timelines {
            let timeline = Timeline::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let decided = timeline.steps.iter().flat_map(|step| &step.decisions).flat_map(|decision| &decision.details);
            let states = timeline.steps.iter().flat_map(|step| &step.checkpoint);
            let counted = states.flat_map(|state| &state.fields);
            for key in decided.chain(counted).map(|field| field.key.as_str()) {
                let is_condition = key.starts_with(|first: char| first.is_ascii_uppercase());
                let is_explained = is_condition || key.starts_with("spec.") || legend.contains(key);
                assert!(is_explained, "{}: {key}", path.display());
                seen += 1;
            }
        }
        assert!(seen > 1_000, "{seen}");
    }

    #[test]
    fn a_short_name_has_the_key_of_its_annotation() {
        assert_eq!(annotation_key("desired").as_deref(), Some("deployment.kubernetes.io/desired-replicas"));
        assert_eq!(annotation_key("ready"), None);
        assert!(legend().contains("history="), "{}", legend());
    }
}
