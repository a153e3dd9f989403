//! The names that users and other programs see: labels, annotations, condition types, reasons. They
//! are the API, letter by letter.

/// Label on ReplicaSets and pods that tells the templates of one Deployment apart.
pub const POD_TEMPLATE_HASH: &str = "pod-template-hash";

/// Revision of a ReplicaSet, and of the Deployment whose template it has.
pub const REVISION: &str = "deployment.kubernetes.io/revision";
/// Revisions that a ReplicaSet had before it was used again, comma separated, oldest first.
pub const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// `spec.replicas` of the Deployment when the ReplicaSet was last sized.
pub const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
/// `spec.replicas` plus maxSurge of the Deployment when the ReplicaSet was last sized.
pub const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
/// A request to roll back, kept from the days of `extensions/v1beta1`.
pub const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
/// What `kubectl apply` remembers.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What it costs to delete a pod: of two like ones the cheaper goes first.
pub const POD_DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// Annotations that never travel between a Deployment and its ReplicaSets (upstream:
/// `annotationsToSkip`).
pub const NOT_COPIED: [&str; 6] =
    [LAST_APPLIED, REVISION, REVISION_HISTORY, DESIRED_REPLICAS, MAX_REPLICAS, ROLLBACK_TO];

/// Restarts for changed configs: xing's annotations, and what this controller adds to them.
pub mod restart {
    /// On a workload, `enabled`: restart it.
    pub const ENABLED: &str = "com.xing.deployment-restart";
    /// On a workload: the checksums that its pods are known to have.
    pub const CHECKSUMS: &str = "com.xing.deployment-restart.applied-config-checksums";
    /// In a pod template: what it was last restarted by.
    pub const TRIGGER: &str = "com.xing.deployment-restart.timestamp";
    /// On a workload: when it was restarted of late.
    pub const RESTARTS: &str = "com.xing.deployment-restart.recent-restarts";
    /// On a config, `true`: it restarts nothing. On a workload: those that do not restart it,
    /// `configmap/NAME` or `secret/NAME`, comma separated.
    pub const IGNORE: &str = "com.xing.deployment-restart.ignore";
    /// On a workload or on a namespace: when workloads may be restarted, `Mon-Fri 22:00-04:00
    /// Europe/Berlin`.
    pub const WINDOW: &str = "com.xing.deployment-restart.window";
    /// On a workload or on a namespace: for how long changes are gathered before a restart, `10m`.
    pub const DELAY: &str = "com.xing.deployment-restart.delay";
    /// On a workload or on a namespace: how many workloads of the group may be unavailable, `1` or
    /// `25%`.
    pub const MAX_UNAVAILABLE: &str = "com.xing.deployment-restart.max-unavailable";
    /// On a workload: which group it belongs to among those of its namespace.
    pub const GROUP: &str = "com.xing.deployment-restart.group";
    /// On a workload: a whole number; of a group those with a smaller one restart first.
    pub const ORDER: &str = "com.xing.deployment-restart.order";
    /// On a workload: the restart that is due and waits.
    pub const PENDING: &str = "com.xing.deployment-restart.pending";
    /// On a workload: keys that alone restart it, `configmap/NAME/KEY` or `secret/NAME/KEY`, comma
    /// separated.
    pub const KEYS: &str = "com.xing.deployment-restart.keys";

    /// Begins the name of a variable by which Reloader restarts a container.
    pub const VARIABLE: &str = "STAKATER_";
    /// In a pod template: what Reloader last restarted it for.
    pub const LAST_RELOADED_FROM: &str = "reloader.stakater.com/last-reloaded-from";
    /// On a workload: ConfigMaps for which Reloader does not restart it.
    pub const CONFIG_MAPS_EXCLUDED: &str = "configmaps.exclude.reloader.stakater.com/reload";
    /// On a workload: Secrets for which Reloader does not restart it.
    pub const SECRETS_EXCLUDED: &str = "secrets.exclude.reloader.stakater.com/reload";
    /// On a Rollout: how Reloader restarts it.
    pub const ROLLOUT_STRATEGY: &str = "reloader.stakater.com/rollout-strategy";
    /// On a Job: that it was not its CronJob's schedule that made it.
    pub const INSTANTIATED: &str = "cronjob.kubernetes.io/instantiate";
    /// Event reason, as Reloader has it: the pods are being replaced.
    pub const RELOADED: &str = "Reloaded";
    /// Event reason, as Reloader has it: they are not.
    pub const RELOAD_FAILED: &str = "ReloadFail";

