//! Arithmetic of sizes: how far above and below what is asked for a rolling update may go.
//!
//! All of it on 32-bit numbers that wrap, as upstream's do: replicas up to 2³¹−1 are valid, and a
//! sum of them is not worth a panic.
//!
//! Cases: `rolling/percentages-round-apart`, `rolling/percent-rounds-to-nothing`,
//! `rolling/quarter-on-ten`.

use crate::model::{Deployment, IntOrPercent, ModelError, ReplicaSet, Round, Strategy};

/// How many pods there may be above what is asked for (upstream: `MaxSurge`).
pub fn max_surge(deployment: &Deployment) -> i32 {
    if !deployment.spec.strategy.is_rolling() {
        return 0;
    }
    fence_posts(&deployment.spec.strategy, deployment.replicas()).map_or(0, |(surge, _)| surge)
}

/// How many of the pods asked for may be unavailable (upstream: `MaxUnavailable`).
pub fn max_unavailable(deployment: &Deployment) -> i32 {
    let replicas = deployment.replicas();
    if !deployment.spec.strategy.is_rolling() || replicas == 0 {
        return 0;
    }
    fence_posts(&deployment.spec.strategy, replicas).map_or(0, |(_, unavailable)| unavailable.min(replicas))
}

/// Both bounds together: surge rounds up, unavailable rounds down, and if nothing could then move,
/// one pod may be unavailable (upstream: `ResolveFenceposts`).
///
/// # Errors
/// If a bound is neither a number nor a percentage; API validation does not let such a one in.
pub fn fence_posts(strategy: &Strategy, replicas: i32) -> Result<(i32, i32), ModelError> {
    let bound = |bound: &Option<IntOrPercent>, round| bound.as_ref().map_or(Ok(0), |bound| bound.of(replicas, round));
    let surge = bound(&strategy.rolling_update.max_surge, Round::Up)?;
    let unavailable = bound(&strategy.rolling_update.max_unavailable, Round::Down)?;
    Ok((surge, if surge == 0 && unavailable == 0 { 1 } else { unavailable }))
}

/// What is asked for and the surge: what `max-replicas` says.
pub fn max_replicas(deployment: &Deployment) -> i32 {
    deployment.replicas().wrapping_add(max_surge(deployment))
}

/// Fewest pods that must be available.
pub fn min_available(deployment: &Deployment) -> i32 {
    deployment.replicas().wrapping_sub(max_unavailable(deployment))
}

/// Pods asked for from ReplicaSets.
pub fn wanted<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> i32 {
    sum(all, |rs| rs.spec.replicas)
}

/// Pods that ReplicaSets have.
pub fn existing<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> i32 {
    sum(all, |rs| rs.status.replicas)
}

/// Pods of ReplicaSets that are ready.
pub fn ready<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> i32 {
    sum(all, |rs| rs.status.ready_replicas)
}

/// Pods of ReplicaSets that are available.
pub fn available<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>) -> i32 {
    sum(all, |rs| rs.status.available_replicas)
}

fn sum<'a>(all: impl IntoIterator<Item = &'a ReplicaSet>, number: impl Fn(&ReplicaSet) -> i32) -> i32 {
    all.into_iter().map(number).fold(0, i32::wrapping_add)
}
