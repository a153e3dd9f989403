//! The annotations that pace restarts: the delay after a change, the group, the order within the
//! group, and how many workloads of the group may be unavailable.
//!
//! While such an annotation cannot be read, the workload does not restart. An unreadable restart
//! window has the same effect. The reason: a restart that a user wanted later, or after another
//! one, cannot be undone.
//!
//! Cases: `config-restart/safe/delay`, `config-restart/safe/order`,
//! `config-restart/safe/one-at-a-time`, `config-restart/safe/pace-unreadable`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use rollout_model::beginning;
use rollout_model::names::restart as names;

use crate::model::checksum;
use crate::names::MAX_QUOTED_BYTES;
use crate::settings::Limit;

/// A longer group name is replaced by its checksum, because each workload stores the name and an
/// annotation may have 256 KiB.
const MAX_GROUP_BYTES: usize = 253;

/// Pacing annotations that workloads and namespaces may have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PacingAnnotations {
    /// How long a restart waits after the change.
    pub delay: Option<Duration>,
    /// How many workloads of the group may be unavailable.
    pub limit: Option<Limit>,
    /// The annotations that cannot be read, with the problem of each.
    pub unreadable: BTreeMap<&'static str, String>,
}

/// Group annotations, which only workloads may have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupMembership {
    /// The group's name. Workloads without one form a group per namespace.
    pub group: Option<String>,
    /// The order within the group; `None` counts as 0.
    pub order: Option<i64>,
    /// Why the order cannot be read.
    pub unreadable: Option<String>,
}

impl PacingAnnotations {
    pub(crate) fn read(annotations: &BTreeMap<String, String>) -> Self {
        let mut pacing = Self::default();
        let mut report = |name: &'static str, problem: String| drop(pacing.unreadable.insert(name, problem));
        pacing.delay = annotations.get(names::DELAY).and_then(|text| match text.parse::<SignedDuration>() {
            Ok(delay) if !delay.is_negative() => Some(delay.unsigned_abs()),
            _ => {
                let text = beginning(text, MAX_QUOTED_BYTES);
                report(names::DELAY, format!("{text:?} is not a duration such as 90s or 1h30m"));
                None
            }
        });
        pacing.limit = annotations.get(names::MAX_UNAVAILABLE).and_then(|text| match text.trim().parse() {
            Ok(limit) => Some(limit),
            Err(problem) => {
                report(names::MAX_UNAVAILABLE, problem);
                None
            }
        });
        pacing
    }
}

impl GroupMembership {
    pub(crate) fn read(annotations: &BTreeMap<String, String>) -> Self {
        let order = annotations.get(names::ORDER);
        let number = order.map(|text| {
            text.trim().parse().map_err(|_| format!("{:?} is not a whole number", beginning(text, MAX_QUOTED_BYTES)))
        });
        Self {
            group: annotations.get(names::GROUP).map(|group| match group.len() {
                0..=MAX_GROUP_BYTES => group.clone(),
                _ => checksum::text_checksum(group),
            }),
            order: number.as_ref().and_then(|number| number.as_ref().ok().copied()),
            unreadable: number.and_then(Result::err),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(of: &[(&str, &str)]) -> BTreeMap<String, String> {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn reads_valid_annotations() {
        let all = annotations(&[(names::DELAY, "1h30m"), (names::MAX_UNAVAILABLE, "25%"), (names::ORDER, "-2")]);
        let (pacing, membership) = (PacingAnnotations::read(&all), GroupMembership::read(&all));
        assert_eq!((pacing.delay, pacing.limit), (Some(Duration::from_secs(5400)), Some(Limit::Percent(25))));
        assert_eq!((membership.order, membership.group, membership.unreadable), (Some(-2), None, None));
        assert!(pacing.unreadable.is_empty());
        assert_eq!(PacingAnnotations::read(&annotations(&[])), PacingAnnotations::default());
    }

    #[test]
    fn reports_annotations_that_cannot_be_read() {
        let pacing = |name, value| PacingAnnotations::read(&annotations(&[(name, value)])).unreadable[name].clone();
        for delay in ["soon", "-1m", "", "5"] {
            let text = format!("{delay:?} is not a duration such as 90s or 1h30m");
            assert_eq!(pacing(names::DELAY, delay), text);
        }
        assert!(pacing(names::MAX_UNAVAILABLE, "0").contains("is not a number from 1 on"));
        let membership = GroupMembership::read(&annotations(&[(names::ORDER, "1.5")]));
        assert_eq!(membership.unreadable.unwrap(), "\"1.5\" is not a whole number");
    }
}
