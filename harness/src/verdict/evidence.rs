//! What a recording itself says about trouble: whose, at which step, and from where on it proves
//! nothing.

use std::collections::BTreeMap;

use crate::recording::{Blame, Entry, Recording, Request, StepMark, Trouble};
use crate::timeline::StepId;

/// Why a step is no evidence at which objects changed that only the subject may change, and the
/// subject wrote none.
const FOREIGN: &str =
    "decisions were made here, but not by the subject: another controller of the kind runs on this cluster";

/// Why an impossible step is nobody's fault yet.
const UNPROVED: &str = "no run of upstream shows that the step is possible; bless the case, or compare with upstream";

/// Why a step that did not settle is nobody's fault yet, where the server refuses what the subject
/// writes.
const UNSETTLED: &str = "no run of upstream shows that the step settles; bless the case, or compare with upstream";

/// The trouble that a recording tells of.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Each step's line in the case file, and what it does.
    marks: BTreeMap<StepId, (usize, String)>,
    /// All trouble, in order.
    pub(super) troubles: Vec<At>,
    /// Whether the run got to its end.
    pub(super) completed: bool,
}

/// Trouble and where.
#[derive(Debug, Clone)]
pub(super) struct At {
    /// The step that was being made, or settled.
    pub(super) step: StepId,
    /// Its line in the case file; 0 before the first.
    pub(super) line: usize,
    /// Its label.
    pub(super) label: String,
    /// Whose fault, and what.
    pub(super) trouble: Trouble,
    /// Whether it is that the step never settled.
    pub(super) unsettled: bool,
}

impl Evidence {
    /// Read a recording through, in which at these steps the subject did not do the work. A step
    /// that could not be made is the subject's fault where `possible` knows that it can be; else
    /// the case may be to blame as well. So may it where the step did not settle because the server
    /// refuses what the subject writes, and `settles` does not know that it can; but not where the
    /// subject has not served the probe either, of which no server refuses anything.
    pub(super) fn of(
        recording: &Recording,
        unearned: &[StepId],
        possible: impl Fn(StepId) -> bool,
        settles: impl Fn(StepId) -> bool,
    ) -> Self {
        let mut evidence = Self::default();
        let mut now = Now::default();
        for entry in &recording.entries {
            match entry {
                Entry::Step(mark) => {
                    evidence.unfinished(&now);
                    now = Now::at(mark);
                    evidence.marks.entry(now.step).or_insert_with(|| (now.line, now.label.clone()));
                }
                Entry::Settled(settling) => {
                    now.open = false;
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
                Entry::Trouble(trouble) => {
                    now.open = false;
                    evidence.add(&now, trouble.clone(), false);
                }
                Entry::Impossible(impossible) => {
                    now.open = false;
                    evidence.impossible(&now, &impossible.why, possible(now.step));
                }
                Entry::Request(request) => now.wrote(request),
                Entry::Header(_) | Entry::Named(_) | Entry::Object(_) | Entry::Met(_) | Entry::End(_) => {}
            }
        }
        evidence.end(recording, &now);
        evidence.somebody_elses(unearned);
        evidence
    }

    /// The first trouble of the test environment's: from its step on, nothing is evidence.
    pub(super) fn environment(&self) -> Option<&At> {
        self.troubles.iter().find(|at| at.trouble.blame == Blame::Environment)
    }

    /// Whether what was recorded at this step says something about the subject.
    pub(super) fn covers(&self, step: StepId) -> bool {
        self.environment().is_none_or(|environment| step < environment.step)
    }

    /// Whether this run made the step and came through it.
    pub(super) fn made(&self, step: StepId) -> bool {
        self.marks.contains_key(&step) && self.troubles.iter().all(|at| at.step > step)
    }

    /// The step's line in the case file.
    pub(super) fn line(&self, step: StepId) -> Option<usize> {
        self.marks.get(&step).map(|(line, _)| *line)
    }

    /// What the step does.
    pub(super) fn label(&self, step: StepId) -> String {
        self.marks.get(&step).map(|(_, label)| label.clone()).unwrap_or_default()
    }

    /// The last step that was begun.
    pub(super) fn last(&self) -> Option<StepId> {
        self.marks.keys().next_back().copied()
    }

    fn add(&mut self, now: &Now, trouble: Trouble, unsettled: bool) {
        let (step, line, label) = (now.step, now.line, now.label.clone());
        self.troubles.push(At { step, line, label, trouble, unsettled });
    }

    fn impossible(&mut self, now: &Now, why: &str, possible: bool) {
        let (blame, why) = if possible {
            (Blame::Subject, format!("the step is impossible: {why}"))
        } else {
            (Blame::Environment, format!("the step is impossible: {why}; {UNPROVED}"))
        };
        self.add(now, Trouble::new(blame, why), false);
    }

    fn environment_broke(&mut self, now: &Now, why: &str) {
        self.add(now, Trouble::new(Blame::Environment, why), false);
    }

    /// A step that was begun and whose settling is not recorded.
    fn unfinished(&mut self, now: &Now) {
        if now.open {
            self.environment_broke(now, "the recording does not say how the step settled");
        }
    }

    /// The steps at which another controller did the work: from the first on, nothing is the
    /// subject's for certain.
    fn somebody_elses(&mut self, unearned: &[StepId]) {
        for &step in unearned {
            let (line, label) = self.marks.get(&step).cloned().unwrap_or_default();
            self.environment_broke(&Now { step, line, label, ..Now::default() }, FOREIGN);
        }
        // In the order of the steps; what was recorded at the same step comes first.
        self.troubles.sort_by_key(|at| at.step);
    }

    fn end(&mut self, recording: &Recording, now: &Now) {
        match &recording.end {
            None => self.environment_broke(now, "the recording was cut off"),
            Some(end) => {
                self.completed = end.completed;
                self.unfinished(now);
                if !end.completed && self.troubles.is_empty() {
                    self.environment_broke(now, "the run ended before its last step and does not say why");
                }
            }
        }
    }
}

/// The step that is being read.
#[derive(Debug, Default)]
struct Now {
    step: StepId,
    line: usize,
    label: String,
    /// Begun, and not settled yet.
    open: bool,
    /// What the server said to the last write, if it refused that write again and again.
    refused: Option<String>,
    /// The last write that the server refused.
    last: Option<(String, String)>,
}

impl Now {
    fn at(mark: &StepMark) -> Self {
        let (step, line, label) = (StepId::of(mark), mark.line, mark.label.clone());
        Self { step, line, label, open: true, refused: None, last: None }
    }

    /// The subject wrote something. Once is no obstacle, and a conflict, or an object that is gone,
    /// is no refusal of what is written.
    fn wrote(&mut self, request: &Request) {
        if matches!(request.verb.as_str(), "get" | "list" | "watch") || request.resource == "events" {
            return;
        }
        let is_refused = matches!(request.status, 400 | 403 | 413 | 422);
        let now = is_refused.then(|| (request.to_string(), request.name.clone()));
        let again = now.is_some() && now == self.last;
        self.refused = again.then(|| {
            let message = request.message.as_deref().unwrap_or("without a reason");
            format!("the API server refuses to {request} {}, {}: {message}", request.name, request.status)
        });
        self.last = now;
    }
}
