//! The wait for rest after an operation: what settling looks at, and what comes between.

use super::play::{Play, Stopped};
use super::{Session, middle};
use crate::case::model::{Bindings, Step};
use crate::observe::settle::{Half, Rest, Scene, settle};
use crate::observe::still;
use crate::recording::Blame;

impl Play<'_> {
    /// Settle; an interception that is met meanwhile is attended to, and settling begins anew.
    pub(super) async fn rest(&mut self) -> Result<Rest, Stopped> {
        let half = if self.session.is_off() { Half::Off } else { Half::Whole };
        loop {
            let mut interception = self.interception.take();
            let found = self.with_scene(half, async |scene, play| {
                tokio::select! {
                    biased;
                    met = middle::met(interception.as_mut()) => Err(met),
                    rest = play.at_rest(&scene) => Ok(rest),
                }
            });
            let found = found.await;
            self.interception = interception;
            match found {
                Ok(rest) => return Ok(rest),
                Err(met) => self.spring(met).await?,
            }
        }
    }

    /// Settle. The budget counts from the moment at which the subject is at work, also where that
    /// is in the middle.
    async fn at_rest(&self, scene: &Scene<'_>) -> Rest {
        if scene.subject == Half::Off {
            return self.within_budget(scene).await;
        }
        loop {
            let since = match self.session.comes_to_work(self.probe.as_deref()).await {
                Ok(since) => since,
                Err(trouble) => return Rest { unsettled: Some(trouble), rounds: 0 },
            };
            let rest = self.within_budget(scene).await;
            let is_blamed = rest.unsettled.as_ref().is_some_and(|it| it.blame == Blame::Subject && !it.ended);
            if !is_blamed || self.session.at_work_since() == since {
                return rest;
            }
        }
    }

    async fn within_budget(&self, scene: &Scene<'_>) -> Rest {
        let world = &self.session.environment.world;
        match &self.probe {
            Some(probe) => settle(world, probe, scene, &self.written).await,
            None => still::settle(world, scene, &self.written).await,
        }
    }

    /// Wait until the subject has done what it can with an old view.
    pub(super) async fn blind(&mut self, step: &Step) -> Result<(), Stopped> {
        let rest = self.with_scene(Half::Blind, async |scene, play| play.at_rest(&scene).await);
        match rest.await.unsettled {
            Some(trouble) => self.stop(trouble.blame, format!("line {}, with a kind held: {}", step.line, trouble.why)),
            None => Ok(()),
        }
    }

    /// Do something with what settling looks at.
    pub(super) async fn with_scene<T>(&self, subject: Half, work: impl AsyncFnOnce(Scene<'_>, &Self) -> T) -> T {
        let session = self.session;
        let kept = || if subject == Half::Blind { 0 } else { session.kept(&self.namespace) };
        let scene = Scene {
            namespace: &self.namespace,
            terminations: self.case.terminations,
            unbound: self.case.bindings == Bindings::Held,
            under_test: session.environment.under_test(),
            subject,
            exited: &|| session.broken(),
            writes: &|| self.ledger.writes(),
            answers: &|| self.ledger.answers(),
            under_way: &|| self.ledger.under_way(),
            kept: &kept,
            acts_later: &|| {
                subject == Half::Whole && (self.ledger.retries_later() || session.opens_later(&self.namespace))
            },
            budget: self.patience,
        };
        work(scene, self).await
    }
}

impl Session {
    /// Events of a namespace that the interceptor keeps from the subject.
    fn kept(&self, namespace: &str) -> u64 {
        self.interceptor.control().kept(namespace)
    }

    /// Whether the subject has yet to open a watch again that the interceptor has ended.
    fn opens_later(&self, namespace: &str) -> bool {
        self.interceptor.control().opens_later(namespace)
    }
}
