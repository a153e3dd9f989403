//! What is armed at the interceptor for a step: the requests and watches that it holds or disturbs.

use lockstep_case::model::{
    DecisionKind, DecisionMatcher, Fault, FaultAction, FaultPoint, InjectedSteps, InjectionPoint, Step,
};
use lockstep_intercept::{
    ArmedWatch, CommandGuard, Control, InterceptPoint, MatchedRequest, Pattern, RefusalKind, RequestAction,
    RequestCommand, Verb, WatchAction, WatchCommand,
};
use lockstep_workload::Workload;

/// What is armed for a step.
#[derive(Debug)]
pub(super) enum ArmedInjection<'a> {
    /// Steps to perform when the subject requests a certain decision.
    Decision { armed: CommandGuard, decided: &'a DecisionMatcher, during: &'a InjectedSteps },
    /// Steps to perform while the watch of a kind is paused.
    Held { watch: ArmedWatch, resource: &'a str, during: &'a InjectedSteps },
    /// A fault at a write.
    Write { armed: CommandGuard, fault: &'a Fault },
    /// A fault in a watch, for as long as the step takes.
    Watch { armed: ArmedWatch, fault: &'a Fault },
    /// One or two late streams. How many other messages overtake each is known when the step is
    /// over.
    Late { _armed: Vec<ArmedFault>, fault: &'a Fault },
}

/// The guard of one late stream: the fault is armed until it is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "each is in force for as long as it is kept")]
pub(super) enum ArmedFault {
    Watch(ArmedWatch),
    Write(CommandGuard),
}

/// Wait for the next intercepted request. Never returns for an injection that does not intercept
/// requests.
pub(super) async fn next_intercepted(injection: Option<&mut ArmedInjection<'_>>) -> MatchedRequest {
    match injection {
        Some(ArmedInjection::Decision { armed, .. } | ArmedInjection::Write { armed, .. }) => armed.next().await,
        Some(ArmedInjection::Held { .. } | ArmedInjection::Watch { .. } | ArmedInjection::Late { .. }) | None => {
            std::future::pending().await
        }
    }
}

/// The resource of a watch that the interceptor cannot read.
pub(super) struct UnreadableWatch(pub(super) String);

/// Why nothing is known of a subject that lists a held kind, for its lists wait as well.
pub(super) fn decides_late(resource: &str) -> String {
    format!("the subject lists {resource} while a step holds them, so it decides only when that hold ends")
}

/// What the server calls a resource of a case, which may be of a workload.
pub(super) fn own_resource(workload: Option<&Workload>, resource: &str) -> String {
    workload.map_or(resource, |workload| workload.own_resource(resource)).to_owned()
}

/// Arm the faults and changes of a step.
pub(super) fn arm<'a>(
    control: &Control,
    namespace: &str,
    workload: Option<&Workload>,
    step: &'a Step,
) -> Result<Option<ArmedInjection<'a>>, UnreadableWatch> {
    let target = InjectionTarget { control, namespace, workload };
    match (&step.during, &step.fault) {
        (Some(during), _) => target.arm_steps(during).map(Some),
        (None, Some(fault)) => target.arm_fault(fault).map(Some),
        (None, None) => Ok(None),
    }
}

/// The subject's requests and watches in the namespace of a case.
struct InjectionTarget<'t> {
    control: &'t Control,
    namespace: &'t str,
    workload: Option<&'t Workload>,
}

