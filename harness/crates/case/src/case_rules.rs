//! Reads the case's own rules, `rules: {always, never, eventually, finally}`, each a list of CEL
//! expressions, and what the case is compared with.
//!
//! Expressions are parsed here, so that a mistake is reported with its location before anything
//! runs; `crate::rules` evaluates them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::diagnostics::{DiagnosticCollector, did_you_mean};
use super::field::text;
use super::read::{self, MappingFields};
use super::yaml::{YamlKind, YamlNode};
use crate::rules::{Expectation, Rule, RuleExpression, RuleTiming};

/// As JSON schema.
pub(super) fn schema() -> Value {
    let lists: Map<String, Value> = RuleTiming::ALL
        .iter()
        .map(|when| (when.name().to_owned(), json!({"type": "array", "items": text()})))
        .collect();
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
        let names = RuleTiming::ALL.map(RuleTiming::name);
        let fields = MappingFields::of(node, "`rules`", &names, report);
        for (when, fields) in RuleTiming::ALL.into_iter().zip(fields.into_iter().cycle()) {
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
    when: RuleTiming,
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

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use rstest::rstest;

    use crate::parse;
    use crate::tests::{findings, read, text};

    /// A case with these lines after its steps.
    fn case_with(lines: &str) -> String {
        text("  - scale: 4") + lines
    }

    #[test]
    fn rules_are_read_with_their_lines() {
        let case = read(&case_with(
            "rules:\n  always: [\"pods.size() <= 4\"]\n  finally:\n    - deployment.status.readyReplicas == 4\n",
        ));
        let rules: Vec<_> = case.rules.iter().map(|rule| (rule.line, rule.to_string())).collect();
        let expected = [(8, "always: pods.size() <= 4"), (10, "finally: deployment.status.readyReplicas == 4")];
        assert_eq!(rules, expected.map(|(line, rule)| (line, rule.to_owned())));
        assert_eq!(case.expectation, crate::rules::Expectation::Timeline);
    }

    #[rstest]
    #[case::unknown_list("rules: {sometimes: []}\n", "7: unknown field `sometimes`")]
    #[case::no_list("rules: {always: pods.size() < 3}\n", "7: `always` must be a list")]
    #[case::no_text("rules: {always: [3]}\n", "7: a rule must be a string")]
    #[case::syntax("rules:\n  never:\n    - pods.size( > 3\n", "9: this is not CEL")]
    #[case::name("rules:\n  never:\n    - pod.size() > 3\n", "9: unknown name `pod`")]
    #[case::no_rules("expectation: rules\n", "7: the case has no rules")]
    #[case::word("expectation: rule\nrules: {always: [\"pods.size() < 3\"]}\n", "7: expectation cannot be `rule`")]
    fn reports_mistake_in_rule(#[case] lines: &str, #[case] expected: &str) {
        assert_eq!(findings(&case_with(lines)), [expected]);
    }

    #[test]
    fn rule_mistake_is_shown_at_its_column() {
        let error =
            parse("cases/x.yaml", "x", &case_with("rules:\n  always: [\"step == 0 || replicasets.size() < 3\"]\n"))
                .unwrap_err();
        assert_snapshot!(error.to_string(), @r#"
    error: unknown name `replicasets`
     --> cases/x.yaml:8:26
      |
    8 |   always: ["step == 0 || replicasets.size() < 3"]
      |                          ^^^^^^^^^^^ did you mean `replicaSets`?
      |
      = help: known: deployment, deployments, replicaSets, pods, statefulSets, daemonSets, jobs, cronJobs, rollouts, configMaps, secrets, posts, step, settled
    "#);
    }

    /// A case with `expectation: rules` whose only rule cannot be parsed has one problem.
    #[test]
    fn malformed_only_rule_is_one_problem() {
        let text = "description: x\ngiven:\n  - deployment: {name: web, replicas: 3, image: \"app:1\"}\nsteps:\n  - scale: 4\n\
                expectation: rules\nrules:\n  finally: [\"deployment.speck.replicas == 4\"]\n";
        let error = parse("a/b.yaml", "a/b", text).unwrap_err().to_string();
        assert!(error.starts_with("error: a Deployment has no field `speck`"), "{error}");
        assert_eq!(error.matches("error:").count(), 1, "{error}");
    }

    #[rstest]
    #[case::unknown("began('later')", &["9: no step has the label `later`"])]
    #[case::known("began('grown')", &[])]
    #[case::empty("began(' ')", &["9: wrong argument of `began`"])]
    fn rules_refer_to_steps_by_label(#[case] rule: &str, #[case] expected: &[&str]) {
        let steps = "  - scale: 4\n    label: grown";
        assert_eq!(findings(&format!("{}rules:\n  never: [\"{rule}\"]\n", text(steps))), expected);
    }
}
