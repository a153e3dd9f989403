//! Infers the type of each part of a rule, as far as declarations determine it: the types of
//! variables, the fields of their objects, the signatures of functions. A rule with a type error
//! makes the case invalid before anything runs.
//!
//! The interpreter has no such check: it finds an error only when it evaluates that part, so it
//! never finds `false && deployment.spec.typo`. What is not declared (a pod's spec, a template's)
//! has any type, and so has everything that is derived from it.

use std::fmt::{self, Display};

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr};

use super::shapes::{self, FieldKind, ObjectShape};
use super::syntax::{Mistake, find_word, parse};
use super::{history, variables};

/// The type of a part of a rule.
#[derive(Debug, Clone, PartialEq)]
enum CelType {
    /// Not declared.
    Any,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Null,
    List(Box<CelType>),
    Map(Box<CelType>),
    Object(&'static ObjectShape),
}

impl CelType {
    fn of(slot: &FieldKind) -> Self {
        match slot {
            FieldKind::Any => Self::Any,
            FieldKind::Bool => Self::Bool,
            FieldKind::Int => Self::Int,
            FieldKind::Text => Self::Text,
            FieldKind::Texts => Self::List(Box::new(Self::Text)),
            FieldKind::Labels => Self::Map(Box::new(Self::Text)),
            FieldKind::Map => Self::Map(Box::new(Self::Any)),
            FieldKind::One(shape) => Self::Object(shape),
            FieldKind::Many(shape) => Self::List(Box::new(Self::Object(shape))),
        }
    }

    fn of_variable(name: &str) -> Self {
        let list = |shape| Self::List(Box::new(Self::Object(shape)));
        match name {
            variables::DEPLOYMENT => Self::Object(&shapes::DEPLOYMENT),
            "deployments" => list(&shapes::DEPLOYMENT),
            "replicaSets" => list(&shapes::REPLICA_SET),
            "pods" => list(&shapes::POD),
            "statefulSets" | "daemonSets" | "jobs" | "cronJobs" | "rollouts" => list(&shapes::WORKLOAD),
            "configMaps" => list(&shapes::CONFIG_MAP),
            "secrets" => list(&shapes::SECRET),
            variables::POSTS => Self::List(Box::new(Self::Text)),
            "step" => Self::Int,
            "settled" => Self::Bool,
            _ => Self::Any,
        }
    }

    const fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Uint | Self::Double)
    }

    /// Whether values of the two types can be compared with a result that depends on them.
    fn is_comparable(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Any | Self::Null, _) | (_, Self::Any | Self::Null) => true,
            (Self::List(one), Self::List(other)) | (Self::Map(one), Self::Map(other)) => one.is_comparable(other),
            (Self::Map(_) | Self::Object(_), Self::Map(_) | Self::Object(_)) => true,
            (one, other) => one == other || one.is_number() && other.is_number(),
        }
    }

    /// The type of a value that has either type.
    fn union(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            // An empty list has no element type.
            (Self::List(one), Self::List(other)) => {
                let of = match (*one, *other) {
                    (Self::Any, known) | (known, Self::Any) => known,
                    (one, other) => one.union(other),
                };
                Self::List(Box::new(of))
            }
            _ => Self::Any,
        }
    }
}

impl Display for CelType {
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
            Self::Object(shape) => shape.label,
        })
    }
}

/// Finds type errors in a rule.
pub(super) fn check(root: &IdedExpr, text: &str) -> Vec<Mistake> {
    let mut types = TypeChecker { text, bound: Vec::new(), mistakes: Vec::new() };
    let found = types.of(root);
    if !matches!(found, CelType::Any | CelType::Bool) && types.mistakes.is_empty() {
        let hint = format!("it is {found}; compare it with something");
        types.report(0..text.len(), "a rule must be true or false".to_owned(), hint);
    }
    types.mistakes
}

struct TypeChecker<'t> {
    text: &'t str,
    /// The names that macros bind, the innermost last.
    bound: Vec<(String, CelType)>,
    mistakes: Vec<Mistake>,
}

