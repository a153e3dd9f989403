//! How fast restarts follow a change and each other, as annotations say: a delay, a group, a place
//! in its order, and how many of it may be unavailable.
//!
//! An annotation that cannot be read holds the restart back until it can, as an unreadable restart
//! window does: a restart that somebody wanted later or behind another cannot be undone.
//!
//! Cases: `config-restart/delay`, `config-restart/order`, `config-restart/one-at-a-time`,
//! `config-restart/pace-unreadable`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;

use super::checksum;
use crate::model::beginning;
use crate::model::names::restart as names;
use crate::settings::Limit;

/// Bytes of an annotation that a message quotes.
pub(super) const QUOTED: usize = 100;
/// A group with a longer name is known by its checksum: each workload keeps the name, which may
/// have 256 KiB.
const LONGEST_GROUP: usize = 253;

/// What a workload or a namespace may say of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pace {
    /// How long a restart waits after the change.
    pub delay: Option<Duration>,
    /// How many of the group may be unavailable.
    pub limit: Option<Limit>,
    /// Annotations that make no sense, and what is wrong with each.
    pub unreadable: BTreeMap<&'static str, String>,
}

/// What a workload alone may say of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Its group; `None`: that of all workloads of the namespace without one.
    pub group: Option<String>,
    /// Its place in the order; `None`: 0.
    pub order: Option<i64>,
    /// What is wrong with the annotation of the order.
    pub unreadable: Option<String>,
}

impl Pace {
    /// Reads it from annotations.
    pub(super) fn read(annotations: &BTreeMap<String, String>) -> Self {
        let mut pace = Self::default();
        let mut wrong = |name: &'static str, problem: String| drop(pace.unreadable.insert(name, problem));
        pace.delay = annotations.get(names::DELAY).and_then(|text| match text.parse::<SignedDuration>() {
            Ok(delay) if !delay.is_negative() => Some(delay.unsigned_abs()),
            _ => {
                let text = beginning(text, QUOTED);
                wrong(names::DELAY, format!("{text:?} is not a duration such as 90s or 1h30m"));
                None
            }
        });
        pace.limit = annotations.get(names::MAX_UNAVAILABLE).and_then(|text| match text.trim().parse() {
            Ok(limit) => Some(limit),
            Err(problem) => {
                wrong(names::MAX_UNAVAILABLE, problem);
                None
            }
        });
        pace
    }
}

impl Place {
    /// Reads it from annotations.
    pub(super) fn read(annotations: &BTreeMap<String, String>) -> Self {
        let order = annotations.get(names::ORDER);
        let number = order.map(|text| {
            text.trim().parse().map_err(|_| format!("{:?} is not a whole number", beginning(text, QUOTED)))
        });
        Self {
            group: annotations.get(names::GROUP).map(|group| match group.len() {
                0..=LONGEST_GROUP => group.clone(),
                _ => checksum::text(group),
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
    fn what_can_be_read_is() {
        let all = annotations(&[(names::DELAY, "1h30m"), (names::MAX_UNAVAILABLE, "25%"), (names::ORDER, "-2")]);
        let (pace, place) = (Pace::read(&all), Place::read(&all));
        assert_eq!((pace.delay, pace.limit), (Some(Duration::from_secs(5400)), Some(Limit::Percent(25))));
        assert_eq!((place.order, place.group, place.unreadable), (Some(-2), None, None));
        assert!(pace.unreadable.is_empty());
        assert_eq!(Pace::read(&annotations(&[])), Pace::default());
    }

    #[test]
    fn what_cannot_is_named() {
        let pace = |name, value| Pace::read(&annotations(&[(name, value)])).unreadable[name].clone();
        for delay in ["soon", "-1m", "", "5"] {
            let text = format!("{delay:?} is not a duration such as 90s or 1h30m");
            assert_eq!(pace(names::DELAY, delay), text);
        }
        assert!(pace(names::MAX_UNAVAILABLE, "0").contains("is not a number from 1 on"));
        let place = Place::read(&annotations(&[(names::ORDER, "1.5")]));
        assert_eq!(place.unreadable.unwrap(), "\"1.5\" is not a whole number");
    }
}
