//! The structure of a judgement: plain data for reports.

use std::sync::Arc;

use lockstep_case::Case;
use lockstep_case::rules::BrokenRule;
use lockstep_recording::controllers::ControllerSet;
use lockstep_recording::{Blame, Diagnosis, Identity, Trouble};
use lockstep_support::outcome::{RunOutcome, Verdict};
use lockstep_support::sanitize::{line, sanitize_line, sanitize_lines};
use lockstep_timeline::{GoldenOutcomes, InvariantBreach, Provenance, RecordedOrder, RunMetrics, Timeline};

use super::compare::{Difference, LabelMismatch, TimelineComparison, TimelineLocation};

/// What one recording says about its subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// `area/name`.
    pub case: String,
    /// The case file's path.
    pub path: String,
    /// The case that it was judged by.
    pub definition: Arc<Case>,
    /// The subject, as the recording names it: `ours`, and its version.
    pub subject: Identity,
    /// The cluster, as the recording names it: `sim`, and the version of its server.
    pub cluster: Identity,
    /// The controllers that the subject was declared to bring.
    pub under_test: ControllerSet,
    /// Whose controllers ran beside the subject, if not the cluster's default ones.
    pub cluster_controllers: Option<Identity>,
    /// The controller that shared the subject's work, if one did.
    pub beside: Option<Identity>,
    /// Whether a kubelet ran the pods.
    pub real_pods: bool,
    /// The case's CustomResourceDefinitions whose CEL rules the server did not evaluate.
    pub unevaluated: Vec<String>,
    /// What the findings lead to.
    pub verdict: Verdict,
    /// What the subject was compared with.
    pub basis: ComparisonBasis,
    /// Which of several outcomes that was; `None` if there is one.
    pub nearest: Option<NearestOutcome>,
    /// Everything that speaks against the subject or the test environment, in the order of the
    /// steps. Reports show the first.
    pub findings: Vec<VerdictFinding>,
    /// All differences to what was expected, whether they are evidence or not.
    pub comparison: Option<TimelineComparison>,
    /// What the subject decided.
    pub timeline: Timeline,
    /// The recording's order of steps whose timeline has another.
    pub orders: Vec<RecordedOrder>,
    /// The cost of the run.
    pub metrics: RunMetrics,
    /// Details that help to explain the subject's trouble.
    pub diagnosis: Option<Diagnosis>,
    /// What upstream does although it looks like a mistake, as sentences, where the case of a
    /// non-conformant subject pins it. A judge reads no files: the caller adds them.
    pub quirks: Vec<String>,
}

/// What a subject was compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComparisonBasis {
    /// A golden timeline.
    Golden(Option<Provenance>),
    /// Another run, with this subject.
    Live(Identity),
    /// The invariants alone: the case was never blessed.
    Unblessed,
    /// The case's rules alone.
    Rules,
    /// The invariants alone: the golden timeline is of another version of the case. With the first
    /// step whose label differs, if there is one.
    Changed(Option<LabelMismatch>),
}

/// Which of upstream's outcomes a subject was compared with: the one that matches, or the nearest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NearestOutcome {
    /// Its number, from 1.
    pub number: usize,
    /// The number of outcomes.
    pub total: usize,
}

/// A single finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerdictFinding {
    /// Where in the timeline.
    pub place: TimelineLocation,
    /// The label of the step; empty for Events.
    pub label: String,
    /// The line of the case file, if there is one.
    pub line: Option<usize>,
    /// What is wrong.
    pub kind: FindingKind,
}

/// What a finding reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FindingKind {
    /// The subject did something else than expected.
    Divergence(Difference),
    /// The controller that shares the subject's work did something else than expected; its name.
    WrittenBeside(Difference, String),
    /// Of an area of claims, only the controller of this name beside the subject wrote anything.
    Unearned(&'static str, String),
    /// The namespace did not settle: whose fault, and why.
    Unsettled(Trouble),
    /// The step could not be performed, or something failed: whose fault, and why.
    Trouble(Trouble),
    /// An invariant was broken.
    Breach(InvariantBreach),
    /// Other pods are alive than the case expects.
    Unexpected(String),
    /// A rule of the case does not hold.
    Rule(BrokenRule),
    /// The run that this one is compared with failed here; why.
    OtherRun(String),
    /// Neither side has a decision.
    BothIdle,
}

fn sanitize_identity(identity: &mut Identity) {
    sanitize_line(&mut identity.name);
    sanitize_line(&mut identity.program);
    sanitize_line(&mut identity.version);
}

impl FindingKind {
    fn sanitize(&mut self) {
        match self {
            Self::Unsettled(Trouble { why, .. })
            | Self::Trouble(Trouble { why, .. })
            | Self::Unexpected(why)
            | Self::OtherRun(why) => sanitize_lines(why),
            Self::Rule(BrokenRule { rule, frame, why, is_unevaluable: _, values }) => {
                [&mut rule.text, frame, why].into_iter().for_each(sanitize_lines);
                for (name, value) in values {
                    sanitize_line(name);
                    sanitize_line(value);
                }
            }
            Self::WrittenBeside(_, name) | Self::Unearned(_, name) => sanitize_line(name),
            // They come from timelines, which are sanitized already.
            Self::Divergence(_) | Self::Breach(_) | Self::BothIdle => {}
        }
    }

