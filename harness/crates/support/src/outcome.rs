//! The outcome of a run: the verdict on a case, and the exit code.
//!
//! | code | outcome |
//! | --- | --- |
//! | 0 | conformant |
//! | 1 | non-conformant |
//! | 2 | inconclusive |
//! | 3 | unblessed or changed timelines |
//! | 4 | no case selected |
//! | 64 | bad usage or a bad case file |
//! | 70 | internal error |
//! | 129, 130, 143 | ended by SIGHUP, SIGINT or SIGTERM |
//! | 141 | ended because standard output was closed |
//!
//! Of several outcomes the most severe determines the code: 70, 64, 1, 2, 3. The signal that ended
//! a command takes precedence over all of them, as 128 and its number, because the remaining cases
//! are unknown. Shells report signals in the same way.

use std::fmt::{Display, Formatter};

use serde::{Deserialize, Serialize};

/// The verdict on a subject in one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// The subject did what was expected, and broke no invariant.
    Conformant,
    /// The test environment failed, which says nothing about the subject.
    Inconclusive,
    /// The subject did something else, or nothing, or broke an invariant.
    NonConformant,
}

/// How a case, or a whole run, ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunOutcome {
    /// Every case is conformant.
    Conformant,
    /// A case is non-conformant.
    NonConformant,
    /// A case is inconclusive.
    Inconclusive,
    /// A case has no golden timeline, or one that belongs to another version of the case.
    Unblessed,
    /// No case was selected, so nothing was tested.
    NothingSelected,
    /// The command line or a case file is wrong; nothing was judged.
    BadInput,
    /// A bug of the harness.
    Internal,
    /// The command was interrupted.
    Interrupted(InterruptCause),
}

/// What interrupted a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptCause {
    /// SIGHUP: the terminal was closed.
    Hangup,
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// Standard output is closed, as in `lockstep list | head -1`.
    Output,
}

impl InterruptCause {
    /// The process's exit code: 128 and the number of the signal, of SIGPIPE for a closed output.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Hangup => 129,
            Self::Interrupt => 130,
            Self::Output => 141,
            Self::Terminate => 143,
        }
    }
}

impl Display for InterruptCause {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Hangup => "SIGHUP",
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::Output => "closed standard output",
        })
    }
}

impl Verdict {
    /// The word that is printed: `conformant`, `inconclusive`, `non-conformant`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conformant => "conformant",
            Self::Inconclusive => "inconclusive",
            Self::NonConformant => "non-conformant",
        }
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Verdict> for RunOutcome {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Conformant => Self::Conformant,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::NonConformant => Self::NonConformant,
        }
    }
}

impl RunOutcome {
    /// The word that is printed: a verdict, or why there is none.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conformant => "conformant",
            Self::NonConformant => "non-conformant",
            Self::Inconclusive => "inconclusive",
            Self::Unblessed => "unblessed",
            Self::NothingSelected => "not selected",
            Self::BadInput => "bad case",
            Self::Internal => "internal error",
            Self::Interrupted(_) => "interrupted",
        }
    }

    /// The process's exit code.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Conformant => 0,
            Self::NonConformant => 1,
            Self::Inconclusive => 2,
            Self::Unblessed => 3,
            Self::NothingSelected => 4,
            Self::BadInput => 64,
            Self::Internal => 70,
            Self::Interrupted(cause) => cause.code(),
        }
    }

    /// The outcome of a single case with this exit code; `None` if no case ends with it.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Conformant),
            1 => Some(Self::NonConformant),
            2 => Some(Self::Inconclusive),
            3 => Some(Self::Unblessed),
            64 => Some(Self::BadInput),
            70 => Some(Self::Internal),
            _ => None,
        }
    }

    /// The outcome of a run with these outcomes: the most severe; `NothingSelected` if there are
    /// none.
    #[must_use]
    pub fn most_severe(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().max_by_key(|outcome| outcome.severity()).unwrap_or(Self::NothingSelected)
    }

    /// The outcome of a subject that ended this often by itself between two cases. No case shows
    /// such an end, but it is a failure.
    #[must_use]
    pub fn of_ends_between(times: usize) -> Option<Self> {
        (times > 0).then_some(Self::NonConformant)
    }

    /// Orders outcomes by severity.
    const fn severity(self) -> u8 {
        match self {
            Self::NothingSelected => 0,
            Self::Conformant => 1,
            Self::Unblessed => 2,
            Self::Inconclusive => 3,
            Self::NonConformant => 4,
            Self::BadInput => 5,
            Self::Internal => 6,
            Self::Interrupted(_) => 7,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::RunOutcome::{
        self, BadInput, Conformant, Inconclusive, Internal, Interrupted, NonConformant, NothingSelected, Unblessed,
    };
    use super::{InterruptCause, Verdict};

    #[rstest]
    #[case(&[], 4)]
    #[case(&[Conformant, Conformant], 0)]
    #[case(&[Conformant, Unblessed], 3)]
    #[case(&[Inconclusive, Unblessed, Conformant], 2)]
    #[case(&[Inconclusive, NonConformant, Unblessed], 1)]
    #[case(&[NonConformant, BadInput, Inconclusive], 64)]
    #[case(&[BadInput, Internal, NonConformant], 70)]
    #[case(&[NothingSelected, Conformant], 0)]
    #[case(&[Interrupted(InterruptCause::Interrupt), Internal, NonConformant], 130)]
    fn most_severe_outcome_wins(#[case] all: &[RunOutcome], #[case] code: u8) {
        assert_eq!(RunOutcome::most_severe(all.iter().copied()).code(), code);
        assert_eq!(RunOutcome::most_severe(all.iter().rev().copied()).code(), code);
    }

    #[test]
    fn verdict_converts_to_outcome() {
        let codes =
            [Verdict::Conformant, Verdict::NonConformant, Verdict::Inconclusive].map(|v| RunOutcome::from(v).code());
        assert_eq!(codes, [0, 1, 2]);
        for outcome in [Conformant, NonConformant, Inconclusive, Unblessed, BadInput, Internal] {
            assert_eq!(RunOutcome::from_code(outcome.code()), Some(outcome));
        }
    }
}
