//! The lease's record, and the decisions based on it. Pure; times are arguments.
//!
//! client-go's rules. The times in a lease come from another machine's clock and are never compared
//! with this one's: a lease counts as alive for its duration after this process *observed* its last
//! change.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Election;

/// The content of a lease; client-go's `LeaderElectionRecord`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct LeaseRecord {
    /// The holder's identity; empty if there is none.
    pub(super) holder: String,
    pub(super) duration_seconds: u32,
    pub(super) acquired: Option<Timestamp>,
    pub(super) renewed: Option<Timestamp>,
    /// How often the holder has changed.
    pub(super) transitions: u32,
}

/// The last record that this process observed.
#[derive(Debug)]
pub(super) struct LeaseObservation {
    record: Option<LeaseRecord>,
    /// When it was first observed, by this machine's clock.
    observed_at: Instant,
}

/// What to do about a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LeaseDecision {
    /// Write this record, which makes this process the holder.
    Write(LeaseRecord),
    /// Another process holds the lease, and is alive.
    Wait { holder: String },
}

impl LeaseObservation {
    pub(super) fn new(now: Instant) -> Self {
        Self { record: None, observed_at: now }
    }

    /// Notes the lease's current record.
    pub(super) fn observe(&mut self, record: &LeaseRecord, now: Instant) {
        if self.record.as_ref() != Some(record) {
            *self = Self { record: Some(record.clone()), observed_at: now };
        }
    }

    /// The record if this process holds the lease and it has not expired: then no other process can
    /// have taken it, and it need not be read again.
    pub(super) fn own_live_record(&self, identity: &str, now: Instant) -> Option<&LeaseRecord> {
        self.record.as_ref().filter(|record| record.holder == identity && self.is_alive(now))
    }

    /// When the lease expires unless a renewal is observed.
    pub(super) fn expires_at(&self) -> Instant {
        let seconds = self.record.as_ref().map_or(0, |record| record.duration_seconds);
        self.observed_at + Duration::from_secs(seconds.into())
    }

    fn is_alive(&self, now: Instant) -> bool {
        self.expires_at() > now
    }
}

/// Decides about a lease with the record `stored`, `None` if there is no lease.
pub(super) fn decide(
    stored: Option<&LeaseRecord>,
    observation: &LeaseObservation,
    election: &Election,
    now: Instant,
    wall_time: Timestamp,
) -> LeaseDecision {
    let mut record = LeaseRecord {
        holder: election.identity.clone(),
        duration_seconds: u32::try_from(election.lease_duration.as_secs()).unwrap_or(u32::MAX),
        acquired: Some(wall_time),
        renewed: Some(wall_time),
        transitions: 0,
    };
    match stored {
        None => {}
        Some(stored) if stored.holder == election.identity => {
            record.acquired = stored.acquired;
            record.transitions = stored.transitions;
        }
        Some(stored) if !stored.holder.is_empty() && observation.is_alive(now) => {
            return LeaseDecision::Wait { holder: stored.holder.clone() };
        }
        Some(stored) => record.transitions = stored.transitions.saturating_add(1),
    }
    LeaseDecision::Write(record)
}

/// The record that a holder writes to release the lease, so that no candidate has to wait.
pub(super) fn released_record(stored: &LeaseRecord, wall_time: Timestamp) -> LeaseRecord {
    LeaseRecord {
        holder: String::new(),
        duration_seconds: 1,
        acquired: Some(wall_time),
        renewed: Some(wall_time),
        transitions: stored.transitions,
    }
}

impl LeaseRecord {
    /// Reads a Lease object; missing fields are zero or empty.
    pub(super) fn of(lease: &Value) -> Self {
        let spec = &lease["spec"];
        let number = |name: &str| spec[name].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or(0);
        let time = |name: &str| spec[name].as_str().and_then(|time| time.parse().ok());
        Self {
            holder: spec["holderIdentity"].as_str().unwrap_or_default().to_owned(),
            duration_seconds: number("leaseDurationSeconds"),
            acquired: time("acquireTime"),
            renewed: time("renewTime"),
            transitions: number("leaseTransitions"),
        }
    }

