//! Reads a rule's expression and checks what can be checked without a recording, so that a mistake
//! makes the case invalid instead of changing a verdict.

use std::collections::BTreeSet;
use std::ops::Range;

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};

use super::syntax::{Mistake, find_word, parse_rule, without_comments};
use super::{history, types, variables};

/// CEL's standard functions that rules may call, besides operators and macros.
const FUNCTIONS: [&str; 12] =
    ["bool", "contains", "double", "dyn", "endsWith", "int", "matches", "size", "startsWith", "string", "type", "uint"];

/// CEL's macros that rules may use.
const MACROS: [&str; 6] = ["all", "exists", "exists_one", "filter", "has", "map"];

/// A rule's parsed expression.
#[derive(Debug)]
pub(crate) struct RuleExpression {
    pub(super) root: IdedExpr,
    /// The text, with spaces in the place of comments.
    pub(super) text: String,
    /// The variables that it uses.
    pub(super) variables: BTreeSet<String>,
    /// Whether it uses functions over history.
    pub(super) uses_history: bool,
    /// The labels of steps in the expression, and their positions.
    pub(crate) labels: Vec<(String, Range<usize>)>,
}

impl RuleExpression {
    /// Parses an expression.
    ///
    /// # Errors
    /// All mistakes.
    pub(crate) fn read(text: &str) -> Result<Self, Vec<Mistake>> {
        let root = parse_rule(text)?;
        let text = &without_comments(text);
        let (mistakes, labels) = (Vec::new(), Vec::new());
        let mut check = NameCheck { text, mistakes, variables: BTreeSet::new(), uses_history: false, labels };
        check.visit(&root, &mut Vec::new());
        let NameCheck { mistakes, variables, uses_history: looks_back, labels, .. } = check;
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let mistakes = types::check(&root, text);
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        if variables.is_empty() && !looks_back {
            let (at, hint) =
                (0..text.len(), "it does not depend on the recording: use `deployment`, `pods`, …".to_owned());
            return Err(vec![Mistake { at, message: "the rule is always the same".to_owned(), hint, unknown: None }]);
        }
        Ok(Self { root, text: text.to_owned(), variables, uses_history: looks_back, labels })
    }
}

/// Collects the names that an expression uses, and the unknown ones.
struct NameCheck<'t> {
    text: &'t str,
    mistakes: Vec<Mistake>,
    variables: BTreeSet<String>,
    uses_history: bool,
    labels: Vec<(String, Range<usize>)>,
}

impl NameCheck<'_> {
    /// Visits a node; `bound` are the names that the macros around it bind.
    fn visit(&mut self, node: &IdedExpr, bound: &mut Vec<String>) {
        match &node.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(name) => self.name(name, bound),
            Expr::Select(select) => self.visit(&select.operand, bound),
            Expr::Call(call) => {
                let known = self.call(&call.func_name, call.target.is_some(), &call.args);
                call.target.iter().for_each(|target| self.visit(target, bound));
                let outer = bound.len();
                // A misspelt macro binds its first argument, as the macro would.
                if let (false, Some(_), [IdedExpr { expr: Expr::Ident(name), .. }, _]) =
                    (known, &call.target, &*call.args)
                {
                    bound.push(name.clone());
                }
                call.args.iter().for_each(|argument| self.visit(argument, bound));
                bound.truncate(outer);
            }
            Expr::List(list) => list.elements.iter().for_each(|element| self.visit(element, bound)),
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.visit(&entry.key, bound);
                        self.visit(&entry.value, bound);
                    }
                }
            }
            Expr::Struct(structure) => {
                let known = variables::variables();
                self.unknown("type", &structure.type_name, known);
            }
            Expr::Comprehension(all) => {
                self.visit(&all.iter_range, bound);
                self.visit(&all.accu_init, bound);
                let outer = bound.len();
                bound.extend([all.iter_var.clone(), all.accu_var.clone()]);
                bound.extend(all.iter_var2.clone());
                [&all.loop_cond, &all.loop_step, &all.result].iter().for_each(|part| self.visit(part, bound));
                bound.truncate(outer);
            }
        }
    }

    fn name(&mut self, name: &str, bound: &[String]) {
        if name.starts_with('@') || bound.iter().any(|it| it == name) {
            return;
        }
        if variables::variables().contains(&name) {
            self.variables.insert(name.to_owned());
        } else {
            self.unknown("name", name, variables::variables());
        }
    }

    /// Whether this function exists.
    fn call(&mut self, name: &str, of: bool, arguments: &[IdedExpr]) -> bool {
        let is_operator = !name.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_operator || FUNCTIONS.contains(&name) || variables::FUNCTIONS.contains(&name) {
            return true;
        }
        if !history::FUNCTIONS.contains(&name) {
            let known = [&FUNCTIONS[..], &MACROS, &variables::FUNCTIONS, &history::FUNCTIONS].concat();
            self.unknown("function", name, known);
            return false;
        }
        self.uses_history = true;
        let (asked, wrong) = match arguments {
            [IdedExpr { expr: Expr::Literal(LiteralValue::String(text)), .. }] if !of => {
                (text.inner(), history::check_argument(name, text.inner()).err())
            }
            _ => (name, Some(format!("`{name}` takes one text in quotes"))),
        };
        if name == "began" && wrong.is_none() {
            self.labels.push((asked.to_owned(), find_word(self.text, asked)));
        }
        if let Some(hint) = wrong {
            let (at, what) = (find_word(self.text, asked), format!("wrong argument of `{name}`"));
            self.mistakes.push(Mistake { at, message: what, hint, unknown: None });
        }
        true
    }

    fn unknown(&mut self, noun: &str, name: &str, candidates: Vec<&'static str>) {
        let (at, what) = (find_word(self.text, name), format!("unknown {noun} `{name}`"));
        let hint = format!("known: {}", candidates.join(", "));
        self.mistakes.push(Mistake { at, message: what, hint, unknown: Some((name.to_owned(), candidates)) });
    }
}
