//! A Deployment that is paused with its first restart, so that what changes within a period is one
//! rollout.
//!
//! When the period ends is known to the process alone: one that is started anew resumes the
//! Deployment only when the next change comes, and until then it stays paused.
//!
//! Cases: `config-restart/reloader-pause-period`, `config-restart/reloader-pause-period-and-away`.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::facts::Facts;
use crate::settings::ReloaderAnnotations;

/// What is done about a pause, before the pods' template is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// It begins, for so long.
    Begin(Duration),
    /// It was begun by a process that has ended, and goes on for so long.
    GoesOn(Duration),
    /// It was begun by a process that has ended, and is over.
    Over,
}

/// Whether a Deployment is paused by this controller.
pub(super) fn is_ours(facts: &Facts, names: &ReloaderAnnotations) -> bool {
    facts.paused && facts.annotations.get(&names.paused_at).is_some_and(|at| !at.is_empty())
}

/// What is to be done about the pause of a Deployment, which `ends` at a time that is known or not.
pub(super) fn pause(
    facts: &Facts,
    ends: bool,
    now: Timestamp,
    names: &ReloaderAnnotations,
) -> Result<Option<Pause>, String> {
    let Some(text) = facts.annotations.get(&names.pause_period) else { return Ok(None) };
    let period = period(text).ok_or_else(|| format!("annotation {} is no period", names.pause_period))?;
    if !facts.paused {
        return Ok(Some(Pause::Begin(period)));
    }
    if ends || !is_ours(facts, names) {
        return Ok(None);
    }
    let since = facts.annotations.get(&names.paused_at).and_then(|at| at.parse::<Timestamp>().ok());
    let gone = since.map(|since| Duration::try_from(now.duration_since(since)).unwrap_or_default());
    let left = gone.and_then(|gone| period.checked_sub(gone)).filter(|left| !left.is_zero());
    Ok(Some(left.map_or(Pause::Over, Pause::GoesOn)))
}

/// A period as Go writes one: `1h30m`, `500ms`. One below zero is over at once.
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
    fn periods(#[case] text: &str, #[case] milliseconds: Option<u64>) {
        assert_eq!(period(text), milliseconds.map(Duration::from_millis));
    }
}
