//! Cases of config restarts.

use std::time::Duration;

use rstest::rstest;

use super::super::model::{AdvanceStep, CompanionController, Operation};
use super::super::{CaseError, RestartOptions, RestartProfile, find, load, load_one, parse};
use super::{findings, read};
use crate::file::parse_all;

/// A case of config restarts with these fields before, and these rules after, its steps.
fn of_restarts(fields: &str, steps: &str, rules: &str) -> String {
    let given = "given:\n  - deployment: {name: web, replicas: 3, image: \"app:1\"}\n";
    format!("description: x\ncontrollers: [config-restart]\n{fields}{given}steps:\n{steps}\n{rules}")
}

const RULES: &str = "expectation: rules\nrules: {finally: [\"restarts('deployment/web') == 1\"]}\n";

#[test]
fn reads_restart_options_and_labelled_advance() {
    let fields = "with: {deployment: ours}\nrestart: {profile: xing, gracePeriod: 1s, budget: {restarts: 3, period: 10m}, dryRun: true}\n";
    let steps = "  - scale: 4\n    label: scaled\n  - advance: {to: 6s, since: scaled}";
    let case = read(&of_restarts(fields, steps, RULES));
    let expected = RestartOptions {
        profile: RestartProfile::Xing,
        grace_period: Some(Duration::from_secs(1)),
        budget: Some((3, Duration::from_secs(600))),
        dry_run: true,
        ..RestartOptions::default()
    };
    assert_eq!((case.companion, case.total_advance()), (Some(CompanionController::Ours), Duration::from_secs(6)));
    assert_eq!((case.restart, case.steps[0].label.as_deref()), (expected, Some("scaled")));
    assert_eq!(
        case.steps[1].operation,
        Operation::new(AdvanceStep::Until { to: Duration::from_secs(6), since: "scaled".to_owned() })
    );
}

#[rstest]
#[case::no_rules("", "  - scale: 4", "", "1: a case of config restarts without rules")]
#[case::no_such_profile("restart: {profile: wild}\n", "  - scale: 4", RULES, "3: a profile cannot be `wild`")]
#[case::unknown_companion(
    "with: {deployment: theirs}\n",
    "  - scale: 4",
    RULES,
    "3: who runs beside cannot be `theirs`"
)]
#[case::webhook_of_another_profile(
    "restart: {profile: safe, webhook: instead}\n",
    "  - scale: 4",
    RULES,
    "3: profile `safe` has no webhook `instead`"
)]
#[case::webhook_of_no_profile(
    "restart: {profiles: [safe, xing], webhook: raw}\n",
    "  - scale: 4",
    RULES,
    "3: profile `xing` has no webhook `raw`"
)]
#[case::half_a_budget(
    "restart: {budget: {restarts: 3}}\n",
    "  - scale: 4",
    RULES,
    "3: a budget needs `restarts`, a number, and `period`"
)]
#[case::duplicate_label("", "  - scale: 4\n    label: a\n  - scale: 5\n    label: a", RULES, "9: duplicate label `a`")]
fn reports_mistake_in_case_of_restarts(
    #[case] fields: &str,
    #[case] steps: &str,
    #[case] rules: &str,
    #[case] expected: &str,
) {
    assert_eq!(findings(&of_restarts(fields, steps, rules)), [expected]);
}

#[test]
fn file_has_one_case_for_each_profile() {
    let text = of_restarts("restart: {profiles: [safe, xing], gracePeriod: 1s}\n", "  - scale: 4", RULES);
    let cases = parse_all("cases/a/x.yaml", "a/x", &text).unwrap();
    let named = cases.iter().map(|case| (case.name.as_str(), case.argument()));
    let expected = [("a/x@safe", "cases/a/x.yaml@safe"), ("a/x@xing", "cases/a/x.yaml@xing")];
    assert_eq!(named.collect::<Vec<_>>(), expected.map(|(name, argument)| (name, argument.to_owned())));
    let profiles = cases.iter().map(|case| (case.restart.profile, case.restart.grace_period));
    let grace = Some(Duration::from_secs(1));
    assert_eq!(profiles.collect::<Vec<_>>(), [(RestartProfile::Safe, grace), (RestartProfile::Xing, grace)]);
    // A recording has the case's text without the profile.
    assert_eq!(parse("cases/a/x.yaml", "a/x@xing", &text).unwrap(), cases[1]);
    let error = parse("cases/a/x.yaml", "a/x", &text).unwrap_err().to_string();
    assert_eq!(
        error,
        "cases/a/x.yaml holds one case for each restart profile (safe, xing); name one, such as cases/a/x.yaml@safe"
    );
}

#[test]
fn path_selects_file_or_one_case() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, restart: &str| std::fs::write(path(name), of_restarts(restart, "  - scale: 4", RULES));
    write("both.yaml", "restart: {profiles: [safe, xing]}\n").unwrap();
    write("one.yaml", "restart: {profile: xing}\n").unwrap();
    let names = |named: &[&str]| -> Result<Vec<String>, CaseError> {
        let files = find(&named.iter().map(|name| path(name)).collect::<Vec<_>>())?;
        let cases = files.iter().map(|file| load(file)).collect::<Result<Vec<_>, _>>()?;
        Ok(cases.into_iter().flatten().map(|case| case.name.rsplit('/').next().unwrap().to_owned()).collect())
    };
    assert_eq!(names(&[""]).unwrap(), ["both@safe", "both@xing", "one"]);
    assert_eq!(names(&["both.yaml@xing"]).unwrap(), ["both@xing"]);
    assert_eq!(names(&["both.yaml@xing", "both.yaml"]).unwrap(), ["both@safe", "both@xing"]);
    assert_eq!(names(&["one.yaml@xing"]).unwrap(), ["one"]);
    assert!(matches!(names(&["one.yaml@safe"]), Err(CaseError::NoProfile { .. })));
    assert!(matches!(names(&["both.yaml@other"]), Err(CaseError::Missing(_))));
    assert!(matches!(load_one(&path("both.yaml")), Err(CaseError::SeveralCases { .. })));
}
