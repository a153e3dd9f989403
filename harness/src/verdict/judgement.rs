//! The shape of a judgement: plain data that reports are made of.

use std::sync::Arc;

use super::compare::{Comparison, Difference, Place, Relabelled};
use crate::case::Case;
use crate::controllers::Controllers;
use crate::outcome::{Outcome, Verdict};
use crate::plain::{line, tidy, tidy_lines};
use crate::recording::{Blame, Diagnosis, Identity, Trouble};
use crate::rules::Broken;
use crate::timeline::{Breach, Golden, Metrics, Provenance, RecordedOrder, Timeline};

/// What one recording says about its subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// `area/name`.
    pub case: String,
    /// The case file's path.
    pub path: String,
    /// The case itself.
    pub definition: Arc<Case>,
    /// Who was judged.
    pub subject: Identity,
    /// Where.
    pub cluster: Identity,
    /// The controllers that the subject was said to bring.
    pub under_test: Controllers,
    /// Whose the controllers were that the subject did not bring, where that is not what such a
    /// cluster has anyway.
    pub cluster_controllers: Option<Identity>,
    /// Whether a kubelet ran the pods there.
    pub real_pods: bool,
    /// The definitions that the case brought and whose rules in CEL the server did not evaluate.
    pub unevaluated: Vec<String>,
    /// The verdict.
    pub verdict: Verdict,
    /// What the subject was held against.
    pub blessing: Blessing,
    /// Which of several outcomes that was; `None` where there is one.
    pub nearest: Option<Nearest>,
    /// Everything that speaks against the subject or the test environment, in the order of the
    /// steps. The first is what a report shows.
    pub findings: Vec<Finding>,
    /// Every difference to what was expected, evidence or not.
    pub comparison: Option<Comparison>,
    /// What the subject did.
    pub timeline: Timeline,
    /// The steps whose lines stand in another order than in the recording.
    pub orders: Vec<RecordedOrder>,
    /// What it cost.
    pub metrics: Metrics,
    /// What helps to find out why it got into trouble.
    pub diagnosis: Option<Diagnosis>,
}

/// What a subject was held against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blessing {
    /// A golden timeline.
    Golden(Option<Provenance>),
    /// Another run, of this subject.
    Live(Identity),
    /// Nothing but the invariants: the case was never blessed.
    Unblessed,
    /// The case's rules, which are all that is expected.
    Rules,
    /// Nothing but the invariants: the golden timeline is of another version of the case. With the
    /// first step that is called differently, if any is.
    Changed(Option<Relabelled>),
}

/// Which of upstream's outcomes a subject was held against: the one that fits, or the one with
/// which it agrees longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nearest {
    /// Its number, from 1.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where in the timeline.
    pub place: Place,
    /// What the step does; empty for events.
    pub label: String,
    /// The line of the case file, where there is one.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: What,
}

/// What can be wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The subject did something else than was expected.
    Divergence(Difference),
    /// The namespace never came to rest; whose fault and why.
    Unsettled(Trouble),
    /// The step could not be made, or something broke; whose fault and why.
    Trouble(Trouble),
    /// An invariant was broken.
    Breach(Breach),
    /// Other pods live on than the case says.
    Unexpected(String),
    /// A rule of the case does not hold.
    Rule(Broken),
    /// The run that this one is held against broke here; why.
    OtherRun(String),
    /// Neither side holds a decision.
    BothIdle,
}

fn plain(identity: &mut Identity) {
    tidy(&mut identity.name);
    tidy(&mut identity.program);
    tidy(&mut identity.version);
}

impl What {
    fn plain(&mut self) {
        match self {
            Self::Unsettled(Trouble { why, .. })
            | Self::Trouble(Trouble { why, .. })
            | Self::Unexpected(why)
            | Self::OtherRun(why) => tidy_lines(why),
            Self::Rule(Broken { rule, frame, why, unfit: _, values }) => {
                [&mut rule.text, frame, why].into_iter().for_each(tidy_lines);
                for (name, value) in values {
                    tidy(name);
                    tidy(value);
                }
            }
            // Out of timelines, which are plain already.
            Self::Divergence(_) | Self::Breach(_) | Self::BothIdle => {}
        }
    }

