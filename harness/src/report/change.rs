//! What blessing a case anew would change in its timeline, for somebody who has to say yes to it.

use similar::TextDiff;

use super::paint::Paint;
use crate::timeline::Timeline;

/// Lines of a timeline that stand around a change, so that its step can be seen.
const AROUND: usize = 3;

/// The difference line by line, `-` as it was and `+` as it would be, and a line that counts:
/// decisions first, as they are what matters.
#[must_use]
pub fn change(before: Option<&Timeline>, after: &Timeline, colour: bool) -> String {
    let paint = Paint::new(colour);
    let Some(before) = before else {
        let decisions: usize = after.steps.iter().map(|step| step.decisions.len()).sum();
        return format!("  new: {} steps, {decisions} decisions", after.steps.len());
    };
    let changed = |differ: fn(&crate::timeline::Step, &crate::timeline::Step) -> bool| {
        after.steps.iter().filter(|step| before.step(step.id).is_none_or(|old| differ(old, step))).count()
    };
    let decisions = changed(|old, new| old.decisions != new.decisions);
    let rest = changed(|old, new| old.checkpoint != new.checkpoint);
    let gone = before.steps.iter().filter(|step| after.step(step.id).is_none()).count();
    let events = if before.events == after.events { "" } else { "; the events" };
    let mut out = vec![format!("  decisions at {decisions} steps, rest at {rest}, {gone} steps gone{events}")];
    let (old, new) = (before.to_string(), after.to_string());
    let diff = TextDiff::from_lines(&old, &new);
    for line in diff.unified_diff().context_radius(AROUND).to_string().lines() {
        out.push(match line.chars().next() {
            Some('-') => paint.bad(&format!("  {line}")),
            Some('+') => paint.good(&format!("  {line}")),
            Some('@') => paint.faint(&format!("  {line}")),
            _ => format!("  {line}"),
        });
    }
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: &str = include_str!("../../../cases/recreate/three.timeline");

    #[test]
    fn a_changed_decision_is_counted_and_shown_at_its_step() {
        let before = Timeline::parse(THREE).unwrap();
        let after = Timeline::parse(&THREE.replace("rs1 3 -> 0", "rs1 3 -> 1")).unwrap();
        let said = change(Some(&before), &after, false);
        assert!(said.starts_with("  decisions at 1 steps, rest at 0, 0 steps gone\n"), "{said}");
        assert!(
            said.contains("\n  -        rs1 3 -> 0\n  +        rs1 3 -> 1\n")
                && said.contains("step 1  set image=app:2"),
            "{said}"
        );
        assert!(change(None, &after, false).starts_with("  new: 8 steps, "), "{}", change(None, &after, false));
    }
}
