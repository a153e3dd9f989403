//! Faults and changes in the middle of a step: armed before the step (`armed_injection`), triggered
//! by the subject's requests.
//!
//! An injection is armed before the step and disarmed after it. While the namespace settles,
//! intercepted requests are handled as well: the driver changes objects (`during`), or something
//! fails (`fault`), and settling starts over. If no request matches, the step cannot be performed;
//! `never_came` says who is to blame. Two streams can be late in one step.

use std::time::Duration;

use lockstep_case::model::{DecisionMatcher, Fault, FaultAction, FaultPoint, ProcessAction, Step};
use lockstep_intercept::{MatchedRequest, Verb, object_of};
use lockstep_recording::{Blame, Effect, ImpossibleStep, Injection, RecordingEntry};
use lockstep_support::clock;
use serde_json::Value;

use crate::armed_injection::{ArmedInjection, UnreadableWatch, arm, decides_late, next_intercepted, own_resource};
use crate::case_run::{Abort, CaseRun};
use crate::decision_request::{DecisionRequest, owner};
use crate::driver::label;
use crate::observe::settle::{SubjectActivity, wait_until_received};
use crate::observe::{catch_up, virtual_settle};

impl<'a> CaseRun<'a> {
    /// Before a step: arm its faults and changes.
    pub(super) fn arm(&mut self, step: &'a Step) -> Result<(), Abort> {
        let workload = self.session.environment.workload.as_ref();
        let armed = arm(self.session.interceptor.control(), &self.namespace, workload, step);
        match armed {
            Ok(injection) => self.injection = injection,
            Err(UnreadableWatch(resource)) => {
                let why = format!(
                    "the subject watches {resource} in another encoding than JSON, which the interceptor cannot read; start it with JSON as its content type"
                );
                return self.abort(Blame::Environment, why);
            }
        }
        Ok(())
    }

    /// After a step: disarm what was armed. If the subject never made the expected request, the
    /// step is impossible.
    pub(super) fn disarm(&mut self) -> Result<(), Abort> {
        let overtaken = self.session.interceptor.control().take_overtaken(&self.namespace);
        let why = match self.injection.take() {
            Some(ArmedInjection::Late { fault, .. }) => {
                let workload = self.session.environment.workload.as_ref();
                let on_server = |late: &Fault| late.point.stream_on_server(|kind| own_resource(workload, kind));
                let streams: Vec<String> = fault.all().map(on_server).collect();
                let mut never = None;
                for (late, stream) in fault.all().zip(&streams) {
                    let point = late.point.describe();
                    match (overtaken.get(stream), &late.point) {
                        (Some(others), _) => self.note(format!("{point}: overtaken by {others}")),
                        (None, FaultPoint::Watch { .. }) => never = never.or(Some(format!("there never was {point}"))),
                        (None, _) => never = never.or(Some(format!("the subject never made {point}"))),
                    }
                }
                let Some(never) = never else { return Ok(()) };
                ImpossibleStep { why: format!("the namespace settled, and {never}"), never_came: true }
            }
            Some(ArmedInjection::Decision { decided, .. }) => {
                let why = format!("the namespace settled, and the subject never requested `{}`", decided.text);
                ImpossibleStep { why, never_came: false }
            }
            Some(ArmedInjection::Write { fault, .. }) => {
                let why = format!("the namespace settled, and the subject never made {}", fault.point.describe());
                ImpossibleStep { why, never_came: true }
            }
            // A subject need not watch a kind, nor all objects of it.
            Some(ArmedInjection::Watch { armed, fault })
                if !matches!(fault.action, FaultAction::Lag(_)) && !armed.has_matched() =>
            {
                let why = format!("the namespace settled, and there never was {}", fault.point.describe());
                return self.abort(Blame::Environment, why);
            }
            Some(ArmedInjection::Held { .. } | ArmedInjection::Watch { .. }) | None => return Ok(()),
        };
        self.collect_entries();
        self.entries.push(RecordingEntry::Impossible(why));
        Err(Abort)
    }