impl InjectionTarget<'_> {
    fn arm_steps<'a>(&self, during: &'a InjectedSteps) -> Result<ArmedInjection<'a>, UnreadableWatch> {
        Ok(match &during.point {
            InjectionPoint::HeldWatch(resource) => {
                ArmedInjection::Held { watch: self.arm_watch(resource, 1, WatchAction::Hold)?, resource, during }
            }
            InjectionPoint::Decision(decided) => {
                let on = match decided.kind {
                    DecisionKind::Created(_) => self.pattern("replicasets", &[""], &[Verb::Create, Verb::Patch]),
                    DecisionKind::Resized { .. } => {
                        self.pattern("replicasets", &["", "scale"], &[Verb::Update, Verb::Patch])
                    }
                    DecisionKind::Deleted => {
                        self.pattern("replicasets", &[""], &[Verb::Delete, Verb::DeleteCollection])
                    }
                    DecisionKind::Revision(_) => {
                        self.pattern("deployments", &["", "status"], &[Verb::Update, Verb::Patch])
                    }
                };
                // Hold every such request: which of them makes the decision is known only from its
                // body.
                let action = RequestAction::Hold(InterceptPoint::Before);
                let armed = self.control.arm(RequestCommand { on, nth: 1, once: false, action });
                ArmedInjection::Decision { armed, decided, during }
            }
        })
    }

    fn arm_fault<'a>(&self, fault: &'a Fault) -> Result<ArmedInjection<'a>, UnreadableWatch> {
        if fault.all().any(|fault| matches!(fault.action, FaultAction::Overtaken(_))) {
            let armed = fault.all().map(|late| self.arm_late(late)).collect::<Result<Vec<_>, _>>()?;
            return Ok(ArmedInjection::Late { _armed: armed.into_iter().flatten().collect(), fault });
        }
        Ok(match &fault.point {
            FaultPoint::Watch { resource, event } => {
                let action = match fault.action {
                    FaultAction::Lag(time) => WatchAction::Lag(time),
                    FaultAction::Repeat => WatchAction::Repeat,
                    FaultAction::Old(events) => WatchAction::Old(events),
                    _ => WatchAction::Expire,
                };
                ArmedInjection::Watch { armed: self.arm_watch(resource, *event, action)?, fault }
            }
            FaultPoint::Write { nth, resource, subresource, after } => {
                let side = if *after { InterceptPoint::After } else { InterceptPoint::Before };
                let action = match fault.action {
                    FaultAction::Crash | FaultAction::Handover { .. } => RequestAction::Hold(side),
                    FaultAction::Cut => RequestAction::Cut(side),
                    FaultAction::Delay(time) => RequestAction::Delay(time),
                    FaultAction::Refuse(code) => {
                        RequestAction::Refuse(RefusalKind::from_code(code).unwrap_or(RefusalKind::Internal))
                    }
                    _ => RequestAction::Drop,
                };
                ArmedInjection::Write { armed: self.arm_write(*nth, resource, subresource, action), fault }
            }
        })
    }

    /// `None` for a fault that makes nothing late.
    fn arm_late(&self, late: &Fault) -> Result<Option<ArmedFault>, UnreadableWatch> {
        let FaultAction::Overtaken(others) = late.action else { return Ok(None) };
        Ok(Some(match &late.point {
            FaultPoint::Watch { resource, event } => {
                ArmedFault::Watch(self.arm_watch(resource, *event, WatchAction::Overtaken(others))?)
            }
            FaultPoint::Write { nth, resource, subresource, .. } => {
                ArmedFault::Write(self.arm_write(*nth, resource, subresource, RequestAction::Overtaken(others)))
            }
        }))
    }

    fn arm_watch(&self, resource: &str, nth: u32, action: WatchAction) -> Result<ArmedWatch, UnreadableWatch> {
        let (namespace, resource) = (self.namespace.to_owned(), own_resource(self.workload, resource));
        let opaque = UnreadableWatch(resource.clone());
        self.control.arm_watch(WatchCommand { namespace, resource, nth, action }).ok_or(opaque)
    }

    fn arm_write(&self, nth: u32, resource: &str, subresource: &str, action: RequestAction) -> CommandGuard {
        let on = self.pattern(resource, &[subresource], &[]);
        self.control.arm(RequestCommand { on, nth, once: true, action })
    }

    fn pattern(&self, resource: &str, subresources: &[&str], verbs: &[Verb]) -> Pattern {
        Pattern {
            namespace: self.namespace.to_owned(),
            resource: own_resource(self.workload, resource),
            subresources: subresources.iter().map(|name| (*name).to_owned()).collect(),
            verbs: verbs.to_vec(),
            name: None,
        }
    }
}
