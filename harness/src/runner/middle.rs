//! The middle of a step: what a step has laid for the subject before its step is made, and what
//! happens when the subject walks into it.
//!
//! A interception is armed before the step and taken back after the step's last. While the
//! namespace settles the interception is listened to as well; when it closes, the world moves
//! (`during`) or something breaks (`fault`), and settling begins anew. A interception that nothing
//! walks into leaves the step impossible: the verdict is whoever's who could have known. Two
//! streams can be late in one step.

use std::time::Duration;

use serde_json::Value;

use super::play::{Play, Stopped};
use crate::case::model::{Decided, DecidedWhat, During, Fault, FaultAction, FaultPoint, Life, Moment, Step};
use crate::clock;
use crate::driver::{between, label};
use crate::intercept::{
    Act, Armed, ArmedWatch, Command, Control, Met, Pattern, Refusal, Side, Verb, WatchAct, WatchCommand, object_of,
};
use crate::observe::catch_up::catch_up;
use crate::observe::settle::{Half, arrive};
use crate::observe::still;
use crate::pointer::At;
use crate::recording::{Blame, Effect, Entry, Impossible, Meeting};

const REVISION: &str = "/metadata/annotations/deployment.kubernetes.io~1revision";

/// What a step has laid.
#[derive(Debug)]
pub(super) enum Interception<'a> {
    /// Steps for the moment at which the subject asks for something.
    Decision { armed: Armed, decided: &'a Decided, during: &'a During },
    /// Steps while a kind is held.
    Held { watch: ArmedWatch, resource: &'a str, during: &'a During },
    /// A fault at a write.
    Write { armed: Armed, fault: &'a Fault },
    /// A fault in a watch, for as long as the step takes.
    Watch { _armed: ArmedWatch },
    /// Something that is late, or two things: how many come first is known when the step is over.
    Late { _armed: Vec<Laid>, fault: &'a Fault },
}

/// Where something is late.
#[derive(Debug)]
#[expect(dead_code, reason = "each is in force for as long as it is kept")]
pub(super) enum Laid {
    Watch(ArmedWatch),
    Write(Armed),
}

/// A request that walked into a interception; none ever does into one that is not about requests.
pub(super) async fn met(interception: Option<&mut Interception<'_>>) -> Met {
    match interception {
        Some(Interception::Decision { armed, .. } | Interception::Write { armed, .. }) => armed.met().await,
        Some(Interception::Held { .. } | Interception::Watch { .. } | Interception::Late { .. }) | None => {
            std::future::pending().await
        }
    }
}

impl<'a> Play<'a> {
    /// Before a step's step: lay what it says.
    pub(super) fn arm(&mut self, step: &'a Step) -> Result<(), Stopped> {
        let armed = arm(self.session.interceptor.control(), &self.namespace, step);
        match armed {
            Ok(interception) => self.interception = interception,
            Err(Opaque(resource)) => {
                let why = format!(
                    "the subject watches {resource} in another encoding than JSON, which the interceptor cannot read; start it with JSON as its content type"
                );
                return self.stop(Blame::Environment, why);
            }
        }
        Ok(())
    }

    /// After a step's last step: take back what was laid. What nobody walked into is told.
    pub(super) fn clear(&mut self) -> Result<(), Stopped> {
        let overtaken = self.session.interceptor.control().take_overtaken(&self.namespace);
        let why = match self.interception.take() {
            Some(Interception::Late { fault, .. }) => {
                let mut never = None;
                for late in fault.all() {
                    let point = between::point(&late.point);
                    match (overtaken.get(&late.point.stream()), &late.point) {
                        (Some(others), _) => self.note(format!("{point}: overtaken by {others}")),
                        (None, FaultPoint::Watch { .. }) => never = never.or(Some(format!("there never was {point}"))),
                        (None, _) => never = never.or(Some(format!("the subject never made {point}"))),
                    }
                }
                let Some(never) = never else { return Ok(()) };
                Impossible { why: format!("the namespace settled, and {never}"), never_came: true }
            }
            Some(Interception::Decision { decided, .. }) => {
                let why = format!("the namespace settled, and the subject never requested `{}`", decided.text);
                Impossible { why, never_came: false }
            }
            Some(Interception::Write { fault, .. }) => {
                let why = format!("the namespace settled, and the subject never made {}", between::point(&fault.point));
                Impossible { why, never_came: true }
            }
            Some(Interception::Held { .. } | Interception::Watch { .. }) | None => return Ok(()),
        };
        self.gather();
        self.entries.push(Entry::Impossible(why));
        Err(Stopped)
    }

    /// After a step's step was made: where a kind is held, the subject acts on its old view, and
    /// the steps follow.
    pub(super) async fn behind_its_back(&mut self, step: &Step) -> Result<(), Stopped> {
        let Some(Interception::Held { resource, during, .. }) = &self.interception else { return Ok(()) };
        let (resource, during) = (*resource, *during);
        let what = format!("{resource} held");
        if during.steps.is_empty() {
            self.note(what.clone());
        }
        self.blind(step).await?;
        for inner in &during.steps {
            self.note(format!("{what}: {}", label(self.case, &inner.operation)));
            self.inner(inner).await?;
            self.blind(inner).await?;
        }
        if let Some(Interception::Held { watch, .. }) = self.interception.take() {
            drop(watch);
        }
        Ok(())
    }

    /// Time passes. Whoever walks into a interception meanwhile is attended to at once, so that a
    /// subject that is killed has the rest of the time to come back in.
    pub(super) async fn pass(&mut self, time: Duration) -> Result<(), Stopped> {
        let end = clock::instant() + time;
        loop {
            let mut interception = self.interception.take();
            let met = tokio::select! {
                biased;
                met = met(interception.as_mut()) => Some(met),
                () = clock::pause(end.saturating_duration_since(clock::instant())) => None,
            };
            self.interception = interception;
            match met {
                Some(met) => self.spring(met).await?,
                None => return Ok(()),
            }
        }
    }

    /// A request walked into the interception.
    pub(super) async fn spring(&mut self, met: Met) -> Result<(), Stopped> {
        match &self.interception {
            Some(Interception::Decision { decided, during, .. }) => {
                let (decided, during) = (*decided, *during);
                self.catch_up().await?;
                if !self.is_it(&met, decided).await? {
                    met.pass();
                    return Ok(());
                }
                for inner in &during.steps {
                    self.note(format!("{} held: {}", decided.text, label(self.case, &inner.operation)));
                    self.inner(inner).await?;
                    self.arrived().await?;
                }
                self.interception = None;
                met.pass();
            }
            Some(Interception::Write { fault, .. }) => {
                let fault = *fault;
                self.note_effect(between::fault(fault), between::effect(fault.action));
                if fault.action == FaultAction::Crash {
                    self.session.kill().await;
                    met.cut();
                    self.start().await?;
                }
                self.interception = None;
            }
            Some(Interception::Held { .. } | Interception::Watch { .. } | Interception::Late { .. }) | None => {
                met.pass();
            }
        }
        Ok(())
    }

    /// `subject: stop|start`.
    pub(super) async fn live(&mut self, life: Life) -> Result<(), Stopped> {
        match life {
            Life::Stop => self.session.kill().await,
            Life::Start => self.start().await?,
        }
        Ok(())
    }

    async fn start(&mut self) -> Result<(), Stopped> {
        match self.session.start().await {
            Ok(()) => Ok(()),
            Err(error) => self.stop(Blame::Environment, format!("the subject cannot be started again: {error}")),
        }
    }

    /// One step in the middle of a step.
    async fn inner(&mut self, step: &Step) -> Result<(), Stopped> {
        if step.operation.by_user() {
            self.driver.new_second().await;
        }
        let made = self.driver.perform(&step.operation).await;
        self.check(step, &step.operation, made)?;
        self.written.extend(self.driver.take_written());
        Ok(())
    }

    /// Wait until the test environment has seen what the subject did before it asked.
    async fn catch_up(&mut self) -> Result<(), Stopped> {
        let session = self.session;
        let (world, client) = (&session.environment.world, &session.environment.client);
        match catch_up(world, client, &self.namespace, self.patience).await {
            Ok(true) => Ok(()),
            Ok(false) => self.stop(
                Blame::Environment,
                format!("the test environment's watches are behind by more than {:?}", self.patience),
            ),
            Err(error) => self.stop(Blame::Environment, format!("cannot list what the subject did: {error}")),
        }
    }

    /// Wait until the test environment has done its part and the subject has heard.
    async fn arrived(&mut self) -> Result<(), Stopped> {
        let trouble = self.with_scene(Half::Blind, async |scene, play| match &play.probe {
            Some(probe) => arrive(&play.session.environment.world, probe, &scene, &play.written).await,
            None => still::arrive(&play.session.environment.world, &scene, &play.written).await,
        });
        match trouble.await {
            Some(trouble) => self.stop(trouble.blame, trouble.why),
            None => Ok(()),
        }
    }

    fn note(&mut self, what: String) {
        self.note_effect(what, Effect::Answered);
    }

    fn note_effect(&mut self, what: String, effect: Effect) {
        self.gather();
        let at = self.now();
        self.entries.push(Entry::Met(Meeting { what, effect, at }));
    }

    /// Whether a request asks for what is meant, and would get it.
    async fn is_it(&mut self, met: &Met, decided: &Decided) -> Result<bool, Stopped> {
        let deletes = met.route.verb == Verb::Delete;
        let body = match object_of(&met.body) {
            Some(body) => body,
            None if deletes => Value::Null,
            None => {
                let why = "the subject writes neither JSON nor protobuf, so the interceptor cannot read its request; start it with \
                           JSON as its content type";
                self.stop(Blame::Environment, why.to_owned())?;
                return Ok(false);
            }
        };
        self.gather();
        let creates = met.route.verb == Verb::Create;
        let now = if creates { None } else { self.driver.look(&met.route.resource, &met.route.name).await };
        // It will be a conflict, and asked again.
        let version =
            |object: &Value| object.at("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned);
        if let (Some(now), Some(known)) = (&now, version(&body))
            && version(now).is_some_and(|latest| latest != known)
        {
            return Ok(false);
        }
        let Some(wanted) = decided.set else {
            let DecidedWhat::Revision(revision) = decided.what else { return Ok(false) };
            let text = revision.to_string();
            let of = |object: &Value| object.at(REVISION).and_then(Value::as_str) == Some(text.as_str());
            return Ok(met.route.name == decided.deployment && of(&body) && !now.as_ref().is_some_and(of));
        };
        let sets = appeared(&self.entries, &decided.deployment);
        let number = |name: &str| (1..).zip(&sets).find(|(_, set)| *set == name).map(|(number, _)| number);
        let replicas = |object: &Value| {
            object
                .at("/spec/replicas")
                .and_then(Value::as_i64)
                .map_or(1, |number| i32::try_from(number).unwrap_or(i32::MAX))
        };
        Ok(match decided.what {
            DecidedWhat::Created(count) => {
                creates
                    && owner(&body).is_some_and(|owner| owner == decided.deployment)
                    && u32::try_from(sets.len()).is_ok_and(|there| there + 1 == wanted)
                    && count.is_none_or(|count| count == replicas(&body))
            }
            DecidedWhat::Deleted => deletes && number(&met.route.name) == Some(wanted),
            DecidedWhat::Resized { from, to } => {
                let asked = body.at("/spec/replicas").is_some() && replicas(&body) == to;
                !creates
                    && !deletes
                    && asked
                    && number(&met.route.name) == Some(wanted)
                    && now.is_some_and(|now| replicas(&now) == from)
            }
            DecidedWhat::Revision(_) => false,
        })
    }
}

/// A watch that the interceptor cannot read, by resource.
struct Opaque(String);

fn arm<'a>(control: &Control, namespace: &str, step: &'a Step) -> Result<Option<Interception<'a>>, Opaque> {
    let watch = |resource: &str, nth, act| {
        let (namespace, resource) = (namespace.to_owned(), resource.to_owned());
        let opaque = Opaque(resource.clone());
        control.arm_watch(WatchCommand { namespace, resource, nth, act }).ok_or(opaque)
    };
    let pattern = |resource: &str, subresources: &[&str], verbs: &[Verb]| Pattern {
        namespace: namespace.to_owned(),
        resource: resource.to_owned(),
        subresources: subresources.iter().map(|name| (*name).to_owned()).collect(),
        verbs: verbs.to_vec(),
        name: None,
    };
    if let Some(during) = &step.during {
        return Ok(Some(match &during.moment {
            Moment::Held(resource) => {
                Interception::Held { watch: watch(resource, 1, WatchAct::Hold)?, resource, during }
            }
            Moment::Decision(decided) => {
                let on = match decided.what {
                    DecidedWhat::Created(_) => pattern("replicasets", &[""], &[Verb::Create]),
                    DecidedWhat::Resized { .. } => pattern("replicasets", &["", "scale"], &[Verb::Update, Verb::Patch]),
                    DecidedWhat::Deleted => pattern("replicasets", &[""], &[Verb::Delete]),
                    DecidedWhat::Revision(_) => pattern("deployments", &["", "status"], &[Verb::Update, Verb::Patch]),
                };
                // All of them: which is meant is known only when it asks.
                let armed = control.arm(Command { on, nth: 1, once: false, act: Act::Hold(Side::Before) });
                Interception::Decision { armed, decided, during }
            }
        }));
    }
    let Some(fault) = &step.fault else { return Ok(None) };
    if fault.all().any(|fault| matches!(fault.action, FaultAction::Overtaken(_))) {
        let lay = |late: &Fault| -> Result<Option<Laid>, Opaque> {
            let FaultAction::Overtaken(others) = late.action else { return Ok(None) };
            Ok(Some(match &late.point {
                FaultPoint::Watch { resource, event } => {
                    Laid::Watch(watch(resource, *event, WatchAct::Overtaken(others))?)
                }
                FaultPoint::Write { nth, resource, subresource, .. } => {
                    let (on, act) = (pattern(resource, &[subresource], &[]), Act::Overtaken(others));
                    Laid::Write(control.arm(Command { on, nth: *nth, once: true, act }))
                }
            }))
        };
        let laid = fault.all().map(lay).collect::<Result<Vec<_>, _>>()?;
        return Ok(Some(Interception::Late { _armed: laid.into_iter().flatten().collect(), fault }));
    }
    Ok(Some(match &fault.point {
        FaultPoint::Watch { resource, event } => {
            let act = match fault.action {
                FaultAction::Lag(time) => WatchAct::Lag(time),
                FaultAction::Repeat => WatchAct::Repeat,
                FaultAction::Old(events) => WatchAct::Old(events),
                _ => WatchAct::Expire,
            };
            Interception::Watch { _armed: watch(resource, *event, act)? }
        }
        FaultPoint::Write { nth, resource, subresource, after } => {
            let side = if *after { Side::After } else { Side::Before };
            let act = match fault.action {
                FaultAction::Crash => Act::Hold(side),
                FaultAction::Cut => Act::Cut(side),
                FaultAction::Delay(time) => Act::Delay(time),
                FaultAction::Refuse(code) => Act::Refuse(Refusal::of_code(code).unwrap_or(Refusal::Internal)),
                _ => Act::Drop,
            };
            let on = pattern(resource, &[subresource], &[]);
            Interception::Write { armed: control.arm(Command { on, nth: *nth, once: true, act }), fault }
        }
    }))
}

/// The real names of a Deployment's ReplicaSets in the order in which they became its own.
fn appeared(entries: &[Entry], deployment: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for entry in entries {
        if let Entry::Object(version) = entry
            && version.kind == "ReplicaSet"
            && !names.contains(&version.name)
            && owner(&version.object.value()).is_some_and(|owner| owner == deployment)
        {
            names.push(version.name.clone());
        }
    }
    names
}

/// The name of the Deployment that controls an object.
fn owner(object: &Value) -> Option<&str> {
    let references = object.at("/metadata/ownerReferences")?.as_array()?;
    let owner = references.iter().find(|owner| owner["controller"] == true)?;
    owner["name"].as_str().filter(|_| owner["kind"] == "Deployment")
}
