//! What has been, since the very beginning of the recording: the functions of rules that look back.
//!
//! A new one is a name in `FUNCTIONS`, a check of its argument, a field that `take` fills, and an
//! answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::pointer::At;
use crate::recording::{Change, Entry, Version, Writer};
use crate::timeline::Frame;

/// The functions; each takes one text.
pub(super) const FUNCTIONS: [&str; 3] = ["began", "count", "restarts"];

/// The kinds of workloads whose pod template can be changed.
const TEMPLATED: [&str; 4] = ["Deployment", "StatefulSet", "DaemonSet", "Rollout"];
/// Those that are restarted by making a Job: of the same name, in place of the one before, or of a
/// CronJob.
const MADE: [&str; 2] = [JOB, "CronJob"];
const JOB: &str = "Job";
/// What decisions are called, as timelines print them.
const DECISIONS: [&str; 6] = ["created", "deleted", "adopted", "released", "annotated", "changed"];

/// Everything that was decided so far.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// The decisions as timelines print them, in words. Each write is one: upstream may take a step
    /// in two.
    decisions: Vec<Vec<String>>,
    /// The messages that the webhook has received.
    posts: Vec<Arc<str>>,
    /// How often somebody other than the case changed a workload's pod template, set a Rollout's
    /// `restartAt`, or made a Job, by `kind/name`.
    restarts: BTreeMap<String, i64>,
    /// The workloads that were ever there.
    workloads: BTreeSet<String>,
    /// The numbers of the steps that carry a label.
    labels: Arc<BTreeMap<String, u32>>,
    /// The number of the step that is on.
    step: u32,
}

impl History {
    /// Of a case whose steps carry these labels; nothing has been yet.
    pub(super) fn of(labels: Arc<BTreeMap<String, u32>>) -> Self {
        Self { labels, ..Self::default() }
    }

    /// Remember what led to this frame; whether there was anything to remember.
    pub(super) fn take(&mut self, frame: &Frame<'_, '_>) -> bool {
        if let Entry::Request(request) = frame.entry {
            let post = request.posted();
            self.posts.extend(post.map(Arc::from));
            return post.is_some();
        }
        let restarted = frame.restarted(&TEMPLATED).into_iter().chain(frame.version.and_then(|job| self.made_of(job)));
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

    /// The workload that is restarted by somebody making this Job: the CronJob that it is of, or
    /// the Job that it takes the place of.
    fn made_of(&self, version: &Version) -> Option<String> {
        if version.kind != JOB || version.change != Change::Added || version.by != Writer::Other {
            return None;
        }
        let owner = version.object.at("/metadata/ownerReferences/0/name").and_then(serde_json::Value::as_str);
        let workload = owner.map_or_else(|| name(JOB, &version.name), |owner| name(MADE[1], owner));
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

    /// How many decisions hold these words in a row: `rs2 created`, `rs1 10 -> 8`, `revision=2`.
    pub(super) fn count(&self, words: &str) -> i64 {
        let words: Vec<&str> = words.split_whitespace().collect();
        let holds = |decision: &&Vec<String>| decision.windows(words.len()).any(|window| window == words.as_slice());
        i64::try_from(self.decisions.iter().filter(holds).count()).unwrap_or(i64::MAX)
    }

    /// How often somebody other than the case changed this workload's pod template, set its
    /// `restartAt`, or made a Job of it.
    ///
    /// # Errors
    /// There never was such a workload, so that none is the wrong answer.
    pub(super) fn restarts(&self, workload: &str) -> Result<i64, String> {
        if !self.workloads.contains(workload) {
            return Err(format!("there was no {workload} so far"));
        }
        Ok(self.restarts.get(workload).copied().unwrap_or(0))
    }
}

fn kinds() -> impl Iterator<Item = &'static str> {
    TEMPLATED.into_iter().chain(MADE)
}

fn name(kind: &str, name: &str) -> String {
    format!("{}/{name}", kind.to_lowercase())
}

/// Whether a function can be asked this.
///
/// # Errors
/// Why not.
pub(super) fn check(function: &str, argument: &str) -> Result<(), String> {
    match function {
        // Which labels there are is the case's to know.
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
            let is_set = |word: &str| {
                let name = word.rsplit('/').next().unwrap_or(word);
                name.strip_prefix("rs").is_some_and(|number| number.parse::<u32>().is_ok())
            };
            let good = match words.as_slice() {
                [one] => decided(one) || is_set(one),
                [_, rest @ ..] => rest.iter().all(|word| decided(word)),
                [] => false,
            };
            let hint =
                "name a decision as timelines print it: 'created', 'rs2 created', 'rs1 10 -> 8', 'web revision=2'";
            if good { Ok(()) } else { Err(hint.to_owned()) }
        }
    }
}
