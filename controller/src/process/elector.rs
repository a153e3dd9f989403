//! Stands for the election, keeps what was won, and gives it back.
//!
//! Written here, because the semantics are client-go's: another replica's record ages by this
//! process's own clock, and a leader stops at the renew deadline. kube-lease-manager compares
//! `renewTime` with the time of day, and has no deadline.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::record::{Decision, Memory, Record, decide, released};
use super::{Election, ElectionError, ProcessError};
use crate::api::{ApiServer, RequestError, Resource};
use crate::clock::{self, Clock};
use crate::metrics::Metrics;

/// How long after its lease has run out a leader that neither renews nor ends counts as stuck, as
/// in kube-controller-manager.
const STUCK: Duration = Duration::from_secs(20);

/// One candidate, who may become the leader.
pub(super) struct Elector {
    api: ApiServer,
    election: Election,
    clock: Clock,
    metrics: Metrics,
    memory: Memory,
    /// The lease as the server last showed it; null: not at all.
    lease: Value,
    /// Whether a write that makes this process the holder is on its way, or was given up before its
    /// answer came.
    is_reaching: bool,
    seat: Seat,
}

/// Whether this process leads; probes look at it.
#[derive(Debug, Clone)]
pub(super) struct Seat {
    /// When the leader last renewed; `None`: not the leader.
    renewed: Arc<Mutex<Option<Instant>>>,
    lasts: Duration,
}

