//! One expression: parsed, and checked as far as it can be without a recording, so that a slip of
//! the pen is a bad case and not a verdict.

use std::collections::BTreeSet;
use std::ops::Range;

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};
use cel::parser::PrattParser;

use super::{history, scene, types};

/// The functions of CEL's own that rules may call; operators and macros aside.
const FUNCTIONS: [&str; 12] =
    ["bool", "contains", "double", "dyn", "endsWith", "int", "matches", "size", "startsWith", "string", "type", "uint"];

/// CEL's macros, as far as rules have them.
const MACROS: [&str; 6] = ["all", "exists", "exists_one", "filter", "has", "map"];
/// What other languages write, and what CEL has for it.
const ELSEWHERE: [(&str, &str); 6] = [("=", "=="), ("and", "&&"), ("or", "||"), ("not", "!"), ("&", "&&"), ("|", "||")];

/// The longest rule, in bytes.
const LONGEST: usize = 1_000;
/// The deepest nesting of brackets and of `?`.
const DEEPEST: usize = 16;
/// The most signs and dots that make a tree deeper one by one; `&&` and `||` do not.
const MOST: usize = 40;

/// A rule's expression, ready to be asked.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(super) root: IdedExpr,
    pub(super) text: String,
    /// The variables that it uses.
    pub(super) variables: BTreeSet<String>,
    /// Whether it asks about what has been.
    pub(super) looks_back: bool,
    /// The labels of steps that it names, and where in its text.
    pub(crate) labels: Vec<(String, Range<usize>)>,
}

/// What is wrong with an expression, and where in its text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    pub(crate) at: Range<usize>,
    pub(crate) what: String,
    pub(crate) hint: String,
    /// The word that was not known, and those that are.
    pub(crate) unknown: Option<(String, Vec<&'static str>)>,
}

impl Expression {
    /// Read an expression.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn read(text: &str) -> Result<Self, Vec<Mistake>> {
        too_much(text).map_or(Ok(()), |mistake| Err(vec![mistake]))?;
        let root = parse(text).map_err(|errors| {
            let mistake = |error: &cel::ParseError| {
                let at = place_of(text, error.pos);
                let word = text.get(at.clone()).unwrap_or_default();
                let meant = ELSEWHERE.iter().find(|(elsewhere, _)| *elsewhere == word);
                let hint = meant.map_or_else(|| error.msg.clone(), |(_, here)| format!("did you mean `{here}`?"));
                Mistake { at, what: "this is not CEL".to_owned(), hint, unknown: None }
            };
            // What follows the first is a consequence of it.
            errors.errors.iter().take(1).map(mistake).collect::<Vec<_>>()
        })?;
        let (mistakes, labels) = (Vec::new(), Vec::new());
        let mut check = Check { text, mistakes, variables: BTreeSet::new(), looks_back: false, labels };
        check.look(&root, &mut Vec::new());
        let Check { mistakes, variables, looks_back, labels, .. } = check;
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
            return Err(vec![Mistake { at, what: "the rule is always the same".to_owned(), hint, unknown: None }]);
        }
        Ok(Self { root, text: text.to_owned(), variables, looks_back, labels })
    }
}

/// The tree of an expression. The crate's other parser needs more stack for a few brackets than a
/// thread has.
pub(super) fn parse(text: &str) -> Result<IdedExpr, cel::ParseErrors> {
    PrattParser::default().parse(text)
}

/// What the parser and the interpreter, which call themselves at every bracket and sign, would not
/// come back from.
fn too_much(text: &str) -> Option<Mistake> {
    let mistake = |at, what: &str, hint: String| Some(Mistake { at, what: what.to_owned(), hint, unknown: None });
    if text.len() > LONGEST {
        return mistake(0..text.len(), "the rule is too long", format!("at most {LONGEST} bytes; split it"));
    }
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '[' | '{' | '?' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return mistake(at..at + 1, "the rule is nested too deeply", format!("at most {DEEPEST} levels; split it"));
        }
    }
    let sign = |letter: &char| matches!(letter, '.' | '+' | '-' | '*' | '/' | '%' | '<' | '>' | '=' | '!');
    let signs = text.split(['&', '|']).map(|part| part.chars().filter(sign).count()).max().unwrap_or(0);
    if signs > MOST {
        return mistake(0..text.len(), "the rule has too many operators", format!("at most {MOST} in a row; split it"));
    }
    None
}

/// Collects what an expression uses, and what is wrong with that.
struct Check<'t> {
    text: &'t str,
    mistakes: Vec<Mistake>,
    variables: BTreeSet<String>,
    looks_back: bool,
    labels: Vec<(String, Range<usize>)>,
}

