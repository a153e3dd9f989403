//! Rules held against a recording.

use std::collections::BTreeSet;
use std::sync::Arc;

use cel::{Context, Value as Cel};

use super::history::History;
use super::scene::{self, Unasked};
use super::{Broken, Expression, Rule, When, show};
use crate::recording::Entry;
use crate::timeline::{Frame, Reader, StepId};

/// Asks the rules of a case, frame by frame.
pub(crate) struct Asking<'r> {
    asked: Vec<Asked<'r>>,
    history: History,
    past: Arc<History>,
    last: StepId,
    /// Whether the past has grown since the last state that was asked about.
    grew: bool,
}

impl<'r> Asking<'r> {
    /// These rules.
    pub(crate) fn of(rules: &'r [Rule]) -> Self {
        let asked = rules.iter().map(Asked::new).collect();
        let history = History::of(rules.first().map(|rule| Arc::clone(&rule.labels)).unwrap_or_default());
        Self { asked, past: Arc::new(history.clone()), history, last: StepId::GIVEN, grew: false }
    }

    /// The rules that do not hold, each with the step where that shows first; `finally` and
    /// `eventually` only where the recording is `whole`.
    pub(crate) fn broken(&self, whole: bool) -> Vec<(StepId, Broken)> {
        self.asked.iter().filter_map(|rule| rule.end(whole, self.last)).collect()
    }
}

impl<'a> Reader<'a> for Asking<'_> {
    fn read(&mut self, frame: &Frame<'_, 'a>) {
        if self.asked.is_empty() {
            return;
        }
        let is_state = frame.is_state();
        if is_state || matches!(frame.entry, Entry::Request(_)) {
            self.grew |= self.history.take(frame);
        }
        if !is_state {
            return;
        }
        let grew = std::mem::take(&mut self.grew);
        if grew {
            self.past = Arc::new(self.history.clone());
        }
        self.last = frame.step;
        if frame.staged {
            self.asked.iter_mut().for_each(|rule| rule.ask(frame, &self.past, grew));
        }
    }
}

/// A rule, and what came of it so far.
struct Asked<'r> {
    rule: &'r Rule,
    expression: Result<Expression, String>,
    /// The first frame that breaks it; of one that must come true, the last that did not make it
    /// true.
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
        self.stale |= grew && (expression.looks_back || expression.variables.contains(scene::POSTS));
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
            Err(Unasked::NoDeployment) => return self.breaks(frame, "the case has no Deployment".to_owned(), None),
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

    /// It cannot be evaluated at this frame. What must come true, or hold in the end, is asked
    /// again.
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

    fn end(&self, whole: bool, last: StepId) -> Option<(StepId, Broken)> {
        let bare = |frame: &str, why: String| {
            let (rule, frame) = (self.rule.clone(), frame.to_owned());
            Some((last, Broken { rule, frame, why, unfit: false, values: Vec::new() }))
        };
        match (&self.expression, self.rule.when) {
            (Err(why), _) => bare("anywhere", format!("it is not a rule: {why}")),
            (Ok(_), When::Always | When::Never) if self.broken.is_some() => self.broken.clone(),
            (Ok(_), _) if !whole => None,
            (Ok(_), _) if !self.asked && self.broken.is_none() => {
                bare("anywhere", "there was no Deployment to ask it of".to_owned())
            }
            (Ok(_), When::Eventually) if !self.held => self.broken.clone().map(|(step, broken)| {
                if broken.unfit {
                    return (step, broken);
                }
                let frame = "at any frame".to_owned();
                (last, Broken { frame, why: "it never came true; at the last frame".to_owned(), ..broken })
            }),
            (Ok(_), When::Finally) => self.broken.clone(),
            (Ok(_), _) => None,
        }
    }
}
