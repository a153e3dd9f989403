//! The functions of rules that look back to the very beginning of the recording.
//!
//! A new function needs a name in `FUNCTIONS`, a check of its argument, a field that `record`
//! fills, and a method.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_recording::{ChangeType, ObjectVersion, RecordingEntry, WriterRole};
use lockstep_support::pointer::JsonPointer;
use lockstep_timeline::{Frame, replica_set_number};

/// The functions; each takes one string.
pub(super) const FUNCTIONS: [&str; 3] = ["began", "count", "restarts"];

/// The kinds of workloads whose pod template can change.
const TEMPLATED: [&str; 4] = ["Deployment", "StatefulSet", "DaemonSet", "Rollout"];
/// Kinds that are restarted by creating a Job: one of the same name in place of the old one, or one
/// of a CronJob.
const JOB_KINDS: [&str; 2] = [JOB, "CronJob"];
const JOB: &str = "Job";
/// The verbs of decisions, as timelines print them.
const DECISIONS: [&str; 6] = ["created", "deleted", "adopted", "released", "annotated", "changed"];

/// Everything that was decided so far.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleHistory {
    /// The decisions as timelines print them, split into words. Each write is one decision:
    /// upstream may take a step in two.
    decisions: Vec<Vec<String>>,
    /// The messages that the webhook has received.
    posts: Vec<Arc<str>>,
    /// How often another writer than the case changed a workload's pod template, set a Rollout's
    /// `restartAt`, or created a Job, by `kind/name`.
    restarts: BTreeMap<String, i64>,
    /// All workloads that have ever existed.
    workloads: BTreeSet<String>,
    /// The numbers of the labelled steps.
    labels: Arc<BTreeMap<String, u32>>,
    /// The number of the current step.
    step: u32,
}

impl RuleHistory {
    /// An empty history of a case whose steps have these labels.
    pub(super) fn of(labels: Arc<BTreeMap<String, u32>>) -> Self {
        Self { labels, ..Self::default() }
    }

    /// Records what led to this frame; returns whether anything was recorded.
    pub(super) fn record(&mut self, frame: &Frame<'_, '_>) -> bool {
        if let RecordingEntry::Request(request) = frame.entry {
            let post = request.webhook_message();
            self.posts.extend(post.map(Arc::from));
            return post.is_some();
        }
        let restarted = frame
            .restarted_workload(&TEMPLATED)
            .into_iter()
            .chain(frame.version.and_then(|job| self.restarted_by_job(job)));
        let restarted: Vec<String> = restarted.collect();
        let version = frame.version.filter(|version| kinds().any(|kind| kind == version.kind));
        let appeared = version.is_some_and(|version| self.workloads.insert(name(&version.kind, &version.name)));
        for workload in &restarted {
            *self.restarts.entry(workload.clone()).or_default() += 1;
        }
        if let Some(decision) = frame.decision() {
            self.decisions.push(decision.to_string().split_whitespace().map(str::to_owned).collect());
        }
        let begins = frame.step.index != self.step;
        self.step = frame.step.index;
        appeared || !restarted.is_empty() || frame.decision().is_some() || begins
    }

    /// The workload that is restarted by this Job, if another writer than the case created it: the
    /// CronJob that owns it, or the Job that it replaces.
    fn restarted_by_job(&self, version: &ObjectVersion) -> Option<String> {
        if version.kind != JOB || version.change != ChangeType::Added || version.by != WriterRole::Other {
            return None;
        }
        let owner = version.object.at("/metadata/ownerReferences/0/name").and_then(serde_json::Value::as_str);
        let workload = owner.map_or_else(|| name(JOB, &version.name), |owner| name(JOB_KINDS[1], owner));
        self.workloads.contains(&workload).then_some(workload)
    }

    /// The messages that the webhook has received.
    pub(super) fn posts(&self) -> impl Iterator<Item = &str> {
        self.posts.iter().map(|text| &**text)
    }

    /// Whether the step with this label has begun.
    ///
    /// # Errors
    /// There is no such step.
    pub(super) fn began(&self, label: &str) -> Result<bool, String> {
        let first = self.labels.get(label).ok_or_else(|| format!("no step has the label {label}"))?;
        Ok(self.step >= *first)
    }

    /// How many decisions contain these words in a row: `rs2 created`, `rs1 10 -> 8`, `revision=2`.
    pub(super) fn count(&self, words: &str) -> i64 {
        let words: Vec<&str> = words.split_whitespace().collect();
        let holds = |decision: &&Vec<String>| decision.windows(words.len()).any(|window| window == words.as_slice());
        i64::try_from(self.decisions.iter().filter(holds).count()).unwrap_or(i64::MAX)
    }

    /// How often another writer than the case changed this workload's pod template, set its
    /// `restartAt`, or created a Job of it.
    ///
    /// # Errors
    /// There never was such a workload, so 0 would be misleading.
    pub(super) fn restarts(&self, workload: &str) -> Result<i64, String> {
        if !self.workloads.contains(workload) {
            return Err(format!("there was no {workload} so far"));
        }
        Ok(self.restarts.get(workload).copied().unwrap_or(0))
    }
}

fn kinds() -> impl Iterator<Item = &'static str> {
    TEMPLATED.into_iter().chain(JOB_KINDS)
}

fn name(kind: &str, name: &str) -> String {
    format!("{}/{name}", kind.to_lowercase())
}

/// Checks the argument of a function.
///
/// # Errors
/// Why it is invalid.
pub(super) fn check_argument(function: &str, argument: &str) -> Result<(), String> {
    match function {
        // Which labels exist is checked with the case.
        "began" if argument.trim().is_empty() => Err("name the label of a step".to_owned()),
        "began" => Ok(()),
        "restarts" => match argument.split_once('/') {
            Some((kind, name)) if kinds().any(|it| it.to_lowercase() == kind) && !name.is_empty() => Ok(()),
            _ => Err("name a workload: 'deployment/web', 'statefulset/web', 'daemonset/web', 'rollout/web', \
                      'job/load' or 'cronjob/backup'"
                .to_owned()),
        },
        _ => {
            let words: Vec<&str> = argument.split_whitespace().collect();
            let decided = |word: &str| {
                DECISIONS.contains(&word) || word == "->" || word.contains('=') || word.parse::<u32>().is_ok()
            };
            let good = match words.as_slice() {
                [one] => decided(one) || replica_set_number(one).is_some(),
                [_, rest @ ..] => rest.iter().all(|word| decided(word)),
                [] => false,
            };
            let hint =
                "name a decision as timelines print it: 'created', 'rs2 created', 'rs1 10 -> 8', 'web revision=2'";
            if good { Ok(()) } else { Err(hint.to_owned()) }
        }
    }
}
