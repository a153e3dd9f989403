//! Adds a fault to a case's text: one more line at each affected step, and no other change.

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

#[cfg(test)]
mod tests {
    use lockstep_case::parse;

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
}
