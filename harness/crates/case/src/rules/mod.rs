//! A case's own rules in CEL: what must hold at every frame of its recording, at one of them, or at
//! the end.
//!
//! A golden timeline says everything that upstream did; a rule says what the case is *about*, in a
//! sentence that a reader can check. Where there is no upstream (config restarts), the rules are
//! the whole expectation.
//!
//! * `always`, `never`: at every frame, from the settled `given` on. `eventually`: at one frame
//!   after the first step began. `finally`: when the last step has settled.
//! * A frame is the state after one version of any object, whatever wrote it, and also each settled
//!   state. Rules see its objects as the API has them, with a `name` that is the same in every run
//!   (`rs1`), and with the zeros and empty maps that the API omits; of Secrets they see names
//!   alone. See `variables`.
//! * Functions over history look back to the very beginning, `given` included: `began('changed')`
//!   is whether the step with that label has begun, `count('rs2 created')` how many decisions
//!   contain these words, `restarts('deployment/web')` how often the subject changed that pod
//!   template. See `history`.
//!
//! Mistakes in a rule itself are found when the case is read: syntax, unknown names or fields,
//! operands whose types do not match. What depends on data is found at a frame: a missing label,
//! the first of no ReplicaSets, the Deployment of a case with two. Such a rule *cannot be
//! evaluated* there. It does not pass then, and it is not the subject's failure either: the case is
//! bad (64), unless something else speaks against the subject, because a rule should check `has(…)`
//! and `size()` first. A rule that uses `deployment` is evaluated only while there is one; a rule
//! that was never evaluated is broken.
//!
//! Pure. `syntax` parses a rule, `expression` checks its names, `types` and `shapes` its types;
//! `evaluate` evaluates it on a recording and shows the values of its operands. The reader of cases
//! reads rules from a file, `verdict` weighs broken ones.

mod evaluate;
mod expression;
mod history;
mod shapes;
mod syntax;
mod types;
mod variables;

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::sync::Arc;

pub use evaluate::RuleEvaluator;
pub(crate) use expression::RuleExpression;

/// One rule of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// When it must hold.
    pub when: RuleTiming,
    /// The expression.
    pub text: String,
    /// The line of the case file, from 1.
    pub line: usize,
    /// The case's labels, each with the number of its step.
    pub labels: Arc<BTreeMap<String, u32>>,
}

/// When a rule must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleTiming {
    /// At every frame.
    Always,
    /// At no frame.
    Never,
    /// At one frame at least, after the first step began.
    Eventually,
    /// When the last step has settled.
    Finally,
}

/// What a case is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expectation {
    /// The timeline that was recorded from upstream, and its rules.
    #[default]
    Timeline,
    /// One of several timelines, because upstream itself has several outcomes, and its rules.
    Outcomes,
    /// Its rules alone, because there is no upstream or its decisions are left to chance; there may
    /// be a timeline all the same.
    Rules,
}

impl Expectation {
    /// Whether a timeline must be blessed.
    #[must_use]
    pub const fn is_blessed(self) -> bool {
        matches!(self, Self::Timeline | Self::Outcomes)
    }
}

/// A rule that does not hold: at which frame, and with which values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenRule {
    /// The rule, as the case has it.
    pub rule: Rule,
    /// The frame in words: `after ReplicaSet rs2 was written (rs2 3 -> 5), version 4 of this step`.
    pub frame: String,
    /// Why: `it is false`, or why it cannot be evaluated.
    pub why: String,
    /// Whether it could not be evaluated there, which is the case's fault, whatever the subject
    /// did.
    pub is_unevaluable: bool,
    /// The operands as they are written in the rule, with their values.
    pub values: Vec<(String, String)>,
}

impl RuleTiming {
    /// All of them, in the order of the case format.
    pub(crate) const ALL: [Self; 4] = [Self::Always, Self::Never, Self::Eventually, Self::Finally];

    /// The field of the case.
    #[must_use]
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Never => "never",
            Self::Eventually => "eventually",
            Self::Finally => "finally",
        }
    }
}

impl Rule {
    /// Whether the rule depends on the step, and so requires something by a certain step.
    #[must_use]
    pub fn depends_on_step(&self) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        self.when != RuleTiming::Finally
            && syntax::without_comments(&self.text).split(|c| !is_part(c)).any(|word| word == "step" || word == "began")
    }
}

impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.when.name(), self.text)
    }
}

impl Display for BrokenRule {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { rule, frame, why, is_unevaluable: unfit, values } = self;
        let what = if *unfit { "cannot be evaluated" } else { "does not hold" };
        write!(f, "rule `{rule}` (line {}) {what} {frame}: {why}", rule.line)?;
        if values.is_empty() {
            return Ok(());
        }
        let values: Vec<_> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        write!(f, "; {}", values.join(", "))
    }
}

#[cfg(test)]
mod tests;