impl Check<'_> {
    /// Look at a node; `bound` are the names that macros around it have bound.
    fn look(&mut self, node: &IdedExpr, bound: &mut Vec<String>) {
        match &node.expr {
            Expr::Unspecified | Expr::Literal(_) => {}
            Expr::Ident(name) => self.name(name, bound),
            Expr::Select(select) => self.look(&select.operand, bound),
            Expr::Call(call) => {
                let known = self.call(&call.func_name, call.target.is_some(), &call.args);
                call.target.iter().for_each(|target| self.look(target, bound));
                let outer = bound.len();
                // What was meant for a macro binds its first word, as that would.
                if let (false, Some(_), [IdedExpr { expr: Expr::Ident(name), .. }, _]) =
                    (known, &call.target, &*call.args)
                {
                    bound.push(name.clone());
                }
                call.args.iter().for_each(|argument| self.look(argument, bound));
                bound.truncate(outer);
            }
            Expr::List(list) => list.elements.iter().for_each(|element| self.look(element, bound)),
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.look(&entry.key, bound);
                        self.look(&entry.value, bound);
                    }
                }
            }
            Expr::Struct(structure) => {
                let known = scene::variables();
                self.unknown("type", &structure.type_name, known);
            }
            Expr::Comprehension(all) => {
                self.look(&all.iter_range, bound);
                self.look(&all.accu_init, bound);
                let outer = bound.len();
                bound.extend([all.iter_var.clone(), all.accu_var.clone()]);
                bound.extend(all.iter_var2.clone());
                [&all.loop_cond, &all.loop_step, &all.result].iter().for_each(|part| self.look(part, bound));
                bound.truncate(outer);
            }
        }
    }

    fn name(&mut self, name: &str, bound: &[String]) {
        if name.starts_with('@') || bound.iter().any(|it| it == name) {
            return;
        }
        if scene::variables().contains(&name) {
            self.variables.insert(name.to_owned());
        } else {
            self.unknown("name", name, scene::variables());
        }
    }

    /// Whether there is such a function.
    fn call(&mut self, name: &str, of: bool, arguments: &[IdedExpr]) -> bool {
        let is_operator = !name.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_operator || FUNCTIONS.contains(&name) || scene::FUNCTIONS.contains(&name) {
            return true;
        }
        if !history::FUNCTIONS.contains(&name) {
            let known = [&FUNCTIONS[..], &MACROS, &scene::FUNCTIONS, &history::FUNCTIONS].concat();
            self.unknown("function", name, known);
            return false;
        }
        self.looks_back = true;
        let (asked, wrong) = match arguments {
            [IdedExpr { expr: Expr::Literal(LiteralValue::String(text)), .. }] if !of => {
                (text.inner(), history::check(name, text.inner()).err())
            }
            _ => (name, Some(format!("`{name}` takes one text in quotes"))),
        };
        if name == "began" && wrong.is_none() {
            self.labels.push((asked.to_owned(), place(self.text, asked)));
        }
        if let Some(hint) = wrong {
            let (at, what) = (place(self.text, asked), format!("wrong argument of `{name}`"));
            self.mistakes.push(Mistake { at, what, hint, unknown: None });
        }
        true
    }

    fn unknown(&mut self, what: &str, name: &str, known: Vec<&'static str>) {
        let (at, what) = (place(self.text, name), format!("unknown {what} `{name}`"));
        let hint = format!("known: {}", known.join(", "));
        self.mistakes.push(Mistake { at, what, hint, unknown: Some((name.to_owned(), known)) });
    }
}

/// Where a word stands first as a word of its own; all of the text where it does not.
pub(super) fn place(text: &str, word: &str) -> Range<usize> {
    let part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let alone = |at: &usize| !part(text[..*at].chars().next_back()) && !part(text[at + word.len()..].chars().next());
    let found = text.match_indices(word).map(|(at, _)| at).find(alone);
    found.map_or(0..text.len(), |at| at..at + word.len())
}

/// The byte at a line and column of a text, as CEL's parser counts them, to the end of the word
/// there.
fn place_of(text: &str, (line, column): (isize, isize)) -> Range<usize> {
    let line = usize::try_from(line - 1).unwrap_or(0);
    let begins: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let column = usize::try_from(column - 1).unwrap_or(0);
    let at = text[begins..].char_indices().nth(column).map_or(text.len(), |(at, _)| begins + at);
    let word = text[at..].find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len() - at).max(1);
    at..(at + word).min(text.len().max(at))
}
