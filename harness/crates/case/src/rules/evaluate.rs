//! Evaluates rules on a recording.

use std::collections::BTreeSet;
use std::sync::Arc;

use cel::{Context, Value as Cel};
use lockstep_recording::RecordingEntry;
use lockstep_timeline::{Frame, FrameReader, StepId};

use super::history::RuleHistory;
use super::variables::{self, NotEvaluable};
use super::{BrokenRule, Rule, RuleExpression, When, operands};

/// Evaluates the rules of a case, frame by frame.
pub struct RuleEvaluator<'r> {
    rules: Vec<RuleState<'r>>,
    history: RuleHistory,
    snapshot: Arc<RuleHistory>,
    last_step: StepId,
    /// Whether the history has changed since the last state that rules were evaluated on.
    history_changed: bool,
}

impl<'r> RuleEvaluator<'r> {
    /// An evaluator of these rules.
    pub fn of(rules: &'r [Rule]) -> Self {
        let asked = rules.iter().map(RuleState::new).collect();
        let history = RuleHistory::of(rules.first().map(|rule| Arc::clone(&rule.labels)).unwrap_or_default());
        Self {
            rules: asked,
            snapshot: Arc::new(history.clone()),
            history,
            last_step: StepId::GIVEN,
            history_changed: false,
        }
    }

    /// The rules that do not hold, each with the step where that shows first; `finally` and
    /// `eventually` only if the recording is `complete`.
    pub fn broken_rules(&self, complete: bool) -> Vec<(StepId, BrokenRule)> {
        self.rules.iter().filter_map(|rule| rule.result(complete, self.last_step)).collect()
    }
}

impl<'a> FrameReader<'a> for RuleEvaluator<'_> {
    fn read(&mut self, frame: &Frame<'_, 'a>) {
        if self.rules.is_empty() {
            return;
        }
        let is_state = frame.is_state();
        if is_state || matches!(frame.entry, RecordingEntry::Request(_)) {
            self.history_changed |= self.history.record(frame);
        }
        if !is_state {
            return;
        }
        let grew = std::mem::take(&mut self.history_changed);
        if grew {
            self.snapshot = Arc::new(self.history.clone());
        }
        self.last_step = frame.step;
        if frame.given_settled {
            self.rules.iter_mut().for_each(|rule| rule.evaluate(frame, &self.snapshot, grew));
        }
    }
}

/// A rule, and its result so far.
struct RuleState<'r> {
    rule: &'r Rule,
    expression: Result<RuleExpression, String>,
    /// The first frame that breaks the rule; for `eventually`, the last frame at which it was
    /// false.
    broken: Option<(StepId, BrokenRule)>,
    /// Whether `eventually` has come true.
    satisfied: bool,
    /// Whether it was evaluated at any frame.
    evaluated: bool,
    /// Whether the variables or the history have changed since it was evaluated last.
    stale: bool,
}

impl<'r> RuleState<'r> {
    fn new(rule: &'r Rule) -> Self {
        let why =
            |mistakes: Vec<super::Mistake>| mistakes.iter().map(|it| it.message.clone()).collect::<Vec<_>>().join(", ");
        let expression = RuleExpression::read(&rule.text).map_err(why);
        Self { rule, expression, broken: None, satisfied: false, evaluated: false, stale: true }
    }

    fn evaluate(&mut self, frame: &Frame<'_, '_>, past: &Arc<RuleHistory>, grew: bool) {
        let Ok(expression) = &self.expression else { return };
        self.stale |= expression.variables.iter().any(|variable| variables::may_have_changed(variable, frame));
        self.stale |= grew && (expression.uses_history || expression.variables.contains(variables::POSTS));
        let when = self.rule.when;
        let due = match when {
            When::Always | When::Never => self.broken.is_none(),
            When::Eventually => !self.satisfied && frame.step != StepId::GIVEN,
            When::Finally => frame.is_settled(),
        };
        if !due || !self.stale {
            return;
        }
        self.stale = false;
        let variables: BTreeSet<&str> = expression.variables.iter().map(String::as_str).collect();
        let context = match variables::context(variables.into_iter(), frame, past) {
            Ok(context) => context,
            Err(NotEvaluable::NoDeployment) if when != When::Finally => return,
            Err(NotEvaluable::NoDeployment) => {
                return self.record_break(frame, "the case has no Deployment".to_owned(), None);
            }
            Err(NotEvaluable::Error(why)) => return self.fail_evaluation(frame, why, None),
        };
        self.evaluated = true;
        let wanted = when != When::Never;
        match Cel::resolve(&expression.root, &context) {
            Ok(Cel::Bool(holds)) if holds == wanted => {
                self.satisfied = true;
                self.broken = None;
            }
            Ok(Cel::Bool(holds)) => self.record_break(frame, format!("it is {holds}"), Some(&context)),
            Ok(_) => self.fail_evaluation(frame, "it is neither true nor false".to_owned(), Some(&context)),
            Err(error) => self.fail_evaluation(frame, error.to_string(), Some(&context)),
        }
    }

    /// The rule cannot be evaluated at this frame. `eventually` and `finally` are evaluated again
    /// at later frames.
    fn fail_evaluation(&mut self, frame: &Frame<'_, '_>, why: String, context: Option<&Context<'_, '_>>) {
        self.record_break(frame, why, context);
        self.broken.iter_mut().for_each(|(_, broken)| broken.is_unevaluable = true);
    }

    fn record_break(&mut self, frame: &Frame<'_, '_>, why: String, context: Option<&Context<'_, '_>>) {
        let values = self.expression.as_ref().ok().zip(context);
        let values =
            values.map(|(expression, context)| operands::operand_values(expression, context)).unwrap_or_default();
        let (rule, unfit) = (self.rule.clone(), false);
        self.broken =
            Some((frame.step, BrokenRule { rule, frame: frame.describe(), why, is_unevaluable: unfit, values }));
    }

    fn result(&self, complete: bool, last: StepId) -> Option<(StepId, BrokenRule)> {
        let bare = |frame: &str, why: String| {
            let (rule, frame) = (self.rule.clone(), frame.to_owned());
            Some((last, BrokenRule { rule, frame, why, is_unevaluable: false, values: Vec::new() }))
        };
        match (&self.expression, self.rule.when) {
            (Err(why), _) => bare("anywhere", format!("it is not a rule: {why}")),
            (Ok(_), When::Always | When::Never) if self.broken.is_some() => self.broken.clone(),
            (Ok(_), _) if !complete => None,
            (Ok(_), _) if !self.evaluated && self.broken.is_none() => {
                bare("anywhere", "there was no Deployment to ask it of".to_owned())
            }
            (Ok(_), When::Eventually) if !self.satisfied => self.broken.clone().map(|(step, broken)| {
                if broken.is_unevaluable {
                    return (step, broken);
                }
                let frame = "at any frame".to_owned();
                (last, BrokenRule { frame, why: "it never came true; at the last frame".to_owned(), ..broken })
            }),
            (Ok(_), When::Finally) => self.broken.clone(),
            (Ok(_), _) => None,
        }
    }
}
