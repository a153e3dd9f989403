//! `spec.strategy.rollingUpdate.maxSurge` and `maxUnavailable`: maxSurge is rounded up,
//! maxUnavailable is rounded down; also the sums of pods over ReplicaSets.
//!
//! Upstream: `ResolveFenceposts`, `MaxSurge`, `MaxUnavailable`. All arithmetic is on 32-bit numbers
//! that wrap, as upstream's: replicas up to 2³¹−1 are valid, and an overflow must not panic.
//!
//! Cases: `rolling/percentages-round-apart`, `rolling/percent-rounds-to-nothing`,
//! `rolling/quarter-on-ten`.

use rollout_model::{Deployment, DeploymentStrategy, IntOrPercent, ModelError, ReplicaSet, RoundingDirection};

/// How many pods may exist above `spec.replicas` (upstream: `MaxSurge`).
pub fn max_surge(deployment: &Deployment) -> i32 {
    if !deployment.spec.strategy.is_rolling() {
        return 0;
    }
    resolve_fenceposts(&deployment.spec.strategy, deployment.replicas()).map_or(0, |(surge, _)| surge)
}

/// How many of `spec.replicas` pods may be unavailable (upstream: `MaxUnavailable`).
pub fn max_unavailable(deployment: &Deployment) -> i32 {
    let replicas = deployment.replicas();
    if !deployment.spec.strategy.is_rolling() || replicas == 0 {
        return 0;
    }
    resolve_fenceposts(&deployment.spec.strategy, replicas).map_or(0, |(_, unavailable)| unavailable.min(replicas))
}

/// `maxSurge` rounded up and `maxUnavailable` rounded down. If both are then 0, no pod could be
/// replaced, so one pod may be unavailable (upstream: `ResolveFenceposts`).
///
/// # Errors
/// If a bound is neither a number nor a percentage, which API validation refuses.
pub fn resolve_fenceposts(strategy: &DeploymentStrategy, replicas: i32) -> Result<(i32, i32), ModelError> {
    let bound =
        |bound: &Option<IntOrPercent>, round| bound.as_ref().map_or(Ok(0), |bound| bound.scaled_value(replicas, round));
    let surge = bound(&strategy.rolling_update.max_surge, RoundingDirection::Up)?;
    let unavailable = bound(&strategy.rolling_update.max_unavailable, RoundingDirection::Down)?;
    Ok((surge, if surge == 0 && unavailable == 0 { 1 } else { unavailable }))
}

/// `spec.replicas` plus maxSurge, the value of the annotation `max-replicas`.
pub fn max_replicas(deployment: &Deployment) -> i32 {
    deployment.replicas().wrapping_add(max_surge(deployment))
}

/// How many pods must be available: `spec.replicas` minus maxUnavailable.
pub fn min_available(deployment: &Deployment) -> i32 {
    deployment.replicas().wrapping_sub(max_unavailable(deployment))
}

/// The sum of `spec.replicas` (upstream: `GetReplicaCountForReplicaSets`).
pub fn desired_replicas<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> i32 {
    sum(all, |rs| rs.spec.replicas)
}

/// The sum of `status.replicas` (upstream: `GetActualReplicaCountForReplicaSets`).
pub fn actual_replicas<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> i32 {
    sum(all, |rs| rs.status.replicas)
}

/// The sum of `status.readyReplicas`.
pub fn ready_replicas<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> i32 {
    sum(all, |rs| rs.status.ready_replicas)
}

/// The sum of `status.availableReplicas`.
pub fn available_replicas<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> i32 {
    sum(all, |rs| rs.status.available_replicas)
}

fn sum<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>, number: impl Fn(&ReplicaSet) -> i32) -> i32 {
    all.into_iter().map(number).fold(0, i32::wrapping_add)
}