impl TypeChecker<'_> {
    fn of(&mut self, node: &IdedExpr) -> CelType {
        match &node.expr {
            Expr::Unspecified | Expr::Struct(_) => CelType::Any,
            Expr::Literal(literal) => match literal {
                LiteralValue::Boolean(_) => CelType::Bool,
                LiteralValue::Int(_) => CelType::Int,
                LiteralValue::UInt(_) => CelType::Uint,
                LiteralValue::Double(_) => CelType::Double,
                LiteralValue::String(_) => CelType::Text,
                LiteralValue::Null => CelType::Null,
                LiteralValue::Bytes(_) => CelType::Any,
            },
            Expr::Ident(name) => {
                let bound = self.bound.iter().rev().find(|(known, _)| known == name);
                bound.map_or_else(|| CelType::of_variable(name), |(_, of)| of.clone())
            }
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                let of = list.elements.iter().map(|element| self.of(element)).reduce(CelType::union);
                CelType::List(Box::new(of.unwrap_or(CelType::Any)))
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.of(&entry.key);
                        self.of(&entry.value);
                    }
                }
                CelType::Map(Box::new(CelType::Any))
            }
            Expr::Comprehension(all) => self.comprehension(all),
        }
    }

    fn select(&mut self, select: &SelectExpr) -> CelType {
        let of = self.of(&select.operand);
        let found = self.field(&of, &select.field, &select.operand);
        if select.test { CelType::Bool } else { found }
    }

    fn field(&mut self, of: &CelType, field: &str, operand: &IdedExpr) -> CelType {
        match of {
            CelType::Any => CelType::Any,
            CelType::Map(of) => (**of).clone(),
            CelType::Object(shape) => match shape.fields.iter().find(|(name, _)| *name == field) {
                Some((_, slot)) => CelType::of(slot),
                None if shape.open => CelType::Any,
                None => {
                    let known: Vec<&'static str> = shape.fields.iter().map(|(name, _)| *name).collect();
                    let at = find_word(self.text, field);
                    let what = format!("{} has no field `{field}`", shape.label);
                    let hint = format!("known: {}", known.join(", "));
                    self.mistakes.push(Mistake { at, message: what, hint, unknown: Some((field.to_owned(), known)) });
                    CelType::Any
                }
            },
            CelType::List(_) => {
                let name = last_word(operand).unwrap_or("it");
                let hint = format!("write `{name}[0].{field}`, or ask all of them: `{name}.all(it, it.{field} …)`");
                self.report(find_word(self.text, field), format!("a list has no field `{field}`"), hint);
                CelType::Any
            }
            scalar => {
                let what = format!("{scalar} has no field `{field}`");
                self.report(find_word(self.text, field), what, describe_type(operand, scalar));
                CelType::Any
            }
        }
    }

    fn comprehension(&mut self, all: &ComprehensionExpr) -> CelType {
        let of = match self.of(&all.iter_range) {
            CelType::List(of) => *of,
            CelType::Map(_) | CelType::Object(_) => CelType::Text,
            CelType::Any => CelType::Any,
            other => {
                let at = self.span_of(&all.iter_range);
                self.report(
                    at,
                    format!("{other} has nothing to go through"),
                    "macros are for lists and maps".to_owned(),
                );
                CelType::Any
            }
        };
        let outer = self.bound.len();
        let begin = self.of(&all.accu_init);
        let second = all.iter_var2.is_some();
        self.bound.push((all.iter_var.clone(), if second { CelType::Any } else { of }));
        self.bound.extend(all.iter_var2.iter().map(|name| (name.clone(), CelType::Any)));
        self.bound.push((all.accu_var.clone(), begin.clone()));
        self.of(&all.loop_cond);
        let step = self.of(&all.loop_step);
        if let Some((_, accu)) = self.bound.last_mut() {
            *accu = begin.union(step);
        }
        let result = self.of(&all.result);
        self.bound.truncate(outer);
        result
    }

    fn call(&mut self, call: &CallExpr) -> CelType {
        let target = call.target.as_deref().map(|target| (self.of(target), target));
        let arguments: Vec<CelType> = call.args.iter().map(|argument| self.of(argument)).collect();
        if !call.func_name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return self.operator(&call.func_name, &call.args, &arguments);
        }
        // `size(x)` and `x.size()` are the same function.
        let mut all: Vec<(CelType, &IdedExpr)> =
            target.into_iter().chain(arguments.into_iter().zip(&call.args)).collect();
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
            self.report(find_word(self.text, name), format!("`{name}` of {is}"), hint);
            return CelType::Any;
        }
        match name {
            "size" => {
                let is_sized = |of: &CelType| {
                    matches!(of, CelType::Any | CelType::Text | CelType::List(_) | CelType::Map(_) | CelType::Object(_))
                };
                self.takes(name, &all[0], is_sized, "a list, a map or a string");
                CelType::Int
            }
            "contains" | "endsWith" | "matches" | "startsWith" => {
                self.takes(name, &all[0], |of| matches!(of, CelType::Any | CelType::Text), "a string");
                self.takes(name, &all[1], |of| matches!(of, CelType::Any | CelType::Text), "a string");
                if let (true, Some(why)) = (name == "matches", pattern_error(all[1].1)) {
                    self.report(find_word(self.text, name), "this is not a regular expression".to_owned(), why);
                }
                CelType::Bool
            }
            "sum" => {
                let is_whole = |of: &CelType| match of {
                    CelType::List(of) => matches!(**of, CelType::Any | CelType::Int),
                    of => matches!(of, CelType::Any),
                };
                self.takes(name, &all[0], is_whole, "a list of whole numbers");
                CelType::Int
            }
            "min" | "max" => match (all.len(), all.remove(0).0) {
                (1, CelType::List(of)) => *of,
                (1, of) => of,
                (_, first) => all.into_iter().fold(first, |sum, (of, _)| sum.union(of)),
            },
            "bool" => CelType::Bool,
            "double" => CelType::Double,
            "int" => CelType::Int,
            "uint" => CelType::Uint,
            "string" => CelType::Text,
            "began" => CelType::Bool,
            _ if history::FUNCTIONS.contains(&name) => CelType::Int,
            _ => CelType::Any,
        }
    }

    fn takes(
        &mut self,
        name: &str,
        (of, node): &(CelType, &IdedExpr),
        fits: impl Fn(&CelType) -> bool,
        expected: &str,
    ) {
        if !fits(of) {
            let at = self.span_of(node);
            self.report(at, format!("`{name}` takes {expected}"), describe_type(node, of));
        }
    }

    fn report(&mut self, at: std::ops::Range<usize>, message: String, hint: String) {
        let mistake = Mistake { at, message, hint, unknown: None };
        // A macro refers to its list more than once.
        if !self.mistakes.contains(&mistake) {
            self.mistakes.push(mistake);
        }
    }

    fn span_of(&self, node: &IdedExpr) -> std::ops::Range<usize> {
        last_word(node).map_or(0..self.text.len(), |word| find_word(self.text, word))
    }
}

