//! Runs a case: performs its steps one by one, settles after each, and records everything.

use std::sync::atomic::Ordering;
use std::time::Duration;

use lockstep_case::cost;
use lockstep_case::model::{BatchSize, Case, CountSpec, Operation, PodSelection, Step};
use lockstep_recording::{
    Blame, ImpossibleStep, Recording, RecordingEnd, RecordingEntry, Settling, StepMark, Trouble, WriterRole, pack_old,
};
use lockstep_support::clock;
use lockstep_timeline::StepId;
use lockstep_verdict::LONG_SILENCE;
use tokio::task::JoinSet;

use crate::armed_injection::ArmedInjection;
use crate::beside::VersionsBeside;
use crate::driver::kubelet::{KubeletDuties, act_as_kubelet};
use crate::driver::{DriveError, Driver, PodBackend, PodOperation, label, next_pods};
use crate::observe::namespace::{CASE_PREFIX, remove_namespace};
use crate::observe::{CachedObject, WatchedKind};
use crate::probes::ProbeLease;
use crate::request_log::RequestLog;
use crate::{Environment, Session, SubjectPlan};

/// Why a burst cannot be compared.
const BURST_LOST: &str = "the step cannot be compared: pods that it makes ready at once were deleted before its end, \
    and how many of them were ready by then is chance; leave out `atomic`, name the ReplicaSet with `of`, or add \
    minReadySeconds";

/// The number of sub-steps after which they are counted against the pods.
const FEW_SUB_STEPS: u32 = 500;

/// The most sub-steps of a step with `all` or `every`. If pods are left after them, the subject
/// creates pods without end. In proportion to the pods, because a subject that replaces each pod
/// that a step removes would otherwise be played for hours.
fn most_sub_steps(pods: usize) -> u32 {
    u32::try_from(pods.saturating_mul(20)).unwrap_or(u32::MAX).clamp(FEW_SUB_STEPS, 100_000)
}

pub(super) struct CaseRun<'a> {
    pub(super) session: &'a Session,
    pub(super) case: &'a Case,
    pub(super) namespace: String,
    pub(super) driver: Driver,
    /// `None` in virtual time.
    pub(super) probe: Option<ProbeLease<'a>>,
    pub(super) request_log: RequestLog,
    /// The requests of the controller beside the subject, and the versions that it wrote.
    pub(super) log_beside: Option<RequestLog>,
    versions_beside: VersionsBeside,
    began: u64,
    /// The most time for one settling.
    pub(super) patience: Duration,
    /// The step for which the subject gets a long silence, if it may have been late there.
    waits_at: Option<StepId>,
    /// The least silence of the subject before the current step counts as settled.
    pub(super) silence: Duration,
    pub(super) entries: Vec<RecordingEntry>,
    /// The number of entries in which versions are packed already.
    packed: usize,
    /// What is armed for the current step.
    pub(super) injection: Option<ArmedInjection<'a>>,
    /// The driver's writes for this step.
    pub(super) driver_writes: Vec<(WatchedKind, u64)>,
    /// Whether the first subject takes over again at the next step.
    pub(super) hands_back: bool,
}

/// The run cannot go on; the recording says why.
#[derive(Debug)]
pub(super) struct Abort;

impl Session {
    /// Run a case in a namespace of its own, and delete the namespace afterwards. The recording has
    /// whatever happens.
    pub async fn play(&self, case: &Case) -> Recording {
        self.play_with(case, SubjectPlan::default(), false, None).await
    }

