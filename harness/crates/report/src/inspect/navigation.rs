//! Navigation through the frames of a recording.

use super::Inspection;

/// A movement from a frame to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Navigation {
    /// To the end of this step, or of the next step; without steps to the next decision.
    StepForward,
    /// To the end of the previous step; without steps to the previous decision.
    StepBack,
    /// To the next version.
    VersionForward,
    /// To the previous version.
    VersionBack,
    /// To the first frame.
    First,
    /// To the last frame.
    Last,
    /// To the end of the first wrong step.
    Wrong,
}

impl Inspection {
    /// The first frame to show: the end of `given`, or the first decision.
    #[must_use]
    pub fn start(&self) -> usize {
        self.frames.step_ends().first().copied().unwrap_or(0)
    }

    /// The frame that a movement leads to, or the same frame if there is none.
    #[must_use]
    pub fn go(&self, from: usize, towards: Navigation) -> usize {
        let last = self.frames.snapshots.len().saturating_sub(1);
        let ends = || self.frames.step_ends().into_iter();
        let to = match towards {
            Navigation::StepForward => ends().find(|end| *end > from),
            Navigation::StepBack => ends().rfind(|end| *end < from),
            Navigation::VersionForward => Some(from + 1),
            Navigation::VersionBack => from.checked_sub(1),
            Navigation::First => Some(0),
            Navigation::Last => Some(last),
            Navigation::Wrong => ends().find(|end| {
                let snapshot = self.frames.snapshots.get(*end);
                self.wrong.is_some() && snapshot.map(|snapshot| self.frames.step_of(snapshot).id) == self.wrong
            }),
        };
        to.unwrap_or(from).min(last)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::fixture::rolling;
    use super::*;

    /// Frames 0 to 5 are `given`, 6 to 8 the first step, 9 to 11 the second.
    #[rstest]
    #[case(5, Navigation::StepForward, 8)]
    #[case(6, Navigation::StepForward, 8)]
    #[case(8, Navigation::StepForward, 11)]
    #[case(11, Navigation::StepForward, 11)]
    #[case(9, Navigation::StepBack, 8)]
    #[case(8, Navigation::StepBack, 5)]
    #[case(3, Navigation::StepBack, 3)]
    #[case(5, Navigation::VersionForward, 6)]
    #[case(11, Navigation::VersionForward, 11)]
    #[case(6, Navigation::VersionBack, 5)]
    #[case(0, Navigation::VersionBack, 0)]
    #[case(7, Navigation::First, 0)]
    #[case(0, Navigation::Last, 11)]
    #[case(0, Navigation::Wrong, 8)]
    fn navigation_stops_at_first_and_last_frame(#[case] from: usize, #[case] towards: Navigation, #[case] to: usize) {
        let inspected = rolling();
        assert_eq!((inspected.start(), inspected.go(from, towards)), (5, to));
    }
}
