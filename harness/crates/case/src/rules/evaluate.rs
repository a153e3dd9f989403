//! Evaluates rules on a recording. A rule that is broken shows its operands as they are written in
//! it, with their values: `replicaSets.map(r, r.spec.replicas).sum() = 16`.

use std::collections::BTreeSet;
use std::sync::Arc;

use cel::common::ast::Expr;
use cel::{Context, Value as Cel};
use lockstep_recording::RecordingEntry;
use lockstep_timeline::{Frame, FrameReader, StepId};
use serde_json::Value;

use super::history::RuleHistory;
use super::syntax::{Mistake, parse, with_enough_stack};
use super::variables::{self, EvaluationObstacle};
use super::{BrokenRule, Rule, RuleExpression, RuleTiming};

/// Operators between operands, longer ones first.
const SIGNS: [&str; 16] = ["&&", "||", "==", "!=", "<=", ">=", " in ", "<", ">", "+", "-", "*", "/", "%", "?", ":"];
/// The longest value that is shown, in letters.
const LONGEST: usize = 160;

/// Evaluates the rules of a case, frame by frame.
pub struct RuleEvaluator<'r> {
    rules: Vec<RuleState<'r>>,
    /// What was before; empty if no rule asks about it.
    history: RuleHistory,
    /// Whether a rule asks about it.
    uses_history: bool,
    snapshot: Arc<RuleHistory>,
    last_step: StepId,
    /// Whether the history has changed since the last state that rules were evaluated on.
    history_changed: bool,
}

