//! The decisions about one ReplicaSet: by the rules about its pods, and by those about its status.
//!
//! One sync of upstream's `syncReplicaSet` in two decisions: [`plan`] before the pods are made or
//! deleted, [`report`] after it. In between the world answers, and the report tells of it.
//!
//! Case: `replicaset/stale-pods-scaled-up`.

use jiff::Timestamp;

use super::burst::{Need, need};
use super::plan::{Observed, Plan, Report, Work};
use super::{body, claim, status, victims};
use crate::model::{ModelError, PodCount};
use crate::settings::Settings;

/// Decides which pods are a ReplicaSet's own, and which are made or deleted.
///
/// Pure: the same arguments give the same plan. `now` measures how long pods have been ready. A
/// plan that was made from counts of pods and [names pods](Plan::names_pods) must be made again
/// from each pod.
///
/// # Errors
/// If the selector has no meaning; then nothing can be done, and trying again is of no use.
pub fn plan(observed: &Observed, now: Timestamp, _settings: &Settings) -> Result<Plan, ModelError> {
    let rs = &observed.replica_set;
    let (claims, active) = claim::claim(rs, &observed.pods)?;
    let work = if !observed.may_manage || rs.meta.is_deleting() {
        Work::Rest
    } else {
        match need(PodCount::total(&active), rs.spec.replicas) {
            Need::Nothing => Work::Rest,
            Need::Create(count) => match body::pod(rs) {
                Some(pod) => Work::Create { count, pod },
                None => Work::Impossible { why: "unable to create pods, no labels" },
            },
            Need::Delete(count) => {
                let dying = victims::choose(&active, &observed.siblings, &observed.neighbours, count, now);
                Work::Delete { names: dying.into_iter().map(|pod| pod.name.clone()).collect() }
            }
        }
    };
    Ok(Plan { claims, active, work })
}

/// Decides what the status says. `active` are the pods that counted when the plan was made;
/// `failure` is what making or deleting them ended in.
pub fn report(
    observed: &Observed,
    active: &[PodCount],
    failure: Option<&str>,
    now: Timestamp,
    settings: &Settings,
) -> Report {
    let rs = &observed.replica_set;
    // No pod that counts is on its way out.
    let others = active.len() < observed.pods.len();
    let terminating =
        settings.terminating_replicas.then(|| if others { claim::terminating(rs, &observed.pods) } else { 0 });
    let status = status::status(rs, active, terminating, failure, now);
    let is_new = status::is_new(rs, &status);
    Report { status, is_new }
}
