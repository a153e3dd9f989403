//! Adds to a case's text: a fault, which is one more line at each affected step; and time at the
//! end, in which a subject can recover from it. Nothing else changes.

use std::collections::BTreeMap;

use lockstep_case::Case;

use super::points::{Point, PointLocation, interruptible_steps};

/// The text of the case with this fault; `None` if the step is written in a way that leaves no
/// place for another line.
pub fn inject(case: &Case, point: &Point) -> Option<String> {
    let fault = point.fault();
    let lines: Vec<usize> = match &point.location {
        PointLocation::Write { line, .. } => vec![*line],
        PointLocation::Watch(_) => interruptible_steps(case).map(|step| step.line).collect(),
    };
    let at = lines.into_iter().map(|line| (line, fault.clone())).collect();
    Some(format!("# {point}. Written by `lockstep faults`.\n{}", with_faults(case, &at)?))
}

/// The text of the case with these faults, by the lines of their steps; `None` as for [`inject`].
pub fn with_faults(case: &Case, at: &BTreeMap<usize, String>) -> Option<String> {
    let mut text = String::new();
    for (number, line) in (1..).zip(case.runnable_source().lines()) {
        match at.get(&number) {
            Some(fault) => text += &with_fault(line, fault)?,
            None => {
                text += line;
                text.push('\n');
            }
        }
    }
    Some(text)
}

/// For example `  - scale: 3` with the fault before the operation.
fn with_fault(line: &str, fault: &str) -> Option<String> {
    let indent = line.len() - line.trim_start().len();
    let step = line.trim_start().strip_prefix('-')?;
    let gap = 1 + step.len() - step.trim_start().len();
    let step = step.trim_start();
    let dash = &line[..indent];
    match step.strip_prefix('{') {
        Some(inner) => Some(format!("{dash}- {{fault: {fault}, {inner}\n")),
        None if step.is_empty() || step.starts_with('#') => None,
        None => {
            let dash_gap = " ".repeat(gap - 1);
            Some(format!("{dash}-{dash_gap}fault: {fault}\n{dash} {dash_gap}{step}\n"))
        }
    }
}

/// As a case writes it: longer than any window plus the time between two attempts.
const RECOVERY_TIME: &str = "- advance: 2m";

/// The text of the case with some time after its last step.
///
/// A config-restart controller waits for a window before it restarts anything, and starts over if
/// it is killed. A case may end sooner when nothing fails, and would report a late restart as
/// missing.
pub fn add_recovery_time(case: &Case) -> Option<String> {
    let last = case.steps.last()?.line;
    let lines: Vec<&str> = case.runnable_source().lines().collect();
    let first = lines.get(last - 1)?;
    let indent = &first[..first.len() - first.trim_start().len()];
    // The steps end with the text, or where the next field of the case begins.
    let goes_on = |line: &&str| line.is_empty() || line.starts_with([' ', '#', '-']);
    let end = last + lines.iter().skip(last).take_while(|line| goes_on(line)).count();
    let (steps, rest) = lines.split_at(end);
    let added = format!("{indent}{RECOVERY_TIME}");
    Some(steps.iter().chain([&added.as_str()]).chain(rest).map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use lockstep_case::model::{AdvanceStep, Operation};
    use lockstep_case::parse;
    use rstest::rstest;

    use super::*;
    use crate::faults::FaultKind;

    const CASE: &str = "description: x\ngiven:\n  - deployment:\n      name: web\n      image: x\nsteps:\n  - {scale: 3}\n  -   scale: 4 # more\n";

    fn case(text: &str) -> Case {
        parse("a/b.yaml", "a/b", text).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn injected_fault_parses_and_changes_nothing_else() {
        let plain = case(CASE);
        for (line, at) in [(3, 0), (7, 1), (8, 2)] {
            let location = PointLocation::Write { line, resource: "replicasets".to_owned(), nth: 2 };
            let text = inject(&plain, &Point { kind: FaultKind::CrashAfter, location }).unwrap();
            let injected = case(&text);
            let steps = |case: &Case| case.given.iter().chain(&case.steps).cloned().collect::<Vec<_>>();
            for (index, (before, after)) in steps(&plain).iter().zip(steps(&injected)).enumerate() {
                assert_eq!(before.operation, after.operation);
                assert_eq!(after.fault.is_some(), index == at, "{text}");
            }
        }
    }

    #[test]
    fn a_watch_lags_at_every_step() {
        let point = Point { kind: FaultKind::Lag, location: PointLocation::Watch("replicasets".to_owned()) };
        let injected = case(&inject(&case(CASE), &point).unwrap());
        assert!(injected.given.iter().chain(&injected.steps).all(|step| step.fault.is_some()));
    }

    const GIVEN: &str = "description: x\ngiven:\n  - deployment: {name: web, image: x}\n";

    #[rstest]
    #[case::at_the_end("steps:\n  - scale: 3\n")]
    #[case::before_rules("steps:\n  - scale: 3\nrules:\n  finally: [\"pods.size() == 3\"]\n")]
    #[case::after_a_long_step(
        "steps:\n- scale: 4\n- patch:\n    target: deployment/web\n    patch:\n      metadata: {labels: {a: b}}\n\n# c\nnodes: [n1]\n"
    )]
    fn adds_one_step_and_changes_nothing_else(#[case] text: &str) {
        let read = |text: &str| parse("a/b.yaml", "a/b", text).unwrap_or_else(|error| panic!("{error}"));
        let plain = read(&format!("{GIVEN}{text}"));
        let longer = read(&add_recovery_time(&plain).unwrap());
        let (last, before) = longer.steps.split_last().unwrap();
        assert_eq!((before, &longer.rules.len()), (plain.steps.as_slice(), &plain.rules.len()));
        assert_eq!(last.operation, Operation::new(AdvanceStep::For(std::time::Duration::from_secs(120))));
    }
}
