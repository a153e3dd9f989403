//! The probes of a session: one for each concurrent case, as a flip proves only one wait at a time.
//!
//! Each probe has a namespace of its own. All are proved before the subject starts. The first one
//! also shows whether a started subject is alive.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use futures::future::{join_all, try_join_all};
use lockstep_intercept::InterceptorLog;
use lockstep_support::clock;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{Environment, EnvironmentError, SessionOptions};
use crate::observe::Probe;
use crate::observe::namespace::{PROBE_PREFIX, remove_namespace};

pub(super) struct Probes {
    first: Probe,
    additional: Vec<Probe>,
    /// The indexes of the probes that no case uses.
    free: Mutex<Vec<usize>>,
    /// One permit for each free probe.
    permits: Semaphore,
}

/// A probe that a case uses until this is dropped.
pub(super) struct ProbeLease<'a> {
    probes: &'a Probes,
    number: usize,
    _permit: SemaphorePermit<'a>,
}

impl Probes {
    /// Create as many probes as there are lanes, and prove the test environment with each while no
    /// subject runs. If one fails, all are removed. `beside` is the log of the controller that
    /// shares the subject's work.
    pub(super) async fn prove(
        environment: &Environment,
        options: &SessionOptions,
        beside: Option<&InterceptorLog>,
    ) -> Result<Self, EnvironmentError> {
        let (count, now) = (options.lanes.get(), clock::now().as_nanosecond());
        let name = |number: usize| match number {
            0 => format!("{PROBE_PREFIX}{now:x}"),
            _ => format!("{PROBE_PREFIX}{now:x}-{number}"),
        };
        let names: Vec<String> = (0..count).map(name).collect();
        match try_join_all(names.iter().map(|name| prove(environment, options, beside, name))).await {
            Ok(mut probes) => {
                let additional = probes.split_off(1);
                let first = probes.remove(0);
                let (free, permits) = (Mutex::new((0..count).rev().collect()), Semaphore::new(count));
                Ok(Self { first, additional, free, permits })
            }
            Err(error) => {
                join_all(names.iter().map(|name| remove_namespace(&environment.client, name))).await;
                Err(error)
            }
        }
    }

    /// The probe that shows whether a started subject is alive.
    pub(super) fn first(&self) -> &Probe {
        &self.first
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        1 + self.additional.len()
    }

    /// Wait for a probe that no case uses.
    pub(super) async fn lease(&self) -> ProbeLease<'_> {
        let permit = self.permits.acquire().await.expect("it is never closed");
        let number = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        ProbeLease { probes: self, number: number.expect("as many are free as there are permits"), _permit: permit }
    }

    /// Remove their namespaces.
    pub(super) async fn remove(&self, client: &kube::Client) {
        let all = std::iter::once(&self.first).chain(&self.additional);
        join_all(all.map(|probe| remove_namespace(client, &probe.namespace))).await;
    }
}

impl Deref for ProbeLease<'_> {
    type Target = Probe;

    fn deref(&self) -> &Probe {
        self.number.checked_sub(1).map_or(&self.probes.first, |other| &self.probes.additional[other])
    }
}

impl Drop for ProbeLease<'_> {
    fn drop(&mut self) {
        self.probes.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

async fn prove(
    environment: &Environment,
    options: &SessionOptions,
    beside: Option<&InterceptorLog>,
    name: &str,
) -> Result<Probe, EnvironmentError> {
    let (client, cache, under_test) = (&environment.client, &environment.cache, environment.under_test());
    let patience = (options.budget, environment.cluster.quiet_period());
    let probe = Probe::prove(client, cache, name, (under_test, environment.claims()), patience).await?;
    environment.cluster.grant_namespace_access(name).await?;
    Ok(match beside {
        Some(beside) => probe.beside(beside),
        None => probe,
    })
}
