//! Playing a case: its steps one by one, each followed by a settling, all of it written down.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinSet;

use super::ledger::Ledger;
use super::middle::Interception;
use super::probes::Lent;
use super::{Environment, Session};
use crate::case::cost;
use crate::case::model::{Case, Count, Operation, Pods, Share, Step};
use crate::clock;
use crate::driver::attend::{Charge, attend};
use crate::driver::{DriveError, Driver, PodOperation, Stillness, label, next_pods};
use crate::observe::namespace::remove_namespace;
use crate::observe::{Kind, Object};
use crate::recording::{Blame, End, Entry, Impossible, Recording, Settling, StepMark, Trouble, pack_old};
use crate::timeline::StepId;

/// How the names of cases' namespaces begin.
pub(super) const CASES: &str = "ls-";

/// One case being played.
pub(super) struct Play<'a> {
    pub(super) session: &'a Session,
    pub(super) case: &'a Case,
    pub(super) namespace: String,
    pub(super) driver: Driver,
    /// `None` in virtual time.
    pub(super) probe: Option<Lent<'a>>,
    pub(super) ledger: Ledger,
    began: u64,
    /// How long one settling may take.
    pub(super) patience: Duration,
    pub(super) entries: Vec<Entry>,
    /// The versions among as many entries are packed.
    packed: usize,
    /// What the step has laid for the subject.
    pub(super) interception: Option<Interception<'a>>,
    /// What the driver has written for this step.
    pub(super) written: Vec<(Kind, u64)>,
}

/// The play cannot go on; the trouble stands in the recording.
#[derive(Debug)]
pub(super) struct Stopped;

impl Session {
    /// Play a case in a namespace of its own. Whatever happens stands in the recording; the
    /// namespace goes after it.
    pub async fn play(&self, case: &Case) -> Recording {
        self.play_with(case, false).await
    }

    /// The same while other cases may be played; only for a case that leaves the subject alone.
    pub(super) async fn play_with(&self, case: &Case, beside_others: bool) -> Recording {
        let probe = match &self.probes {
            Some(probes) => Some(probes.lend().await),
            None => None,
        };
        let number = self.cases.fetch_add(1, Ordering::Relaxed);
        let namespace = namespace(case, number);
        let world = &self.environment.world;
        let began = world.elapsed();
        let stillness = self.stillness(case);
        let header = self.header(case, &namespace, matches!(stillness, Stillness::Real(_)));
        let Environment { cluster, nodes, .. } = &*self.environment;
        let driver = Driver::new(cluster.clone(), world.clone(), nodes.clone(), &namespace, stillness.clone());
        let ledger = Ledger::open(self.interceptor.log(), &namespace);
        let mut play = Play {
            session: self,
            case,
            namespace: namespace.clone(),
            driver,
            probe,
            ledger,
            began,
            patience: cost(case).patience(self.budget),
            entries: Vec::new(),
            packed: 0,
            interception: None,
            written: Vec::new(),
        };
        self.may_print(&case.redaction);
        world.open_journal(&namespace);
        let prepared = self.prepare(case, &namespace).await;
        let charge = Charge {
            namespace: namespace.clone(),
            nodes: case.nodes.clone(),
            bindings: case.bindings,
            terminations: case.terminations,
            stillness,
        };
        // In a set, so that it ends with this play, also with one that is given up half-way.
        let mut attendant = JoinSet::new();
        attendant.spawn(attend(world.clone(), self.environment.nodes.clone(), charge));
        let completed = match prepared {
            _ if play.is_not_judged() => false,
            Ok(()) => play.all().await.is_ok(),
            Err(error) => {
                play.trouble(Blame::Environment, format!("cannot make ready for the case: {error}"));
                false
            }
        };
        // Whatever a step has laid is taken back, and whoever was stopped is there for the next
        // case.
        play.interception = None;
        if let Err(error) = self.start().await {
            play.trouble(Blame::Environment, format!("the subject cannot be started again: {error}"));
        }
        let events_complete = completed && play.events(number).await;
        play.gather();
        for what in self.beyond().await {
            play.trouble(Blame::Environment, what);
        }
        attendant.shutdown().await;
        // A simulated cluster of the case's own goes as a whole.
        if play.probe.is_some() {
            remove_namespace(&self.environment.client, &namespace).await;
        }
        // The end of a process is told once, by the case in which it happened.
        if let Some(ended) = self.ended_in(&case.name, &namespace, beside_others)
            && !play.tells(&ended.why)
        {
            play.trouble(ended.blame, ended.why);
        }
        if let Some(ended) = self.broken().filter(|ended| !play.tells(&ended.why)) {
            play.record(ended);
        }
        world.close_journal(&namespace);
        let diagnosis = if play.is_in_trouble() { self.diagnosis().await } else { None };
        let end = End { completed, events_complete, at: world.elapsed() - began, diagnosis };
        let mut recording = Recording { header, entries: play.entries, end: Some(end) };
        case.redaction.recording(&mut recording);
        recording
    }
}

