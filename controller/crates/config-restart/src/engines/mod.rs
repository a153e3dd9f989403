//! The engines: one for each profile. They share the cache of observed objects, and differ in what
//! they remember and when they act.

mod engine;
mod reloader;
mod safe;
mod xing;

pub(crate) use engine::{DueWork, Observations, RestartEngine};

use crate::settings::Profile;

/// A new engine for a profile.
pub(crate) fn engine_of(profile: Profile) -> Box<dyn RestartEngine> {
    match profile {
        Profile::Xing => Box::new(xing::XingEngine::default()),
        Profile::Safe => Box::new(safe::SafeEngine::default()),
        Profile::Reloader => Box::new(reloader::ReloaderEngine::default()),
    }
}
