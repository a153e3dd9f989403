//! The trouble in a recording: whose fault it is, at which step, and from which step on the
//! recording proves nothing.

use std::collections::BTreeMap;

use lockstep_recording::{Blame, ImpossibleStep, Recording, RecordingEntry, StepMark, SubjectRequest, Trouble};
use lockstep_timeline::StepId;

/// Why a step is not evidence if objects changed that only the subject may change, and the subject
/// wrote none of them.
const FOREIGN: &str =
    "decisions were made here, but not by the subject: another controller of the kind runs on this cluster";

/// Why an impossible step is not yet proved to be the fault of the subject.
pub(super) const UNPROVED: &str =
    "no other run shows that the step is possible; bless the case, or play it on another controller";

/// Why an impossible step says nothing about a subject that does not claim to scale ReplicaSets.
pub(super) const UNCLAIMED_SIZES: &str =
    "the controller does not claim `replicasets.sizes`, so the step may need pods that it need not make";

/// Why an impossible step says nothing about a subject that shares its work.
pub(super) const DECIDED_BESIDE: &str =
    "the controller beside the subject has decided something here, so the step may need what the subject leaves to it";

/// Why a step that did not settle is not yet proved to be the fault of the subject, if the server
/// refuses what the subject writes.
const UNSETTLED: &str = "no run of upstream shows that the step settles; bless the case, or compare with upstream";

/// The trouble in a recording.
#[derive(Debug, Clone, Default)]
pub(super) struct RunEvidence {
    /// The line in the case file and the label of each step.
    marks: BTreeMap<StepId, (usize, String)>,
    /// All trouble, in order.
    pub(super) troubles: Vec<LocatedTrouble>,
    /// Whether the run was completed.
    pub(super) completed: bool,
}

/// Trouble and the step at which it happened.
#[derive(Debug, Clone)]
pub(super) struct LocatedTrouble {
    /// The step that was being performed or settled.
    pub(super) step: StepId,
    /// Its line in the case file; 0 before the first.
    pub(super) line: usize,
    pub(super) label: String,
    pub(super) trouble: Trouble,
    /// Whether the trouble is that the step did not settle.
    pub(super) unsettled: bool,
}

impl RunEvidence {
    /// Reads a recording; the subject did not do the work of the `unearned` steps. If a step could
    /// not be performed, the subject is at fault unless `possible` says why the case may be. The
    /// case may also be at fault if a step did not settle because the server refuses what the
    /// subject writes and `settles` returns false; unless the subject did not serve the probe
    /// either, which a server never refuses.
    pub(super) fn of(
        recording: &Recording,
        unearned: &[StepId],
        possible: impl Fn(StepId, &ImpossibleStep) -> Result<(), &'static str>,
        settles: impl Fn(StepId) -> bool,
    ) -> Self {
        let mut evidence = Self::default();
        let mut now = CurrentStep::default();
        for entry in &recording.entries {
            match entry {
                RecordingEntry::Step(mark) => {
                    evidence.check_settled(&now);
                    now = CurrentStep::at(mark);
                    evidence.marks.entry(now.step).or_insert_with(|| (now.line, now.label.clone()));
                }
                RecordingEntry::Settled(settling) => {
                    now.is_open = false;
                    if let Some(trouble) = &settling.unsettled {
                        let trouble = match (trouble.blame, &now.refused) {
                            (Blame::Subject, Some(refused)) if !trouble.probe_unserved && !settles(now.step) => {
                                let why = format!("{}: {refused}; {UNSETTLED}", trouble.why);
                                Trouble::new(Blame::Environment, why)
                            }
                            _ => trouble.clone(),
                        };
                        evidence.add(&now, trouble, true);
                    }
                }
                RecordingEntry::Trouble(trouble) => {
                    now.is_open = false;
                    evidence.add(&now, trouble.clone(), false);
                }
                RecordingEntry::Impossible(impossible) => {
                    now.is_open = false;
                    evidence.impossible(&now, &impossible.why, possible(now.step, impossible));
                }
                RecordingEntry::Request(request) => now.record_write(request),
                RecordingEntry::Header(_)
                | RecordingEntry::PodNames(_)
                | RecordingEntry::Object(_)
                | RecordingEntry::Injected(_)
                | RecordingEntry::End(_) => {}
            }
        }
        evidence.check_end(recording, &now);
        evidence.add_foreign_work(unearned);
        evidence
    }

