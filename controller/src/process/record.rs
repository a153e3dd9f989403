//! The lease: what it says, and what follows from it. Pure; time comes in.
//!
//! client-go's rules. The times in a lease are somebody else's clock and are never compared with
//! this machine's: a lease is believed to be alive for as long as it lasts after this process *saw*
//! it change.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Election;

/// What a lease says; client-go's `LeaderElectionRecord`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Record {
    /// Who holds it; empty: nobody.
    pub(super) holder: String,
    pub(super) duration_seconds: u32,
    pub(super) acquired: Option<Timestamp>,
    pub(super) renewed: Option<Timestamp>,
    /// How often it has passed from one to another.
    pub(super) transitions: u32,
}

/// What this process knows of a lease.
#[derive(Debug)]
pub(super) struct Memory {
    record: Option<Record>,
    /// When it was first seen like this, by this machine's clock.
    since: Instant,
}

/// What to do about a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    /// Write this.
    Hold(Record),
    /// Another has it, and is alive.
    Wait {
        /// Who.
        holder: String,
    },
}

impl Memory {
    pub(super) fn new(now: Instant) -> Self {
        Self { record: None, since: now }
    }

    /// Takes in what the lease says now.
    pub(super) fn see(&mut self, record: &Record, now: Instant) {
        if self.record.as_ref() != Some(record) {
            *self = Self { record: Some(record.clone()), since: now };
        }
    }

    /// The record if it is one's own, and still alive: then nobody can have taken it, and it need
    /// not be read again.
    pub(super) fn own(&self, identity: &str, now: Instant) -> Option<&Record> {
        self.record.as_ref().filter(|record| record.holder == identity && self.is_alive(now))
    }

    /// When it will have run out, if nothing is seen of its holder until then.
    pub(super) fn runs_out(&self) -> Instant {
        let seconds = self.record.as_ref().map_or(0, |record| record.duration_seconds);
        self.since + Duration::from_secs(seconds.into())
    }

    fn is_alive(&self, now: Instant) -> bool {
        self.runs_out() > now
    }
}

/// What to do about a lease that says `stored` (`None`: there is none) and has been seen.
pub(super) fn decide(
    stored: Option<&Record>,
    memory: &Memory,
    own: &Election,
    now: Instant,
    today: Timestamp,
) -> Decision {
    let mut record = Record {
        holder: own.identity.clone(),
        duration_seconds: u32::try_from(own.lease_duration.as_secs()).unwrap_or(u32::MAX),
        acquired: Some(today),
        renewed: Some(today),
        transitions: 0,
    };
    match stored {
        None => {}
        Some(stored) if stored.holder == own.identity => {
            record.acquired = stored.acquired;
            record.transitions = stored.transitions;
        }
        Some(stored) if !stored.holder.is_empty() && memory.is_alive(now) => {
            return Decision::Wait { holder: stored.holder.clone() };
        }
        Some(stored) => record.transitions = stored.transitions.saturating_add(1),
    }
    Decision::Hold(record)
}

/// What a holder writes when it leaves, so that nobody has to wait.
pub(super) fn released(stored: &Record, today: Timestamp) -> Record {
    Record {
        holder: String::new(),
        duration_seconds: 1,
        acquired: Some(today),
        renewed: Some(today),
        transitions: stored.transitions,
    }
}

impl Record {
    /// Reads a Lease object; what is missing counts as nothing.
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

