//! What fields objects have, as rules see them: closed where a rule's slip of the pen would
//! otherwise only show while a case runs, open where the API has too many of them (a pod's spec and
//! status).
//!
//! Where a field is listed here it need not be there at every frame: the API leaves out what is
//! empty, and a rule asks `has(…)` first.

/// An object, or a part of one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// In words: `a Deployment's spec`.
    pub(super) what: &'static str,
    /// Its fields, sorted as the API's documentation has them.
    pub(super) fields: &'static [(&'static str, Slot)],
    /// Whether it has others.
    pub(super) open: bool,
}

/// What a field holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// Anything.
    Any,
    Bool,
    Int,
    Text,
    /// A list of texts.
    Texts,
    /// Texts by name.
    Labels,
    /// Anything by name.
    Map,
    /// A part.
    One(&'static Shape),
    /// A list of parts.
    Many(&'static Shape),
}

use Slot::{Any, Bool, Int, Labels, Many, Map, One, Text, Texts};

const OWNER: Shape = Shape {
    what: "an owner reference",
    fields: &[
        ("apiVersion", Text),
        ("blockOwnerDeletion", Bool),
        ("controller", Bool),
        ("kind", Text),
        ("name", Text),
        ("uid", Text),
    ],
    open: false,
};

const METADATA: Shape = Shape {
    what: "metadata",
    fields: &[
        ("annotations", Labels),
        ("creationTimestamp", Text),
        ("deletionGracePeriodSeconds", Int),
        ("deletionTimestamp", Text),
        ("finalizers", Texts),
        ("generateName", Text),
        ("generation", Int),
        ("labels", Labels),
        ("managedFields", Any),
        ("name", Text),
        ("namespace", Text),
        ("ownerReferences", Many(&OWNER)),
        ("resourceVersion", Text),
        ("selfLink", Text),
        ("uid", Text),
    ],
    open: false,
};

const TEMPLATE: Shape =
    Shape { what: "a pod template", fields: &[("metadata", One(&METADATA)), ("spec", Any)], open: false };

const SELECTOR: Shape =
    Shape { what: "a selector", fields: &[("matchExpressions", Any), ("matchLabels", Labels)], open: false };

const CONDITION: Shape = Shape {
    what: "a condition",
    fields: &[
        ("lastProbeTime", Any),
        ("lastTransitionTime", Text),
        ("lastUpdateTime", Text),
        ("message", Text),
        ("observedGeneration", Int),
        ("reason", Text),
        ("status", Text),
        ("type", Text),
    ],
    open: false,
};

const ROLLING: Shape =
    Shape { what: "`rollingUpdate`", fields: &[("maxSurge", Any), ("maxUnavailable", Any)], open: false };
const STRATEGY: Shape =
    Shape { what: "a strategy", fields: &[("rollingUpdate", One(&ROLLING)), ("type", Text)], open: false };

const DEPLOYMENT_SPEC: Shape = Shape {
    what: "a Deployment's spec",
    fields: &[
        ("minReadySeconds", Int),
        ("paused", Bool),
        ("progressDeadlineSeconds", Int),
        ("replicas", Int),
        ("revisionHistoryLimit", Int),
        ("selector", One(&SELECTOR)),
        ("strategy", One(&STRATEGY)),
        ("template", One(&TEMPLATE)),
    ],
    open: false,
};
const DEPLOYMENT_STATUS: Shape = Shape {
    what: "a Deployment's status",
    fields: &[
        ("availableReplicas", Int),
        ("collisionCount", Int),
        ("conditions", Many(&CONDITION)),
        ("observedGeneration", Int),
        ("readyReplicas", Int),
        ("replicas", Int),
        ("terminatingReplicas", Int),
        ("unavailableReplicas", Int),
        ("updatedReplicas", Int),
    ],
    open: false,
};
/// A Deployment.
pub(super) const DEPLOYMENT: Shape = Shape {
    what: "a Deployment",
    fields: &[
        ("apiVersion", Text),
        ("kind", Text),
        ("metadata", One(&METADATA)),
        ("name", Text),
        ("spec", One(&DEPLOYMENT_SPEC)),
        ("status", One(&DEPLOYMENT_STATUS)),
    ],
    open: false,
};

const REPLICA_SET_SPEC: Shape = Shape {
    what: "a ReplicaSet's spec",
    fields: &[("minReadySeconds", Int), ("replicas", Int), ("selector", One(&SELECTOR)), ("template", One(&TEMPLATE))],
    open: false,
};
const REPLICA_SET_STATUS: Shape = Shape {
    what: "a ReplicaSet's status",
    fields: &[
        ("availableReplicas", Int),
        ("conditions", Many(&CONDITION)),
        ("fullyLabeledReplicas", Int),
        ("observedGeneration", Int),
        ("readyReplicas", Int),
        ("replicas", Int),
        ("terminatingReplicas", Int),
    ],
    open: false,
};
/// A ReplicaSet.
pub(super) const REPLICA_SET: Shape = Shape {
    what: "a ReplicaSet",
    fields: &[
        ("apiVersion", Text),
        ("kind", Text),
        ("metadata", One(&METADATA)),
        ("name", Text),
        ("spec", One(&REPLICA_SET_SPEC)),
        ("status", One(&REPLICA_SET_STATUS)),
    ],
    open: false,
};

const POD_SPEC: Shape = Shape { what: "a pod's spec", fields: &[("nodeName", Text)], open: true };
const POD_STATUS: Shape =
    Shape { what: "a pod's status", fields: &[("conditions", Many(&CONDITION)), ("phase", Text)], open: true };
/// A pod.
pub(super) const POD: Shape = Shape {
    what: "a pod",
    fields: &[
        ("apiVersion", Text),
        ("kind", Text),
        ("metadata", One(&METADATA)),
        ("name", Text),
        ("spec", One(&POD_SPEC)),
        ("status", One(&POD_STATUS)),
    ],
    open: false,
};

/// Of a workload that is no Deployment: its template is what rules ask about, and a CronJob has one
/// within its Job's.
const OTHER_SPEC: Shape = Shape {
    what: "a workload's spec",
    fields: &[("replicas", Int), ("selector", One(&SELECTOR)), ("template", One(&TEMPLATE))],
    open: true,
};
/// A StatefulSet, DaemonSet, Job, CronJob or Rollout.
pub(super) const WORKLOAD: Shape = Shape {
    what: "a workload",
    fields: &[
        ("apiVersion", Text),
        ("kind", Text),
        ("metadata", One(&METADATA)),
        ("name", Text),
        ("spec", One(&OTHER_SPEC)),
        ("status", Map),
    ],
    open: false,
};

/// A ConfigMap.
pub(super) const CONFIG_MAP: Shape = Shape {
    what: "a ConfigMap",
    fields: &[
        ("apiVersion", Text),
        ("binaryData", Labels),
        ("data", Labels),
        ("immutable", Bool),
        ("kind", Text),
        ("metadata", One(&METADATA)),
        ("name", Text),
    ],
    open: false,
};

const NAME_ALONE: Shape =
    Shape { what: "a Secret's metadata, of which rules see the name", fields: &[("name", Text)], open: false };
/// A Secret, of which rules see the name alone.
pub(super) const SECRET: Shape = Shape {
    what: "a Secret, of which rules see the name",
    fields: &[("metadata", One(&NAME_ALONE)), ("name", Text)],
    open: false,
};
