//! The diff that `bless` would apply to a timeline, for review.

use lockstep_timeline::Timeline;
use similar::TextDiff;

use super::paint::Paint;

/// The lines of context around a change, which include the heading of its step.
const CONTEXT_LINES: usize = 3;

/// The difference line by line, `-` for the old and `+` for the new timeline, below a line that
/// counts the changes, decisions first.
#[must_use]
pub fn bless_diff(before: Option<&Timeline>, after: &Timeline, colour: bool) -> String {
    let paint = Paint::new(colour);
    let Some(before) = before else {
        let decisions: usize = after.steps.iter().map(|step| step.decisions.len()).sum();
        return format!("  new: {} steps, {decisions} decisions", after.steps.len());
    };
    let changed = |differ: fn(&lockstep_timeline::TimelineStep, &lockstep_timeline::TimelineStep) -> bool| {
        after.steps.iter().filter(|step| before.step(step.id).is_none_or(|old| differ(old, step))).count()
    };
    let decisions = changed(|old, new| old.decisions != new.decisions);
    let rest = changed(|old, new| old.checkpoint != new.checkpoint);
    let removed = before.steps.iter().filter(|step| after.step(step.id).is_none()).count();
    let events = if before.events == after.events { "" } else { "; the events" };
    let mut out = vec![format!("  decisions at {decisions} steps, rest at {rest}, {removed} steps gone{events}")];
    let (old, new) = (before.to_string(), after.to_string());
    let diff = TextDiff::from_lines(&old, &new);
    for line in diff.unified_diff().context_radius(CONTEXT_LINES).to_string().lines() {
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
    fn changed_decision_is_counted_and_shown_at_its_step() {
        let before = Timeline::parse(THREE).unwrap();
        let after = Timeline::parse(&THREE.replace("rs1 3 -> 0", "rs1 3 -> 1")).unwrap();
        let diff = bless_diff(Some(&before), &after, false);
        assert!(diff.starts_with("  decisions at 1 steps, rest at 0, 0 steps gone\n"), "{diff}");
        assert!(
            diff.contains("\n  -        rs1 3 -> 0\n  +        rs1 3 -> 1\n")
                && diff.contains("step 1  set image=app:2"),
            "{diff}"
        );
        assert!(bless_diff(None, &after, false).starts_with("  new: 8 steps, "), "{}", bless_diff(None, &after, false));
    }
}
