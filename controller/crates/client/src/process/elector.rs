//! Acquires the lease, renews it, and releases it.
//!
//! Implemented here for client-go's semantics: another replica's record ages by this process's own
//! clock, and a leader stops at the renew deadline. kube-lease-manager compares `renewTime` with
//! the time of day, and has no deadline.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::lease_record::{LeaseDecision, LeaseObservation, LeaseRecord, decide, released_record};
use super::{Election, ElectionError, ProcessError};
use crate::api::{ApiServer, RequestError, Resource};
use crate::clock::{self, Clock};
use crate::metrics::Metrics;

/// How long after the lease has expired a leader that neither renews nor stops counts as stuck, as
/// in kube-controller-manager.
const STUCK_AFTER: Duration = Duration::from_secs(20);

/// A candidate for the leadership.
pub(super) struct Elector {
    api: ApiServer,
    election: Election,
    clock: Clock,
    metrics: Metrics,
    observation: LeaseObservation,
    /// The lease as last returned by the server; null if there is none.
    lease: Value,
    /// Whether a write that makes this process the holder is in flight, or was abandoned before its
    /// response.
    may_have_acquired: bool,
    leadership: Leadership,
}

/// Whether this process leads; the health probes check it.
#[derive(Debug, Clone)]
pub(super) struct Leadership {
    /// Time of the last renewal; `None` if this process does not lead.
    renewed: Arc<Mutex<Option<Instant>>>,
    lease_duration: Duration,
}

enum AttemptOutcome {
    Acquired,
    TakenBy(String),
    Failed,
}

impl Elector {
    pub(super) fn new(
        api: ApiServer,
        election: Election,
        clock: Clock,
        metrics: Metrics,
    ) -> Result<Self, ElectionError> {
        election.check()?;
        metrics.set_leading(&election.name, false);
        let (observation, lease_duration) = (LeaseObservation::new(clock::instant()), election.lease_duration);
        let leadership = Leadership { renewed: Arc::default(), lease_duration };
        Ok(Self {
            api,
            election,
            clock,
            metrics,
            observation,
            lease: Value::Null,
            may_have_acquired: false,
            leadership,
        })
    }

    pub(super) fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// Returns when this process has acquired the lease.
    pub(super) async fn acquire(&mut self) {
        let lease = self.path();
        let mut last_holder = None;
        loop {
            let outcome = self.attempt().await;
            let mut next = clock::instant() + self.election.candidate_pause();
            match outcome {
                AttemptOutcome::Acquired => break,
                AttemptOutcome::TakenBy(holder) => {
                    // Unlike client-go, which waits for its next regular attempt, try as soon as
                    // the lease expires, because there is no leader then.
                    next = next.min(self.observation.expires_at());
                    if last_holder.as_ref() != Some(&holder) {
                        tracing::info!(%lease, %holder, "Standing by: another process holds the lease.");
                        last_holder = Some(holder);
                    }
                }
                AttemptOutcome::Failed => {}
            }
            clock::sleep_until(Some(next)).await;
        }
        self.metrics.set_leading(&self.election.name, true);
        tracing::info!(%lease, identity = self.election.identity, "Won the lease.");
    }

    /// Renews the lease until it is lost.
    pub(super) async fn renew_until_lost(&mut self) -> ProcessError {
        let deadline = self.election.renew_deadline;
        let why = loop {
            clock::sleep(self.election.retry_period).await;
            match clock::within(deadline, self.renew()).await {
                Some(Ok(())) => {}
                Some(Err(holder)) => break format!("{holder} has taken it"),
                None => break format!("it could not be renewed for {deadline:?}"),
            }
        };
        self.step_down();
        ProcessError::Lost { lease: self.path(), why }
    }

    /// Tries until it succeeds, or until another process has the lease: to go on would be to act
    /// without it.
    async fn renew(&mut self) -> Result<(), String> {
        loop {
            match self.attempt().await {
                AttemptOutcome::Acquired => return Ok(()),
                AttemptOutcome::TakenBy(holder) => return Err(holder),
                AttemptOutcome::Failed => clock::sleep(self.election.retry_period).await,
            }
        }
    }

    /// Releases the lease if this process has it or may have it, so that the next leader need not
    /// wait until it expires.
    pub(super) async fn release(&mut self) {
        let was_leader = self.step_down();
        if !was_leader && !self.may_have_acquired {
            return;
        }
        let (lease, deadline) = (self.path(), self.election.renew_deadline);
        let release = async {
            // Read again: a renewal may have been cut off after the server had applied it.
            let Some(stored) = self.read().await? else { return Ok(()) };
            if stored.holder != self.election.identity {
                return Ok(());
            }
            self.write(&released_record(&stored, self.wall_time())).await
        };
        match clock::within(deadline, release).await {
            Some(Ok(())) => tracing::info!(%lease, "Gave the lease back."),
            Some(Err(error)) => {
                tracing::warn!(%lease, error = %error.message(), "Cannot give the lease back; it will run out.");
            }
            None => tracing::warn!(%lease, "Cannot give the lease back in time; it will run out."),
        }
    }