    /// Event reason: the pods are being replaced.
    pub const RESTARTED: &str = "ConfigRestart";
    /// Event reason: they will be, when whoever holds them lets go.
    pub const DEFERRED: &str = "ConfigRestartDeferred";
    /// Event reason: they are not yet, because the budget is spent.
    pub const THROTTLED: &str = "ConfigRestartThrottled";
    /// Event reason: they are not yet, because of a delay, a restart window, or other workloads.
    pub const WAITS: &str = "ConfigRestartPending";
    /// Event reason: they are not, because the restart of another workload has failed.
    pub const STOPPED: &str = "ConfigRestartStopped";
    /// Event reason: a write failed.
    pub const FAILED: &str = "ConfigRestartFailed";
    /// Event reason: the checksums cannot be read.
    pub const UNREADABLE: &str = "ConfigChecksumsUnreadable";
    /// Event reason: an annotation of the user's cannot be read.
    pub const ANNOTATION_UNREADABLE: &str = "ConfigRestartAnnotationUnreadable";
    /// Event reason: they would be, were this no dry run.
    pub const WOULD_RESTART: &str = "ConfigWouldRestart";
}

/// Condition types.
pub mod condition {
    /// Enough pods are available.
    pub const AVAILABLE: &str = "Available";
    /// The rollout moves, is done, is paused, or has stalled.
    pub const PROGRESSING: &str = "Progressing";
    /// A ReplicaSet cannot make or delete pods.
    pub const REPLICA_FAILURE: &str = "ReplicaFailure";
    /// A pod can serve.
    pub const READY: &str = "Ready";
}

/// Condition reasons.
pub mod reason {
    /// A ReplicaSet was created.
    pub const NEW_REPLICA_SET: &str = "NewReplicaSetCreated";
    /// A ReplicaSet with the template was there already.
    pub const FOUND_NEW_REPLICA_SET: &str = "FoundNewReplicaSet";
    /// Pods came or went as they should.
    pub const REPLICA_SET_UPDATED: &str = "ReplicaSetUpdated";
    /// The rollout is complete.
    pub const NEW_REPLICA_SET_AVAILABLE: &str = "NewReplicaSetAvailable";
    /// Nothing moved within the deadline.
    pub const TIMED_OUT: &str = "ProgressDeadlineExceeded";
    /// `spec.paused` was set.
    pub const PAUSED: &str = "DeploymentPaused";
    /// `spec.paused` was cleared.
    pub const RESUMED: &str = "DeploymentResumed";
    /// A ReplicaSet could not be created; also the reason of the event.
    pub const FAILED_CREATE: &str = "ReplicaSetCreateError";
    /// Pods could not be made; also the reason of the event.
    pub const FAILED_CREATE_POD: &str = "FailedCreate";
    /// Pods could not be deleted; also the reason of the event.
    pub const FAILED_DELETE_POD: &str = "FailedDelete";
    /// At least replicas − maxUnavailable are available.
    pub const MINIMUM_AVAILABLE: &str = "MinimumReplicasAvailable";
    /// Fewer than that are.
    pub const MINIMUM_UNAVAILABLE: &str = "MinimumReplicasUnavailable";
}

/// Condition statuses.
pub mod status {
    /// It holds.
    pub const TRUE: &str = "True";
    /// It does not hold.
    pub const FALSE: &str = "False";
    /// Nobody can tell.
    pub const UNKNOWN: &str = "Unknown";
}

/// Event reasons.
pub mod event {
    /// A ReplicaSet was sized.
    pub const SCALING: &str = "ScalingReplicaSet";
    /// The selector is empty.
    pub const SELECTING_ALL: &str = "SelectingAll";
    /// A rollback was done.
    pub const ROLLBACK: &str = "DeploymentRollback";
    /// No ReplicaSet has the revision asked for.
    pub const ROLLBACK_NOT_FOUND: &str = "DeploymentRollbackRevisionNotFound";
    /// The revision asked for has the template that is there already.
    pub const ROLLBACK_UNCHANGED: &str = "DeploymentRollbackTemplateUnchanged";
    /// A pod was made.
    pub const CREATED_POD: &str = "SuccessfulCreate";
    /// A pod was told to go.
    pub const DELETED_POD: &str = "SuccessfulDelete";
}