    /// After the operation of a step that pauses a watch: let the subject act on its stale view,
    /// then perform the steps of `during`.
    pub(super) async fn act_on_stale_view(&mut self, step: &Step) -> Result<(), Abort> {
        let Some(ArmedInjection::Held { resource, during, .. }) = &self.injection else { return Ok(()) };
        let (resource, during) = (*resource, *during);
        let held = format!("{resource} held");
        if during.steps.is_empty() {
            self.note(held.clone());
        }
        self.settle_on_stale_view(step).await?;
        for inner in &during.steps {
            self.note(format!("{held}: {}", label(self.case, &inner.operation)));
            self.perform_inner_step(inner).await?;
            self.settle_on_stale_view(inner).await?;
        }
        if let Some(ArmedInjection::Held { watch, .. }) = self.injection.take()
            && watch.has_held_list()
        {
            self.abort(Blame::Environment, decides_late(resource))?;
        }
        Ok(())
    }

    /// Advance the clock. Intercepted requests are handled immediately, so a killed subject can
    /// restart within the interval.
    pub(super) async fn advance_time(&mut self, time: Duration) -> Result<(), Abort> {
        let end = clock::instant() + time;
        loop {
            let mut injection = self.injection.take();
            let intercepted = tokio::select! {
                biased;
                intercepted = next_intercepted(injection.as_mut()) => Some(intercepted),
                () = clock::pause(end.saturating_duration_since(clock::instant())) => None,
            };
            self.injection = injection;
            match intercepted {
                Some(intercepted) => self.on_intercepted(intercepted).await?,
                None => return Ok(()),
            }
        }
    }

    /// Handle an intercepted request.
    pub(super) async fn on_intercepted(&mut self, intercepted: MatchedRequest) -> Result<(), Abort> {
        match &self.injection {
            Some(ArmedInjection::Decision { decided, during, .. }) => {
                let (decided, during) = (*decided, *during);
                self.catch_up().await?;
                if !self.matches_decision(&intercepted, decided).await? {
                    intercepted.pass();
                    return Ok(());
                }
                for inner in &during.steps {
                    self.note(format!("{} held: {}", decided.text, label(self.case, &inner.operation)));
                    self.perform_inner_step(inner).await?;
                    self.wait_until_received().await?;
                }
                self.injection = None;
                intercepted.pass();
            }
            Some(ArmedInjection::Write { fault, .. }) => {
                let fault = *fault;
                self.note_effect(fault.describe(), fault.action.effect());
                match fault.action {
                    FaultAction::Crash => {
                        self.session.kill().await;
                        intercepted.cut();
                        self.start().await?;
                    }
                    FaultAction::Handover { back } => {
                        self.session.kill_for_handover().await;
                        intercepted.cut();
                        self.hands_back = back;
                        self.take_over().await?;
                    }
                    _ => {}
                }
                self.injection = None;
            }
            Some(ArmedInjection::Held { .. } | ArmedInjection::Watch { .. } | ArmedInjection::Late { .. }) | None => {
                intercepted.pass();
            }
        }
        Ok(())
    }

    /// `subject: stop|start|handover`.
    pub(super) async fn change_subject_life(&mut self, life: ProcessAction) -> Result<(), Abort> {
        match life {
            ProcessAction::Stop => self.session.kill().await,
            ProcessAction::Start => self.start().await?,
            ProcessAction::Handover => self.hand_over().await?,
        }
        Ok(())
    }

    /// Before a step: after a handover with `back`, the first one takes over again.
    pub(super) async fn hand_back(&mut self) -> Result<(), Abort> {
        if std::mem::take(&mut self.hands_back) { self.hand_over().await } else { Ok(()) }
    }

    async fn hand_over(&mut self) -> Result<(), Abort> {
        self.session.kill_for_handover().await;
        self.take_over().await
    }

    /// Start the other subject after a handover.
    async fn take_over(&mut self) -> Result<(), Abort> {
        if let Some(description) = self.session.describe_handover() {
            self.note(description);
        }
        self.start().await
    }

    async fn start(&mut self) -> Result<(), Abort> {
        match self.session.start().await {
            Ok(()) => Ok(()),
            Err(error) => self.abort(Blame::Environment, format!("the subject cannot be started again: {error}")),
        }
    }