/// What became of one try.
enum Outcome {
    Held,
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
        metrics.leads(&election.name, false);
        let (memory, lasts) = (Memory::new(clock::instant()), election.lease_duration);
        let seat = Seat { renewed: Arc::default(), lasts };
        Ok(Self { api, election, clock, metrics, memory, lease: Value::Null, is_reaching: false, seat })
    }

    pub(super) fn seat(&self) -> Seat {
        self.seat.clone()
    }

    /// Returns when the lease is won.
    pub(super) async fn win(&mut self) {
        let lease = self.path();
        let mut known = None;
        loop {
            let outcome = self.attempt().await;
            let mut next = clock::instant() + self.election.candidate_pause();
            match outcome {
                Outcome::Held => break,
                Outcome::TakenBy(holder) => {
                    // Not client-go's, which comes round in its own time only: nobody is served by
                    // a lease that has run out.
                    next = next.min(self.memory.runs_out());
                    if known.as_ref() != Some(&holder) {
                        tracing::info!(%lease, %holder, "Standing by: another process holds the lease.");
                        known = Some(holder);
                    }
                }
                Outcome::Failed => {}
            }
            clock::sleep_until(Some(next)).await;
        }
        self.metrics.leads(&self.election.name, true);
        tracing::info!(%lease, identity = self.election.identity, "Won the lease.");
    }

    /// Renews the lease until it is lost.
    pub(super) async fn keep(&mut self) -> ProcessError {
        let deadline = self.election.renew_deadline;
        let why = loop {
            clock::sleep(self.election.retry_period).await;
            match clock::within(deadline, self.renew()).await {
                Some(Ok(())) => {}
                Some(Err(holder)) => break format!("{holder} has taken it"),
                None => break format!("it could not be renewed for {deadline:?}"),
            }
        };
        self.leave();
        ProcessError::Lost { lease: self.path(), why }
    }

    /// Tries until it has worked, or until another has the lease: then to go on trying would be to
    /// act without it.
    async fn renew(&mut self) -> Result<(), String> {
        loop {
            match self.attempt().await {
                Outcome::Held => return Ok(()),
                Outcome::TakenBy(holder) => return Err(holder),
                Outcome::Failed => clock::sleep(self.election.retry_period).await,
            }
        }
    }

    /// Gives the lease back if this process has it, or may have it, so that nobody has to wait
    /// until it runs out.
    pub(super) async fn release(&mut self) {
        let led = self.leave();
        if !led && !self.is_reaching {
            return;
        }
        let (lease, deadline) = (self.path(), self.election.renew_deadline);
        let release = async {
            // Read anew: a renewal may have been cut off after the server had taken it.
            let Some(stored) = self.read().await? else { return Ok(()) };
            if stored.holder != self.election.identity {
                return Ok(());
            }
            self.write(&released(&stored, self.today())).await
        };
        match clock::within(deadline, release).await {
            Some(Ok(())) => tracing::info!(%lease, "Gave the lease back."),
            Some(Err(error)) => {
                tracing::warn!(%lease, error = %error.message(), "Cannot give the lease back; it will run out.");
            }
            None => tracing::warn!(%lease, "Cannot give the lease back in time; it will run out."),
        }
    }

    /// Leads no more; whether it did.
    fn leave(&self) -> bool {
        self.metrics.leads(&self.election.name, false);
        self.seat.renewed().take().is_some()
    }

    /// One try to take or renew the lease.
    async fn attempt(&mut self) -> Outcome {
        let start = clock::instant();
        if let Some(own) = self.memory.own(&self.election.identity, start).cloned() {
            let Decision::Hold(record) = self.decide(Some(&own)) else { return Outcome::Failed };
            match self.hold(&record, start).await {
                Ok(()) => return Outcome::Held,
                Err(error) => tracing::debug!(error = %error.message(), "Cannot renew the lease unread; reading it."),
            }
            self.metrics.renewed_slowly(&self.election.name);
        }
        let stored = match self.read().await {
            Ok(stored) => stored,
            Err(error) => {
                tracing::warn!(lease = %self.path(), error = %error.message(), "Cannot read the lease; trying again.");
                return Outcome::Failed;
            }
        };
        if let Some(stored) = &stored {
            self.memory.see(stored, clock::instant());
        }
        match self.decide(stored.as_ref()) {
            Decision::Wait { holder } => Outcome::TakenBy(holder),
            Decision::Hold(record) => match self.hold(&record, start).await {
                Ok(()) => Outcome::Held,
                Err(error) => {
                    tracing::warn!(lease = %self.path(), error = %error.message(), "Cannot take the lease; trying again.");
                    Outcome::Failed
                }
            },
        }
    }

    fn decide(&self, stored: Option<&Record>) -> Decision {
        decide(stored, &self.memory, &self.election, clock::instant(), self.today())
    }

    /// Writes what makes this process the holder, as of the moment before.
    async fn hold(&mut self, record: &Record, start: Instant) -> Result<(), RequestError> {
        self.is_reaching = true;
        let written = self.write(record).await;
        self.is_reaching = matches!(written, Err(RequestError::NoAnswer { .. }));
        written?;
        self.memory.see(record, start);
        *self.seat.renewed() = Some(start);
        Ok(())
    }

    async fn read(&mut self) -> Result<Option<Record>, RequestError> {
        let get = self.api.get(Resource::Leases, &self.election.namespace, &self.election.name);
        match self.in_time(get).await {
            Ok(lease) => {
                self.lease = lease;
                Ok(Some(Record::of(&self.lease)))
            }
            Err(error) if error.is_not_found() => {
                self.lease = Value::Null;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes over the lease as it was last shown; the server refuses that if it has changed since.
    async fn write(&mut self, record: &Record) -> Result<(), RequestError> {
        let Election { namespace, name, .. } = &self.election;
        let is_new = self.lease.is_null();
        let mut body =
            if is_new { json!({"metadata": {"name": name, "namespace": namespace}}) } else { self.lease.clone() };
        body["apiVersion"] = "coordination.k8s.io/v1".into();
        body["kind"] = "Lease".into();
        body["spec"] = record.spec();
        self.lease = if is_new {
            self.in_time(self.api.create(Resource::Leases, namespace, &body)).await?
        } else {
            self.in_time(self.api.replace(Resource::Leases, namespace, name, &body)).await?
        };
        Ok(())
    }

    async fn in_time<T>(&self, request: impl Future<Output = Result<T, RequestError>>) -> Result<T, RequestError> {
        let patience = self.election.patience();
        let late = || RequestError::NoAnswer {
            what: format!("a request for lease {}", self.path()),
            seconds: patience.as_secs(),
        };
        clock::within(patience, request).await.unwrap_or_else(|| Err(late()))
    }

    /// The time of day, in the microseconds that a lease can tell.
    fn today(&self) -> Timestamp {
        let now = self.clock.now();
        Timestamp::from_microsecond(now.as_microsecond()).unwrap_or(now)
    }

    fn path(&self) -> String {
        format!("{}/{}", self.election.namespace, self.election.name)
    }
}

impl Seat {
    /// Whether this process is what it takes itself for: a leader that cannot renew ends by itself,
    /// unless it is stuck.
    pub(super) fn check(&self, now: Instant) -> Result<(), String> {
        match *self.renewed() {
            Some(renewed) if now.saturating_duration_since(renewed) > self.lasts + STUCK => {
                Err("the lease has run out, and neither was it renewed nor did this process end".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn renewed(&self) -> MutexGuard<'_, Option<Instant>> {
        // No code panics while it holds the lock, so what is behind it is whole.
        self.renewed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_is_stuck_is_not_well() {
        let now = clock::instant();
        let seat = Seat { renewed: Arc::default(), lasts: Duration::from_secs(15) };
        let after = |seconds| now + Duration::from_secs(seconds);
        assert!(seat.check(after(9999)).is_ok(), "one that stands by has nothing to renew");
        *seat.renewed() = Some(now);
        assert!(seat.check(after(35)).is_ok());
        assert!(seat.check(after(36)).is_err());
    }
}
