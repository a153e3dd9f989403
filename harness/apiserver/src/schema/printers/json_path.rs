//! JSON paths of the columns of a definition: fields, wildcards, indices, slices and filters.
//! Recursive descent, unions and ranges are not parsed: their columns are empty.
//!
//! Upstream: `client-go/util/jsonpath`.

use std::cmp::Ordering;

use serde_json::Value;

#[derive(Debug, Clone)]
pub(crate) struct JsonPath(Vec<PathStep>);

#[derive(Debug, Clone)]
enum PathStep {
    Field(String),
    Wildcard,
    /// The start, the end and the step of a slice; an index has neither end nor step.
    Slice(Option<i64>, SliceEnd, usize),
    /// The items of a list in which a path finds a value, or that fit a comparison.
    Filter(JsonPath, Option<(String, Operand)>),
}

#[derive(Debug, Clone, Copy)]
enum SliceEnd {
    AfterStart,
    At(i64),
    OfList,
}

#[derive(Debug, Clone)]
enum Operand {
    Literal(Value),
    Path(JsonPath),
}

impl JsonPath {
    /// Parses a path without braces.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let after = &rest[first.len_utf8()..];
            rest = match first {
                _ if rest.starts_with("..") => return None,
                '@' | '$' | ' ' => after,
                '[' if after.starts_with("?(") => {
                    let (inside, after) = split_filter(&after[2..])?;
                    steps.push(Self::parse_filter(inside)?);
                    after
                }
                '[' => {
                    let (inside, after) = after.split_once(']')?;
                    match inside.strip_prefix('\'').and_then(|inside| inside.strip_suffix('\'')) {
                        Some(key) => steps.extend(Self::parse(&format!(".{key}"))?.0),
                        None => steps.push(parse_slice(inside)?),
                    }
                    after
                }
                '.' => {
                    let end = field_end(after);
                    steps.push(match &after[..end] {
                        "*" => PathStep::Wildcard,
                        name => PathStep::Field(name.replace('\\', "")),
                    });
                    &after[end..]
                }
                _ => return None,
            };
        }
        Some(Self(steps))
    }

    /// Parses a filter such as `@.type=="Ready"`.
    fn parse_filter(text: &str) -> Option<PathStep> {
        const OPERATORS: [char; 4] = ['!', '<', '>', '='];
        let Some(start) = text.find(OPERATORS).filter(|start| *start > 0) else {
            return Some(PathStep::Filter(Self::parse(text)?, None));
        };
        let (left, right) = text.split_at(start);
        let operand = right.trim_start_matches(OPERATORS);
        let operator = &right[..right.len() - operand.len()];
        let operand = operand.trim();
        let quoted = |quote: char| operand.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
        let operand = match (quoted('"').or_else(|| quoted('\'')), serde_json::from_str(operand)) {
            (Some(text), _) => Operand::Literal(text.into()),
            (None, Ok(literal @ (Value::Bool(_) | Value::Number(_)))) => Operand::Literal(literal),
            (None, _) => Operand::Path(Self::parse(operand)?),
        };
        Some(PathStep::Filter(Self::parse(left)?, Some((operator.to_owned(), operand))))
    }

    /// The values on the path; `None` if it does not fit the object.
    pub(crate) fn find<'a>(&self, object: &'a Value) -> Option<Vec<&'a Value>> {
        self.0.iter().try_fold(vec![object], |found, step| {
            let mut next = Vec::new();
            for value in found {
                next.extend(step.apply(value)?);
            }
            Some(next)
        })
    }
}