    /// Perform one step of `during`.
    async fn perform_inner_step(&mut self, step: &Step) -> Result<(), Abort> {
        if step.operation.is_by_user() {
            self.driver.new_second().await;
        }
        let result = self.driver.perform(&step.operation).await;
        self.check(step, &step.operation, result)?;
        self.driver_writes.extend(self.driver.take_writes());
        Ok(())
    }

    /// Wait until the watches have delivered what the subject did before this request.
    async fn catch_up(&mut self) -> Result<(), Abort> {
        let session = self.session;
        let (cache, client) = (&session.environment.cache, &session.environment.client);
        match catch_up(cache, client, &self.namespace, self.patience).await {
            Ok(true) => Ok(()),
            Ok(false) => self.abort(
                Blame::Environment,
                format!("the test environment's watches are behind by more than {:?}", self.patience),
            ),
            Err(error) => self.abort(Blame::Environment, format!("cannot list what the subject did: {error}")),
        }
    }

    /// Wait until the test environment's controllers have settled and the subject has received the
    /// changes.
    async fn wait_until_received(&mut self) -> Result<(), Abort> {
        let trouble = self.with_context(SubjectActivity::Stale, async |context, run| match &run.probe {
            Some(probe) => {
                wait_until_received(&run.session.environment.cache, probe, &context, &run.driver_writes).await
            }
            None => {
                virtual_settle::wait_until_received(&run.session.environment.cache, &context, &run.driver_writes).await
            }
        });
        match trouble.await {
            Some(trouble) => self.abort(trouble.blame, trouble.why),
            None => Ok(()),
        }
    }

    fn note(&mut self, description: String) {
        self.note_effect(description, Effect::Answered);
    }

    fn note_effect(&mut self, description: String, effect: Effect) {
        self.collect_entries();
        let at = self.now();
        self.entries.push(RecordingEntry::Injected(Injection { description, effect, at }));
    }

    /// Whether a request makes this decision, and would succeed.
    async fn matches_decision(
        &mut self,
        intercepted: &MatchedRequest,
        decided: &DecisionMatcher,
    ) -> Result<bool, Abort> {
        let route = &intercepted.route;
        if route.verb == Verb::DeleteCollection {
            let why = "the subject deletes a collection, and the interceptor does not know which objects are in it";
            self.abort(Blame::Environment, why.to_owned())?;
        }
        let body = match object_of(&intercepted.body) {
            Some(mut body) => {
                if let Some(workload) = &self.session.environment.workload {
                    workload.as_deployment(&mut body);
                }
                body
            }
            None if route.verb == Verb::Delete => Value::Null,
            None => {
                let why = "the subject writes neither JSON nor protobuf, so the interceptor cannot read its request; start it with \
                           JSON as its content type";
                self.abort(Blame::Environment, why.to_owned())?;
                return Ok(false);
            }
        };
        self.collect_entries();
        let now = if route.verb == Verb::Create {
            None
        } else {
            let kind = if decided.set.is_some() { "ReplicaSet" } else { "Deployment" };
            match self.driver.read_object(kind, &route.name).await {
                Ok(now) => now,
                Err(error) => {
                    let why = format!("cannot read the {kind} that the subject's request is about: {error}");
                    self.abort(Blame::Environment, why)?;
                    return Ok(false);
                }
            }
        };
        let sets = replica_sets_by_appearance(&self.entries, &decided.deployment);
        Ok(DecisionRequest::of(route.verb, &route.name, body, now).is_some_and(|request| request.makes(decided, &sets)))
    }
}

/// The real names of a Deployment's ReplicaSets, in the order in which the Deployment came to own
/// them.
fn replica_sets_by_appearance(entries: &[RecordingEntry], deployment: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for entry in entries {
        if let RecordingEntry::Object(version) = entry
            && version.kind == "ReplicaSet"
            && !names.contains(&version.name)
            && owner(&version.object.value()).is_some_and(|owner| owner == deployment)
        {
            names.push(version.name.clone());
        }
    }
    names
}
