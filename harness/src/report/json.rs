//! Judgements for machines: one JSON object a case, one line each.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::again::Again;
use super::failure::sentence;
use super::played::PlaySummary;
use crate::controllers::Controller;
use crate::plain;
use crate::recording::{Blame, Identity};
use crate::timeline::{Line, Refusal};
use crate::verdict::{Blessing, Finding, Judgement, Place, What};

/// One line, without the line break. Fields are only ever added.
#[must_use]
pub fn json(judgement: &Judgement) -> String {
    plain::json(&object(judgement).to_string()).into_owned()
}

/// The same for a play that is one of many: with its number among them, the command that repeats
/// it, and what
/// [`PlaySummary`] has besides.
#[must_use]
pub fn json_of_play(judgement: &Judgement, summary: &PlaySummary, again: &Again) -> String {
    let mut value = object(judgement);
    value["item"] = summary.item.into();
    value["seed"] = summary.seed.into();
    value["upstream"] = summary.upstream.clone().into();
    value["repeat"] = again.repeat.clone().into();
    plain::json(&value.to_string()).into_owned()
}

fn object(judgement: &Judgement) -> Value {
    let summary = PlaySummary::from(judgement);
    let metrics = &judgement.metrics;
    json!({
        "case": judgement.case,
        "path": judgement.path,
        "subject": identity(&judgement.subject),
        "cluster": identity(&judgement.cluster),
        "clusterControllers": judgement.cluster_controllers.as_ref().map(identity),
        "realPods": judgement.real_pods,
        "unevaluated": judgement.unevaluated,
        "verdict": judgement.outcome().name(),
        "outcome": judgement.outcome().name(),
        "exitCode": judgement.outcome().code(),
        "expectation": expectation(&judgement.blessing),
        "nearest": judgement.nearest.map(|nearest| json!({"number": nearest.number, "of": nearest.of})),
        "findings": judgement.findings.iter().map(finding).collect::<Vec<_>>(),
        "differences": judgement.comparison.as_ref().map_or(0, |comparison| comparison.differences.len()),
        "metrics": {
            "requests": metrics.requests,
            "conflicts": metrics.conflicts,
            "errors": metrics.errors,
            "refused": metrics.refused,
            "answers": metrics.answers,
            "refusals": metrics.refusals.iter().map(refusal).collect::<Vec<_>>(),
            "ignoredStatus": metrics.ignored_status,
            "undeclared": undeclared(&metrics.undeclared),
            "wallMilliseconds": metrics.wall,
            "settlingMilliseconds": metrics.settling,
        },
        "headline": summary.headline,
        "causes": summary.causes,
        "timeline": summary.timeline,
        "diagnosis": judgement.diagnosis,
    })
}

/// A subject or a cluster; `version` names the program as well, for readers of older reports.
#[must_use]
pub fn identity(identity: &Identity) -> Value {
    json!({"name": identity.name, "program": identity.program, "version": identity.title()})
}

fn expectation(blessing: &Blessing) -> Value {
    match blessing {
        Blessing::Golden(None) => json!({"kind": "blessed"}),
        Blessing::Golden(Some(from)) => json!({
            "kind": "blessed",
            "controller": from.controller,
            "server": from.server,
            "recordings": from.recordings,
            "boots": from.boots,
            "seen": from.seen,
        }),
        Blessing::Live(other) => json!({"kind": "live", "subject": identity(other)}),
        Blessing::Unblessed => json!({"kind": "unblessed"}),
        Blessing::Rules => json!({"kind": "rules"}),
        Blessing::Changed(None) => json!({"kind": "changed"}),
        Blessing::Changed(Some(changed)) => {
            json!({"kind": "changed", "step": changed.step.to_string(), "was": changed.expected, "is": changed.actual})
        }
    }
}

fn undeclared(undeclared: &BTreeMap<Controller, BTreeMap<String, u64>>) -> Value {
    undeclared.iter().map(|(controller, times)| (controller.as_str().to_owned(), json!(times))).collect()
}

fn refusal(refusal: &Refusal) -> Value {
    json!({
        "what": refusal.what,
        "name": refusal.name,
        "code": refusal.status,
        "message": refusal.message,
        "times": refusal.times,
    })
}

/// The lines as a timeline prints them.
fn lines(lines: &Option<Vec<Line>>) -> Option<Vec<String>> {
    lines.as_ref().map(|lines| lines.iter().map(Line::indented).collect())
}

fn finding(finding: &Finding) -> Value {
    let (kind, invariant) = match &finding.what {
        What::Divergence(_) => ("divergence", None),
        What::Unsettled(..) => ("unsettled", None),
        What::Trouble(..) => ("trouble", None),
        What::Breach(breach) => ("invariant", Some(breach.invariant.name())),
        What::Unexpected(_) => ("unexpected", None),
        What::Rule(broken) => (if broken.unfit { "bad-rule" } else { "rule" }, None),
        What::OtherRun(_) => ("other-run", None),
        What::BothIdle => ("both-idle", None),
    };
    let (expected, actual) = match &finding.what {
        What::Divergence(difference) => (&difference.expected, &difference.actual),
        _ => (&None, &None),
    };
    let (index, part) = match finding.place {
        Place::Step(id) => (Some(id.index), Some(id.part)),
        Place::Events => (None, None),
    };
    json!({
        "place": finding.place.to_string(),
        "index": index,
        "part": part,
        "label": finding.label,
        "line": finding.line,
        "kind": kind,
        "against": if finding.what.blame() == Blame::Subject { "subject" } else { "environment" },
        "invariant": invariant,
        "message": sentence(&finding.what),
        "expected": lines(expected),
        "actual": lines(actual),
    })
}