impl PathStep {
    /// The values to which the step leads from a value. Upstream: `walk`.
    fn apply<'a>(&self, value: &'a Value) -> Option<Vec<&'a Value>> {
        Some(match (self, value) {
            (Self::Field(name), value) => value.get(name).into_iter().collect(),
            (Self::Wildcard, Value::Object(fields)) => fields.values().collect(),
            (Self::Wildcard, Value::Array(items)) => items.iter().collect(),
            (Self::Wildcard, _) | (Self::Slice(..), Value::Null) => Vec::new(),
            (Self::Slice(start, end, step), Value::Array(items)) => {
                let length = i64::try_from(items.len()).ok()?;
                let from_end = |index: i64| if index < 0 { index + length } else { index };
                let start = start.unwrap_or(0);
                let end = match *end {
                    SliceEnd::AfterStart if start == -1 => length,
                    SliceEnd::AfterStart => from_end(start + 1),
                    SliceEnd::At(end) => from_end(end),
                    SliceEnd::OfList => length,
                };
                let start = from_end(start);
                if start == end {
                    return Some(Vec::new());
                }
                let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
                items.get(range)?.iter().step_by(*step).collect()
            }
            (Self::Filter(path, comparison), Value::Array(items)) => {
                let mut kept = Vec::new();
                for item in items {
                    let found = path.find(item);
                    let fits = match comparison {
                        None => found.is_some_and(|found| !found.is_empty()),
                        Some((operator, operand)) => compare_found(&found?, operator, operand, item)?,
                    };
                    kept.extend(fits.then_some(item));
                }
                kept
            }
            (Self::Slice(..) | Self::Filter(..), _) => return None,
        })
    }
}

/// Whether what a filter finds in an item fits its operand; `None` if they cannot be compared.
fn compare_found(found: &[&Value], operator: &str, operand: &Operand, item: &Value) -> Option<bool> {
    let operands = match operand {
        Operand::Literal(value) => vec![value],
        Operand::Path(path) => path.find(item)?,
    };
    match (found, operands.as_slice()) {
        ([], _) | ([_], []) => Some(false),
        ([left], [right]) => compare(left, operator, right),
        _ => None,
    }
}

/// Compares values of one kind. Upstream: `third_party/forked/golang/template`.
fn compare(left: &Value, operator: &str, right: &Value) -> Option<bool> {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) if matches!(operator, "==" | "!=") => left.cmp(right),
        (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => {
            left.as_f64()?.partial_cmp(&right.as_f64()?)?
        }
        _ => return None,
    };
    match operator {
        "==" => Some(order == Ordering::Equal),
        "!=" => Some(order != Ordering::Equal),
        "<" => Some(order == Ordering::Less),
        "<=" => Some(order != Ordering::Greater),
        ">" => Some(order == Ordering::Greater),
        ">=" => Some(order != Ordering::Less),
        _ => None,
    }
}

/// Splits a filter from what follows its `)]`, which may also be in its quoted text.
fn split_filter(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (letter, quote) {
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open && !text[..at].ends_with('\\') => quote = None,
            (')', None) => return Some((&text[..at], text[at + 1..].strip_prefix(']')?)),
            _ => {}
        }
    }
    None
}

/// Parses what is in brackets: an index, a slice or `*`.
fn parse_slice(text: &str) -> Option<PathStep> {
    let text = if text == "*" { ":" } else { text };
    let parts: Vec<&str> = text.split(':').collect();
    let number = |part: &str| if part.is_empty() { Some(None) } else { part.parse::<i64>().ok().map(Some) };
    let start = number(parts[0])?;
    let end = match parts.get(1) {
        None => {
            start?;
            SliceEnd::AfterStart
        }
        Some(part) => number(part)?.map_or(SliceEnd::OfList, SliceEnd::At),
    };
    let step = match parts.get(2) {
        None => 1,
        Some(part) => usize::try_from(number(part)?.unwrap_or(1)).ok().filter(|step| *step > 0)?,
    };
    (parts.len() <= 3).then_some(PathStep::Slice(start, end, step))
}

/// The length of a field name, which ends at a character that is not escaped.
fn field_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        if !escaped && matches!(letter, ' ' | '\t' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}') {
            return at;
        }
        escaped = letter == '\\' && !escaped;
    }
    text.len()
}
