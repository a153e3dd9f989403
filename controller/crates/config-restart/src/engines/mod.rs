//! The engines: one for each profile. They share the cache of observed objects, and differ in what
//! they remember and when they act.

pub(crate) mod engine;
pub mod reloader;
pub(crate) mod safe;
pub(crate) mod work;
mod xing;

use jiff::Timestamp;

use crate::engines::engine::RestartEngine;
use crate::model::plan::{ObservedWorkload, RestartPlan};
use crate::settings::{Profile, RestartSettings};

/// A new engine for a profile.
pub(crate) fn engine_of(profile: Profile) -> Box<dyn RestartEngine> {
    match profile {
        Profile::Xing => Box::new(xing::XingEngine::default()),
        Profile::Safe => Box::new(safe::SafeEngine::default()),
        Profile::Reloader => Box::new(reloader::engine::ReloaderEngine::default()),
    }
}

/// Decides about one workload. Pure: the same arguments give the same plan.
pub fn plan(observed: &ObservedWorkload, now: Timestamp, settings: &RestartSettings) -> RestartPlan {
    match settings.profile {
        Profile::Xing => xing::rules::plan(observed, now),
        Profile::Safe => safe::rules::plan(observed, now, settings),
        // Profile `reloader` decides about one change at a time, in its own `plan`.
        Profile::Reloader => RestartPlan::default(),
    }
}
