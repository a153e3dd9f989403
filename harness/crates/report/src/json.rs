//! Judgements as JSON, one object and line per case.

use std::collections::BTreeMap;

use lockstep_recording::controllers::Controller;
use lockstep_recording::{Blame, Identity};
use lockstep_support::outcome::RunOutcome;
use lockstep_support::sanitize;
use lockstep_timeline::{FailedRequest, TimelineLine};
use lockstep_verdict::{ComparisonBasis, FindingKind, Judgement, TimelineLocation, VerdictFinding};
use serde_json::{Value, json};

use super::failure::{RerunCommands, sentence};
use super::play_summary::PlaySummary;
use super::summary::{EarlyEnd, ends_between};

/// A judgement as one line without line break. Fields are only ever added.
#[must_use]
pub fn json(judgement: &Judgement) -> String {
    sanitize::json(&object(judgement).to_string()).into_owned()
}

/// The last line of a run that ended early.
#[must_use]
pub fn early_end_json(early: &EarlyEnd) -> String {
    let EarlyEnd { error, unplayed, exit_code, .. } = early;
    let value = json!({"error": error, "notPlayed": unplayed, "exitCode": exit_code});
    sanitize::json(&value.to_string()).into_owned()
}

/// A line of a run whose subject ended by itself between two cases; `None` if it did not.
#[must_use]
pub fn ends_between_json(times: usize) -> Option<String> {
    let (error, outcome) = (ends_between(times)?, RunOutcome::of_ends_between(times)?);
    Some(json!({"error": error, "endedBetween": times, "exitCode": outcome.code()}).to_string())
}

/// A judgement of one of many plays: also its item number, the rerun command, and the other fields
/// of
/// [`PlaySummary`].
#[must_use]
pub fn json_of_play(judgement: &Judgement, summary: &PlaySummary, rerun: &RerunCommands) -> String {
    let mut value = object(judgement);
    value["item"] = summary.item.into();
    value["seed"] = summary.seed.into();
    value["upstream"] = summary.upstream.clone().into();
    if let Some(score) = &summary.score {
        value["score"] = json!(score);
    }
    value["repeat"] = rerun.repeat.clone().into();
    sanitize::json(&value.to_string()).into_owned()
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
        "beside": judgement.beside.as_ref().map(identity),
        "realPods": judgement.real_pods,
        "unevaluated": judgement.unevaluated,
        "verdict": judgement.outcome().name(),
        "outcome": judgement.outcome().name(),
        "exitCode": judgement.outcome().code(),
        "expectation": expectation(&judgement.basis),
        "nearest": judgement.nearest.map(|nearest| json!({"number": nearest.number, "of": nearest.total})),
        "findings": judgement.findings.iter().map(finding).collect::<Vec<_>>(),
        "differences": judgement.comparison.as_ref().map_or(0, |comparison| comparison.differences.len()),
        "metrics": {
            "requests": metrics.requests,
            "conflicts": metrics.conflicts,
            "errors": metrics.errors,
            "refused": metrics.refused,
            "answers": metrics.answers,
            "refusals": metrics.failures.iter().map(refusal).collect::<Vec<_>>(),
            "ignoredStatus": metrics.ignored_status,
            "undeclared": undeclared(&metrics.undeclared),
            "writtenBeside": metrics.written_beside,
            "wallMilliseconds": metrics.wall,
            "settlingMilliseconds": metrics.settling,
        },
        "headline": summary.headline,
        "causes": summary.causes,
        "timeline": summary.timeline,
        "diagnosis": judgement.diagnosis,
        "quirks": judgement.quirks,
    })
}

/// A subject or a cluster. `version` includes the program, for compatibility with older reports.
#[must_use]
pub fn identity(identity: &Identity) -> Value {
    json!({"name": identity.name, "program": identity.program, "version": identity.title()})
}

fn expectation(blessing: &ComparisonBasis) -> Value {
    match blessing {
        ComparisonBasis::Golden(None) => json!({"kind": "blessed"}),
        ComparisonBasis::Golden(Some(from)) => json!({
            "kind": "blessed",
            "controller": from.controller,
            "server": from.server,
            "recordings": from.recordings,
            "boots": from.boots,
            "seen": from.times_seen,
        }),
        ComparisonBasis::Live(other) => json!({"kind": "live", "subject": identity(other)}),
        ComparisonBasis::Unblessed => json!({"kind": "unblessed"}),
        ComparisonBasis::Rules => json!({"kind": "rules"}),
        ComparisonBasis::Changed(None) => json!({"kind": "changed"}),
        ComparisonBasis::Changed(Some(changed)) => {
            json!({"kind": "changed", "step": changed.step.to_string(), "was": changed.expected, "is": changed.actual})
        }
    }
}

fn undeclared(undeclared: &BTreeMap<Controller, BTreeMap<String, u64>>) -> Value {
    undeclared.iter().map(|(controller, times)| (controller.as_str().to_owned(), json!(times))).collect()
}

fn refusal(refusal: &FailedRequest) -> Value {
    json!({
        "what": refusal.request,
        "name": refusal.name,
        "code": refusal.status,
        "message": refusal.message,
        "times": refusal.times,
    })
}

fn lines(lines: &Option<Vec<TimelineLine>>) -> Option<Vec<String>> {
    lines.as_ref().map(|lines| lines.iter().map(TimelineLine::indented).collect())
}

fn finding(finding: &VerdictFinding) -> Value {
    let (kind, invariant) = match &finding.kind {
        FindingKind::Divergence(_) => ("divergence", None),
        FindingKind::WrittenBeside(..) => ("beside", None),
        FindingKind::Unearned(..) => ("unearned", None),
        FindingKind::Unsettled(..) => ("unsettled", None),
        FindingKind::Trouble(..) => ("trouble", None),
        FindingKind::Breach(breach) => ("invariant", Some(breach.invariant.name())),
        FindingKind::Unexpected(_) => ("unexpected", None),
        FindingKind::Rule(broken) => (if broken.is_unevaluable { "bad-rule" } else { "rule" }, None),
        FindingKind::OtherRun(_) => ("other-run", None),
        FindingKind::BothIdle => ("both-idle", None),
    };
    let (expected, actual) = match &finding.kind {
        FindingKind::Divergence(difference) | FindingKind::WrittenBeside(difference, _) => {
            (&difference.expected, &difference.actual)
        }
        _ => (&None, &None),
    };
    let (index, part) = match finding.place {
        TimelineLocation::Step(id) => (Some(id.index), Some(id.part)),
        TimelineLocation::Events => (None, None),
    };
    json!({
        "place": finding.place.to_string(),
        "index": index,
        "part": part,
        "label": finding.label,
        "line": finding.line,
        "kind": kind,
        "against": if finding.kind.blame() == Blame::Subject { "subject" } else { "environment" },
        "invariant": invariant,
        "message": sentence(&finding.kind),
        "expected": lines(expected),
        "actual": lines(actual),
    })
}
