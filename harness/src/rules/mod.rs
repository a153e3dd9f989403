//! A case's own rules: what must hold at every frame of its recording, at one of them, or at the
//! end, in CEL.
//!
//! A golden timeline says all that upstream did; a rule says what the case is *about*, in a
//! sentence that a reader can check. Where there is no upstream (config restarts) the rules are the
//! whole expectation.
//!
//! * `always`, `never`: at every frame, from the settled `given` on. `eventually`: at one frame
//!   after the first step began. `finally`: when the last step has settled.
//! * A frame is the state after one version of any object, whoever wrote it, and once more the
//!   state that has settled. Rules see its objects as the API has them, with a `name` that another
//!   run shares (`rs1`), and with the zeros and empty maps that the API leaves out; of Secrets they
//!   see names alone. See `scene`.
//! * Functions over history look back to the very beginning, `given` included: `began('changed')`
//!   is whether the step with that label has begun, `count('rs2 created')` how many decisions read
//!   so, `restarts('deployment/web')` how often the subject changed that pod template. See
//!   `history`.
//!
//! What is wrong with a rule in itself is found when the case is read: its syntax, a name or a
//! field that does not exist, parts whose types do not go together. What depends on data shows at a
//! frame: a label that is not there, the first of no ReplicaSets, the Deployment of a case with
//! two. There the rule *cannot be evaluated*. It never passes then, and it is never the subject's
//! failure: the case is bad (64) unless something else speaks against the subject, as a rule has to
//! ask `has(…)` and `size()` first. A rule that uses `deployment` is asked only while there is one;
//! one that was asked at no frame at all is broken.
//!
//! Pure. `expression` reads a rule, `types` and `shapes` check what goes together in it, `ask`
//! holds it against a recording, `show` says what its names were. `case` reads rules out of a file,
//! `verdict` weighs what is broken.

mod ask;
mod expression;
mod history;
mod scene;
mod shapes;
mod show;
mod types;

use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::sync::Arc;

pub(crate) use ask::Asking;
pub(crate) use expression::{Expression, Mistake};

/// One rule of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// When it must hold.
    pub when: When,
    /// The expression.
    pub text: String,
    /// The line of the case file, from 1.
    pub line: usize,
    /// The case's labels, each with the number of its step.
    pub labels: Arc<BTreeMap<String, u32>>,
}

/// When a rule must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// At every frame.
    Always,
    /// At no frame.
    Never,
    /// At one frame at least, after the first step began.
    Eventually,
    /// When the last step has settled.
    Finally,
}

/// What a case is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expectation {
    /// The timeline that was recorded from upstream; its rules besides.
    #[default]
    Timeline,
    /// One of several timelines, as upstream itself does several things; its rules besides.
    Outcomes,
    /// Its rules alone, as there is no upstream, or as its decisions are chance; a timeline may
    /// stand beside it all the same.
    Rules,
}

impl Expectation {
    /// Whether a timeline must have been blessed.
    #[must_use]
    pub const fn is_blessed(self) -> bool {
        matches!(self, Self::Timeline | Self::Outcomes)
    }
}

/// A rule that does not hold, where, and what its names were there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Which rule.
    pub rule: Rule,
    /// The frame, in words: `after ReplicaSet rs2 was written (rs2 3 -> 5), version 4 of this
    /// step`.
    pub frame: String,
    /// Why: `it is false`, or what stands in the way of evaluating it.
    pub why: String,
    /// Whether it could not be evaluated there: that is the case's fault, whatever the subject did.
    pub unfit: bool,
    /// The rule's operands as they are written, with their values there.
    pub values: Vec<(String, String)>,
}

impl When {
    /// All of them, in the order in which a case has them.
    pub const ALL: [Self; 4] = [Self::Always, Self::Never, Self::Eventually, Self::Finally];

    /// The field of the case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Never => "never",
            Self::Eventually => "eventually",
            Self::Finally => "finally",
        }
    }
}

impl Rule {
    /// Whether it asks which step it is, and so says by when something must be.
    #[must_use]
    pub fn says_when(&self) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        self.when != When::Finally && self.text.split(|c| !is_part(c)).any(|word| word == "step" || word == "began")
    }
}

impl Display for Rule {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.when.name(), self.text)
    }
}

impl Display for Broken {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { rule, frame, why, unfit, values } = self;
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