    /// Run a case with these subjects. With `is_shared` other cases may run at the same time, so
    /// the case must not affect the subject. At the step `waits_at` it gets a long silence.
    pub(super) async fn play_with(
        &self,
        case: &Case,
        subjects: SubjectPlan,
        is_shared: bool,
        waits_at: Option<StepId>,
    ) -> Recording {
        let probe = match &self.probes {
            Some(probes) => Some(probes.lease().await),
            None => None,
        };
        let number = self.cases.fetch_add(1, Ordering::Relaxed);
        let mut run = CaseRun { probe, waits_at, ..CaseRun::new(self, case, namespace(case, number)) };
        let namespace = run.namespace.clone();
        self.may_print(&case.redaction);
        self.environment.cache.open_journal(&namespace);
        let prepared = self.prepare(case, &namespace, subjects).await;
        let header = self.header(case, &namespace, matches!(self.pod_backend(case), PodBackend::Real(_)));
        let mut kubelet = run.start_kubelet();
        let completed = match prepared {
            _ if run.cannot_be_judged() => false,
            Ok(()) => run.run_steps().await.is_ok(),
            Err(error) => {
                run.record_trouble(Blame::Environment, format!("cannot make ready for the case: {error}"));
                false
            }
        };
        // Disarm the step's faults, and restart a stopped subject for the next case.
        run.injection = None;
        if let Err(error) = self.start().await {
            run.record_trouble(Blame::Environment, format!("the subject cannot be started again: {error}"));
        }
        let events_complete = completed && run.await_events(number).await;
        run.collect_entries();
        run.record_unsupported_requests().await;
        kubelet.shutdown().await;
        // A simulated cluster belongs to the case and is dropped as a whole.
        if run.probe.is_some() {
            remove_namespace(&self.environment.client, &namespace).await;
        }
        run.record_exits(is_shared);
        run.excuse_stalls();
        self.environment.cache.close_journal(&namespace);
        let diagnosis = if run.has_subject_trouble() { self.diagnosis().await } else { None };
        let end = RecordingEnd { completed, events_complete, at: run.now(), diagnosis };
        let mut recording = Recording { header, entries: run.entries, end: Some(end) };
        case.redaction.recording(&mut recording);
        recording
    }
}

impl<'a> CaseRun<'a> {
    /// A run that has not begun, in virtual time.
    fn new(session: &'a Session, case: &'a Case, namespace: String) -> Self {
        let Environment { cluster, nodes, cache, .. } = &*session.environment;
        Self {
            session,
            case,
            driver: Driver::new(cluster.clone(), cache.clone(), nodes.clone(), &namespace, session.pod_backend(case)),
            probe: None,
            request_log: RequestLog::open(session.interceptor.log(), &namespace),
            log_beside: session.beside.as_ref().map(|beside| RequestLog::open(beside.log(), &namespace)),
            versions_beside: VersionsBeside::default(),
            began: cache.elapsed(),
            patience: cost(case).settle_timeout(session.budget),
            waits_at: None,
            silence: Duration::ZERO,
            entries: Vec::new(),
            packed: 0,
            injection: None,
            driver_writes: Vec::new(),
            hands_back: false,
            namespace,
        }
    }

    /// Act as the kubelet of the held pods. In a set, so that it ends with this run, even if the
    /// run is cancelled.
    fn start_kubelet(&self) -> JoinSet<()> {
        let Environment { cache, nodes, .. } = &*self.session.environment;
        let duties = KubeletDuties {
            namespace: self.namespace.clone(),
            nodes: self.case.nodes.clone(),
            bindings: self.case.bindings,
            terminations: self.case.terminations,
            pod_backend: self.session.pod_backend(self.case),
        };
        let mut kubelet = JoinSet::new();
        kubelet.spawn(act_as_kubelet(cache.clone(), nodes.clone(), duties));
        kubelet
    }

    /// Record the requests that the server does not support before the first step, as it is not
    /// known at which step the subject sent them; but not those at which a step has failed.
    async fn record_unsupported_requests(&mut self) {
        match self.session.unsupported_requests().await {
            Ok(mut requests) => {
                requests.retain(|request| !self.has_failed_by(request));
                let trouble = |why| RecordingEntry::Trouble(Trouble::new(Blame::Environment, why));
                self.entries.splice(..0, requests.into_iter().map(trouble));
            }
            Err(error) => self.record_trouble(Blame::Environment, error.to_string()),
        }
    }

    /// Record the ends of processes. Each is reported once, by the case in which it happened.
    fn record_exits(&mut self, is_shared: bool) {
        if let Some(ended) = self.session.exit_during(&self.case.name, &self.namespace, is_shared)
            && !self.is_attributed(&ended.why)
        {
            self.record_trouble(ended.blame, ended.why);
        }
        if let Some(ended) = self.session.broken().filter(|ended| !self.is_attributed(&ended.why)) {
            self.push_trouble(ended);
        }
    }

