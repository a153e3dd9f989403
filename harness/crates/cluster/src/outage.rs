//! Short outages: a load balancer fails over, or an API server restarts.
//!
//! No client retries, as within a case a repeated request may do something twice. What the harness
//! does before and after a case can be repeated, so that a short outage costs at most the case in
//! which it happens.

use std::error::Error;
use std::time::Duration;

use lockstep_support::clock;

/// The longest outage that is waited for.
const OUTAGE: Duration = Duration::from_secs(5);
/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(200);

/// Repeats what failed because the server could not be reached, for a few seconds. The server may
/// have done what it could not answer, so a repeated creation may find its object.
///
/// # Errors
/// The error of the last attempt.
pub async fn repeat_while_unreachable<T, E: Error + 'static>(
    mut attempt: impl AsyncFnMut() -> Result<T, E>,
) -> Result<T, E> {
    let since = clock::instant();
    loop {
        match attempt().await {
            Err(error) if is_unreachable(&error) && since.elapsed() < OUTAGE => clock::pause(PAUSE).await,
            result => return result,
        }
    }
}

/// Whether a request got no answer.
fn is_unreachable(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(cause) = next {
        let boxed = || cause.downcast_ref::<Box<kube::Error>>().map(|boxed| &**boxed);
        match cause.downcast_ref().or_else(boxed) {
            Some(kube::Error::Service(_) | kube::Error::HyperError(_)) => return true,
            Some(_) => return false,
            None => next = cause.source(),
        }
    }
    false
}

/// Treats an existing object as created.
pub fn ignore_existing<T>(created: kube::Result<T>) -> Result<(), kube::Error> {
    match created {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        created => created.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClusterError;

    fn unreachable() -> kube::Error {
        kube::Error::Service("client error (Connect)".into())
    }

    fn refused() -> kube::Error {
        kube::Error::Api(Box::new(kube::core::Status::failure("no", "Forbidden").with_code(403)))
    }

    /// The number of attempts, and whether the last one succeeded, where those that begin in this
    /// time fail.
    async fn attempts(outage: Duration, error: fn() -> ClusterError) -> (u32, bool) {
        let (since, mut number) = (clock::instant(), 0);
        let result = repeat_while_unreachable(async || {
            number += 1;
            if since.elapsed() < outage { Err(error()) } else { Ok(()) }
        });
        let succeeded = result.await.is_ok();
        (number, succeeded)
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_short_outage_is_waited_for() {
        let lost = || ClusterError::request("x")(unreachable());
        assert_eq!(attempts(Duration::ZERO, lost).await, (1, true));
        let (number, succeeded) = attempts(Duration::from_millis(300), lost).await;
        assert!(succeeded && (2..=3).contains(&number), "{number}");
        assert!(!attempts(Duration::from_secs(60), lost).await.1);
        assert_eq!(attempts(Duration::from_secs(1), || ClusterError::request("x")(refused())).await, (1, false));
    }

    #[test]
    fn finds_the_request_behind_other_errors() {
        assert!(is_unreachable(&unreachable()) && is_unreachable(&ClusterError::request("x")(unreachable())));
        assert!(!is_unreachable(&refused()) && !is_unreachable(&ClusterError::request("x")(refused())));
    }
}
