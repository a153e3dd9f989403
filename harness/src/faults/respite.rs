//! Time at the end of a case, for a subject that has to come back from a fault.
//!
//! A config-restart controller waits out a window before it restarts anything, and one that was
//! killed waits it out anew. A case that ends sooner, as it may where nothing goes wrong, would say
//! of a slow restart that it never came.

use crate::case::Case;

/// As a case writes it: longer than any window and the time between two attempts.
const RESPITE: &str = "- advance: 2m";

/// The text of the case with some time after its last step.
pub fn respite(case: &Case) -> Option<String> {
    let last = case.steps.last()?.line;
    let lines: Vec<&str> = case.played_text().lines().collect();
    let first = lines.get(last - 1)?;
    let indent = &first[..first.len() - first.trim_start().len()];
    // The steps end where the next field of the case begins, or with the text.
    let goes_on = |line: &&str| line.is_empty() || line.starts_with([' ', '#', '-']);
    let end = last + lines.iter().skip(last).take_while(|line| goes_on(line)).count();
    let (steps, rest) = lines.split_at(end);
    let added = format!("{indent}{RESPITE}");
    Some(steps.iter().chain([&added.as_str()]).chain(rest).map(|line| format!("{line}\n")).collect())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::case::model::{Advance, Operation};
    use crate::case::parse;

    const GIVEN: &str = "description: x\ngiven:\n  - deployment: {name: web, image: x}\n";

    #[rstest]
    #[case::at_the_end("steps:\n  - scale: 3\n")]
    #[case::before_rules("steps:\n  - scale: 3\nrules:\n  finally: [\"pods.size() == 3\"]\n")]
    #[case::after_a_long_step(
        "steps:\n- scale: 4\n- patch:\n    target: deployment/web\n    patch:\n      metadata: {labels: {a: b}}\n\n# c\nnodes: [n1]\n"
    )]
    fn one_more_step_and_nothing_else_changed(#[case] text: &str) {
        let read = |text: &str| parse("a/b.yaml", "a/b", text).unwrap_or_else(|error| panic!("{error}"));
        let plain = read(&format!("{GIVEN}{text}"));
        let longer = read(&respite(&plain).unwrap());
        let (last, before) = longer.steps.split_last().unwrap();
        assert_eq!((before, &longer.rules.len()), (plain.steps.as_slice(), &plain.rules.len()));
        assert_eq!(last.operation, Operation::new(Advance::For(std::time::Duration::from_secs(120))));
    }
}
