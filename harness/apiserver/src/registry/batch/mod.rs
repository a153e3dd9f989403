//! The group `batch`.

pub(crate) mod cron_job;
pub(crate) mod job;
