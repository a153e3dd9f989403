//! Random numbers.

use kube_apimachinery::SeededRng;

/// The durations of an `advance` in seconds: less than any minReadySeconds, more than that, more
/// than any deadline.
pub(super) const TIMES: [u32; 3] = [5, 60, 700];
/// Deadlines: shorter than the second of the times, and between once and twice that.
pub(super) const DEADLINES: [u32; 2] = [35, 90];

/// A number up to `most`; smaller ones are more likely.
pub(super) fn number(chance: &mut SeededRng, most: u64) -> u32 {
    let (one, two) = (chance.below(most + 1), chance.below(most + 1));
    u32::try_from(one.min(two)).unwrap_or(u32::MAX)
}

/// True with a probability of one in `chances`.
pub(super) fn one_in(chance: &mut SeededRng, chances: u64) -> bool {
    chance.below(chances) == 0
}

/// An index into a list of this length.
pub(super) fn index(chance: &mut SeededRng, length: usize) -> usize {
    let length = u64::try_from(length.max(1)).unwrap_or(u64::MAX);
    usize::try_from(chance.below(length)).unwrap_or(0)
}
