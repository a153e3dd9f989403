//! IntOrString: bounds that are a number of pods or a percentage, `3` or `"25%"` (`maxSurge` is
//! rounded up, `maxUnavailable` is rounded down).

use serde::Deserialize;

use super::ModelError;

/// An integer, or a percentage of a total.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum IntOrPercent {
    /// A number of pods.
    Int(i32),
    /// Text; only integer percentages such as `25%` are valid.
    Text(String),
}

/// How a fraction of a pod is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundingDirection {
    /// To the next larger integer: `maxSurge`.
    Up,
    /// To the next smaller integer: `maxUnavailable`.
    Down,
}

impl IntOrPercent {
    /// The number of pods out of `total` (upstream: `GetScaledValueFromIntOrPercent`, with the same
    /// floating point operations).
    pub fn scaled_value(&self, total: i32, round: RoundingDirection) -> Result<i32, ModelError> {
        let text = match self {
            Self::Int(number) => return Ok(*number),
            Self::Text(text) => text,
        };
        let percent: i64 = text
            .strip_suffix('%')
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| ModelError::Bound(text.clone()))?;
        let share = percent as f64 * f64::from(total) / 100.0;
        let whole = match round {
            RoundingDirection::Up => share.ceil(),
            RoundingDirection::Down => share.floor(),
        };
        Ok(whole as i64 as i32)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("25%", 10, RoundingDirection::Up, Some(3))]
    #[case("25%", 10, RoundingDirection::Down, Some(2))]
    #[case("100%", 7, RoundingDirection::Down, Some(7))]
    #[case("39%", 10, RoundingDirection::Up, Some(4))]
    #[case("39%", 10, RoundingDirection::Down, Some(3))]
    #[case("0%", 10, RoundingDirection::Up, Some(0))]
    #[case("25", 10, RoundingDirection::Up, None)]
    #[case("x%", 10, RoundingDirection::Up, None)]
    fn percentages_are_rounded_in_the_given_direction(
        #[case] text: &str,
        #[case] total: i32,
        #[case] round: RoundingDirection,
        #[case] expected: Option<i32>,
    ) {
        assert_eq!(IntOrPercent::Text(text.to_owned()).scaled_value(total, round).ok(), expected);
    }
}