    /// A Lease's `spec`. The whole of it: what a coordinated election left there does not hold for
    /// this one.
    pub(super) fn spec(&self) -> Value {
        // Six digits exactly, or upstream's reader refuses it.
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
    const TODAY: &str = "2026-01-02T00:00:00.25Z";

    fn record(holder: &str, acquired: &str, transitions: u32) -> Record {
        let time = |time: &str| Some(time.parse().unwrap());
        Record {
            holder: holder.to_owned(),
            duration_seconds: 15,
            acquired: time(acquired),
            renewed: time(TODAY),
            transitions,
        }
    }

    fn wait(holder: &str) -> Decision {
        Decision::Wait { holder: holder.to_owned() }
    }

    /// The lease as it is stored, the seconds since it was last seen to change, and what follows.
    #[rstest]
    #[case::no_lease(None, 0, Decision::Hold(record("me", TODAY, 0)))]
    #[case::another_holds_it(Some(record("other", BEFORE, 3)), 0, wait("other"))]
    #[case::another_is_still_believed_alive(Some(record("other", BEFORE, 3)), 14, wait("other"))]
    #[case::another_did_not_renew(Some(record("other", BEFORE, 3)), 15, Decision::Hold(record("me", TODAY, 4)))]
    #[case::given_back(Some(record("", BEFORE, 3)), 0, Decision::Hold(record("me", TODAY, 4)))]
    #[case::own(Some(record("me", BEFORE, 3)), 0, Decision::Hold(record("me", BEFORE, 3)))]
    #[case::own_and_expired(Some(record("me", BEFORE, 3)), 99, Decision::Hold(record("me", BEFORE, 3)))]
    #[case::empty(Some(Record::default()), 0, Decision::Hold(record("me", TODAY, 1)))]
    #[tokio::test(start_paused = true)]
    async fn rules(#[case] stored: Option<Record>, #[case] age: u64, #[case] decision: Decision) {
        let start = clock::instant();
        let mut memory = Memory::new(start);
        if let Some(stored) = &stored {
            memory.see(stored, start);
        }
        let now = start + Duration::from_secs(age);
        let own = Election::new("ns", "lock", "me");
        assert_eq!(decide(stored.as_ref(), &memory, &own, now, TODAY.parse().unwrap()), decision);
    }

    /// A renewal that was seen starts the wait anew, whatever its times say; the same record does
    /// not.
    #[tokio::test(start_paused = true)]
    async fn only_a_change_is_a_sign_of_life() {
        let (start, own) = (clock::instant(), Election::new("ns", "lock", "me"));
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut memory = Memory::new(start);
        let mut held = record("other", BEFORE, 0);
        let decide = |memory: &Memory, held: &Record, seconds| {
            decide(Some(held), memory, &own, after(seconds), TODAY.parse().unwrap())
        };
        memory.see(&held, start);
        held.renewed = Some("1999-01-01T00:00:00Z".parse().unwrap());
        memory.see(&held, after(10));
        memory.see(&held, after(20));
        assert_eq!(decide(&memory, &held, 24), wait("other"));
        assert_eq!(decide(&memory, &held, 25), Decision::Hold(record("me", TODAY, 1)));
    }

    #[tokio::test(start_paused = true)]
    async fn only_a_lease_of_ones_own_that_is_alive_is_renewed_unread() {
        let start = clock::instant();
        let mut memory = Memory::new(start);
        assert_eq!(memory.own("me", start), None);
        let own = record("me", BEFORE, 2);
        memory.see(&own, start);
        assert_eq!(memory.own("me", start + Duration::from_secs(14)), Some(&own));
        assert_eq!(memory.own("me", start + Duration::from_secs(15)), None);
        assert_eq!(memory.own("another", start), None);
    }

    #[test]
    fn is_written_as_upstream_reads_it() {
        let own = record("me", BEFORE, 2);
        let lease = json!({"spec": own.spec()});
        assert_eq!(lease["spec"]["acquireTime"], "2026-01-01T00:00:00.500000Z");
        assert_eq!(Record::of(&lease), own);
        let gone = released(&own, TODAY.parse().unwrap());
        assert_eq!(
            gone.spec(),
            json!({
                "holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 2,
                "acquireTime": "2026-01-02T00:00:00.250000Z", "renewTime": "2026-01-02T00:00:00.250000Z",
            })
        );
    }
}