impl<'a> Play<'a> {
    /// Whether the subject does not bring what the case judges: then the test environment's own
    /// work would be judged.
    fn is_not_judged(&mut self) -> bool {
        let lacking = self.session.environment.under_test().lacks(&self.case.controllers);
        if let Some(controller) = lacking {
            let why = format!("the case judges the {}, and here the test environment has that one", controller.title());
            self.trouble(Blame::Environment, why);
        }
        let Some(why) = self.session.decides_otherwise(self.case) else { return lacking.is_some() };
        self.trouble(Blame::Environment, why);
        true
    }

    async fn all(&mut self) -> Result<(), Stopped> {
        let case = self.case;
        let mut part = 0;
        for step in &case.given {
            part += 1;
            self.arm(step)?;
            self.given(step, part).await?;
            self.clear()?;
        }
        for (index, step) in (1..).zip(&case.steps) {
            self.arm(step)?;
            self.step(step, index).await?;
            self.clear()?;
        }
        Ok(())
    }

    /// A step of `given`: pods move all at once where that decides nothing, that is, while every
    /// Deployment has at most one ReplicaSet in use.
    async fn given(&mut self, step: &Step, part: u32) -> Result<(), Stopped> {
        if let Some((operation, pods)) = step.operation.moves().filter(|_| !self.several_active()) {
            if pods.count != Count::All {
                return self.operation(step, 0, part, &step.operation).await;
            }
            for _ in 0..self.session.most_sub_steps {
                if self.next(operation, pods, 1).is_empty() {
                    return Ok(());
                }
                self.operation(step, 0, part, &step.operation).await?;
                if !operation.repeats() {
                    return Ok(());
                }
            }
            return self.endless();
        }
        self.step(step, 0).await
    }

    async fn step(&mut self, step: &Step, index: u32) -> Result<(), Stopped> {
        let Some((operation, pods)) = step.operation.moves().filter(|(_, pods)| !pods.atomic) else {
            return self.operation(step, index, 0, &step.operation).await;
        };
        if let Some(share) = pods.every {
            return self.batches(step, index, (operation, pods, share)).await;
        }
        // One pod a step: only then is the next decision the only one possible.
        let most = self.session.most_sub_steps;
        let limit = match pods.count {
            Count::All if operation.repeats() => most,
            // A pod that fails is replaced by one that could fail too: those that are there now.
            Count::All => u32::try_from(self.next(operation, pods, usize::MAX).len()).unwrap_or(most),
            Count::Exactly(number) => number,
        };
        for part in 1..=limit {
            if pods.count == Count::All && self.next(operation, pods, 1).is_empty() {
                return Ok(());
            }
            let number = if pods.count == Count::Exactly(1) { 0 } else { part };
            self.operation(step, index, number, &step.operation.part(part)).await?;
        }
        if pods.count == Count::All && operation.repeats() && !self.next(operation, pods, 1).is_empty() {
            return self.endless();
        }
        Ok(())
    }

    /// So many pods a sub-step, until none is left.
    async fn batches(
        &mut self,
        step: &Step,
        index: u32,
        (operation, pods, share): (PodOperation, &Pods, Share),
    ) -> Result<(), Stopped> {
        let deployments = self.session.environment.world.list(Kind::Deployment, &self.namespace);
        let chosen = deployments.iter().filter(|one| pods.deployment.as_ref().is_none_or(|name| one.name == *name));
        let wanted: i64 = chosen.map(|one| one.int("/spec/replicas")).sum();
        let most = usize::try_from(share.of(u64::try_from(wanted).unwrap_or(0))).unwrap_or(usize::MAX);
        for part in 1..=self.session.most_sub_steps {
            let found = self.next(operation, pods, most).len();
            if found == 0 {
                return Ok(());
            }
            let batch = step.operation.batch(u32::try_from(found).unwrap_or(u32::MAX));
            self.operation(step, index, part, &batch).await?;
        }
        self.endless()
    }

    /// New pods come for as long as there is a step for them, or the case is a longer one than was
    /// reckoned with.
    fn endless(&mut self) -> Result<(), Stopped> {
        let most = self.session.most_sub_steps;
        let why = format!("new pods keep coming: pods are left after {most} sub-steps (--most-sub-steps)");
        self.stop(Blame::Subject, why)
    }