impl<'r> RuleEvaluator<'r> {
    /// An evaluator of these rules.
    pub fn of(rules: &'r [Rule]) -> Self {
        let asked: Vec<_> = rules.iter().map(RuleState::new).collect();
        let uses_history = asked.iter().any(RuleState::uses_history);
        let history = RuleHistory::of(rules.first().map(|rule| Arc::clone(&rule.labels)).unwrap_or_default());
        Self {
            rules: asked,
            snapshot: Arc::new(history.clone()),
            history,
            uses_history,
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
        if self.uses_history && (is_state || matches!(frame.entry, RecordingEntry::Request(_))) {
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
        let why = |mistakes: Vec<Mistake>| mistakes.iter().map(|it| it.message.clone()).collect::<Vec<_>>().join(", ");
        let expression = RuleExpression::read(&rule.text).map_err(why);
        Self { rule, expression, broken: None, satisfied: false, evaluated: false, stale: true }
    }

    /// Whether it asks about what was before.
    fn uses_history(&self) -> bool {
        self.expression.as_ref().is_ok_and(|it| it.uses_history || it.variables.contains(variables::POSTS))
    }

    fn evaluate(&mut self, frame: &Frame<'_, '_>, past: &Arc<RuleHistory>, grew: bool) {
        let Ok(expression) = &self.expression else { return };
        self.stale |= expression.variables.iter().any(|variable| variables::may_have_changed(variable, frame));
        self.stale |= grew && self.uses_history();
        let when = self.rule.when;
        let due = match when {
            RuleTiming::Always | RuleTiming::Never => self.broken.is_none(),
            RuleTiming::Eventually => !self.satisfied && frame.step != StepId::GIVEN,
            RuleTiming::Finally => frame.is_end,
        };
        if !due || !self.stale {
            return;
        }
        self.stale = false;
        let variables: BTreeSet<&str> = expression.variables.iter().map(String::as_str).collect();
        let context = match variables::context(variables.into_iter(), frame, past) {
            Ok(context) => context,
            Err(EvaluationObstacle::NoDeployment) if when != RuleTiming::Finally => return,
            Err(EvaluationObstacle::NoDeployment) => {
                return self.record_break(frame, "the case has no Deployment".to_owned(), None);
            }
            Err(EvaluationObstacle::Error(why)) => return self.fail_evaluation(frame, why, None),
        };
        self.evaluated = true;
        let wanted = when != RuleTiming::Never;
        match with_enough_stack(|| Cel::resolve(&expression.root, &context)) {
            Ok(Cel::Bool(holds)) if holds == wanted => {
                self.satisfied = true;
                self.broken = None;
            }
            Ok(Cel::Bool(holds)) => self.record_break(frame, format!("it is {holds}"), Some(&context)),
            Ok(_) => self.fail_evaluation(frame, "it is neither true nor false".to_owned(), Some(&context)),
            Err(error) => self.fail_evaluation(frame, error.to_string(), Some(&context)),
        }
    }

    /// The rule cannot be evaluated at this frame. `eventually` is evaluated again at later frames.
    fn fail_evaluation(&mut self, frame: &Frame<'_, '_>, why: String, context: Option<&Context<'_, '_>>) {
        self.record_break(frame, why, context);
        self.broken.iter_mut().for_each(|(_, broken)| broken.is_unevaluable = true);
    }

    fn record_break(&mut self, frame: &Frame<'_, '_>, why: String, context: Option<&Context<'_, '_>>) {
        let values = self.expression.as_ref().ok().zip(context);
        let values = values.map(|(expression, context)| operand_values(expression, context)).unwrap_or_default();
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
            (Ok(_), RuleTiming::Always | RuleTiming::Never) if self.broken.is_some() => self.broken.clone(),
            (Ok(_), _) if !complete => None,
            (Ok(_), _) if !self.evaluated && self.broken.is_none() => {
                bare("anywhere", "there was no Deployment to ask it of".to_owned())
            }
            (Ok(_), RuleTiming::Eventually) if !self.satisfied => self.broken.clone().map(|(step, broken)| {
                if broken.is_unevaluable {
                    return (step, broken);
                }
                let frame = "at any frame".to_owned();
                (last, BrokenRule { frame, why: "it never came true; at the last frame".to_owned(), ..broken })
            }),
            (Ok(_), RuleTiming::Finally) => self.broken.clone(),
            (Ok(_), _) => None,
        }
    }
}

/// The operands of a rule that are not literals, each once, with their values. A rule is split at
/// operators outside of brackets and quotes; each part is evaluated on its own.
fn operand_values(expression: &RuleExpression, context: &Context<'_, '_>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    operands(&expression.text, &mut found);
    let mut shown: Vec<(String, String)> = Vec::new();
    for text in found {
        let known = shown.iter().any(|(name, _)| name == text);
        let node = parse(text).ok().filter(|node| !known && !matches!(node.expr, Expr::Literal(_)));
        let Some(node) = node else { continue };
        let value = with_enough_stack(|| Cel::resolve(&node, context));
        let value = value.map_or_else(|error| format!("? ({error})"), |value| print(&value));
        shown.push((text.to_owned(), value));
    }
    shown
}

/// Collects the operands between operators, at any depth of brackets that only group.
fn operands<'t>(text: &'t str, texts: &mut Vec<&'t str>) {
    let text = text.trim().trim_start_matches(['!', '-']).trim_start();
    match signs(text).as_slice() {
        [] => match strip_brackets(text) {
            Some(inner) => operands(inner, texts),
            None => texts.push(text),
        },
        signs => {
            let mut begins = 0;
            for (at, length) in signs {
                operands(&text[begins..*at], texts);
                begins = at + length;
            }
            operands(&text[begins..], texts);
        }
    }
}

/// The operators outside of brackets and quotes that have something before them, each with its
/// length.
fn signs(text: &str) -> Vec<(usize, usize)> {
    let (mut depth, mut quote, mut ends) = (0_usize, None, 0);
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), _) => quote = (open != letter).then_some(open),
            (None, '\'' | '"') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, _) if depth == 0 && at >= ends => {
                let sign = SIGNS.iter().find(|sign| text[at..].starts_with(**sign));
                if let Some(sign) = sign.filter(|_| !text[ends..at].trim().is_empty()) {
                    found.push((at, sign.len()));
                    ends = at + sign.len();
                }
            }
            (None, _) => {}
        }
    }
    found
}

/// Strips brackets around the whole text.
fn strip_brackets(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0_i32;
    let closes_early = inner.chars().any(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth < 0
    });
    (!closes_early).then_some(inner)
}

/// Formats a value as JSON; objects by their names.
fn print(value: &Cel) -> String {
    let json = value.json().unwrap_or(Value::Null);
    let text = names_only(&json).to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Replaces objects by their names.
fn names_only(value: &Value) -> Value {
    match value {
        Value::Object(map) if map.contains_key("metadata") && map.contains_key("name") => map["name"].clone(),
        Value::Array(list) => list.iter().map(names_only).collect(),
        other => other.clone(),
    }
}