    /// Whether the subject lacks a controller that the case judges, as the test environment's own
    /// controller would be judged then, or has other options or another clock than the case.
    fn cannot_be_judged(&mut self) -> bool {
        let lacking = self.session.environment.under_test().first_missing(&self.case.controllers);
        if let Some(controller) = lacking {
            let why = format!("the case judges the {}, and here the test environment has that one", controller.title());
            self.record_trouble(Blame::Environment, why);
        }
        let Some(why) = self.session.find_mismatch(self.case) else { return lacking.is_some() };
        self.record_trouble(Blame::Environment, why);
        true
    }

    async fn run_steps(&mut self) -> Result<(), Abort> {
        let case = self.case;
        let mut part = 0;
        for step in &case.given {
            part += 1;
            self.hand_back().await?;
            self.arm(step)?;
            self.run_given_step(step, part).await?;
            self.disarm()?;
        }
        for (index, step) in (1..).zip(&case.steps) {
            self.hand_back().await?;
            self.arm(step)?;
            self.run_step(step, index).await?;
            self.disarm()?;
        }
        Ok(())
    }

    /// Perform a step of `given`. Pods change all at once where the order cannot matter, that is,
    /// while every Deployment has at most one ReplicaSet in use.
    async fn run_given_step(&mut self, step: &Step, part: u32) -> Result<(), Abort> {
        if let Some((operation, pods)) = step.operation.pod_operation().filter(|_| !self.has_several_active_sets()) {
            if pods.count != CountSpec::All {
                return self.run_operation(step, 0, part, &step.operation).await;
            }
            for done in 0.. {
                if self.count_pods_left((operation, pods), 1, done)? == 0 {
                    break;
                }
                self.run_operation(step, 0, part, &step.operation).await?;
                if !operation.repeats() {
                    break;
                }
            }
            return Ok(());
        }
        self.run_step(step, 0).await
    }

    async fn run_step(&mut self, step: &Step, index: u32) -> Result<(), Abort> {
        let Some((operation, pods)) = step.operation.pod_operation().filter(|(_, pods)| !pods.atomic) else {
            return self.run_operation(step, index, 0, &step.operation).await;
        };
        if let Some(share) = pods.every {
            return self.run_batches(step, index, (operation, pods, share)).await;
        }
        // One pod a step: only then is the next decision determined.
        let limit = match pods.count {
            CountSpec::All if operation.repeats() => u32::MAX,
            // A failed pod is replaced by one that could fail too, so only the pods that exist now
            // count.
            CountSpec::All => u32::try_from(self.next_pods(operation, pods, usize::MAX).len()).unwrap_or(u32::MAX),
            CountSpec::Exactly(number) => number,
        };
        for part in 1..=limit {
            if pods.count == CountSpec::All && self.count_pods_left((operation, pods), 1, part - 1)? == 0 {
                return Ok(());
            }
            let number = if pods.count == CountSpec::Exactly(1) { 0 } else { part };
            self.run_operation(step, index, number, &step.operation.for_pod(part)).await?;
        }
        Ok(())
    }

    /// Move so many pods in each sub-step, until none is left.
    async fn run_batches(
        &mut self,
        step: &Step,
        index: u32,
        (operation, pods, share): (PodOperation, &PodSelection, BatchSize),
    ) -> Result<(), Abort> {
        let deployments = self.session.environment.cache.list(WatchedKind::Deployment, &self.namespace);
        let selected = deployments.iter().filter(|one| pods.deployment.as_ref().is_none_or(|name| one.name == *name));
        let wanted: i64 = selected.map(|one| one.int("/spec/replicas")).sum();
        let most = usize::try_from(share.of(u64::try_from(wanted).unwrap_or(0))).unwrap_or(usize::MAX);
        for part in 1.. {
            let found = self.count_pods_left((operation, pods), most, part - 1)?;
            if found == 0 {
                break;
            }
            let batch = step.operation.for_batch(u32::try_from(found).unwrap_or(u32::MAX));
            self.run_operation(step, index, part, &batch).await?;
        }
        Ok(())
    }