    /// Whether it is a rule that cannot be evaluated.
    #[must_use]
    pub const fn is_unfit(&self) -> bool {
        matches!(self, Self::Rule(Broken { unfit: true, .. }))
    }

    /// Whom it speaks against.
    #[must_use]
    pub const fn blame(&self) -> Blame {
        match self {
            // A rule that cannot be evaluated says nothing about the subject: the case is bad.
            Self::Rule(broken) if broken.unfit => Blame::Environment,
            Self::Divergence(_) | Self::Breach(_) | Self::Unexpected(_) | Self::Rule(_) => Blame::Subject,
            Self::Unsettled(trouble) | Self::Trouble(trouble) => trouble.blame,
            Self::OtherRun(_) | Self::BothIdle => Blame::Environment,
        }
    }
}

impl Judgement {
    /// The same in plain text: names and messages of a recording act on no terminal, and in no job,
    /// that they are shown in. The case's text stays as it is written; who shows a line of it makes
    /// that plain.
    pub(super) fn plain(mut self) -> Self {
        [&mut self.case, &mut self.path].into_iter().for_each(tidy);
        [&mut self.subject, &mut self.cluster].into_iter().chain(&mut self.cluster_controllers).for_each(plain);
        match &mut self.blessing {
            Blessing::Live(other) => plain(other),
            // Out of timelines, which are plain already.
            Blessing::Golden(_) | Blessing::Unblessed | Blessing::Rules | Blessing::Changed(_) => {}
        }
        for finding in &mut self.findings {
            tidy(&mut finding.label);
            finding.what.plain();
        }
        let Metrics { requests, refused, ignored_status, undeclared, .. } = &mut self.metrics;
        for counts in [requests, refused, ignored_status].into_iter().chain(undeclared.values_mut()) {
            let all = std::mem::take(counts);
            counts.extend(all.into_iter().map(|(what, times)| (line(&what).into_owned(), times)));
        }
        let answers = std::mem::take(&mut self.metrics.answers);
        self.metrics.answers = answers.into_iter().map(|(verb, codes)| (line(&verb).into_owned(), codes)).collect();
        for refusal in &mut self.metrics.refusals {
            [&mut refusal.what, &mut refusal.name].into_iter().chain(&mut refusal.message).for_each(tidy);
        }
        if let Some(diagnosis) = &mut self.diagnosis {
            diagnosis.handshake.iter_mut().chain(diagnosis.output.iter_mut().flatten()).for_each(tidy);
        }
        self
    }

    /// The outcome for the exit code: a case without a golden timeline that is otherwise in order
    /// is unblessed, and one with a rule that cannot be evaluated is bad, if nothing else speaks
    /// against the subject.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match (self.verdict, &self.blessing) {
            (Verdict::NonConformant, _) => Outcome::NonConformant,
            (Verdict::Inconclusive, _) if self.decisive().is_some_and(|finding| finding.what.is_unfit()) => {
                Outcome::BadInput
            }
            (Verdict::Inconclusive, _) => Outcome::Inconclusive,
            (Verdict::Conformant, Blessing::Golden(_) | Blessing::Live(_) | Blessing::Rules) => Outcome::Conformant,
            (Verdict::Conformant, Blessing::Unblessed | Blessing::Changed(_)) => Outcome::Unblessed,
        }
    }

    /// The timeline that it was held against, of all that is blessed.
    #[must_use]
    pub fn expected<'a>(&self, blessed: Option<&'a Golden>) -> Option<&'a Timeline> {
        blessed.map(|blessed| blessed.outcome(self.nearest.map_or(1, |nearest| nearest.number)))
    }

    /// The finding that decided the verdict: the first that speaks against the party that the
    /// verdict blames.
    #[must_use]
    pub fn decisive(&self) -> Option<&Finding> {
        let blame = if self.verdict == Verdict::NonConformant { Blame::Subject } else { Blame::Environment };
        self.findings.iter().find(|finding| finding.what.blame() == blame)
    }
}
