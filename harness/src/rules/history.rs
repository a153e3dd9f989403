//! What has been, since the very beginning of the recording: the functions of rules that look back.
//!
//! A new one is a name in `FUNCTIONS`, a check of its argument, a field that `take` fills, and an answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::timeline::Frame;

/// The functions; each takes one text.
pub(super) const FUNCTIONS: [&str; 3] = ["began", "count", "restarts"];

/// The kinds of workloads that have a pod template.
const WORKLOADS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];
/// What decisions are called, as timelines print them.
const DECISIONS: [&str; 6] = ["created", "deleted", "adopted", "released", "annotated", "changed"];

/// Everything that was decided so far.
#[derive(Debug, Clone, Default)]
pub(super) struct History {
    /// The decisions as timelines print them, in words. Each write is one: upstream may take a step in two.
    decisions: Vec<Vec<String>>,
    /// How often somebody other than the case changed a workload's pod template, by `kind/name`.
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
        let version = frame.version.filter(|version| WORKLOADS.contains(&version.kind.as_str()));
        let appeared = version
            .is_some_and(|version| self.workloads.insert(format!("{}/{}", version.kind.to_lowercase(), version.name)));
        let restarted = frame.restarted(&WORKLOADS);
        if let Some(workload) = &restarted {
            *self.restarts.entry(workload.clone()).or_default() += 1;
        }
        if let Some(decision) = frame.decision() {
            self.decisions.push(decision.to_string().split_whitespace().map(str::to_owned).collect());
        }
        let begins = frame.step.index != self.step;
        self.step = frame.step.index;
        appeared || restarted.is_some() || frame.decision().is_some() || begins
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

    /// How often this workload's pod template was changed by somebody other than the case.
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
            Some((kind, name)) if WORKLOADS.iter().any(|it| it.to_lowercase() == kind) && !name.is_empty() => Ok(()),
            _ => Err("name a workload: 'deployment/web', 'statefulset/web' or 'daemonset/web'".to_owned()),
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
