//! What an operator sets about requests and watches, as plain data.

use std::time::Duration;

use crate::clock::Clock;

/// Upstream's default of `--min-resync-period`.
pub const MIN_RESYNC_PERIOD: Duration = Duration::from_secs(12 * 60 * 60);

/// How a process of controllers uses the API server.
#[derive(Debug, Clone)]
pub struct ClientSettings {
    /// The one namespace to manage; `None` for all.
    pub namespace: Option<String>,
    /// Rate limit on the controller's requests except lists and watches; `None` for no limit.
    pub rate_limit: Option<RateLimit>,
    /// The period after which everything is reconciled again, changed or not; `None` for never.
    /// Upstream draws it at random between `--min-resync-period` and twice that, once per process;
    /// here the caller does.
    pub resync_period: Option<Duration>,
    /// The source of time; a simulation has its own.
    pub clock: Clock,
}

/// Rate limit on requests; upstream's `--kube-api-qps` and `--kube-api-burst`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimit {
    /// Requests per second in the long run; above zero.
    pub qps: f64,
    /// Requests in a burst; at least one.
    pub burst: u32,
}

impl Default for ClientSettings {
    fn default() -> Self {
        Self { namespace: None, rate_limit: None, resync_period: Some(MIN_RESYNC_PERIOD), clock: Clock::system() }
    }
}
