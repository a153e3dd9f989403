//! What an operator chooses about the election, under the names of upstream's `--leader-elect-…`
//! flags.

use std::time::Duration;

use super::ElectionError;

/// How much longer than the retry period the renew deadline must be, as in client-go.
const MARGIN: f64 = 1.2;

/// How one replica among several is chosen to act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Election {
    /// Namespace of the lease.
    pub namespace: String,
    /// Name of the lease.
    pub name: String,
    /// Who stands: a name that no other process has.
    pub identity: String,
    /// How long the others wait, after the last renewal that they saw, before they take over. Whole
    /// seconds.
    pub lease_duration: Duration,
    /// How long a leader tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// The pause between two tries.
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

    /// Whether it can go well.
    ///
    /// # Errors
    /// What is wrong with it, and which flag mends it.
    pub fn check(&self) -> Result<(), ElectionError> {
        if self.identity.is_empty() {
            return Err(ElectionError::Nobody);
        }
        if self.name.is_empty() || self.namespace.is_empty() {
            return Err(ElectionError::Nameless);
        }
        if self.retry_period.is_zero() {
            return Err(ElectionError::NoPause);
        }
        // What others see are whole seconds.
        let lease = Duration::from_secs(self.lease_duration.as_secs());
        if lease <= self.renew_deadline {
            return Err(ElectionError::Lease { lease, deadline: self.renew_deadline });
        }
        if self.renew_deadline <= self.retry_period.mul_f64(MARGIN) {
            return Err(ElectionError::Deadline { deadline: self.renew_deadline, pause: self.retry_period });
        }
        Ok(())
    }

    /// How long one request may take, so that a single one that hangs does not cost the lease.
    pub(super) fn patience(&self) -> Duration {
        (self.renew_deadline / 2).max(Duration::from_secs(1))
    }

    /// The pause of one that stands by: up to 2.2 times the retry period, by who it is, so that not
    /// all come at once.
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
    fn times(#[case] lease: f64, #[case] deadline: f64, #[case] pause: f64, #[case] verdict: Result<(), &str>) {
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
    fn candidates_have_paces_of_their_own() {
        let pause = |identity: &str| Election::new("ns", "lock", identity).candidate_pause();
        let pauses: std::collections::BTreeSet<_> = (0..20).map(|n| pause(&format!("pod-{n}"))).collect();
        assert_eq!(pauses.len(), 20);
        assert!(pauses.first() >= Some(&Duration::from_secs(2)) && pauses.last() <= Some(&Duration::from_millis(4400)));
    }
}
