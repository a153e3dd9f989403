//! Names in the API: labels, annotations, condition types and reasons. Other programs depend on
//! their exact text.

/// Label on ReplicaSets and pods with the hash of the pod template.
pub const POD_TEMPLATE_HASH: &str = "pod-template-hash";

/// Revision of a ReplicaSet, and of the Deployment whose template it has.
pub const REVISION: &str = "deployment.kubernetes.io/revision";
/// Earlier revisions of a ReplicaSet that was reused, comma separated, oldest first.
pub const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// `spec.replicas` of the Deployment when the ReplicaSet was last scaled.
pub const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
/// `spec.replicas` plus maxSurge of the Deployment when the ReplicaSet was last scaled.
pub const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
/// Requests a rollback; a remnant of `extensions/v1beta1`.
pub const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
/// The object as last applied by `kubectl apply`.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The cost of deleting a pod; of two similar pods the cheaper one is deleted first.
pub const POD_DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Annotations that are never copied between a Deployment and its ReplicaSets (upstream:
/// `annotationsToSkip`).
pub const NOT_COPIED: [&str; 6] =
    [LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO];

/// Config restarts: xing's names, and those that this controller adds.
pub mod restart {
    /// On a workload, `enabled`: it is restarted when its configs change.
    pub const ENABLED: &str = "com.xing.deployment-restart";
    /// On a workload: the config checksums that its pods started with.
    pub const CHECKSUMS: &str = "com.xing.deployment-restart.applied-config-checksums";
    /// In a pod template: the trigger of the last restart.
    pub const TRIGGER: &str = "com.xing.deployment-restart.timestamp";
    /// On a workload: the times of recent restarts.
    pub const RESTARTS: &str = "com.xing.deployment-restart.recent-restarts";
    /// On a config, `true`: its changes restart no workload. On a workload: the configs whose
    /// changes do not restart it, `configmap/NAME` or `secret/NAME`, comma separated.
    pub const IGNORE: &str = "com.xing.deployment-restart.ignore";
    /// On a workload or on a namespace: when workloads may be restarted, `Mon-Fri 22:00-04:00
    /// Europe/Berlin`.
    pub const WINDOW: &str = "com.xing.deployment-restart.window";
    /// On a workload or on a namespace: how long changes are collected before a restart, `10m`.
    pub const DELAY: &str = "com.xing.deployment-restart.delay";
    /// On a workload or on a namespace: how many workloads of the group may be unavailable, `1` or
    /// `25%`.
    pub const MAX_UNAVAILABLE: &str = "com.xing.deployment-restart.max-unavailable";
    /// On a workload: its group within the namespace.
    pub const GROUP: &str = "com.xing.deployment-restart.group";
    /// On a workload: an integer; workloads of a group with a smaller number restart first.
    pub const ORDER: &str = "com.xing.deployment-restart.order";
    /// On a workload: the restart that is pending.
    pub const PENDING: &str = "com.xing.deployment-restart.pending";
    /// On a workload: the only keys whose changes restart it, `configmap/NAME/KEY` or
    /// `secret/NAME/KEY`, comma separated.
    pub const KEYS: &str = "com.xing.deployment-restart.keys";

    /// The prefix of the environment variables by which Reloader restarts a container.
    pub const VARIABLE: &str = "STAKATER_";
    /// In a pod template: the change for which Reloader last restarted it.
    pub const LAST_RELOADED_FROM: &str = "reloader.stakater.com/last-reloaded-from";
    /// On a workload: ConfigMaps whose changes do not make Reloader restart it.
    pub const CONFIG_MAPS_EXCLUDED: &str = "configmaps.exclude.reloader.stakater.com/reload";
    /// On a workload: Secrets whose changes do not make Reloader restart it.
    pub const SECRETS_EXCLUDED: &str = "secrets.exclude.reloader.stakater.com/reload";
    /// On a Rollout: how Reloader restarts it.
    pub const ROLLOUT_STRATEGY: &str = "reloader.stakater.com/rollout-strategy";
    /// On a Job: it was not created by its CronJob's schedule.
    pub const INSTANTIATED: &str = "cronjob.kubernetes.io/instantiate";
    /// Event reason of Reloader: the pods are being replaced.
    pub const RELOADED: &str = "Reloaded";
    /// Event reason of Reloader: the restart failed.
    pub const RELOAD_FAILED: &str = "ReloadFail";

    /// Event reason: the pods are being replaced.
    pub const RESTARTED: &str = "ConfigRestart";
    /// Event reason: the pods will be replaced once the workload is not held back any more, for
    /// example resumed.
    pub const DEFERRED: &str = "ConfigRestartDeferred";
    /// Event reason: the restart waits because the budget is used up.
    pub const THROTTLED: &str = "ConfigRestartThrottled";
    /// Event reason: the restart waits for a delay, a restart window, or other workloads.
    pub const RESTART_PENDING: &str = "ConfigRestartPending";
    /// Event reason: there is no restart because that of another workload has failed.
    pub const STOPPED: &str = "ConfigRestartStopped";
    /// Event reason: a write failed.
    pub const FAILED: &str = "ConfigRestartFailed";
    /// Event reason: the checksums cannot be read.
    pub const UNREADABLE: &str = "ConfigChecksumsUnreadable";
    /// Event reason: a user's annotation cannot be read.
    pub const ANNOTATION_UNREADABLE: &str = "ConfigRestartAnnotationUnreadable";
    /// Event reason: a dry run skips this restart.
    pub const WOULD_RESTART: &str = "ConfigWouldRestart";
}

/// Condition types.
pub mod condition {
    /// Enough pods are available.
    pub const AVAILABLE: &str = "Available";
    /// The rollout makes progress, is complete, is paused, or has exceeded its deadline.
    pub const PROGRESSING: &str = "Progressing";
    /// A ReplicaSet cannot create or delete pods.
    pub const REPLICA_FAILURE: &str = "ReplicaFailure";
    /// A pod can serve requests.
    pub const READY: &str = "Ready";
}

/// Condition reasons.
pub mod reason {
    /// A ReplicaSet was created.
    pub const NEW_REPLICA_SET: &str = "NewReplicaSetCreated";
    /// A ReplicaSet with the template existed already.
    pub const FOUND_NEW_REPLICA_SET: &str = "FoundNewReplicaSet";
    /// The rollout made progress.
    pub const REPLICA_SET_UPDATED: &str = "ReplicaSetUpdated";
    /// The rollout is complete.
    pub const NEW_REPLICA_SET_AVAILABLE: &str = "NewReplicaSetAvailable";
    /// There was no progress within the deadline.
    pub const TIMED_OUT: &str = "ProgressDeadlineExceeded";
    /// `spec.paused` was set.
    pub const PAUSED: &str = "DeploymentPaused";
    /// `spec.paused` was cleared.
    pub const RESUMED: &str = "DeploymentResumed";
    /// A ReplicaSet could not be created; also the reason of the event.
    pub const FAILED_CREATE: &str = "ReplicaSetCreateError";
    /// Pods could not be created; also the reason of the event.
    pub const FAILED_CREATE_POD: &str = "FailedCreate";
    /// Pods could not be deleted; also the reason of the event.
    pub const FAILED_DELETE_POD: &str = "FailedDelete";
    /// At least replicas − maxUnavailable are available.
    pub const MINIMUM_AVAILABLE: &str = "MinimumReplicasAvailable";
    /// Fewer than replicas − maxUnavailable are available.
    pub const MINIMUM_UNAVAILABLE: &str = "MinimumReplicasUnavailable";
}

/// Condition statuses.
pub mod status {
    /// The condition is met.
    pub const TRUE: &str = "True";
    /// The condition is not met.
    pub const FALSE: &str = "False";
    /// It is unknown whether the condition is met.
    pub const UNKNOWN: &str = "Unknown";
}

/// Event reasons.
pub mod event {
    /// A ReplicaSet was scaled.
    pub const SCALING: &str = "ScalingReplicaSet";
    /// The selector is empty.
    pub const SELECTING_ALL: &str = "SelectingAll";
    /// A rollback was done.
    pub const ROLLBACK: &str = "DeploymentRollback";
    /// No ReplicaSet has the requested revision.
    pub const ROLLBACK_NOT_FOUND: &str = "DeploymentRollbackRevisionNotFound";
    /// The requested revision has the current template.
    pub const ROLLBACK_UNCHANGED: &str = "DeploymentRollbackTemplateUnchanged";
    /// A pod was created.
    pub const CREATED_POD: &str = "SuccessfulCreate";
    /// A pod was deleted.
    pub const DELETED_POD: &str = "SuccessfulDelete";
}