    /// How many pods, of at most so many, are left for a step with `all` or `every` after so many
    /// sub-steps. Fails if the subject keeps creating pods for the step to act on.
    fn count_pods_left(
        &mut self,
        (operation, pods): (PodOperation, &PodSelection),
        most: usize,
        done: u32,
    ) -> Result<usize, Abort> {
        let left = self.next_pods(operation, pods, most).len();
        if left > 0 && operation.repeats() && self.are_too_many(done) {
            let why = format!("new pods keep coming: pods are left after {done} sub-steps");
            self.abort(Blame::Subject, why)?;
        }
        Ok(left)
    }

    /// Whether the pods that there are and those that are wanted cannot need so many sub-steps.
    fn are_too_many(&self, done: u32) -> bool {
        if done == 0 || !done.is_multiple_of(FEW_SUB_STEPS) {
            return false;
        }
        let list = |kind| self.session.environment.cache.list(kind, &self.namespace);
        let sized = list(WatchedKind::Deployment).into_iter().chain(list(WatchedKind::ReplicaSet));
        let wanted: i64 = sized.map(|one| one.int("/spec/replicas")).sum();
        let wanted = usize::try_from(wanted).unwrap_or(0);
        done >= most_sub_steps(wanted.saturating_add(list(WatchedKind::Pod).len()))
    }

    /// Perform one operation: mark it, run it, settle, and record what happened.
    async fn run_operation(&mut self, step: &Step, index: u32, part: u32, operation: &Operation) -> Result<(), Abort> {
        let within = step.during.iter().flat_map(|during| &during.steps).any(|inner| inner.operation.is_by_user());
        let user = operation.is_by_user() || within;
        if user || matches!(operation.pod_operation(), Some((PodOperation::Terminate, _))) {
            self.driver.new_second().await;
        }
        if clock::is_simulated() && makes_pods_ready(operation) && self.case.source.contains("minReadySeconds") {
            self.driver.next_second().await;
        }
        // What arrived since the last settling was not caused by this step.
        self.collect_entries();
        let (line, label) = (step.line, label(self.case, operation));
        let burst = self.burst(operation);
        let (expect, together) = (step.expect.clone(), !operation.nested_steps().is_empty() || !burst.is_empty());
        let (stale, at) = (step.is_stale(), self.now());
        self.entries.push(RecordingEntry::Step(StepMark {
            index,
            part,
            label,
            line,
            user,
            together,
            stale,
            expect,
            at,
        }));
        self.driver.label(step.label.as_deref());
        let result = match (operation.process_action(), operation.advance(), operation.pod_operation()) {
            (Some(life), ..) => {
                self.change_subject_life(life).await?;
                Ok(())
            }
            (_, Some(advance), _) => match advance.duration(&self.driver) {
                Ok(time) => {
                    self.advance_time(time).await?;
                    Ok(())
                }
                Err(error) => Err(error),
            },
            (.., Some((kind, pods))) if !pods.atomic && pods.count == CountSpec::Exactly(1) => {
                self.driver.move_one_pod(kind, pods).await
            }
            _ => self.driver.perform(operation).await,
        };
        let named = self.driver.take_new_pod_names();
        if !named.is_empty() {
            self.entries.push(RecordingEntry::PodNames(named));
        }
        self.check(step, operation, result)?;
        self.driver_writes = self.driver.take_writes();
        self.act_on_stale_view(step).await?;
        let is_long = self.waits_at == Some(StepId::at(index, part));
        self.silence = if is_long { LONG_SILENCE } else { Duration::ZERO };
        let since = clock::instant();
        let outcome = self.settle_step().await?;
        self.collect_entries();
        let stopped = outcome.unsettled.is_some();
        let (took, at) = (clock::millis_since(since), self.now());
        self.entries.push(RecordingEntry::Settled(Settling {
            unsettled: outcome.unsettled,
            rounds: outcome.rounds,
            took,
            at,
        }));
        self.session.steps.on_settled(self.case, StepId { index, part });
        if stopped { Err(Abort) } else { self.check_burst(&burst) }
    }

