//! What a recording itself says about trouble: whose, at which edge, and from where on it proves nothing.

use std::collections::BTreeMap;

use crate::recording::{Blame, EdgeMark, Entry, Recording, Trouble};
use crate::timeline::{EdgeId, unearned};

/// Why an edge is no evidence at which objects changed that only the subject may change, and the subject wrote none.
const FOREIGN: &str =
    "decisions were made here, but not by the subject: another controller of the kind is at work on this cluster";

/// Why an impossible edge is nobody's fault yet.
const UNPROVED: &str = "nothing shows that the case asks for what can be: is it right? upstream's own run, blessed or beside it, would tell";

/// The trouble that a recording tells of.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Each edge's line in the case file, and what it does.
    marks: BTreeMap<EdgeId, (usize, String)>,
    /// All trouble, in order.
    pub(super) troubles: Vec<At>,
    /// Whether the run got to its end.
    pub(super) completed: bool,
}

/// Trouble and where.
#[derive(Debug, Clone)]
pub(super) struct At {
    /// The edge that was being made, or settled.
    pub(super) edge: EdgeId,
    /// Its line in the case file; 0 before the first.
    pub(super) line: usize,
    /// Its label.
    pub(super) label: String,
    /// Whose fault, and what.
    pub(super) trouble: Trouble,
    /// Whether it is that the edge never settled.
    pub(super) unsettled: bool,
}

impl Evidence {
    /// Read a recording through. An edge that could not be made is the subject's fault where `possible` knows that it can be;
    /// else the case may be to blame as well.
    pub(super) fn of(recording: &Recording, possible: impl Fn(EdgeId) -> bool) -> Self {
        let mut evidence = Self::default();
        let mut now = Now::default();
        for entry in &recording.entries {
            match entry {
                Entry::Edge(mark) => {
                    evidence.unfinished(&now);
                    now = Now::at(mark);
                    evidence.marks.entry(now.edge).or_insert_with(|| (now.line, now.label.clone()));
                }
                Entry::Settled(settling) => {
                    now.open = false;
                    if let Some(trouble) = &settling.unsettled {
                        evidence.add(&now, trouble.clone(), true);
                    }
                }
                Entry::Trouble(trouble) => {
                    now.open = false;
                    evidence.add(&now, trouble.clone(), false);
                }
                Entry::Impossible(why) => {
                    now.open = false;
                    evidence.impossible(&now, why, possible(now.edge));
                }
                Entry::Header(_)
                | Entry::Named(_)
                | Entry::Object(_)
                | Entry::Request(_)
                | Entry::Met(_)
                | Entry::End(_) => {}
            }
        }
        evidence.end(recording, &now);
        evidence.somebody_elses(recording);
        evidence
    }

    /// The first trouble of the lab's: from its edge on, nothing is evidence.
    pub(super) fn lab(&self) -> Option<&At> {
        self.troubles.iter().find(|at| at.trouble.blame == Blame::Lab)
    }

    /// Whether what was recorded at this edge says something about the subject.
    pub(super) fn covers(&self, edge: EdgeId) -> bool {
        self.lab().is_none_or(|lab| edge < lab.edge)
    }

    /// Whether this run made the edge and came through it.
    pub(super) fn made(&self, edge: EdgeId) -> bool {
        self.marks.contains_key(&edge) && self.troubles.iter().all(|at| at.edge > edge)
    }

    /// The edge's line in the case file.
    pub(super) fn line(&self, edge: EdgeId) -> Option<usize> {
        self.marks.get(&edge).map(|(line, _)| *line)
    }

    /// What the edge does.
    pub(super) fn label(&self, edge: EdgeId) -> String {
        self.marks.get(&edge).map(|(_, label)| label.clone()).unwrap_or_default()
    }

    /// The last edge that was begun.
    pub(super) fn last(&self) -> Option<EdgeId> {
        self.marks.keys().next_back().copied()
    }

    fn add(&mut self, now: &Now, trouble: Trouble, unsettled: bool) {
        let (edge, line, label) = (now.edge, now.line, now.label.clone());
        self.troubles.push(At { edge, line, label, trouble, unsettled });
    }

    fn impossible(&mut self, now: &Now, why: &str, possible: bool) {
        let (blame, why) = if possible {
            (Blame::Subject, format!("the edge is impossible: {why}"))
        } else {
            (Blame::Lab, format!("the edge is impossible: {why}; {UNPROVED}"))
        };
        self.add(now, Trouble { blame, why }, false);
    }

    fn lab_broke(&mut self, now: &Now, why: &str) {
        self.add(now, Trouble { blame: Blame::Lab, why: why.to_owned() }, false);
    }

    /// An edge that was begun and whose settling is not recorded.
    fn unfinished(&mut self, now: &Now) {
        if now.open {
            self.lab_broke(now, "the recording does not say how the edge settled");
        }
    }

    /// The edges at which another controller did the work: from the first on, nothing is the subject's for certain.
    fn somebody_elses(&mut self, recording: &Recording) {
        for edge in unearned(recording) {
            let (line, label) = self.marks.get(&edge).cloned().unwrap_or_default();
            self.lab_broke(&Now { edge, line, label, open: false }, FOREIGN);
        }
        // In the order of the edges; what was recorded at the same edge comes first.
        self.troubles.sort_by_key(|at| at.edge);
    }

    fn end(&mut self, recording: &Recording, now: &Now) {
        match &recording.end {
            None => self.lab_broke(now, "the recording was cut off"),
            Some(end) => {
                self.completed = end.completed;
                self.unfinished(now);
                if !end.completed && self.troubles.is_empty() {
                    self.lab_broke(now, "the run ended before its last edge and does not say why");
                }
            }
        }
    }
}

/// The edge that is being read.
#[derive(Debug, Default)]
struct Now {
    edge: EdgeId,
    line: usize,
    label: String,
    /// Begun, and not settled yet.
    open: bool,
}

impl Now {
    fn at(mark: &EdgeMark) -> Self {
        Self { edge: EdgeId::of(mark), line: mark.line, label: mark.label.clone(), open: true }
    }
}
