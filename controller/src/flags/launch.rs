//! What both commands share: the launch options, and the syntax of values.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use rollout_controller::restart::MigrationSource;
use rollout_controller::{Address, Election, LOG_TARGETS, RateLimit, Settings};

use super::serving::SecureMetrics;

/// The default namespace of the lease.
pub(crate) const LEASE_NAMESPACE: &str = "kube-system";

/// How a process is to run, from either command.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) metrics: Address,
    pub(crate) probes: Address,
    pub(crate) secure: Option<SecureMetrics>,
    pub(crate) format: LoggingFormat,
    /// The log filter, unless the environment sets one.
    pub(crate) filter: String,
    pub(crate) settings: Settings,
    /// Report what a migration from this controller would change, and exit without running.
    pub(crate) migrate_from: Option<MigrationSource>,
    pub(crate) election: Option<Election>,
}

/// How logs are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LoggingFormat {
    /// Lines for people
    Text,
    /// One JSON object a line
    Json,
}

/// Parses a duration in Go's syntax: `15s`, `1m30s`, `500ms`.
pub(crate) fn duration(text: &str) -> anyhow::Result<Duration> {
    let duration: jiff::SignedDuration = text.parse().with_context(|| "write it as 15s, 1m30s or 500ms".to_owned())?;
    ensure!(!duration.is_negative(), "it must not be below zero");
    Ok(duration.unsigned_abs())
}

/// The limit of requests that two flags set; none below zero.
pub(crate) fn rate_limit(qps: f64, burst: u32) -> anyhow::Result<Option<RateLimit>> {
    match qps {
        qps if qps < 0.0 => Ok(None),
        qps if qps > 0.0 && qps.is_finite() => Ok(Some(RateLimit { qps, burst })),
        qps => bail!("--kube-api-qps={qps} would stop everything; give a number above zero, or -1 for no limit"),
    }
}

/// Checks that a name can be part of a path; the server checks the rest.
pub(crate) fn namespace(text: &str) -> anyhow::Result<String> {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    ensure!(!text.is_empty() && text.len() < 64 && text.bytes().all(is_fine), "this is not a valid namespace name");
    Ok(text.to_owned())
}

/// The log filter for a level of detail: the usual messages, those of this project's crates for
/// debugging, and those of all crates.
pub(crate) fn log_filter(detail: u8) -> String {
    match detail {
        0 => "info".to_owned(),
        1 => LOG_TARGETS.iter().fold("info".to_owned(), |filter, target| filter + "," + target + "=debug"),
        _ => "debug".to_owned(),
    }
}