    /// Check that the operation succeeded or was refused, as the case says.
    pub(super) fn check(
        &mut self,
        step: &Step,
        operation: &Operation,
        result: Result<(), DriveError>,
    ) -> Result<(), Abort> {
        match (result, &step.refused) {
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(text)) => {
                // Other operations do not depend on the subject.
                let blame = if operation.depends_on_subject() { Blame::Subject } else { Blame::Environment };
                self.abort(blame, format!("the operation was accepted; the case says that it is refused with '{text}'"))
            }
            (Err(error), Some(_)) if step.expects(&error) => Ok(()),
            (Err(DriveError::Impossible(why)), refused) if self.session.broken().is_none() => {
                self.collect_entries();
                let why = match refused {
                    Some(text) => format!("{why}; the case says that it is refused with '{text}'"),
                    None => why,
                };
                self.entries.push(RecordingEntry::Impossible(ImpossibleStep { why, never_came: false }));
                Err(Abort)
            }
            (Err(DriveError::Impossible(why)), _) => self.abort(Blame::Subject, why),
            (Err(DriveError::Refused(why)), _) => {
                self.abort(Blame::Environment, format!("the operation was refused: {why}; is the case right?"))
            }
            (Err(error @ (DriveError::Server(_) | DriveError::Environment(_))), _) => {
                self.abort(Blame::Environment, error.to_string())
            }
        }
    }

    /// Move what the watches and the interceptor have collected into the recording.
    pub(super) fn collect_entries(&mut self) {
        for mut version in self.session.environment.cache.drain_journal(&self.namespace) {
            version.at = version.at.saturating_sub(self.began);
            self.entries.push(RecordingEntry::Object(version));
        }
        self.attribute_beside();
        self.packed = pack_old(&mut self.entries, self.packed);
        let requests = self.request_log.drain();
        self.session.refused.add(&requests);
        let workload = self.session.environment.workload.as_ref();
        for request in requests {
            let at = self.session.environment.cache.millis_at(request.started).saturating_sub(self.began);
            self.entries.push(RecordingEntry::Request(self.request_log.to_recorded(request, workload, at)));
        }
    }

    /// Mark the versions since the last step that the controller beside the subject wrote. A watch
    /// may be faster than the answer to the write, so earlier ones are looked at again.
    fn attribute_beside(&mut self) {
        let (Some(log), Some(beside)) = (&self.log_beside, &self.session.beside) else { return };
        self.versions_beside.extend(log.drain());
        let author = beside.identity().map(|identity| identity.name);
        for entry in self.entries.iter_mut().rev() {
            match entry {
                RecordingEntry::Step(_) => break,
                RecordingEntry::Object(version)
                    if version.by == WriterRole::Other && self.versions_beside.has(version) =>
                {
                    version.by = WriterRole::Beside;
                    version.author.clone_from(&author);
                }
                _ => {}
            }
        }
    }

    pub(super) fn abort(&mut self, blame: Blame, why: String) -> Result<(), Abort> {
        // If the subject has ended, that is why later operations fail.
        match self.session.broken() {
            Some(ended) => self.push_trouble(ended),
            None => self.record_trouble(blame, why),
        }
        Err(Abort)
    }

    pub(super) fn record_trouble(&mut self, blame: Blame, why: String) {
        self.push_trouble(Trouble::new(blame, why));
    }

    pub(super) fn push_trouble(&mut self, trouble: Trouble) {
        self.collect_entries();
        self.entries.push(RecordingEntry::Trouble(trouble));
    }

    pub(super) fn now(&self) -> u64 {
        self.session.environment.cache.elapsed() - self.began
    }

    pub(super) fn next_pods(&self, operation: PodOperation, pods: &PodSelection, most: usize) -> Vec<CachedObject> {
        let cache = &self.session.environment.cache;
        next_pods(cache, &self.namespace, operation, pods, &self.driver.pod_names(), most)
    }

    fn has_several_active_sets(&self) -> bool {
        self.session.environment.cache.has_several_in_use(&self.namespace)
    }
}

/// Whether an operation makes pods ready, alone or together with others.
fn makes_pods_ready(operation: &Operation) -> bool {
    let makes_pods_ready = |one: &Operation| matches!(one.pod_operation(), Some((PodOperation::Ready, _)));
    makes_pods_ready(operation) || operation.nested_steps().iter().any(|step| makes_pods_ready(&step.operation))
}

