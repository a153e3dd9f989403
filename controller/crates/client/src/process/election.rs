//! Settings of the leader election, named as upstream's `--leader-elect-…` flags.

use std::time::Duration;

use super::ElectionError;

/// Least ratio of renew deadline to retry period, as in client-go.
const MARGIN: f64 = 1.2;

/// How one of several replicas becomes the leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Election {
    /// Namespace of the lease.
    pub namespace: String,
    /// Name of the lease.
    pub name: String,
    /// Name of the candidate, which no other process has.
    pub identity: String,
    /// How long the others wait after the last renewal they observed before they take over. Whole
    /// seconds.
    pub lease_duration: Duration,
    /// How long a leader tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// The pause between two attempts.
    pub retry_period: Duration,
}

impl Election {
    /// An election with upstream's times: 15, 10 and 2 seconds.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>, identity: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }

    /// Checks that the settings are consistent.
    ///
    /// # Errors
    /// The inconsistency, and the flag to correct.
    pub fn check(&self) -> Result<(), ElectionError> {
        if self.identity.is_empty() {
            return Err(ElectionError::NoIdentity);
        }
        if self.name.is_empty() || self.namespace.is_empty() {
            return Err(ElectionError::NoLeaseName);
        }
        if self.retry_period.is_zero() {
            return Err(ElectionError::NoPause);
        }
        // The lease contains whole seconds.
        let lease = Duration::from_secs(self.lease_duration.as_secs());
        if lease <= self.renew_deadline {
            return Err(ElectionError::Lease { lease, deadline: self.renew_deadline });
        }
        if self.renew_deadline <= self.retry_period.mul_f64(MARGIN) {
            return Err(ElectionError::Deadline { deadline: self.renew_deadline, pause: self.retry_period });
        }
        Ok(())
    }

    /// Timeout of one request, so that a single one that hangs does not lose the lease.
    pub(super) fn request_timeout(&self) -> Duration {
        (self.renew_deadline / 2).max(Duration::from_secs(1))
    }

    /// The pause of a standby process: up to 2.2 times the retry period, derived from the identity,
    /// so that candidates do not all try at the same time.
    pub(super) fn candidate_pause(&self) -> Duration {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hash = DefaultHasher::new();
        self.identity.hash(&mut hash);
        let share = f64::from(u32::try_from(hash.finish() >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX);
        self.retry_period.mul_f64(1.0 + MARGIN * share)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::upstream(15.0, 10.0, 2.0, Ok(()))]
    #[case::no_longer_than_the_deadline(10.0, 10.0, 2.0, Err("--leader-elect-lease-duration"))]
    #[case::whole_seconds_count(10.9, 10.5, 2.0, Err("--leader-elect-lease-duration"))]
    #[case::less_than_a_second(0.9, 0.5, 0.1, Err("--leader-elect-lease-duration"))]
    #[case::no_time_for_a_second_try(15.0, 2.4, 2.0, Err("--leader-elect-renew-deadline"))]
    #[case::never_stopping(15.0, 10.0, 0.0, Err("--leader-elect-retry-period"))]
    fn inconsistent_times_are_refused(
        #[case] lease: f64,
        #[case] deadline: f64,
        #[case] pause: f64,
        #[case] verdict: Result<(), &str>,
    ) {
        let election = Election {
            lease_duration: Duration::from_secs_f64(lease),
            renew_deadline: Duration::from_secs_f64(deadline),
            retry_period: Duration::from_secs_f64(pause),
            ..Election::new("ns", "lock", "me")
        };
        match (election.check(), verdict) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(flag)) => assert!(error.to_string().contains(flag), "{error}"),
            (checked, _) => panic!("{checked:?}"),
        }
    }

    #[test]
    fn candidates_pause_for_different_times() {
        let pause = |identity: &str| Election::new("ns", "lock", identity).candidate_pause();
        let pauses: std::collections::BTreeSet<_> = (0..20).map(|n| pause(&format!("pod-{n}"))).collect();
        assert_eq!(pauses.len(), 20);
        assert!(pauses.first() >= Some(&Duration::from_secs(2)) && pauses.last() <= Some(&Duration::from_millis(4400)));
    }
}
