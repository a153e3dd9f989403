//! The type of each part of a rule, as far as it follows from what is declared: what variables
//! stand for, what fields their objects have, what functions take. A rule whose parts do not go
//! together is a bad case before anything runs.
//!
//! The interpreter has no such check: it finds out at the first frame at which it comes by, and
//! `false && deployment.spec.typo` never. What is not declared (a pod's spec, a template's) is of
//! any type, and so is what is made of it.

mod operators;

use std::fmt::{self, Display};

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr};

use super::expression::{Mistake, parse, place};
use super::shapes::{self, Shape, Slot};
use super::{history, scene};

/// What a part of a rule stands for.
#[derive(Debug, Clone, PartialEq)]
enum Type {
    /// Nobody has said.
    Any,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Null,
    List(Box<Type>),
    Map(Box<Type>),
    Object(&'static Shape),
}

impl Type {
    fn of(slot: &Slot) -> Self {
        match slot {
            Slot::Any => Self::Any,
            Slot::Bool => Self::Bool,
            Slot::Int => Self::Int,
            Slot::Text => Self::Text,
            Slot::Texts => Self::List(Box::new(Self::Text)),
            Slot::Labels => Self::Map(Box::new(Self::Text)),
            Slot::Map => Self::Map(Box::new(Self::Any)),
            Slot::One(shape) => Self::Object(shape),
            Slot::Many(shape) => Self::List(Box::new(Self::Object(shape))),
        }
    }

    /// What a variable stands for.
    fn of_variable(name: &str) -> Self {
        let list = |shape| Self::List(Box::new(Self::Object(shape)));
        match name {
            scene::DEPLOYMENT => Self::Object(&shapes::DEPLOYMENT),
            "deployments" => list(&shapes::DEPLOYMENT),
            "replicaSets" => list(&shapes::REPLICA_SET),
            "pods" => list(&shapes::POD),
            "statefulSets" | "daemonSets" | "jobs" | "cronJobs" | "rollouts" => list(&shapes::WORKLOAD),
            "configMaps" => list(&shapes::CONFIG_MAP),
            "secrets" => list(&shapes::SECRET),
            scene::POSTS => Self::List(Box::new(Self::Text)),
            "step" => Self::Int,
            "settled" => Self::Bool,
            _ => Self::Any,
        }
    }

    const fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }

    /// Whether one may be compared with the other, so that the answer depends on them.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any | Self::Null, _) | (_, Self::Any | Self::Null) => true,
            (Self::List(one), Self::List(other)) | (Self::Map(one), Self::Map(other)) => one.is_like(other),
            (Self::Map(_) | Self::Object(_), Self::Map(_) | Self::Object(_)) => true,
            (one, other) => one == other || one.is_number() && other.is_number(),
        }
    }

    /// What either of two may be.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            // Nobody knows of what an empty list is.
            (Self::List(one), Self::List(other)) => {
                let of = match (*one, *other) {
                    (Self::Any, known) | (known, Self::Any) => known,
                    (one, other) => one.or(other),
                };
                Self::List(Box::new(of))
            }
            _ => Self::Any,
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "anything",
            Self::Bool => "true or false",
            Self::Int | Self::Uint => "a whole number",
            Self::Double => "a number",
            Self::Text => "a string",
            Self::Null => "null",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Object(shape) => shape.what,
        })
    }
}

/// What does not go together in a rule.
pub(super) fn check(root: &IdedExpr, text: &str) -> Vec<Mistake> {
    let mut types = Types { text, bound: Vec::new(), mistakes: Vec::new() };
    let found = types.of(root);
    if !matches!(found, Type::Any | Type::Bool) && types.mistakes.is_empty() {
        let hint = format!("it is {found}; compare it with something");
        types.wrong(0..text.len(), "a rule must be true or false".to_owned(), hint);
    }
    types.mistakes
}

struct Types<'t> {
    text: &'t str,
    /// The names that macros have bound, the innermost last.
    bound: Vec<(String, Type)>,
    mistakes: Vec<Mistake>,
}

