//! Adds time to the end of a case, in which a subject can recover from a fault.
//!
//! A config-restart controller waits for a window before it restarts anything, and starts over if
//! it is killed. A case may end sooner when nothing fails, and would report a late restart as
//! missing.

use lockstep_case::Case;

/// As a case writes it: longer than any window plus the time between two attempts.
const RECOVERY_TIME: &str = "- advance: 2m";

/// The text of the case with some time after its last step.
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
