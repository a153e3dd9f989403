//! Formats the operands of a rule as they are written in it, with their values: `replicaSets.map(r,
//! r.spec.replicas).sum() = 16`.
//!
//! A rule is split at operators outside of brackets and quotes; each part is evaluated on its own.

use cel::common::ast::Expr;
use cel::{Context, Value as Cel};
use serde_json::Value;

use super::expression::{RuleExpression, parse};

/// Operators between operands, longer ones first.
const SIGNS: [&str; 16] = ["&&", "||", "==", "!=", "<=", ">=", " in ", "<", ">", "+", "-", "*", "/", "%", "?", ":"];
/// The longest value that is shown, in letters.
const LONGEST: usize = 160;

/// The operands of a rule that are not literals, each once, with their values.
pub(super) fn operand_values(expression: &RuleExpression, context: &Context<'_, '_>) -> Vec<(String, String)> {
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
