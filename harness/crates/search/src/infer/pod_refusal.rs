//! Pods that the server refused, as ReplicaSets report them. The recording does not show why,
//! except for a quota, which the message names.

use lockstep_support::pointer::JsonPointer;
use serde_json::{Value, json};

use super::live::{LiveObjects, POD, has_ended, text};
use super::step_text::flow;

/// A limit of the number of pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quota {
    name: String,
    /// The most pods that the ReplicaSets of the recording may have.
    pods: i64,
}

/// Why pods were refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PodRefusal {
    /// By a quota.
    Quota(Quota),
    /// For another reason, in the server's words.
    Other(String),
}

/// Why a ReplicaSet could not create a pod, if this version is the first to report it.
pub(super) fn find_refusal(before: Option<&Value>, after: &Value, live: &LiveObjects<'_>) -> Option<PodRefusal> {
    let reported = message(after)?;
    if before.and_then(message).is_some_and(|known| without_pod(known) == without_pod(reported)) {
        return None;
    }
    let quota = quota(reported, live).map(PodRefusal::Quota);
    Some(quota.unwrap_or_else(|| PodRefusal::Other(reported.to_owned())))
}

impl Quota {
    /// The step that creates it.
    pub(super) fn step(&self) -> String {
        let manifest = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": self.name},
            "spec": {"hard": {"pods": self.pods.to_string()}}});
        format!("apply: {}", flow(&manifest))
    }

    /// The same quota without an effective limit, if there are more pods than it allows.
    pub(super) fn without_limit(&self, live: &LiveObjects<'_>) -> Option<Self> {
        (counted_pods(live) > self.pods).then(|| Self { pods: ENOUGH, ..self.clone() })
    }
}

/// The note at an inferred quota.
pub(super) const QUOTA: &str = "quotas are not recorded; a ReplicaSet reports that this one refused its pods";
/// The note at a quota that no longer applies.
pub(super) const LIFTED: &str = "quotas are not recorded; there are more pods than the one before allows";
/// The note about the use of a quota.
pub(super) const USE: &str = "a quota refused pods; how much of it was used at which time is not recorded";
/// The note about other refusals.
pub(super) const UNKNOWN: &str = "pods were refused, and a recording does not show by what";
/// More pods than a case has.
const ENOUGH: i64 = 1000;

/// Parses `pods "web-5d4-x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=4,
/// limited: pods=4`, if it limits only pods.
fn quota(message: &str, live: &LiveObjects<'_>) -> Option<Quota> {
    let (_, rest) = message.split_once("exceeded quota: ")?;
    let (name, rest) = rest.split_once(", requested: ")?;
    let (_, rest) = rest.split_once(", used: ")?;
    let (used, limited) = rest.split_once(", limited: ")?;
    let number = |text: &str| text.strip_prefix("pods=")?.trim().parse::<i64>().ok();
    // Other pods use a part of it. Ended pods may still be counted then.
    let others = (number(used)? - count(live.all(POD))).max(0);
    Some(Quota { name: name.to_owned(), pods: number(limited)? - others })
}

/// How many pods a quota counts.
fn counted_pods(live: &LiveObjects<'_>) -> i64 {
    count(live.all(POD).filter(|pod| !has_ended(pod)))
}

fn count<'a>(pods: impl Iterator<Item = &'a Value>) -> i64 {
    i64::try_from(pods.count()).unwrap_or(i64::MAX)
}

/// A ReplicaSet's message about pods that it could not create.
fn message(set: &Value) -> Option<&str> {
    let all = set.at("/status/conditions")?.as_array()?;
    let found = all.iter().find(|condition| text(condition, "/type") == "ReplicaFailure")?;
    let failed = text(found, "/status") == "True" && text(found, "/reason") == "FailedCreate";
    failed.then(|| text(found, "/message"))
}

/// A message without the name of the pod, which differs in each attempt.
fn without_pod(message: &str) -> &str {
    message.split_once("\" is ").map_or(message, |(_, rest)| rest)
}