impl Types<'_> {
    fn of(&mut self, node: &IdedExpr) -> Type {
        match &node.expr {
            Expr::Unspecified | Expr::Struct(_) => Type::Any,
            Expr::Literal(literal) => match literal {
                LiteralValue::Boolean(_) => Type::Bool,
                LiteralValue::Int(_) => Type::Int,
                LiteralValue::UInt(_) => Type::Uint,
                LiteralValue::Double(_) => Type::Double,
                LiteralValue::String(_) => Type::Text,
                LiteralValue::Null => Type::Null,
                LiteralValue::Bytes(_) => Type::Any,
            },
            Expr::Ident(name) => {
                let bound = self.bound.iter().rev().find(|(known, _)| known == name);
                bound.map_or_else(|| Type::of_variable(name), |(_, of)| of.clone())
            }
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                let of = list.elements.iter().map(|element| self.of(element)).reduce(Type::or);
                Type::List(Box::new(of.unwrap_or(Type::Any)))
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.of(&entry.key);
                        self.of(&entry.value);
                    }
                }
                Type::Map(Box::new(Type::Any))
            }
            Expr::Comprehension(all) => self.comprehension(all),
        }
    }

    fn select(&mut self, select: &SelectExpr) -> Type {
        let of = self.of(&select.operand);
        let found = self.field(&of, &select.field, &select.operand);
        if select.test { Type::Bool } else { found }
    }

    fn field(&mut self, of: &Type, field: &str, operand: &IdedExpr) -> Type {
        match of {
            Type::Any => Type::Any,
            Type::Map(of) => (**of).clone(),
            Type::Object(shape) => match shape.fields.iter().find(|(name, _)| *name == field) {
                Some((_, slot)) => Type::of(slot),
                None if shape.open => Type::Any,
                None => {
                    let known: Vec<&'static str> = shape.fields.iter().map(|(name, _)| *name).collect();
                    let at = place(self.text, field);
                    let what = format!("{} has no field `{field}`", shape.what);
                    let hint = format!("known: {}", known.join(", "));
                    self.mistakes.push(Mistake { at, what, hint, unknown: Some((field.to_owned(), known)) });
                    Type::Any
                }
            },
            Type::List(_) => {
                let name = word(operand).unwrap_or("it");
                let hint = format!("write `{name}[0].{field}`, or ask all of them: `{name}.all(it, it.{field} …)`");
                self.wrong(place(self.text, field), format!("a list has no field `{field}`"), hint);
                Type::Any
            }
            scalar => {
                let what = format!("{scalar} has no field `{field}`");
                self.wrong(place(self.text, field), what, said(operand, scalar));
                Type::Any
            }
        }
    }

    fn comprehension(&mut self, all: &ComprehensionExpr) -> Type {
        let of = match self.of(&all.iter_range) {
            Type::List(of) => *of,
            Type::Map(_) | Type::Object(_) => Type::Text,
            Type::Any => Type::Any,
            other => {
                let at = self.at(&all.iter_range);
                self.wrong(
                    at,
                    format!("{other} has nothing to go through"),
                    "macros are for lists and maps".to_owned(),
                );
                Type::Any
            }
        };
        let outer = self.bound.len();
        let begin = self.of(&all.accu_init);
        let second = all.iter_var2.is_some();
        self.bound.push((all.iter_var.clone(), if second { Type::Any } else { of }));
        self.bound.extend(all.iter_var2.iter().map(|name| (name.clone(), Type::Any)));
        self.bound.push((all.accu_var.clone(), begin.clone()));
        self.of(&all.loop_cond);
        let step = self.of(&all.loop_step);
        if let Some((_, accu)) = self.bound.last_mut() {
            *accu = begin.or(step);
        }
        let result = self.of(&all.result);
        self.bound.truncate(outer);
        result
    }

    fn call(&mut self, call: &CallExpr) -> Type {
        let target = call.target.as_deref().map(|target| (self.of(target), target));
        let arguments: Vec<Type> = call.args.iter().map(|argument| self.of(argument)).collect();
        if !call.func_name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return self.operator(&call.func_name, &call.args, &arguments);
        }
        // `size(x)` and `x.size()` are the same.
        let mut all: Vec<(Type, &IdedExpr)> = target.into_iter().chain(arguments.into_iter().zip(&call.args)).collect();
        let name = call.func_name.as_str();
        let takes = match name {
            "size" | "bool" | "double" | "dyn" | "int" | "string" | "type" | "uint" | "sum" => 1..=1,
            "contains" | "endsWith" | "matches" | "startsWith" => 2..=2,
            "min" | "max" => 1..=usize::MAX,
            _ if history::FUNCTIONS.contains(&name) => 1..=1,
            _ => 0..=usize::MAX,
        };
        if !takes.contains(&all.len()) {
            let is = if all.len() == 1 { "one" } else { "so many" };
            let hint = match name {
                "contains" | "endsWith" | "matches" | "startsWith" => format!("write `text.{name}('…')`"),
                "sum" => "write `list.sum()`".to_owned(),
                _ => format!("`{name}` takes {}", if takes == (1..=1) { "one value" } else { "one or more" }),
            };
            let is = if all.is_empty() { "nothing" } else { is };
            self.wrong(place(self.text, name), format!("`{name}` of {is}"), hint);
            return Type::Any;
        }
        match name {
            "size" => {
                let is_sized =
                    |of: &Type| matches!(of, Type::Any | Type::Text | Type::List(_) | Type::Map(_) | Type::Object(_));
                self.takes(name, &all[0], is_sized, "a list, a map or a string");
                Type::Int
            }
            "contains" | "endsWith" | "matches" | "startsWith" => {
                self.takes(name, &all[0], |of| matches!(of, Type::Any | Type::Text), "a string");
                self.takes(name, &all[1], |of| matches!(of, Type::Any | Type::Text), "a string");
                if let (true, Some(why)) = (name == "matches", no_pattern(all[1].1)) {
                    self.wrong(place(self.text, name), "this is not a regular expression".to_owned(), why);
                }
                Type::Bool
            }
            "sum" => {
                let is_whole = |of: &Type| match of {
                    Type::List(of) => matches!(**of, Type::Any | Type::Int),
                    of => matches!(of, Type::Any),
                };
                self.takes(name, &all[0], is_whole, "a list of whole numbers");
                Type::Int
            }
            "min" | "max" => match (all.len(), all.remove(0).0) {
                (1, Type::List(of)) => *of,
                (1, of) => of,
                (_, first) => all.into_iter().fold(first, |sum, (of, _)| sum.or(of)),
            },
            "bool" => Type::Bool,
            "double" => Type::Double,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "string" => Type::Text,
            "began" => Type::Bool,
            _ if history::FUNCTIONS.contains(&name) => Type::Int,
            _ => Type::Any,
        }
    }

    fn takes(&mut self, name: &str, (of, node): &(Type, &IdedExpr), fits: impl Fn(&Type) -> bool, what: &str) {
        if !fits(of) {
            let at = self.at(node);
            self.wrong(at, format!("`{name}` takes {what}"), said(node, of));
        }
    }

    fn wrong(&mut self, at: std::ops::Range<usize>, what: String, hint: String) {
        let mistake = Mistake { at, what, hint, unknown: None };
        // A macro names its list more than once.
        if !self.mistakes.contains(&mistake) {
            self.mistakes.push(mistake);
        }
    }

    fn at(&self, node: &IdedExpr) -> std::ops::Range<usize> {
        word(node).map_or(0..self.text.len(), |word| place(self.text, word))
    }
}

/// Why a pattern that is written out is none, in the interpreter's own words.
fn no_pattern(pattern: &IdedExpr) -> Option<String> {
    let Expr::Literal(LiteralValue::String(_)) = &pattern.expr else { return None };
    let mut asked = parse("''.matches('')").ok()?;
    if let Expr::Call(call) = &mut asked.expr {
        call.args = vec![pattern.clone()];
    }
    let why = cel::Value::resolve(&asked, &cel::Context::default()).err()?.to_string();
    Some(why.lines().last().unwrap_or_default().trim().to_owned())
}

/// `replicas is a whole number`.
fn said(node: &IdedExpr, of: &Type) -> String {
    word(node).map_or_else(|| format!("it is {of}"), |word| format!("`{word}` is {of}"))
}

/// The last word that a part of a rule is written with.
fn word(node: &IdedExpr) -> Option<&str> {
    match &node.expr {
        Expr::Ident(name) if !name.starts_with('@') => Some(name),
        Expr::Select(select) => Some(&select.field),
        Expr::Call(call) if call.func_name.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            Some(&call.func_name)
        }
        Expr::Call(call) if call.func_name == "_[_]" => word(call.args.first()?),
        Expr::Comprehension(all) => word(&all.iter_range),
        _ => None,
    }
}