/// A name that contains the case's name and is unique among runs.
fn namespace(case: &Case, number: u32) -> String {
    let mut name: String =
        case.name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    name.truncate(36);
    let nanos = clock::now().as_nanosecond() & 0xffff_ffff;
    format!("{CASE_PREFIX}{}-{number}-{nanos:x}", name.trim_matches('-'))
}

impl CaseRun<'_> {
    /// Whether a reader needs to know what the subject was doing.
    fn has_subject_trouble(&self) -> bool {
        self.entries.iter().any(|entry| match entry {
            RecordingEntry::Trouble(trouble) => trouble.blame == Blame::Subject,
            RecordingEntry::Settled(settling) => settling.unsettled.is_some(),
            RecordingEntry::Impossible(_) => true,
            _ => false,
        })
    }

    /// Blame the test environment for the trouble of each step in which it stalled.
    fn excuse_stalls(&mut self) {
        let Environment { cache, stalls, .. } = &*self.session.environment;
        let (began, now) = (self.began, clock::instant());
        let mut since = cache.instant_at(began);
        for entry in &mut self.entries {
            let (trouble, until) = match entry {
                RecordingEntry::Step(mark) => {
                    since = cache.instant_at(began + mark.at);
                    continue;
                }
                RecordingEntry::Settled(Settling { unsettled: Some(trouble), at, .. }) => {
                    (trouble, cache.instant_at(began + *at))
                }
                RecordingEntry::Trouble(trouble) => (trouble, now),
                _ => continue,
            };
            *trouble = stalls.excuse(trouble.clone(), since, until);
        }
    }

    /// Whether a step of the case has failed by this unsupported request, `GET /…: why`.
    fn has_failed_by(&self, request: &str) -> bool {
        let why = request.split_once(": ").map_or(request, |(_, why)| why);
        let is_it = |entry: &RecordingEntry| matches!(entry, RecordingEntry::Trouble(it) if it.why.starts_with(why));
        self.entries.iter().any(is_it)
    }

    /// Whether the recording contains this reason already.
    fn is_attributed(&self, why: &str) -> bool {
        self.entries.iter().any(|entry| match entry {
            RecordingEntry::Trouble(trouble) => trouble.why == why,
            RecordingEntry::Settled(settling) => settling.unsettled.as_ref().is_some_and(|trouble| trouble.why == why),
            _ => false,
        })
    }
}

/// Bursts: several pods become ready in one step, one write after the other. Only their net effect
/// on the controller is reproducible.
impl CaseRun<'_> {
    /// The pods that become ready one write after the other and count as available at once. Which
    /// of these writes a controller sees together is chance. With minReadySeconds they become
    /// available at the same instant, so there is no burst.
    fn burst(&self, operation: &Operation) -> Vec<CachedObject> {
        let Some((kind, pods)) = operation.pod_operation().filter(|(_, pods)| pods.atomic) else { return Vec::new() };
        let mut moved = self.next_pods(kind, pods, usize::MAX);
        if let CountSpec::Exactly(number) = pods.count {
            moved.truncate(usize::try_from(number).unwrap_or(usize::MAX));
        }
        let sets = self.session.environment.cache.list(WatchedKind::ReplicaSet, &self.namespace);
        let is_available = |pod: &CachedObject| {
            let owner = sets.iter().find(|set| Some(set.text("/metadata/uid")) == pod.owner());
            owner.is_none_or(|set| set.int("/spec/minReadySeconds") == 0)
        };
        if moved.len() > 1 && moved.iter().any(is_available) { moved } else { Vec::new() }
    }

    /// A pod of a burst that was deleted before the step ended may or may not have been ready by
    /// then, so the step cannot be compared.
    fn check_burst(&mut self, burst: &[CachedObject]) -> Result<(), Abort> {
        let pods = self.session.environment.cache.list(WatchedKind::Pod, &self.namespace);
        let is_alive = |pod: &CachedObject| pods.iter().any(|one| one.name == pod.name && one.alive());
        if burst.iter().all(is_alive) { Ok(()) } else { self.abort(Blame::Environment, BURST_LOST.to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_steps_end_in_proportion_to_the_pods() {
        assert_eq!([0, 4, 1_000, 1_000_000].map(most_sub_steps), [500, 500, 20_000, 100_000]);
    }
}
