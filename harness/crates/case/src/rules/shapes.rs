//! The fields of objects as rules see them. A shape is closed if a misspelt field would otherwise
//! be found only while a case runs, and open if the API has too many fields to list (a pod's spec
//! and status).
//!
//! A field that is listed here may be absent at a frame: the API omits empty values, so a rule
//! should check `has(…)` first.

/// An object, or a part of one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ObjectShape {
    /// A description: `a Deployment's spec`.
    pub(super) label: &'static str,
    /// Its fields, sorted as in the API's documentation.
    pub(super) fields: &'static [(&'static str, FieldKind)],
    /// Whether it may have other fields.
    pub(super) open: bool,
}

/// The type of a field.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FieldKind {
    /// Anything.
    Any,
    Bool,
    Int,
    Text,
    /// A list of strings.
    Texts,
    /// A map of strings.
    Labels,
    /// A map of anything.
    Map,
    /// A nested shape.
    One(&'static ObjectShape),
    /// A list of nested shapes.
    Many(&'static ObjectShape),
}

use FieldKind::{Any, Bool, Int, Labels, Many, Map, One, Text, Texts};

const OWNER: ObjectShape = ObjectShape {
    label: "an owner reference",
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

const METADATA: ObjectShape = ObjectShape {
    label: "metadata",
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

const TEMPLATE: ObjectShape =
    ObjectShape { label: "a pod template", fields: &[("metadata", One(&METADATA)), ("spec", Any)], open: false };

const SELECTOR: ObjectShape =
    ObjectShape { label: "a selector", fields: &[("matchExpressions", Any), ("matchLabels", Labels)], open: false };

const CONDITION: ObjectShape = ObjectShape {
    label: "a condition",
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

const ROLLING: ObjectShape =
    ObjectShape { label: "`rollingUpdate`", fields: &[("maxSurge", Any), ("maxUnavailable", Any)], open: false };
const STRATEGY: ObjectShape =
    ObjectShape { label: "a strategy", fields: &[("rollingUpdate", One(&ROLLING)), ("type", Text)], open: false };

const DEPLOYMENT_SPEC: ObjectShape = ObjectShape {
    label: "a Deployment's spec",
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
const DEPLOYMENT_STATUS: ObjectShape = ObjectShape {
    label: "a Deployment's status",
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
pub(super) const DEPLOYMENT: ObjectShape = ObjectShape {
    label: "a Deployment",
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

const REPLICA_SET_SPEC: ObjectShape = ObjectShape {
    label: "a ReplicaSet's spec",
    fields: &[("minReadySeconds", Int), ("replicas", Int), ("selector", One(&SELECTOR)), ("template", One(&TEMPLATE))],
    open: false,
};
const REPLICA_SET_STATUS: ObjectShape = ObjectShape {
    label: "a ReplicaSet's status",
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
pub(super) const REPLICA_SET: ObjectShape = ObjectShape {
    label: "a ReplicaSet",
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

const POD_SPEC: ObjectShape = ObjectShape { label: "a pod's spec", fields: &[("nodeName", Text)], open: true };
const POD_STATUS: ObjectShape =
    ObjectShape { label: "a pod's status", fields: &[("conditions", Many(&CONDITION)), ("phase", Text)], open: true };
/// A pod.
pub(super) const POD: ObjectShape = ObjectShape {
    label: "a pod",
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

/// The spec of a workload other than a Deployment: rules are about its template, and a CronJob has
/// one within its Job template.
const OTHER_SPEC: ObjectShape = ObjectShape {
    label: "a workload's spec",
    fields: &[("replicas", Int), ("selector", One(&SELECTOR)), ("template", One(&TEMPLATE))],
    open: true,
};
/// A StatefulSet, DaemonSet, Job, CronJob or Rollout.
pub(super) const WORKLOAD: ObjectShape = ObjectShape {
    label: "a workload",
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
pub(super) const CONFIG_MAP: ObjectShape = ObjectShape {
    label: "a ConfigMap",
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

const NAME_ALONE: ObjectShape =
    ObjectShape { label: "a Secret's metadata, of which rules see the name", fields: &[("name", Text)], open: false };
/// A Secret; rules see only its name.
pub(super) const SECRET: ObjectShape = ObjectShape {
    label: "a Secret, of which rules see the name",
    fields: &[("metadata", One(&NAME_ALONE)), ("name", Text)],
    open: false,
};
