//! The words of Kubernetes that stay in an anonymised recording: fields of Deployments, ReplicaSets
//! and pods, and the values that upstream itself gives them.

/// The fields that replay and timelines need. Labels, annotations, names, selectors and templates
/// are handled separately.
pub(super) const FIELDS: [&str; 39] = [
    // metadata
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
    "ownerReferences",
    "apiVersion",
    "kind",
    "controller",
    "blockOwnerDeletion",
    // spec
    "replicas",
    "minReadySeconds",
    "progressDeadlineSeconds",
    "revisionHistoryLimit",
    "paused",
    "strategy",
    "type",
    "rollingUpdate",
    "maxSurge",
    "maxUnavailable",
    "readinessGates",
    "conditionType",
    // status
    "observedGeneration",
    "readyReplicas",
    "availableReplicas",
    "updatedReplicas",
    "unavailableReplicas",
    "fullyLabeledReplicas",
    "terminatingReplicas",
    "collisionCount",
    "phase",
    "conditions",
    "status",
    "reason",
    "lastTransitionTime",
    "lastUpdateTime",
    "lastProbeTime",
];

/// The upstream programs that write these objects.
pub(super) const PROGRAMS: [&str; 6] =
    ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl", "others"];

/// The values that remain in a field.
pub(super) fn words(field: &str) -> &'static [&'static str] {
    match field {
        "apiVersion" => &["apps/v1", "v1", "batch/v1"],
        "kind" => &["Deployment", "ReplicaSet", "Pod", "StatefulSet", "DaemonSet", "Job", "Node"],
        "finalizers" => &["foregroundDeletion", "orphan"],
        "type" | "conditionType" => &TYPES,
        "phase" => &["Pending", "Running", "Succeeded", "Failed", "Unknown"],
        "status" => &["True", "False", "Unknown"],
        "reason" => &REASONS,
        _ => &[],
    }
}

/// Types of strategies and of conditions.
const TYPES: [&str; 13] = [
    "RollingUpdate",
    "Recreate",
    "Available",
    "Progressing",
    "ReplicaFailure",
    "PodScheduled",
    "PodReadyToStartContainers",
    "Initialized",
    "ContainersReady",
    "Ready",
    "DisruptionTarget",
    "PodResizePending",
    "PodResizeInProgress",
];

/// Reasons of conditions and of Events.
const REASONS: [&str; 32] = [
    "DeploymentPaused",
    "DeploymentResumed",
    "FoundNewReplicaSet",
    "MinimumReplicasAvailable",
    "MinimumReplicasUnavailable",
    "NewReplicaSetAvailable",
    "NewReplicaSetCreated",
    "ProgressDeadlineExceeded",
    "ReplicaSetCreateError",
    "ReplicaSetUpdated",
    "FailedCreate",
    "FailedDelete",
    "SuccessfulCreate",
    "SuccessfulDelete",
    "ScalingReplicaSet",
    "ContainersNotInitialized",
    "ContainersNotReady",
    "PodCompleted",
    "PodFailed",
    "ReadinessGatesNotReady",
    "UnknownContainerStatuses",
    "SchedulingGated",
    "Unschedulable",
    "DeletionByPodGC",
    "DeletionByTaintManager",
    "EvictionByEvictionAPI",
    "PreemptionByScheduler",
    "TerminationByKubelet",
    "Evicted",
    "NodeLost",
    "Preempting",
    "DeadlineExceeded",
];
