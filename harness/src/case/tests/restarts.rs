//! Cases of config restarts.

use std::time::Duration;

use rstest::rstest;

use super::super::model::{Advance, Beside, Operation};
use super::super::{RestartOptions, RestartProfile};
use super::{findings, read};

/// A case of config restarts with these lines after its steps.
fn of_restarts(fields: &str, steps: &str, rules: &str) -> String {
    let given = "given:\n  - deployment: {name: web, replicas: 3, image: \"app:1\"}\n";
    format!("description: x\ncontrollers: [config-restart]\n{fields}{given}steps:\n{steps}\n{rules}")
}

const RULES: &str = "expectation: rules\nrules: {finally: [\"restarts('deployment/web') == 1\"]}\n";

#[test]
fn a_case_of_restarts_says_how_and_when() {
    let fields = "with: {deployment: ours}\nrestart: {profile: xing, gracePeriod: 1s, budget: {restarts: 3, period: 10m}, dryRun: true}\n";
    let steps = "  - scale: 4\n    label: scaled\n  - advance: {to: 6s, since: scaled}";
    let case = read(&of_restarts(fields, steps, RULES));
    let expected = RestartOptions {
        profile: RestartProfile::Xing,
        grace: Some(Duration::from_secs(1)),
        budget: Some((3, Duration::from_secs(600))),
        dry_run: true,
        ..RestartOptions::default()
    };
    assert_eq!((case.beside, case.waits()), (Some(Beside::Ours), Duration::from_secs(6)));
    assert_eq!((case.restart, case.steps[0].label.as_deref()), (expected, Some("scaled")));
    assert_eq!(
        case.steps[1].operation,
        Operation::new(Advance::To { to: Duration::from_secs(6), since: "scaled".to_owned() })
    );
}

#[rstest]
#[case::no_rules("", "  - scale: 4", "", "1: a case of config restarts without rules")]
#[case::no_such_profile("restart: {profile: wild}\n", "  - scale: 4", RULES, "3: a profile cannot be `wild`")]
#[case::nobody_beside("with: {deployment: theirs}\n", "  - scale: 4", RULES, "3: who runs beside cannot be `theirs`")]
#[case::half_a_budget(
    "restart: {budget: {restarts: 3}}\n",
    "  - scale: 4",
    RULES,
    "3: a budget needs `restarts`, a number, and `period`"
)]
#[case::two_of_a_name(
    "",
    "  - scale: 4\n    label: a\n  - scale: 5\n    label: a",
    RULES,
    "9: the label `a` is there already"
)]
fn a_bad_case_of_restarts(#[case] fields: &str, #[case] steps: &str, #[case] rules: &str, #[case] expected: &str) {
    assert_eq!(findings(&of_restarts(fields, steps, rules)), [expected]);
}
