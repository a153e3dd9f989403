//! The words of `claims` and `unclaimed`: what a controller can promise, in areas.
//!
//! The reader, the JSON schema, the messages about mistakes and the table in docs/workloads.md are
//! made from `PROMISES`.

use std::fmt::Write;

use self::Sign::{Condition, Invariant, Own, Set};

/// One thing that a controller can promise.
#[derive(Debug, Clone, Copy)]
pub struct Promise {
    /// What it belongs to.
    pub area: &'static str,
    /// Its own word; empty if it is all of its area.
    pub word: &'static str,
    /// What is promised.
    pub meaning: &'static str,
    /// What a timeline shows of it by words of its own.
    pub(super) signs: &'static [Sign<'static>],
    /// The Deployment's field without which nothing is promised; empty if there is none.
    pub(super) field: &'static str,
    /// The labels and areas of cases that are about it.
    needed_by: &'static [&'static str],
}

/// A word of a timeline, or an invariant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign<'a> {
    /// A key of what is decided about a ReplicaSet, and of its line at a checkpoint.
    Set(&'a str),
    /// The same for the workload itself.
    Own(&'a str),
    /// A condition of the workload.
    Condition(&'a str),
    /// An invariant.
    Invariant(&'a str),
}

impl Promise {
    const fn new(
        area: &'static str,
        word: &'static str,
        meaning: &'static str,
        signs: &'static [Sign<'static>],
    ) -> Self {
        Self { area, word, meaning, signs, field: "", needed_by: &[] }
    }

    const fn field(self, field: &'static str) -> Self {
        Self { field, ..self }
    }

    const fn needed_by(self, cases: &'static [&'static str]) -> Self {
        Self { needed_by: cases, ..self }
    }

    /// How a description names it: `status.ready`, `events`.
    pub fn name(&self) -> String {
        if self.word.is_empty() { self.area.to_owned() } else { format!("{}.{}", self.area, self.word) }
    }

    /// Whether a word of a description includes it: its name, or its area's.
    pub(super) fn is_in(&self, word: &str) -> bool {
        word.strip_prefix(self.area).is_some_and(|rest| match rest.strip_prefix('.') {
            Some(own) => own == self.word,
            None => rest.is_empty(),
        })
    }

    /// The labels and areas of cases that are about it.
    pub(super) fn cases(&self) -> impl Iterator<Item = &'static str> {
        self.needed_by.iter().copied()
    }
}

/// All promises, by area.
pub(super) static PROMISES: [Promise; 40] = [
    Promise::new("replicasets", "creation", "a template gets a ReplicaSet; every description claims it", &[]),
    Promise::new("replicasets", "sizes", "how many pods each ReplicaSet wants", &[]),
    Promise::new("replicasets", "initial-size", "a ReplicaSet is created with its size, not scaled at once", &[]),
    Promise::new("replicasets", "order", "the order of changes within a step, and the number of writes", &[]),
    Promise::new("replicasets", "adoption", "selected ReplicaSets are adopted, others released", &[Set("owner")])
        .needed_by(&["adoption"]),
    Promise::new("replicasets", "name", "a ReplicaSet is called NAME-HASH", &[Set("name")]),
    Promise::new(
        "replicasets",
        "minReadySeconds",
        "a ReplicaSet has the workload's minReadySeconds",
        &[Set("minReadySeconds")],
    )
    .field("/spec/minReadySeconds")
    .needed_by(&["minReadySeconds"]),
    Promise::new(
        "replicasets",
        "blockOwnerDeletion",
        "a ReplicaSet blocks the deletion of its owner",
        &[Set("blockOwnerDeletion")],
    ),
    Promise::new(
        "replicasets",
        "fields",
        "its labels, selector, template and other fields",
        &[Set("labels"), Set("templateLabels"), Set("selector"), Set("template")],
    ),
    Promise::new(
        "replicasets",
        "pods",
        "how many pods it has, and what its status counts",
        &[Set("ready"), Set("available"), Set("fullyLabeled"), Set("terminating"), Set("pods"), Set("terminatingPods")],
    ),
    Promise::new("history", "", "old ReplicaSets beyond revisionHistoryLimit are deleted", &[])
        .field("/spec/revisionHistoryLimit")
        .needed_by(&["revisionHistoryLimit", "history"]),
    Promise::new(
        "revisions",
        "",
        "the annotation `revision` of ReplicaSets and workload",
        &[Set("revision"), Own("revision"), Invariant("revision")],
    )
    .needed_by(&["undo", "revision"]),
    Promise::new("rollback", "", "the annotation deprecated.deployment.rollback.to rolls back", &[])
        .needed_by(&["rollback"]),
    Promise::new("annotations", "desired", "the annotation `desired-replicas` of ReplicaSets", &[Set("desired")]),
    Promise::new("annotations", "max", "the annotation `max-replicas` of ReplicaSets", &[Set("max")]),
    Promise::new("annotations", "history", "the annotation `revision-history` of ReplicaSets", &[Set("history")]),
    Promise::new("annotations", "copied", "ReplicaSets get the workload's annotations", &[Set("annotations")]),
    Promise::new("status", "replicas", "status.replicas", &[Own("replicas")]).field("/status/replicas"),
    Promise::new("status", "updated", "status.updatedReplicas", &[Own("updated")]).field("/status/updatedReplicas"),
    Promise::new("status", "ready", "status.readyReplicas", &[Own("ready")]).field("/status/readyReplicas"),
    Promise::new("status", "available", "status.availableReplicas", &[Own("available")])
        .field("/status/availableReplicas"),
    Promise::new("status", "unavailable", "status.unavailableReplicas", &[Own("unavailable")])
        .field("/status/unavailableReplicas"),
    Promise::new("status", "terminating", "status.terminatingReplicas", &[Own("terminating")])
        .field("/status/terminatingReplicas"),
    Promise::new("status", "generation", "status.observedGeneration", &[Own("generation")])
        .field("/status/observedGeneration"),
    Promise::new("status", "collisionCount", "status.collisionCount", &[Own("collisionCount")])
        .field("/status/collisionCount"),
    Promise::new("conditions", "Available", "the condition Available", &[Condition("Available")])
        .field("/status/conditions"),
    Promise::new("conditions", "Progressing", "the condition Progressing", &[Condition("Progressing")])
        .field("/status/conditions"),
    Promise::new("conditions", "ReplicaFailure", "the condition ReplicaFailure", &[Condition("ReplicaFailure")])
        .field("/status/conditions"),
    Promise::new("conditions", "others", "no condition of another type", &[]).field("/status/conditions"),
    Promise::new("deadline", "", "a rollout without progress is reported after progressDeadlineSeconds", &[])
        .field("/spec/progressDeadlineSeconds")
        .needed_by(&["progressDeadlineSeconds", "deadline"]),
    Promise::new("events", "", "the workload's Events", &[]),
    Promise::new("bounds", "surge", "at most replicas + maxSurge pods are wanted", &[Invariant("surge")])
        .field("/spec/strategy/rollingUpdate/maxSurge"),
    Promise::new(
        "bounds",
        "availability",
        "at least replicas - maxUnavailable pods stay available",
        &[Invariant("availability")],
    )
    .field("/spec/strategy/rollingUpdate/maxUnavailable"),
    Promise::new("pause", "", "a paused workload gets no new ReplicaSet", &[Own("paused"), Invariant("paused")])
        .field("/spec/paused")
        .needed_by(&["pause", "resume", "paused"]),
    Promise::new("invariants", "one-template", "a template has one ReplicaSet", &[Invariant("one-template")]),
    Promise::new("invariants", "ownership", "what another owner has stays as it is", &[Invariant("ownership")]),
    Promise::new(
        "invariants",
        "completion",
        "a rollout is not reported as complete too early",
        &[Invariant("completion")],
    ),
    Promise::new("invariants", "silence", "nothing is written after the last step", &[Invariant("silence")]),
    Promise::new("rules", "cel", "the rules of a case", &[]).needed_by(&["rules"]),
    Promise::new("rules", "pods", "the pods that a case expects to live on", &[]),
];

