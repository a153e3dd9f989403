//! Decides about one workload by the rules of the selected profile.

use jiff::Timestamp;

use super::plan::{ObservedWorkload, RestartPlan};
use super::{safe, xing};
use crate::settings::{Profile, RestartSettings};

/// Decides about one workload. Pure: the same arguments give the same plan.
pub fn plan(observed: &ObservedWorkload, now: Timestamp, settings: &RestartSettings) -> RestartPlan {
    match settings.profile {
        Profile::Xing => xing::plan(observed, now),
        Profile::Safe => safe::plan(observed, now, settings),
        // Profile `reloader` decides about one change at a time, in module `reloader`.
        Profile::Reloader => RestartPlan::default(),
    }
}
