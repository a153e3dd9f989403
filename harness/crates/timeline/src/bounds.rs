//! The judge's own rollout arithmetic: how many pods a Deployment may have, and how many must be
//! available. It follows the API's documentation of `maxSurge` and `maxUnavailable`, and shares
//! nothing with the controller under test.

use lockstep_support::pointer::JsonPointer;
use serde_json::Value;

use super::object;

/// What a Deployment's strategy allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// All ReplicaSets together may want at most this many pods.
    pub most: i64,
    /// At least this many pods must stay available; `None` if the strategy promises nothing.
    pub least: Option<i64>,
}

impl Bounds {
    /// The bounds of a Deployment. The server's defaults are RollingUpdate, 25% and 25%.
    #[must_use]
    pub fn of(deployment: &Value) -> Self {
        let replicas = i64::from(object::replicas(deployment));
        if object::text(deployment, "/spec/strategy/type") == Some("Recreate") {
            return Self { most: replicas, least: None };
        }
        let rolling = |field: &str| deployment.at(&format!("/spec/strategy/rollingUpdate/{field}"));
        let surge = share(rolling("maxSurge"), replicas, Rounding::Up);
        let unavailable = match share(rolling("maxUnavailable"), replicas, Rounding::Down) {
            // If both were zero, no rollout could proceed.
            0 if surge == 0 => 1,
            some => some,
        };
        Self { most: replicas + surge, least: Some((replicas - unavailable).max(0)) }
    }

    /// The narrowest bounds that both of these are within.
    #[must_use]
    pub(crate) fn widen(self, other: Self) -> Self {
        let least = self.least.zip(other.least).map(|(one, another)| one.min(another));
        Self { most: self.most.max(other.most), least }
    }
}

#[derive(Clone, Copy)]
enum Rounding {
    Up,
    Down,
}

/// A number, or a percentage of the replicas.
fn share(value: Option<&Value>, replicas: i64, rounding: Rounding) -> i64 {
    // The API has 32 bits for either; a recording may have any number.
    let bounded = |number: i64| number.clamp(i32::MIN.into(), i32::MAX.into());
    let percent = match value {
        Some(Value::Number(number)) => return bounded(number.as_i64().unwrap_or(0)),
        Some(Value::String(text)) => bounded(text.strip_suffix('%').and_then(|n| n.parse().ok()).unwrap_or(0)),
        _ => 25,
    };
    match rounding {
        Rounding::Up => (replicas * percent + 99) / 100,
        Rounding::Down => replicas * percent / 100,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::Bounds;

    #[rstest]
    #[case::quarter_of_ten(10, json!("25%"), json!("25%"), 13, 8)]
    #[case::quarter_of_three(3, json!("25%"), json!("25%"), 4, 3)]
    #[case::absolute(10, json!(3), json!(2), 13, 8)]
    #[case::surge_only(3, json!(1), json!(0), 4, 3)]
    #[case::both_zero_after_rounding(3, json!("0%"), json!("25%"), 3, 2)]
    #[case::more_unavailable_than_replicas(2, json!(0), json!(5), 2, 0)]
    #[case::nothing_wanted(0, json!("25%"), json!("25%"), 0, 0)]
    fn rolling_update(
        #[case] replicas: i32,
        #[case] surge: Value,
        #[case] unavailable: Value,
        #[case] most: i64,
        #[case] least: i64,
    ) {
        let rolling = json!({"maxSurge": surge, "maxUnavailable": unavailable});
        let deployment =
            json!({"spec": {"replicas": replicas, "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}});
        assert_eq!(Bounds::of(&deployment), Bounds { most, least: Some(least) });
    }

    #[test]
    fn widened_bounds_take_wider_of_each() {
        let (high, low) = (Bounds { most: 5, least: Some(4) }, Bounds { most: 4, least: Some(2) });
        assert_eq!(high.widen(low), Bounds { most: 5, least: Some(2) });
        assert_eq!(low.widen(Bounds { least: None, ..high }), Bounds { most: 5, least: None });
    }

    #[test]
    fn recreate_promises_no_availability() {
        let deployment = json!({"spec": {"replicas": 3, "strategy": {"type": "Recreate"}}});
        assert_eq!(Bounds::of(&deployment), Bounds { most: 3, least: None });
    }
}
