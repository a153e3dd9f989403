//! Numbers by chance.

use kube_apiserver_sim::Chance;

/// How long time passes at once, in seconds: less than any minReadySeconds, more than that, more
/// than any deadline.
pub(super) const TIMES: [u32; 3] = [5, 60, 700];
/// Deadlines: sooner than the second of the times, and between once and twice that.
pub(super) const DEADLINES: [u32; 2] = [35, 90];

/// A number up to `most`; smaller ones come more often.
pub(super) fn number(chance: &mut Chance, most: u64) -> u32 {
    let (one, two) = (chance.below(most + 1), chance.below(most + 1));
    u32::try_from(one.min(two)).unwrap_or(u32::MAX)
}

/// Whether the one in so many is drawn.
pub(super) fn one_in(chance: &mut Chance, many: u64) -> bool {
    chance.below(many) == 0
}

/// A place in a list of so many.
pub(super) fn index(chance: &mut Chance, length: usize) -> usize {
    let length = u64::try_from(length.max(1)).unwrap_or(u64::MAX);
    usize::try_from(chance.below(length)).unwrap_or(0)
}