    /// Stops leading; returns whether this process led.
    fn step_down(&self) -> bool {
        self.metrics.set_leading(&self.election.name, false);
        self.leadership.renewed().take().is_some()
    }

    /// One attempt to acquire or renew the lease.
    async fn attempt(&mut self) -> AttemptOutcome {
        let start = clock::instant();
        if let Some(record) = self.observation.own_live_record(&self.election.identity, start).cloned() {
            let LeaseDecision::Write(record) = self.decide(Some(&record)) else { return AttemptOutcome::Failed };
            match self.write_as_holder(&record, start).await {
                Ok(()) => return AttemptOutcome::Acquired,
                Err(error) => tracing::debug!(error = %error.message(), "Cannot renew the lease unread; reading it."),
            }
            self.metrics.count_slow_renewal(&self.election.name);
        }
        let stored = match self.read().await {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!(lease = %self.path(), error = %error.message(), "Cannot read the lease; trying again.");
                return AttemptOutcome::Failed;
            }
        };
        if let Some(stored) = &stored {
            self.observation.observe(stored, clock::instant());
        }
        match self.decide(stored.as_ref()) {
            LeaseDecision::Wait { holder } => AttemptOutcome::TakenBy(holder),
            LeaseDecision::Write(record) => match self.write_as_holder(&record, start).await {
                Ok(()) => AttemptOutcome::Acquired,
                Err(error) => {
                    tracing::warn!(lease = %self.path(), error = %error.message(), "Cannot take the lease; trying again.");
                    AttemptOutcome::Failed
                }
            },
        }
    }

    fn decide(&self, stored: Option<&LeaseRecord>) -> LeaseDecision {
        decide(stored, &self.observation, &self.election, clock::instant(), self.wall_time())
    }

    /// Writes a record with this process as the holder, valid from `start`.
    async fn write_as_holder(&mut self, record: &LeaseRecord, start: Instant) -> Result<(), RequestError> {
        self.may_have_acquired = true;
        let written = self.write(record).await;
        self.may_have_acquired = matches!(written, Err(RequestError::NoAnswer { .. }));
        written?;
        self.observation.observe(record, start);
        *self.leadership.renewed() = Some(start);
        Ok(())
    }

    async fn read(&mut self) -> Result<Option<LeaseRecord>, RequestError> {
        let get = self.api.get(Resource::Leases, &self.election.namespace, &self.election.name);
        match self.with_timeout(get).await {
            Ok(lease) => {
                self.lease = lease;
                Ok(Some(LeaseRecord::of(&self.lease)))
            }
            Err(error) if error.is_not_found() => {
                self.lease = Value::Null;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Replaces the lease as last read; the server refuses that if it has changed since.
    async fn write(&mut self, record: &LeaseRecord) -> Result<(), RequestError> {
        let Election { namespace, name, .. } = &self.election;
        let is_new = self.lease.is_null();
        let mut body =
            if is_new { json!({"metadata": {"name": name, "namespace": namespace}}) } else { self.lease.clone() };
        body["apiVersion"] = "coordination.k8s.io/v1".into();
        body["kind"] = "Lease".into();
        body["spec"] = record.spec();
        self.lease = if is_new {
            self.with_timeout(self.api.create(Resource::Leases, namespace, &body)).await?
        } else {
            self.with_timeout(self.api.replace(Resource::Leases, namespace, name, &body)).await?
        };
        Ok(())
    }

    async fn with_timeout<T>(&self, request: impl Future<Output = Result<T, RequestError>>) -> Result<T, RequestError> {
        let request_timeout = self.election.request_timeout();
        let late = || RequestError::NoAnswer {
            request: format!("a request for lease {}", self.path()),
            seconds: request_timeout.as_secs(),
        };
        clock::within(request_timeout, request).await.unwrap_or_else(|| Err(late()))
    }

    /// The time of day in microseconds, the precision of a lease.
    fn wall_time(&self) -> Timestamp {
        let now = self.clock.now();
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }

    fn path(&self) -> String {
        format!("{}/{}", self.election.namespace, self.election.name)
    }
}

impl Leadership {
    /// Reports a stuck leader: one that cannot renew is expected to stop by itself.
    pub(super) fn check(&self, now: Instant) -> Result<(), String> {
        match *self.renewed() {
            Some(renewed) if now.saturating_duration_since(renewed) > self.lease_duration + STUCK_AFTER => {
                Err("the lease has run out, and neither was it renewed nor did this process end".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn renewed(&self) -> MutexGuard<'_, Option<Instant>> {
        // No code panics while it holds the lock, so the state is consistent.
        self.renewed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn stuck_leader_is_reported() {
        let now = clock::instant();
        let leadership = Leadership { renewed: Arc::default(), lease_duration: Duration::from_secs(15) };
        let after = |seconds| now + Duration::from_secs(seconds);
        assert!(leadership.check(after(9999)).is_ok(), "one that stands by has nothing to renew");
        *leadership.renewed() = Some(now);
        assert!(leadership.check(after(35)).is_ok());
        assert!(leadership.check(after(36)).is_err());
    }
}
