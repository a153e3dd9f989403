//! Steps through a recording.

use super::Inspected;

/// Where to go from a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// To the end of this step, or of the next one; without steps to the next decision.
    StepForward,
    /// To the end of the step before; without steps to the decision before.
    StepBack,
    /// To the next version.
    VersionForward,
    /// To the version before.
    VersionBack,
    /// To the first frame.
    First,
    /// To the last frame.
    Last,
    /// To the end of the first wrong step.
    Wrong,
}

impl Inspected {
    /// The frame to begin with: the end of `given`, or the first decision.
    #[must_use]
    pub fn start(&self) -> usize {
        self.frames.ends().first().copied().unwrap_or(0)
    }

    /// The frame that a move leads to; the same one where there is none.
    #[must_use]
    pub fn go(&self, from: usize, towards: Move) -> usize {
        let last = self.frames.moments.len().saturating_sub(1);
        let ends = || self.frames.ends().into_iter();
        let to = match towards {
            Move::StepForward => ends().find(|end| *end > from),
            Move::StepBack => ends().rfind(|end| *end < from),
            Move::VersionForward => Some(from + 1),
            Move::VersionBack => from.checked_sub(1),
            Move::First => Some(0),
            Move::Last => Some(last),
            Move::Wrong => ends().find(|end| {
                let moment = self.frames.moments.get(*end);
                self.wrong.is_some() && moment.map(|moment| self.frames.passage(moment).id) == self.wrong
            }),
        };
        to.unwrap_or(from).min(last)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::view::fixture::rolling;
    use super::*;

    /// Frames 0 to 5 are `given`, 6 to 8 the first step, 9 to 11 the second.
    #[rstest]
    #[case(5, Move::StepForward, 8)]
    #[case(6, Move::StepForward, 8)]
    #[case(8, Move::StepForward, 11)]
    #[case(11, Move::StepForward, 11)]
    #[case(9, Move::StepBack, 8)]
    #[case(8, Move::StepBack, 5)]
    #[case(3, Move::StepBack, 3)]
    #[case(5, Move::VersionForward, 6)]
    #[case(11, Move::VersionForward, 11)]
    #[case(6, Move::VersionBack, 5)]
    #[case(0, Move::VersionBack, 0)]
    #[case(7, Move::First, 0)]
    #[case(0, Move::Last, 11)]
    #[case(0, Move::Wrong, 8)]
    fn moves_end_at_the_first_and_at_the_last_frame(#[case] from: usize, #[case] towards: Move, #[case] to: usize) {
        let inspected = rolling();
        assert_eq!((inspected.start(), inspected.go(from, towards)), (5, to));
    }
}
