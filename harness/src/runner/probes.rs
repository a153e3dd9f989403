//! The probes of a session: one for each case that may be played at the same time, as a flip proves
//! one wait alone.
//!
//! Each has a namespace of its own. All are proved before a subject runs; the first is also the one
//! by which a subject that was started is found alive.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use futures::future::{join_all, try_join_all};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{Environment, EnvironmentError, SessionOptions};
use crate::clock;
use crate::observe::Probe;
use crate::observe::namespace::remove_namespace;

/// How the names of their namespaces begin.
pub(super) const PROBES: &str = "lockstep-probe-";

/// See the module.
pub(super) struct Probes {
    first: Probe,
    others: Vec<Probe>,
    /// The numbers of those that no case has.
    free: Mutex<Vec<usize>>,
    /// As many as are free.
    permits: Semaphore,
}

/// A probe that a case has until this is dropped.
pub(super) struct Lent<'a> {
    probes: &'a Probes,
    number: usize,
    _permit: SemaphorePermit<'a>,
}

impl Probes {
    /// Make as many as the options have lanes, and prove the test environment with each while no
    /// subject runs. Where one fails, none is left.
    pub(super) async fn prove(environment: &Environment, options: &SessionOptions) -> Result<Self, EnvironmentError> {
        let (count, now) = (options.lanes.get(), clock::now().as_nanosecond());
        let name = |number: usize| match number {
            0 => format!("{PROBES}{now:x}"),
            _ => format!("{PROBES}{now:x}-{number}"),
        };
        let names: Vec<String> = (0..count).map(name).collect();
        match try_join_all(names.iter().map(|name| prove(environment, options, name))).await {
            Ok(mut probes) => {
                let others = probes.split_off(1);
                let first = probes.remove(0);
                let (free, permits) = (Mutex::new((0..count).rev().collect()), Semaphore::new(count));
                Ok(Self { first, others, free, permits })
            }
            Err(error) => {
                join_all(names.iter().map(|name| remove_namespace(&environment.client, name))).await;
                Err(error)
            }
        }
    }

    /// The one by which a subject is found alive.
    pub(super) fn first(&self) -> &Probe {
        &self.first
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// Wait for one that no case has.
    pub(super) async fn lend(&self) -> Lent<'_> {
        let permit = self.permits.acquire().await.expect("it is never closed");
        let number = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Lent { probes: self, number: number.expect("as many are free as there are permits"), _permit: permit }
    }

    /// Remove their namespaces.
    pub(super) async fn remove(&self, client: &kube::Client) {
        let all = std::iter::once(&self.first).chain(&self.others);
        join_all(all.map(|probe| remove_namespace(client, &probe.namespace))).await;
    }
}

impl Deref for Lent<'_> {
    type Target = Probe;

    fn deref(&self) -> &Probe {
        self.number.checked_sub(1).map_or(&self.probes.first, |other| &self.probes.others[other])
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.probes.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

async fn prove(environment: &Environment, options: &SessionOptions, name: &str) -> Result<Probe, EnvironmentError> {
    let (client, world, under_test) = (&environment.client, &environment.world, environment.under_test());
    let patience = (options.budget, environment.cluster.doubt());
    let probe = Probe::prove(client, world, name, (under_test, environment.claims()), patience).await?;
    environment.cluster.admit(name).await?;
    Ok(probe)
}
