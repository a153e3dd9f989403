//! Describes faults between a subject and its server in the words of the case. Pure.

use lockstep_recording::Effect;

use crate::model::{Fault, FaultAction, FaultPoint};

/// For example `write 3 of replicasets, after it: crash`.
pub fn describe_fault(fault: &Fault) -> String {
    let action = match fault.action {
        FaultAction::Crash => "crash".to_owned(),
        FaultAction::Drop => "answer lost".to_owned(),
        FaultAction::Cut => "connection cut".to_owned(),
        FaultAction::Refuse(code) => format!("refused with {code}"),
        FaultAction::Delay(time) => format!("late by {}", humantime::format_duration(time)),
        FaultAction::Lag(time) => format!("lags by {}", humantime::format_duration(time)),
        FaultAction::Repeat => "twice".to_owned(),
        FaultAction::Expire => "then forgotten".to_owned(),
        FaultAction::Old(events) => format!("then a list that is {events} events old"),
        FaultAction::Overtaken(others) => format!("overtaken by {others}"),
    };
    let side = match &fault.point {
        FaultPoint::Write { after: false, .. } => ", before it",
        FaultPoint::Write { after: true, .. } => ", after it",
        FaultPoint::Watch { .. } => "",
    };
    let besides = fault.second.as_deref().map_or_else(String::new, |and| format!("; {}", describe_fault(and)));
    format!("{}{side}: {action}{besides}", describe_point(&fault.point))
}

/// What a fault means for the subject.
pub const fn effect(action: FaultAction) -> Effect {
    match action {
        FaultAction::Crash => Effect::Killed,
        FaultAction::Drop | FaultAction::Cut => Effect::Unanswered,
        FaultAction::Refuse(_)
        | FaultAction::Delay(_)
        | FaultAction::Lag(_)
        | FaultAction::Repeat
        | FaultAction::Expire
        | FaultAction::Old(_)
        | FaultAction::Overtaken(_) => Effect::Answered,
    }
}

/// For example `write 3 of replicasets`.
pub fn describe_point(point: &FaultPoint) -> String {
    match point {
        FaultPoint::Write { nth, resource, subresource, .. } if subresource.is_empty() => {
            format!("write {nth} of {resource}")
        }
        FaultPoint::Write { nth, resource, subresource, .. } => format!("write {nth} of {resource}/{subresource}"),
        FaultPoint::Watch { resource, event } => format!("event {event} of {resource}"),
    }
}
