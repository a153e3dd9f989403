//! Waits for the API server at start-up.
//!
//! A process that exits while the API server is unavailable is restarted with the kubelet's
//! back-off, and may then start minutes after the server is back. So this process waits, with a
//! back-off and a warning at each attempt; it is live but not ready meanwhile. It also waits on 401
//! and 403: an API server that has just started rejects identities that it has not loaded yet, role
//! bindings may be applied after the pods, and an informer that is rejected later does not end the
//! process either. An API server without apps/v1 is a configuration error and fails at once.

use std::error::Error;
use std::time::Duration;

use crate::api::ApiServer;
use crate::clock;
use crate::runtime::{RunError, check};

const FIRST_WAIT: Duration = Duration::from_millis(500);
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Timeout of one attempt.
const ATTEMPT: Duration = Duration::from_secs(10);

/// Returns when the API server answers and serves the needed kinds.
pub(super) async fn wait_for_apiserver(api: &ApiServer) -> Result<(), RunError> {
    let mut wait = FIRST_WAIT;
    loop {
        let error = match clock::within(ATTEMPT, check(api)).await {
            Some(Ok(())) => break,
            Some(Err(error)) if !is_transient(&error) => return Err(error),
            Some(Err(error)) => with_cause(&error),
            None => format!("the API server did not answer within {ATTEMPT:?}"),
        };
        tracing::warn!(error, next = ?wait, "Waiting for the API server.");
        clock::sleep(wait).await;
        wait = (wait * 2).min(MAX_WAIT);
    }
    if wait > FIRST_WAIT {
        tracing::info!("The API server answers.");
    }
    Ok(())
}

/// Whether a later attempt may succeed.
fn is_transient(error: &RunError) -> bool {
    match error {
        RunError::Unreachable { .. } | RunError::Refused { .. } => true,
        RunError::NotServed | RunError::Restart(_) | RunError::Migration(_) | RunError::Task(_) => false,
    }
}

/// The error and its root cause, such as "connection refused", which kube's message omits.
fn with_cause(error: &RunError) -> String {
    let (text, mut cause) = (error.to_string(), error.source());
    while let Some(next) = cause.and_then(Error::source) {
        cause = Some(next);
    }
    match cause.map(ToString::to_string) {
        Some(cause) if !text.contains(&cause) => format!("{text} ({cause})"),
        _ => text,
    }
}
