//! What the short words of a timeline stand for, so that a reader of one need not read a page first.

use super::decide::SHORT_NAMES;
use super::object::OWN_PREFIX;

/// What stands in a timeline, and what it means.
const SIGNS: [(&str, &str); 15] = [
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
];

/// The key of the annotation that a timeline gives this short name: `desired` stands for `deployment.kubernetes.io/desired-replicas`.
#[must_use]
pub fn annotation(short: &str) -> Option<String> {
    let (key, _) = SHORT_NAMES.into_iter().find(|(_, name)| *name == short)?;
    Some(format!("{OWN_PREFIX}{key}"))
}

/// The whole legend, a line each.
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
    use super::*;

    #[test]
    fn a_short_name_has_the_key_of_its_annotation() {
        assert_eq!(annotation("desired").as_deref(), Some("deployment.kubernetes.io/desired-replicas"));
        assert_eq!(annotation("ready"), None);
        assert!(legend().contains("history="), "{}", legend());
    }
}
