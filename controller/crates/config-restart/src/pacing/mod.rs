//! When a workload may restart: the window that gathers changes, its schedule, its budget, and its
//! group. Of the crate it imports [`crate::names`] and [`crate::settings`].

pub(crate) mod budget;
pub(crate) mod group_permit;
pub(crate) mod rollout;
pub(crate) mod schedule;
pub(crate) mod window;