    /// The first trouble of the test environment: from its step on, nothing is evidence.
    pub(super) fn environment_trouble(&self) -> Option<&LocatedTrouble> {
        self.troubles.iter().find(|at| at.trouble.blame == Blame::Environment)
    }

    /// Whether the recording of this step is evidence about the subject.
    pub(super) fn covers(&self, step: StepId) -> bool {
        self.environment_trouble().is_none_or(|environment| step < environment.step)
    }

    /// Whether this run performed the step and had no trouble up to it.
    pub(super) fn got_through(&self, step: StepId) -> bool {
        self.marks.contains_key(&step) && self.troubles.iter().all(|at| at.step > step)
    }

    /// The step's line in the case file.
    pub(super) fn line(&self, step: StepId) -> Option<usize> {
        self.marks.get(&step).map(|(line, _)| *line)
    }

    pub(super) fn label(&self, step: StepId) -> String {
        self.marks.get(&step).map(|(_, label)| label.clone()).unwrap_or_default()
    }

    /// The last step that began.
    pub(super) fn last_step(&self) -> Option<StepId> {
        self.marks.keys().next_back().copied()
    }

    fn add(&mut self, now: &CurrentStep, trouble: Trouble, unsettled: bool) {
        let (step, line, label) = (now.step, now.line, now.label.clone());
        self.troubles.push(LocatedTrouble { step, line, label, trouble, unsettled });
    }

    fn impossible(&mut self, now: &CurrentStep, why: &str, possible: Result<(), &str>) {
        let (blame, why) = match possible {
            Ok(()) => (Blame::Subject, format!("the step is impossible: {why}")),
            Err(doubt) => (Blame::Environment, format!("the step is impossible: {why}; {doubt}")),
        };
        self.add(now, Trouble::new(blame, why), false);
    }

    fn environment_broke(&mut self, now: &CurrentStep, why: &str) {
        self.add(now, Trouble::new(Blame::Environment, why), false);
    }

    /// Reports a step whose settling is not recorded.
    fn check_settled(&mut self, now: &CurrentStep) {
        if now.is_open {
            self.environment_broke(now, "the recording does not say how the step settled");
        }
    }

    /// Adds the steps at which another controller did the work: from the first one on, nothing can
    /// be attributed to the subject.
    fn add_foreign_work(&mut self, unearned: &[StepId]) {
        for &step in unearned {
            let (line, label) = self.marks.get(&step).cloned().unwrap_or_default();
            self.environment_broke(&CurrentStep { step, line, label, ..CurrentStep::default() }, FOREIGN);
        }
        // In the order of the steps; trouble that was recorded at the same step comes first.
        self.troubles.sort_by_key(|at| at.step);
    }

    fn check_end(&mut self, recording: &Recording, now: &CurrentStep) {
        match &recording.end {
            None => self.environment_broke(now, "the recording was cut off"),
            Some(end) => {
                self.completed = end.completed;
                self.check_settled(now);
                if !end.completed && self.troubles.is_empty() {
                    self.environment_broke(now, "the run ended before its last step and does not say why");
                }
            }
        }
    }
}

/// The step that is being read.
#[derive(Debug, Default)]
struct CurrentStep {
    step: StepId,
    line: usize,
    label: String,
    /// Whether it has begun and not settled yet.
    is_open: bool,
    /// The server's message to the last write, if it refused that write repeatedly.
    refused: Option<String>,
    /// The last write that the server refused.
    last_refusal: Option<(String, String)>,
}

impl CurrentStep {
    fn at(mark: &StepMark) -> Self {
        let (step, line, label) = (StepId::of(mark), mark.line, mark.label.clone());
        Self { step, line, label, is_open: true, refused: None, last_refusal: None }
    }

    /// Records a write of the subject. A single refusal is not an obstacle, and neither a conflict
    /// nor a missing object refuses what is written.
    fn record_write(&mut self, request: &SubjectRequest) {
        if matches!(request.verb.as_str(), "get" | "list" | "watch") || request.resource == "events" {
            return;
        }
        let is_refused = matches!(request.status, 400 | 403 | 413 | 422);
        let now = is_refused.then(|| (request.to_string(), request.name.clone()));
        let again = now.is_some() && now == self.last_refusal;
        self.refused = again.then(|| {
            let message = request.message.as_deref().unwrap_or("without a reason");
            format!("the API server refuses to {request} {}, {}: {message}", request.name, request.status)
        });
        self.last_refusal = now;
    }
}
