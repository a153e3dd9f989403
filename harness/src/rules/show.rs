//! What a rule's operands were, each as it is written in the rule: `replicaSets.map(r,
//! r.spec.replicas).sum() = 16`.
//!
//! A rule is taken apart where signs stand outside of brackets and quotes; what is left between
//! them is asked for itself.

use cel::common::ast::Expr;
use cel::{Context, Value as Cel};
use serde_json::Value;

use super::expression::{Expression, parse};

/// Signs between operands, longer ones first.
const SIGNS: [&str; 16] = ["&&", "||", "==", "!=", "<=", ">=", " in ", "<", ">", "+", "-", "*", "/", "%", "?", ":"];
/// More letters of a value than anybody reads.
const LONGEST: usize = 160;

/// The operands of a rule that are not written out, each once, with their values.
pub(super) fn values(expression: &Expression, context: &Context<'_, '_>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    operands(&expression.text, &mut found);
    let mut shown: Vec<(String, String)> = Vec::new();
    for text in found {
        let known = shown.iter().any(|(name, _)| name == text);
        let node = parse(text).ok().filter(|node| !known && !matches!(node.expr, Expr::Literal(_)));
        let Some(node) = node else { continue };
        let value = Cel::resolve(&node, context).map_or_else(|error| format!("? ({error})"), |value| print(&value));
        shown.push((text.to_owned(), value));
    }
    shown
}

/// What stands between signs, at any depth of brackets that only group.
fn operands<'t>(text: &'t str, found: &mut Vec<&'t str>) {
    let text = text.trim().trim_start_matches(['!', '-']).trim_start();
    match signs(text).as_slice() {
        [] => match inside(text) {
            Some(inner) => operands(inner, found),
            None => found.push(text),
        },
        signs => {
            let mut begins = 0;
            for (at, length) in signs {
                operands(&text[begins..*at], found);
                begins = at + length;
            }
            operands(&text[begins..], found);
        }
    }
}

/// The signs outside of brackets and quotes that have something before them, each with its length.
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

/// What brackets around all of a string hold.
fn inside(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let mut depth = 0_i32;
    let closes_early = inner.chars().any(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth < 0
    });
    (!closes_early).then_some(inner)
}

/// A value as JSON; of objects their names.
fn print(value: &Cel) -> String {
    let json = value.json().unwrap_or(Value::Null);
    let text = brief(&json).to_string();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Objects by their names.
fn brief(value: &Value) -> Value {
    match value {
        Value::Object(map) if map.contains_key("metadata") && map.contains_key("name") => map["name"].clone(),
        Value::Array(list) => list.iter().map(brief).collect(),
        other => other.clone(),
    }
}
