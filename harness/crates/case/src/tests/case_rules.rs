//! The rules of cases.

use insta::assert_snapshot;
use rstest::rstest;

use super::super::parse;
use super::{findings, read, text};

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
    let error = parse("cases/x.yaml", "x", &case_with("rules:\n  always: [\"step == 0 || replicasets.size() < 3\"]\n"))
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