    /// One step: mark it, make it, settle, and write down what came of it.
    async fn operation(&mut self, step: &Step, index: u32, part: u32, operation: &Operation) -> Result<(), Stopped> {
        let within = step.during.iter().flat_map(|during| &during.steps).any(|inner| inner.operation.by_user());
        let user = operation.by_user() || within;
        if user || matches!(operation.moves(), Some((PodOperation::Terminate, _))) {
            self.driver.new_second().await;
        }
        if clock::is_simulated() && readies(operation) && self.case.source.contains("minReadySeconds") {
            self.driver.next_second().await;
        }
        // Whatever came since the last settling was not caused by this step.
        self.gather();
        let (line, label) = (step.line, label(self.case, operation));
        let burst = self.burst(operation);
        let (expect, together) = (step.expect.clone(), !operation.inner().is_empty() || !burst.is_empty());
        let (stale, at) = (step.is_stale(), self.now());
        self.entries.push(Entry::Step(StepMark { index, part, label, line, user, together, stale, expect, at }));
        self.driver.label(step.label.as_deref());
        let made = match (operation.life(), operation.advance(), operation.moves()) {
            (Some(life), ..) => {
                self.live(life).await?;
                Ok(())
            }
            (_, Some(advance), _) => match advance.time(&self.driver) {
                Ok(time) => {
                    self.pass(time).await?;
                    Ok(())
                }
                Err(error) => Err(error),
            },
            (.., Some((kind, pods))) if !pods.atomic && pods.count == Count::Exactly(1) => {
                self.driver.one_pod(kind, pods).await
            }
            _ => self.driver.perform(operation).await,
        };
        let named = self.driver.take_named();
        if !named.is_empty() {
            self.entries.push(Entry::Named(named));
        }
        self.check(step, operation, made)?;
        self.written = self.driver.take_written();
        self.behind_its_back(step).await?;
        let since = clock::instant();
        let rest = self.rest().await?;
        self.gather();
        let stopped = rest.unsettled.is_some();
        let (took, at) = (clock::millis_since(since), self.now());
        self.entries.push(Entry::Settled(Settling { unsettled: rest.unsettled, rounds: rest.rounds, took, at }));
        self.session.steps.settled(self.case, StepId { index, part });
        if stopped { Err(Stopped) } else { self.check_burst(&burst) }
    }

    /// Whether the operation went as the case says that it must.
    pub(super) fn check(
        &mut self,
        step: &Step,
        operation: &Operation,
        made: Result<(), DriveError>,
    ) -> Result<(), Stopped> {
        match (made, &step.refused) {
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(text)) => {
                // All else is between case and server.
                let blame = if operation.depends_on_the_subject() { Blame::Subject } else { Blame::Environment };
                self.stop(blame, format!("the operation was accepted; the case says that it is refused with '{text}'"))
            }
            (Err(error), Some(_)) if step.expects(&error) => Ok(()),
            (Err(DriveError::Impossible(why)), _) if self.session.broken().is_none() => {
                self.gather();
                self.entries.push(Entry::Impossible(Impossible { why, never_came: false }));
                Err(Stopped)
            }
            (Err(DriveError::Impossible(why)), _) => self.stop(Blame::Subject, why),
            (Err(DriveError::Refused(why)), _) => {
                self.stop(Blame::Environment, format!("the operation was refused: {why}; is the case right?"))
            }
            (Err(error @ (DriveError::Server(_) | DriveError::Environment(_))), _) => {
                self.stop(Blame::Environment, error.to_string())
            }
        }
    }

    /// Move what the watches and the interceptor have gathered into the recording.
    pub(super) fn gather(&mut self) {
        for mut version in self.session.environment.world.drain_journal(&self.namespace) {
            version.at = version.at.saturating_sub(self.began);
            self.entries.push(Entry::Object(version));
        }
        self.packed = pack_old(&mut self.entries, self.packed);
        let requests = self.ledger.take();
        self.session.refused.add(&requests);
        for request in requests {
            let at = self.session.environment.world.at(request.started).saturating_sub(self.began);
            self.entries.push(Entry::Request(self.ledger.entered(request, at)));
        }
    }

    pub(super) fn stop(&mut self, blame: Blame, why: String) -> Result<(), Stopped> {
        // A subject that has ended is the reason for whatever became impossible after it.
        match self.session.broken() {
            Some(ended) => self.record(ended),
            None => self.trouble(blame, why),
        }
        Err(Stopped)
    }

    pub(super) fn trouble(&mut self, blame: Blame, why: String) {
        self.record(Trouble::new(blame, why));
    }

    pub(super) fn record(&mut self, trouble: Trouble) {
        self.gather();
        self.entries.push(Entry::Trouble(trouble));
    }

    pub(super) fn now(&self) -> u64 {
        self.session.environment.world.elapsed() - self.began
    }

    pub(super) fn next(&self, operation: PodOperation, pods: &Pods, most: usize) -> Vec<Object> {
        let world = &self.session.environment.world;
        next_pods(world, &self.namespace, operation, pods, &self.driver.named(), most)
    }

    fn several_active(&self) -> bool {
        self.session.environment.world.has_several_in_use(&self.namespace)
    }
}

/// Whether it makes pods ready, alone or together with other things.
fn readies(operation: &Operation) -> bool {
    let readies = |one: &Operation| matches!(one.moves(), Some((PodOperation::Ready, _)));
    readies(operation) || operation.inner().iter().any(|step| readies(&step.operation))
}

/// A name that says which case it is and that no other run has.
fn namespace(case: &Case, number: u32) -> String {
    let mut name: String =
        case.name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    name.truncate(36);
    let nanos = clock::now().as_nanosecond() & 0xffff_ffff;
    format!("{CASES}{}-{number}-{nanos:x}", name.trim_matches('-'))
}
