//! A chart of one settled step in characters: the size of each ReplicaSet, its available pods, and
//! the bounds. It needs no colour.
//!
//! ```text
//! rs1  ████████              8 wanted, 8 available
//! rs2          ░░░░░         5 wanted, 0 available
//! web          │        ┃    13 of at most 13; 8 available, at least 8 must be
//! ```

use lockstep_verdict::series::{RolloutSeries, StepTotals};

/// An available pod.
const AVAILABLE: char = '█';
/// A pod that is ready but not yet available.
const READY: char = '▓';
/// A pod that is wanted but not ready.
const UNREADY: char = '░';
/// The most pods for which each has its own character.
const WIDEST: i64 = 48;

/// The chart of one step. `course` has all ReplicaSets of the case, so that each keeps its row.
#[must_use]
pub(crate) fn ascii_chart(course: &RolloutSeries, stop: &StepTotals) -> Vec<String> {
    let names: Vec<&str> = course.replica_sets();
    let most = stop.bounds.values().map(|allowed| allowed.bounds.most);
    let widest = stop.deployments.values().map(|total| total.desired).chain(most).chain([1]).max().unwrap_or(1);
    let column = names
        .iter()
        .copied()
        .chain(stop.deployments.keys().map(String::as_str))
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    // A status may have any number, so clamp it.
    let scale = |pods: i64| {
        let (pods, widest, most) = (i128::from(pods), i128::from(widest), i128::from(WIDEST));
        let scaled = if widest > most { (pods * most + widest - 1) / widest } else { pods };
        i64::try_from(scaled.clamp(0, 4 * most)).unwrap_or(WIDEST)
    };
    let field = usize::try_from(scale(widest)).unwrap_or(0) + 1;
    let times = |letter: char, pods: i64| letter.to_string().repeat(usize::try_from(scale(pods.max(0))).unwrap_or(0));
    let mut lines = Vec::new();
    let mut offset = 0_i64;
    for name in names {
        let Some(size) = stop.replica_sets.get(name) else { continue };
        let pods = times(AVAILABLE, size.available)
            + &times(READY, size.ready.saturating_sub(size.available))
            + &times(UNREADY, size.desired.saturating_sub(size.ready));
        let bar = format!("{}{pods}", times(' ', offset));
        offset = offset.saturating_add(size.desired);
        let ready = if size.ready == size.available { String::new() } else { format!(", {} ready", size.ready) };
        lines.push(format!(
            "{name:column$}  {bar:field$}  {} wanted{ready}, {} available",
            size.desired, size.available
        ));
    }
    for (name, total) in &stop.deployments {
        let Some(allowed) = stop.bounds.get(name) else { continue };
        let least = allowed.bounds.least;
        let mark = |at: i64, letter: char, mut bar: Vec<char>| {
            let at = usize::try_from(scale(at)).unwrap_or(0);
            bar.resize(bar.len().max(at + 1), ' ');
            bar[at] = letter;
            bar
        };
        let one = stop.deployments.len() == 1;
        let mut bar = if one { mark(allowed.bounds.most, '┃', Vec::new()) } else { Vec::new() };
        if let (Some(least), true) = (least, one) {
            bar = mark(least, '│', bar);
        }
        let bar: String = bar.into_iter().collect();
        let least = least.map_or_else(String::new, |least| format!(", at least {least} must be"));
        lines.push(format!(
            "{name:column$}  {bar:field$}  {} of at most {}; {} available{least}",
            total.desired, allowed.bounds.most, total.available
        ));
    }
    lines
}
