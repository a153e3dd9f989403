//! The decision about one workload: by the rules of the profile that was chosen.

use jiff::Timestamp;

use super::plan::{Observed, Plan};
use super::{safe, xing};
use crate::settings::{Profile, RestartSettings};

/// Decides about one workload. Pure: the same arguments give the same plan.
pub fn plan(observed: &Observed, now: Timestamp, settings: &RestartSettings) -> Plan {
    match settings.profile {
        Profile::Xing => xing::plan(observed, now),
        Profile::Safe => safe::plan(observed, now, settings),
        // It decides about one change at a time, in `reloader`.
        Profile::Reloader => Plan::default(),
    }
}