/// The operand types and results of operators.
impl TypeChecker<'_> {
    /// Returns the type of an operator's result, and reports operands that do not match.
    fn operator(&mut self, name: &str, nodes: &[IdedExpr], types: &[CelType]) -> CelType {
        match (name, types) {
            ("_&&_" | "_||_" | "!_" | "@not_strictly_false", types) => {
                for (node, of) in nodes.iter().zip(types) {
                    if !matches!(of, CelType::Any | CelType::Bool) {
                        let at = self.span_of(node);
                        self.report(at, "this is neither true nor false".to_owned(), describe_type(node, of));
                    }
                }
                CelType::Bool
            }
            ("_==_" | "_!=_", [one, other]) => {
                if !one.is_comparable(other) {
                    self.report_mismatch(nodes, one, other, "never the same");
                }
                CelType::Bool
            }
            ("_<_" | "_<=_" | "_>_" | "_>=_", [one, other]) => {
                let ordered =
                    |of: &CelType| matches!(of, CelType::Any | CelType::Text | CelType::Bool) || of.is_number();
                if !(ordered(one) && ordered(other) && one.is_comparable(other)) {
                    self.report_mismatch(nodes, one, other, "neither is greater");
                }
                CelType::Bool
            }
            ("@in", [one, other]) => {
                let of = match other {
                    CelType::List(of) => of.is_comparable(one),
                    CelType::Map(_) | CelType::Object(_) => CelType::Text.is_comparable(one),
                    CelType::Any => true,
                    _ => false,
                };
                if !of {
                    self.report_mismatch(nodes, one, other, "it is never in there");
                }
                CelType::Bool
            }
            ("_?_:_", [condition, one, other]) => {
                if !matches!(condition, CelType::Any | CelType::Bool) {
                    let at = self.span_of(&nodes[0]);
                    self.report(at, "this is neither true nor false".to_owned(), describe_type(&nodes[0], condition));
                }
                one.clone().union(other.clone())
            }
            ("_[_]" | "_[?_]", [of, key]) => self.index(nodes, of, key),
            ("-_", [of]) => self.arithmetic(nodes, of, of),
            ("_+_", [CelType::Text, CelType::Text]) => CelType::Text,
            ("_+_", [one @ CelType::List(_), other @ CelType::List(_)]) => one.clone().union(other.clone()),
            ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [one, other]) => self.arithmetic(nodes, one, other),
            _ => CelType::Any,
        }
    }

    fn arithmetic(&mut self, nodes: &[IdedExpr], one: &CelType, other: &CelType) -> CelType {
        match (one, other) {
            (CelType::Any, _) | (_, CelType::Any) => CelType::Any,
            (one, other) if one.is_number() && one == other => one.clone(),
            (one, other) => {
                self.report_mismatch(nodes, one, other, "there is no such sum, difference, product or quotient");
                CelType::Any
            }
        }
    }

    fn index(&mut self, nodes: &[IdedExpr], of: &CelType, key: &CelType) -> CelType {
        match (of, key) {
            (CelType::Any, _) => CelType::Any,
            (CelType::List(of), CelType::Any | CelType::Int | CelType::Uint) => (**of).clone(),
            (CelType::Map(of), CelType::Any | CelType::Text) => (**of).clone(),
            (CelType::Object(_), CelType::Text) => match &nodes[1].expr {
                Expr::Literal(LiteralValue::String(field)) => self.field(of, field.inner(), &nodes[0]),
                _ => CelType::Any,
            },
            (CelType::Object(_), CelType::Any) => CelType::Any,
            (of, key) => {
                let at = self.span_of(&nodes[0]);
                self.report(at, format!("{key} names nothing in {of}"), describe_type(&nodes[0], of));
                CelType::Any
            }
        }
    }

    fn report_mismatch(&mut self, nodes: &[IdedExpr], one: &CelType, other: &CelType, why: &str) {
        let at = nodes.first().map_or(0..self.text.len(), |node| self.span_of(node));
        self.report(at, format!("{one} and {other} cannot be combined"), why.to_owned());
    }
}

