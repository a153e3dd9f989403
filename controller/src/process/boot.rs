//! Waits until the API server is there.
//!
//! A process that ended over an API server that is away would be started again and again, at a pace that somebody else chooses,
//! and be started last of all when the server is back. So it waits, says so, and is well but not ready meanwhile. A refusal of the
//! credentials is waited out, too: a server that has just started refuses what it has not read yet, roles are applied after the
//! pods that need them, and an informer that is refused later does not end the process either. What does not mend itself, a
//! server that knows no Deployments, ends it at once, like a kubeconfig that cannot be used.

use std::error::Error;
use std::time::Duration;

use crate::clock;
use crate::runtime::{ApiServer, RunError, check};

const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(10);

/// Returns when the API server answers and serves what is needed.
pub(super) async fn reach(api: &ApiServer) -> Result<(), RunError> {
    let mut wait = FIRST_WAIT;
    loop {
        let error = match clock::within(ATTEMPT, check(api)).await {
            Some(Ok(())) => break,
            Some(Err(error)) if !may_pass(&error) => return Err(error),
            Some(Err(error)) => with_cause(&error),
            None => format!("the API server did not answer within {ATTEMPT:?}"),
        };
        tracing::warn!(error, next = ?wait, "Waiting for the API server.");
        clock::sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
    if wait > FIRST_WAIT {
        tracing::info!("The API server answers.");
    }
    Ok(())
}

/// Whether it may be otherwise the next time.
fn may_pass(error: &RunError) -> bool {
    match error {
        RunError::Unreachable { .. } | RunError::Refused { .. } => true,
        RunError::NotServed | RunError::Restart(_) | RunError::Task(_) => false,
    }
}

/// What went wrong, and what it comes from: "connection refused" is further down than a client's own words.
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