    /// Whether it is a rule that cannot be evaluated.
    #[must_use]
    pub const fn is_unevaluable(&self) -> bool {
        matches!(self, Self::Rule(BrokenRule { is_unevaluable: true, .. }))
    }

    /// Against which party it speaks.
    #[must_use]
    pub const fn blame(&self) -> Blame {
        match self {
            // A rule that cannot be evaluated says nothing about the subject: the case is bad.
            Self::Rule(broken) if broken.is_unevaluable => Blame::Environment,
            Self::Divergence(_) | Self::Breach(_) | Self::Unexpected(_) | Self::Rule(_) => Blame::Subject,
            Self::Unsettled(trouble) | Self::Trouble(trouble) => trouble.blame,
            Self::WrittenBeside(..) | Self::Unearned(..) | Self::OtherRun(_) | Self::BothIdle => Blame::Environment,
        }
    }
}

impl VerdictFinding {
    /// Whether both are breaches of one invariant in one step.
    #[must_use]
    pub fn is_same_breach(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (FindingKind::Breach(one), FindingKind::Breach(two)) => {
                self.place == other.place && one.invariant == two.invariant
            }
            _ => false,
        }
    }
}

impl Judgement {
    /// Sanitizes names and messages, which must not control a terminal or a CI job that shows them.
    /// The case's text stays as it is; code that shows a line of it sanitizes it.
    pub(super) fn sanitize(mut self) -> Self {
        [&mut self.case, &mut self.path].into_iter().for_each(sanitize_line);
        [&mut self.subject, &mut self.cluster]
            .into_iter()
            .chain(&mut self.cluster_controllers)
            .chain(&mut self.beside)
            .for_each(sanitize_identity);
        match &mut self.basis {
            ComparisonBasis::Live(other) => sanitize_identity(other),
            // They come from timelines, which are sanitized already.
            ComparisonBasis::Golden(_)
            | ComparisonBasis::Unblessed
            | ComparisonBasis::Rules
            | ComparisonBasis::Changed(_) => {}
        }
        for finding in &mut self.findings {
            sanitize_line(&mut finding.label);
            finding.kind.sanitize();
        }
        let RunMetrics { requests, refused, ignored_status, undeclared, .. } = &mut self.metrics;
        for counts in [requests, refused, ignored_status].into_iter().chain(undeclared.values_mut()) {
            let all = std::mem::take(counts);
            counts.extend(all.into_iter().map(|(what, times)| (line(&what).into_owned(), times)));
        }
        let answers = std::mem::take(&mut self.metrics.answers);
        self.metrics.answers = answers.into_iter().map(|(verb, codes)| (line(&verb).into_owned(), codes)).collect();
        for refusal in &mut self.metrics.failures {
            [&mut refusal.request, &mut refusal.name].into_iter().chain(&mut refusal.message).for_each(sanitize_line);
        }
        if let Some(diagnosis) = &mut self.diagnosis {
            diagnosis.handshake.iter_mut().chain(diagnosis.output.iter_mut().flatten()).for_each(sanitize_line);
        }
        self
    }

    /// The outcome for the exit code. A conformant case without a golden timeline is unblessed, and
    /// one with a rule that cannot be evaluated is bad, unless something else speaks against the
    /// subject.
    #[must_use]
    pub fn outcome(&self) -> RunOutcome {
        match (self.verdict, &self.basis) {
            (Verdict::NonConformant, _) => RunOutcome::NonConformant,
            (Verdict::Inconclusive, _) if self.decisive().is_some_and(|finding| finding.kind.is_unevaluable()) => {
                RunOutcome::BadInput
            }
            (Verdict::Inconclusive, _) => RunOutcome::Inconclusive,
            (Verdict::Conformant, ComparisonBasis::Golden(_) | ComparisonBasis::Live(_) | ComparisonBasis::Rules) => {
                RunOutcome::Conformant
            }
            (Verdict::Conformant, ComparisonBasis::Unblessed | ComparisonBasis::Changed(_)) => RunOutcome::Unblessed,
        }
    }

    /// The timeline that the subject was compared with, of all blessed ones.
    #[must_use]
    pub fn expected_timeline<'a>(&self, blessed: Option<&'a GoldenOutcomes>) -> Option<&'a Timeline> {
        blessed.map(|blessed| blessed.outcome(self.nearest.map_or(1, |nearest| nearest.number)))
    }

    /// The finding that heads a report: the first broken invariant, which says what a wrong
    /// decision means for a user, or else the decisive finding. Of several breaches of an invariant
    /// in one step, it is the last: it shows how far the step went.
    #[must_use]
    pub fn headline(&self) -> Option<&VerdictFinding> {
        let decisive = self.decisive()?;
        let is_breach = |finding: &&VerdictFinding| matches!(finding.kind, FindingKind::Breach(_));
        let first = self.findings.iter().find(is_breach).filter(|_| self.verdict == Verdict::NonConformant);
        let last = first.and_then(|first| self.findings.iter().rfind(|it| it.is_same_breach(first)));
        Some(last.unwrap_or(decisive))
    }

    /// The finding that determined the verdict: the first that speaks against the party that the
    /// verdict blames.
    #[must_use]
    pub fn decisive(&self) -> Option<&VerdictFinding> {
        let blame = if self.verdict == Verdict::NonConformant { Blame::Subject } else { Blame::Environment };
        self.findings.iter().find(|finding| finding.kind.blame() == blame)
    }
}