/// Returns why a literal pattern is invalid, in the interpreter's own words.
fn pattern_error(pattern: &IdedExpr) -> Option<String> {
    let Expr::Literal(LiteralValue::String(_)) = &pattern.expr else { return None };
    let mut asked = parse("''.matches('')").ok()?;
    if let Expr::Call(call) = &mut asked.expr {
        call.args = vec![pattern.clone()];
    }
    let why = cel::Value::resolve(&asked, &cel::Context::default()).err()?.to_string();
    Some(why.lines().last().unwrap_or_default().trim().to_owned())
}

/// `replicas is a whole number`.
fn describe_type(node: &IdedExpr, of: &CelType) -> String {
    last_word(node).map_or_else(|| format!("it is {of}"), |word| format!("`{word}` is {of}"))
}

/// The last name in a part of a rule, as it is written.
fn last_word(node: &IdedExpr) -> Option<&str> {
    match &node.expr {
        Expr::Ident(name) if !name.starts_with('@') => Some(name),
        Expr::Select(select) => Some(&select.field),
        Expr::Call(call) if call.func_name.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            Some(&call.func_name)
        }
        Expr::Call(call) if call.func_name == "_[_]" => last_word(call.args.first()?),
        Expr::Comprehension(all) => last_word(&all.iter_range),
        _ => None,
    }
}
