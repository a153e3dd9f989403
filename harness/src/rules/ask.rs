//! Rules held against a recording.

use std::collections::BTreeSet;
use std::sync::Arc;

use cel::{Context, Value as Cel};

use super::history::History;
use super::scene::{self, Unasked};
use super::{Broken, Expression, Rule, When, show};
use crate::recording::Recording;
use crate::timeline::{Frame, StepId, frames};

/// The rules that do not hold, each with the step where that shows first; `finally` and `eventually` only where the recording is `whole`.
pub(crate) fn broken(rules: &[Rule], recording: &Recording, whole: bool) -> Vec<(StepId, Broken)> {
    let mut asked: Vec<Asked<'_>> = rules.iter().map(Asked::new).collect();
    if asked.is_empty() {
        return Vec::new();
    }
    let mut history = History::default();
    let mut past = Arc::new(history.clone());
    let mut last = StepId::GIVEN;
    frames(recording, |frame| {
        let grew = history.take(frame);
        if grew {
            past = Arc::new(history.clone());
        }
        last = frame.step;
        if frame.staged {
            asked.iter_mut().for_each(|rule| rule.ask(frame, &past, grew));
        }
    });
    asked.into_iter().filter_map(|rule| rule.end(whole, last)).collect()
}

/// A rule, and what came of it so far.
struct Asked<'r> {
    rule: &'r Rule,
    expression: Result<Expression, String>,
    /// The first frame that breaks it; of one that must come true, the last that did not make it true.
    broken: Option<(StepId, Broken)>,
    /// Whether it has come true.
    held: bool,
    /// Whether it was ever asked.
    asked: bool,
    /// The variables and the past have changed since it was asked last.
    stale: bool,
}

impl<'r> Asked<'r> {
    fn new(rule: &'r Rule) -> Self {
        let why =
            |mistakes: Vec<super::Mistake>| mistakes.iter().map(|it| it.what.clone()).collect::<Vec<_>>().join(", ");
        let expression = Expression::read(&rule.text).map_err(why);
        Self { rule, expression, broken: None, held: false, asked: false, stale: true }
    }

    fn ask(&mut self, frame: &Frame<'_, '_>, past: &Arc<History>, grew: bool) {
        let Ok(expression) = &self.expression else { return };
        self.stale |= expression.variables.iter().any(|variable| scene::changes(variable, frame));
        self.stale |= expression.looks_back && grew;
        let when = self.rule.when;
        let due = match when {
            When::Always | When::Never => self.broken.is_none(),
            When::Eventually => !self.held && frame.step != StepId::GIVEN,
            When::Finally => frame.settled(),
        };
        if !due || !self.stale {
            return;
        }
        self.stale = false;
        let variables: BTreeSet<&str> = expression.variables.iter().map(String::as_str).collect();
        let context = match scene::context(variables.into_iter(), frame, past) {
            Ok(context) => context,
            Err(Unasked::NoDeployment) if when != When::Finally => return,
            Err(Unasked::NoDeployment) => return self.breaks(frame, "there is no Deployment".to_owned(), None),
            Err(Unasked::Error(why)) => return self.unfit(frame, why, None),
        };
        self.asked = true;
        let wanted = when != When::Never;
        match Cel::resolve(&expression.root, &context) {
            Ok(Cel::Bool(holds)) if holds == wanted => {
                self.held = true;
                self.broken = None;
            }
            Ok(Cel::Bool(holds)) => self.breaks(frame, format!("it is {holds}"), Some(&context)),
            Ok(_) => self.unfit(frame, "it is neither true nor false".to_owned(), Some(&context)),
            Err(error) => self.unfit(frame, error.to_string(), Some(&context)),
        }
    }

    /// It cannot be evaluated at this frame. What must come true, or hold in the end, is asked again.
    fn unfit(&mut self, frame: &Frame<'_, '_>, why: String, context: Option<&Context<'_, '_>>) {
        self.breaks(frame, why, context);
        self.broken.iter_mut().for_each(|(_, broken)| broken.unfit = true);
    }

    fn breaks(&mut self, frame: &Frame<'_, '_>, why: String, context: Option<&Context<'_, '_>>) {
        let values = self.expression.as_ref().ok().zip(context);
        let values = values.map(|(expression, context)| show::values(expression, context)).unwrap_or_default();
        let (rule, unfit) = (self.rule.clone(), false);
        self.broken = Some((frame.step, Broken { rule, frame: frame.how(), why, unfit, values }));
    }

    fn end(self, whole: bool, last: StepId) -> Option<(StepId, Broken)> {
        let bare = |frame: &str, why: String| {
            let (rule, frame) = (self.rule.clone(), frame.to_owned());
            Some((last, Broken { rule, frame, why, unfit: false, values: Vec::new() }))
        };
        match (&self.expression, self.rule.when) {
            (Err(why), _) => bare("anywhere", format!("it is no rule: {why}")),
            (Ok(_), When::Always | When::Never) if self.broken.is_some() => self.broken,
            (Ok(_), _) if !whole => None,
            (Ok(_), _) if !self.asked && self.broken.is_none() => {
                bare("anywhere", "there was no Deployment to ask it of".to_owned())
            }
            (Ok(_), When::Eventually) if !self.held => self.broken.map(|(step, broken)| {
                if broken.unfit {
                    return (step, broken);
                }
                let frame = "at any frame".to_owned();
                (last, Broken { frame, why: "it never came true; at the last frame".to_owned(), ..broken })
            }),
            (Ok(_), When::Finally) => self.broken,
            (Ok(_), _) => None,
        }
    }
}