    /// A Lease's complete `spec`, because fields that a coordinated election left there do not
    /// apply to this one.
    pub(super) fn spec(&self) -> Value {
        // Exactly six digits, or upstream's reader refuses it.
        let time = |time: Option<Timestamp>| time.map(|time| format!("{time:.6}"));
        json!({
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration_seconds,
            "acquireTime": time(self.acquired),
            "renewTime": time(self.renewed),
            "leaseTransitions": self.transitions,
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::clock;

    const BEFORE: &str = "2026-01-01T00:00:00.5Z";
    const NOW: &str = "2026-01-02T00:00:00.25Z";

    fn record(holder: &str, acquired: &str, transitions: u32) -> LeaseRecord {
        let time = |time: &str| Some(time.parse().unwrap());
        LeaseRecord {
            holder: holder.to_owned(),
            duration_seconds: 15,
            acquired: time(acquired),
            renewed: time(NOW),
            transitions,
        }
    }

    fn wait(holder: &str) -> LeaseDecision {
        LeaseDecision::Wait { holder: holder.to_owned() }
    }

    /// The stored lease, the seconds since its last observed change, and the decision.
    #[rstest]
    #[case::no_lease(None, 0, LeaseDecision::Write(record("me", NOW, 0)))]
    #[case::another_holds_it(Some(record("other", BEFORE, 3)), 0, wait("other"))]
    #[case::another_is_still_believed_alive(Some(record("other", BEFORE, 3)), 14, wait("other"))]
    #[case::another_did_not_renew(Some(record("other", BEFORE, 3)), 15, LeaseDecision::Write(record("me", NOW, 4)))]
    #[case::given_back(Some(record("", BEFORE, 3)), 0, LeaseDecision::Write(record("me", NOW, 4)))]
    #[case::own(Some(record("me", BEFORE, 3)), 0, LeaseDecision::Write(record("me", BEFORE, 3)))]
    #[case::own_and_expired(Some(record("me", BEFORE, 3)), 99, LeaseDecision::Write(record("me", BEFORE, 3)))]
    #[case::empty(Some(LeaseRecord::default()), 0, LeaseDecision::Write(record("me", NOW, 1)))]
    #[tokio::test(start_paused = true)]
    async fn lease_decisions_follow_client_go(
        #[case] stored: Option<LeaseRecord>,
        #[case] age: u64,
        #[case] decision: LeaseDecision,
    ) {
        let start = clock::instant();
        let mut observation = LeaseObservation::new(start);
        if let Some(stored) = &stored {
            observation.observe(stored, start);
        }
        let now = start + Duration::from_secs(age);
        let election = Election::new("ns", "lock", "me");
        assert_eq!(decide(stored.as_ref(), &observation, &election, now, NOW.parse().unwrap()), decision);
    }

    /// An observed renewal restarts the wait, whatever its times are; the same record does not.
    #[tokio::test(start_paused = true)]
    async fn only_a_changed_record_extends_the_lease() {
        let (start, election) = (clock::instant(), Election::new("ns", "lock", "me"));
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut observation = LeaseObservation::new(start);
        let mut current = record("other", BEFORE, 0);
        let decide = |observation: &LeaseObservation, current: &LeaseRecord, seconds| {
            decide(Some(current), observation, &election, after(seconds), NOW.parse().unwrap())
        };
        observation.observe(&current, start);
        current.renewed = Some("1999-01-01T00:00:00Z".parse().unwrap());
        observation.observe(&current, after(10));
        observation.observe(&current, after(20));
        assert_eq!(decide(&observation, &current, 24), wait("other"));
        assert_eq!(decide(&observation, &current, 25), LeaseDecision::Write(record("me", NOW, 1)));
    }

    #[tokio::test(start_paused = true)]
    async fn only_an_own_live_lease_is_renewed_without_reading_it() {
        let start = clock::instant();
        let mut observation = LeaseObservation::new(start);
        assert_eq!(observation.own_live_record("me", start), None);
        let own = record("me", BEFORE, 2);
        observation.observe(&own, start);
        assert_eq!(observation.own_live_record("me", start + Duration::from_secs(14)), Some(&own));
        assert_eq!(observation.own_live_record("me", start + Duration::from_secs(15)), None);
        assert_eq!(observation.own_live_record("another", start), None);
    }

    #[test]
    fn lease_is_written_in_upstreams_format() {
        let own = record("me", BEFORE, 2);
        let lease = json!({"spec": own.spec()});
        assert_eq!(lease["spec"]["acquireTime"], "2026-01-01T00:00:00.500000Z");
        assert_eq!(LeaseRecord::of(&lease), own);
        let gone = released_record(&own, NOW.parse().unwrap());
        assert_eq!(
            gone.spec(),
            json!({
                "holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 2,
                "acquireTime": "2026-01-02T00:00:00.250000Z", "renewTime": "2026-01-02T00:00:00.250000Z",
            })
        );
    }
}