pub(super) fn find_promise(name: &str) -> Option<&'static Promise> {
    let (area, word) = name.split_once('.').unwrap_or((name, ""));
    PROMISES.iter().find(|promise| promise.area == area && promise.word == word)
}

/// The area of a sign; of one without a promise of its own, that of its kind.
pub fn area_of(sign: Sign<'_>) -> &'static str {
    let promise = PROMISES.iter().find(|promise| promise.signs.contains(&sign));
    promise.map_or(
        match sign {
            Set(_) => "replicasets",
            Own(_) => "status",
            Condition(_) => "conditions",
            Invariant(_) => "invariants",
        },
        |promise| promise.area,
    )
}

/// Whether cases with this label, or of this area of cases, are about an area of promises.
pub fn is_needed_by(area: &str, label: &str) -> bool {
    PROMISES.iter().any(|promise| promise.area == area && promise.needed_by.contains(&label))
}

/// The areas, in order.
pub fn areas() -> impl Iterator<Item = &'static str> {
    let mut before = "";
    PROMISES.iter().map(|promise| promise.area).filter(move |area| std::mem::replace(&mut before, *area) != *area)
}

/// All words of a description: the areas, and the promises of those with several.
pub fn words() -> Vec<String> {
    let own = |area: &'static str| {
        let parts = PROMISES.iter().filter(move |it| it.area == area && !it.word.is_empty());
        std::iter::once(area.to_owned()).chain(parts.map(Promise::name))
    };
    areas().flat_map(own).collect()
}

/// Why this is not a word of a description; `None` if it is.
pub(super) fn mistake(word: &str) -> Option<String> {
    if PROMISES.iter().any(|promise| promise.is_in(word)) {
        return None;
    }
    let area = word.split('.').next().unwrap_or_default();
    let of_area: Vec<String> = PROMISES.iter().filter(|it| it.area == area).map(Promise::name).collect();
    let own: Vec<String> = PROMISES.iter().filter(|it| it.word == word).map(Promise::name).collect();
    let known = match (own.is_empty(), of_area.is_empty()) {
        (false, _) => own,
        (true, false) => of_area,
        (true, true) => areas().map(ToOwned::to_owned).collect(),
    };
    Some(format!("unknown `{word}`, expected {}", known.join(", ")))
}

/// The words as a table in Markdown.
#[must_use]
pub fn table() -> String {
    let mut table = "| claim | what is promised | words of a timeline | without it, left out are cases of |\n\
                     | --- | --- | --- | --- |\n"
        .to_owned();
    for promise in &PROMISES {
        let signs = promise.signs.iter().map(|sign| match sign {
            Set(word) | Own(word) | Condition(word) => format!("`{word}=`"),
            Invariant(word) => format!("invariant [`{word}`](timelines.md#invariants)"),
        });
        let mut signs: Vec<String> = signs.collect();
        signs.dedup();
        let cases: Vec<String> = promise.needed_by.iter().map(|label| format!("`{label}`")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} |",
            promise.name(),
            promise.meaning,
            signs.join(", "),
            cases.join(", ")
        );
    }
    table
}
