//! Bounds that are a number or a share: `3`, `"25%"`.

use serde::Deserialize;

use super::ModelError;

/// A whole number, or a percentage of another.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum IntOrPercent {
    /// A number of pods.
    Int(i32),
    /// Text; only whole percentages such as `25%` mean something.
    Text(String),
}

/// Which way a fraction of a pod goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// To the next larger number: maxSurge.
    Up,
    /// To the next smaller number: maxUnavailable.
    Down,
}

impl IntOrPercent {
    /// The number of pods out of `total` (upstream: `GetScaledValueFromIntOrPercent`, floating
    /// point and all).
    pub fn of(&self, total: i32, round: Round) -> Result<i32, ModelError> {
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
            Round::Up => share.ceil(),
            Round::Down => share.floor(),
        };
        Ok(whole as i64 as i32)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("25%", 10, Round::Up, Some(3))]
    #[case("25%", 10, Round::Down, Some(2))]
    #[case("100%", 7, Round::Down, Some(7))]
    #[case("39%", 10, Round::Up, Some(4))]
    #[case("39%", 10, Round::Down, Some(3))]
    #[case("0%", 10, Round::Up, Some(0))]
    #[case("25", 10, Round::Up, None)]
    #[case("x%", 10, Round::Up, None)]
    fn shares(#[case] text: &str, #[case] total: i32, #[case] round: Round, #[case] wanted: Option<i32>) {
        assert_eq!(IntOrPercent::Text(text.to_owned()).of(total, round).ok(), wanted);
    }
}
