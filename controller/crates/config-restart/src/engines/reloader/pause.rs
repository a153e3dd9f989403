//! Pauses a Deployment at its first restart, so that the changes within a period cause one rollout.
//!
//! Only the process knows when the period ends. After it restarts, it resumes the Deployment only
//! at the next change; until then the Deployment stays paused.
//!
//! Cases: `config-restart/reloader/pause-period`, `config-restart/reloader/pause-period-and-away`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::model::reloader_facts::ReloaderFacts;
use crate::settings::ReloaderAnnotations;

/// What happens to the pause before the pod template is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PauseAction {
    /// A pause of this length begins.
    Begin(Duration),
    /// A pause that an earlier process began continues for this long.
    Continue(Duration),
    /// A pause that an earlier process began is over.
    End,
}

/// Whether this controller, or an earlier process of it, has paused the Deployment.
pub(super) fn is_paused_here(facts: &ReloaderFacts, names: &ReloaderAnnotations) -> bool {
    facts.paused && facts.annotations.get(&names.paused_at).is_some_and(|at| !at.is_empty())
}

/// What to do about the pause of a Deployment. `is_end_known` says whether this process knows when
/// the pause ends.
pub(super) fn pause_action(
    facts: &ReloaderFacts,
    is_end_known: bool,
    now: Timestamp,
    names: &ReloaderAnnotations,
) -> Result<Option<PauseAction>, String> {
    let Some(text) = facts.annotations.get(&names.pause_period) else { return Ok(None) };
    let period = period(text).ok_or_else(|| format!("annotation {} is not a period", names.pause_period))?;
    if !facts.paused {
        return Ok(Some(PauseAction::Begin(period)));
    }
    if is_end_known || !is_paused_here(facts, names) {
        return Ok(None);
    }
    let since = facts.annotations.get(&names.paused_at).and_then(|at| at.parse::<Timestamp>().ok());
    let elapsed = since.map(|since| Duration::try_from(now.duration_since(since)).unwrap_or_default());
    let left = elapsed.and_then(|elapsed| period.checked_sub(elapsed)).filter(|left| !left.is_zero());
    Ok(Some(left.map_or(PauseAction::End, PauseAction::Continue)))
}

/// Parses a duration in Go's format: `1h30m`, `500ms`. A negative one counts as zero.
fn period(text: &str) -> Option<Duration> {
    let fits = |c: char| c.is_ascii_digit() || "+-.hmsnuµ".contains(c);
    let signed = text.parse::<SignedDuration>().ok().filter(|_| text.chars().all(fits))?;
    Some(Duration::try_from(signed).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("10s", Some(10_000))]
    #[case("1h30m", Some(5_400_000))]
    #[case("500ms", Some(500))]
    #[case("1.5s", Some(1500))]
    #[case("-1s", Some(0))]
    #[case("10", None)]
    #[case("soon", None)]
    #[case("PT10S", None)]
    #[case("1 h", None)]
    fn parses_periods_like_go(#[case] text: &str, #[case] milliseconds: Option<u64>) {
        assert_eq!(period(text), milliseconds.map(Duration::from_millis));
    }
}
