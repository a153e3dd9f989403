//! The value that is written into the pod template so that its pods are replaced.

use jiff::{Timestamp, tz::TimeZone};
use ring::digest::{Context, SHA256};

use super::checksum::hex;
use super::state::Applied;

/// xing's: the time of day in Go's `Stamp` layout, UTC. It has no year, and two restarts within one
/// second are one (section 1.4).
pub(crate) fn stamp(now: Timestamp) -> String {
    now.to_zoned(TimeZone::UTC).strftime("%b %e %H:%M:%S").to_string()
}

/// Derived from what the template has now and from the data that its pods are to have: two
/// controllers that see the same, and one that writes again after a lost answer, write the same and
/// start one rollout; and it is always another one than before.
pub(crate) fn derived(before: Option<&str>, applied: &Applied) -> String {
    let mut context = Context::new(&SHA256);
    let mut add = |text: &str| {
        context.update(&text.len().to_be_bytes());
        context.update(text.as_bytes());
    };
    add(before.unwrap_or_default());
    for (name, checksum) in applied {
        add(name);
        add(checksum);
    }
    hex(context.finish().as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_gos() {
        assert_eq!(stamp("2026-03-04T05:06:07.9Z".parse().unwrap()), "Mar  4 05:06:07");
        assert_eq!(stamp("2026-11-21T15:04:05Z".parse().unwrap()), "Nov 21 15:04:05");
    }

    /// Scenario 58: two instances without election.
    #[test]
    fn the_same_data_gives_the_same_trigger_and_always_a_new_one() {
        let one: Applied = [("configmap/ns/c".to_owned(), "1".to_owned())].into();
        let two: Applied = [("configmap/ns/c".to_owned(), "2".to_owned())].into();
        let first = derived(None, &one);
        assert_eq!(first, derived(None, &one));
        assert_ne!(first, derived(None, &two));
        assert_ne!(derived(Some(&first), &one), first);
    }
}
