//! Reads the case's own rules, `rules: {always, never, eventually, finally}`, each a list of CEL
//! expressions, and what the case is compared with.
//!
//! Expressions are parsed here, so that a mistake is reported with its location before anything
//! runs; `crate::rules` evaluates them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::diagnostics::DiagnosticCollector;
use super::field::text;
use super::nearest::did_you_mean;
use super::read::{self, MappingFields};
use super::yaml::{YamlKind, YamlNode};
use crate::rules::{Expectation, Rule, RuleExpression, When};

/// As JSON schema.
pub(super) fn schema() -> Value {
    let lists: Map<String, Value> =
        When::ALL.iter().map(|when| (when.name().to_owned(), json!({"type": "array", "items": text()}))).collect();
    json!({"type": "object", "additionalProperties": false, "minProperties": 1, "properties": lists})
}

/// The labels of a case's steps, each with the number of its step; 0 for all of `given`.
fn labels(root: &YamlNode) -> BTreeMap<String, u32> {
    let steps = |list: &str| match root.get(list).map(|list| &list.kind) {
        Some(YamlKind::List(steps)) => steps.as_slice(),
        _ => &[],
    };
    let label = |step: &YamlNode| step.get("label").and_then(YamlNode::as_text).map(str::to_owned);
    let given = steps("given").iter().filter_map(label).map(|label| (label, 0));
    let steps = (1..).zip(steps("steps")).filter_map(|(number, step)| Some((label(step)?, number)));
    given.chain(steps).collect()
}

/// Reads the rules of a case and what it is compared with; `source` is the whole file.
pub(super) fn read_rules(root: &YamlNode, source: &str, report: &mut DiagnosticCollector) -> (Vec<Rule>, Expectation) {
    let present = |field: &str| root.get(field).filter(|node| !matches!(node.kind, YamlKind::Null));
    let (rules, expectation) = (present("rules"), present("expectation"));
    let labels = Arc::new(labels(root));
    let words =
        [("timeline", Expectation::Timeline), ("outcomes", Expectation::Outcomes), ("rules", Expectation::Rules)];
    let chosen = expectation.and_then(|node| read::word(node, "expectation", &words, report)).unwrap_or_default();
    // A rule that cannot be parsed has a problem of its own.
    let (mut all, mut written) = (Vec::new(), false);
    if let Some(node) = rules {
        let names = When::ALL.map(When::name);
        let fields = MappingFields::of(node, "`rules`", &names, report);
        for (when, fields) in When::ALL.into_iter().zip(fields.into_iter().cycle()) {
            let Some(list) = fields.get(when.name()) else { continue };
            let texts = read::items(list, &format!("`{}`", when.name()), report).unwrap_or_default();
            written |= !texts.is_empty();
            all.extend(texts.iter().filter_map(|text| read_rule(text, when, &labels, source, report)));
        }
    }
    if let (Expectation::Rules, false, Some(node)) = (chosen, written, expectation) {
        report.add(node, "the case has no rules", "add `rules: {finally: [\"…\"]}`");
    }
    (all, chosen)
}

fn read_rule(
    node: &YamlNode,
    when: When,
    labels: &Arc<BTreeMap<String, u32>>,
    source: &str,
    report: &mut DiagnosticCollector,
) -> Option<Rule> {
    let text = read::text(node, "a rule", report)?;
    let mistakes = match RuleExpression::read(text) {
        Ok(expression) => {
            for (label, at) in expression.labels.iter().filter(|(label, _)| !labels.contains_key(label)) {
                let hint = did_you_mean(label, labels.keys().map(String::as_str))
                    .unwrap_or_else(|| "add `label: …` beside its operation".to_owned());
                report.add_at(span_in_source(node, text, source, at), format!("no step has the label `{label}`"), hint);
            }
            return Some(Rule { when, text: text.to_owned(), line: node.line, labels: Arc::clone(labels) });
        }
        Err(mistakes) => mistakes,
    };
    for mistake in mistakes {
        let near = mistake.unknown.as_ref().and_then(|(word, known)| did_you_mean(word, known.iter().copied()));
        let hint = near.as_ref().unwrap_or(&mistake.hint);
        report.add_at(span_in_source(node, text, source, &mistake.at), mistake.message, hint);
        if near.is_some() {
            report.help(mistake.hint);
        }
    }
    None
}

/// The span of a part of a string within the file; that of the whole string if it is escaped in the
/// file.
fn span_in_source(node: &YamlNode, text: &str, source: &str, part: &Range<usize>) -> Range<usize> {
    let written = source.get(node.span.clone()).unwrap_or_default();
    match written.find(text) {
        Some(at) => {
            let begins = node.span.start + at;
            begins + part.start..begins + part.end.max(part.start)
        }
        None => node.span.clone(),
    }
}
