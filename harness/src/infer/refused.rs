//! Pods that the server refused, as ReplicaSets report them. Why it did is not in a recording; a
//! quota says so in its message.

use serde_json::{Value, json};

use super::flow::flow;
use super::live::{Live, POD, has_ended, text};
use crate::pointer::At;

/// A limit of how many pods there may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Quota {
    name: String,
    /// As many as the ReplicaSets of the recording may have.
    pods: i64,
}

/// Why pods were refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is a quota.
    Quota(Quota),
    /// Another reason, in the server's words.
    Other(String),
}

/// Why a ReplicaSet could not make a pod, if this version is the first to say so.
pub(super) fn refused(before: Option<&Value>, after: &Value, live: &Live<'_>) -> Option<Refusal> {
    let said = message(after)?;
    if before.and_then(message).is_some_and(|known| without_pod(known) == without_pod(said)) {
        return None;
    }
    let quota = quota(said, live).map(Refusal::Quota);
    Some(quota.unwrap_or_else(|| Refusal::Other(said.to_owned())))
}

impl Quota {
    /// The step that sets it.
    pub(super) fn step(&self) -> String {
        let manifest = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": self.name},
            "spec": {"hard": {"pods": self.pods.to_string()}}});
        format!("apply: {}", flow(&manifest))
    }

    /// The same without a limit that matters, if there are more pods than it allows.
    pub(super) fn lifted(&self, live: &Live<'_>) -> Option<Self> {
        (held(live) > self.pods).then(|| Self { pods: ENOUGH, ..self.clone() })
    }
}

/// What is said of a quota that was inferred.
pub(super) const QUOTA: &str = "quotas are not recorded; a ReplicaSet reports that this one refused its pods";
/// What is said of one that no longer holds.
pub(super) const LIFTED: &str = "quotas are not recorded; there are more pods than the one before allows";
/// What is not known of a quota.
pub(super) const USE: &str = "a quota refused pods; how much of it was used at which time is not recorded";
/// What is not known of other refusals.
pub(super) const UNKNOWN: &str = "pods were refused, and a recording does not show by what";
/// More pods than a case has.
const ENOUGH: i64 = 1000;

/// `pods "web-5d4-x" is forbidden: exceeded quota: few, requested: pods=1, used: pods=4, limited:
/// pods=4`, if it limits pods alone.
fn quota(said: &str, live: &Live<'_>) -> Option<Quota> {
    let (_, rest) = said.split_once("exceeded quota: ")?;
    let (name, rest) = rest.split_once(", requested: ")?;
    let (_, rest) = rest.split_once(", used: ")?;
    let (used, limited) = rest.split_once(", limited: ")?;
    let number = |text: &str| text.strip_prefix("pods=")?.trim().parse::<i64>().ok();
    // Others use a part of it. Pods that have ended may still be counted then.
    let others = (number(used)? - count(live.all(POD))).max(0);
    Some(Quota { name: name.to_owned(), pods: number(limited)? - others })
}

/// How many pods a quota counts.
fn held(live: &Live<'_>) -> i64 {
    count(live.all(POD).filter(|pod| !has_ended(pod)))
}

fn count<'a>(pods: impl Iterator<Item = &'a Value>) -> i64 {
    i64::try_from(pods.count()).unwrap_or(i64::MAX)
}

/// What a ReplicaSet says of pods that it could not make.
fn message(set: &Value) -> Option<&str> {
    let all = set.at("/status/conditions")?.as_array()?;
    let found = all.iter().find(|condition| text(condition, "/type") == "ReplicaFailure")?;
    let failed = text(found, "/status") == "True" && text(found, "/reason") == "FailedCreate";
    failed.then(|| text(found, "/message"))
}

/// A message without the name of the pod, which is another at each attempt.
fn without_pod(said: &str) -> &str {
    said.split_once("\" is ").map_or(said, |(_, rest)| rest)
}
