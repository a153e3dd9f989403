//! Colours of reports. No meaning is carried by colour alone.

use anstyle::{AnsiColor, Style};
use lockstep_support::outcome::RunOutcome;

/// Adds colours if they are enabled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    colour: bool,
}

impl Paint {
    pub(super) const fn new(colour: bool) -> Self {
        Self { colour }
    }

    /// For correct text.
    pub(super) fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// For wrong text.
    pub(super) fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default(), text)
    }

    /// For a line of the expected side, with `-`, in the colour that it has in a diff of git.
    pub(super) fn minus(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default(), text)
    }

    /// For a line of the subject's side, with `+`, in the colour that it has in a diff of git.
    pub(super) fn plus(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// For uncertain text.
    pub(super) fn doubtful(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// For secondary text.
    pub(super) fn faint(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }

    /// For emphasised text.
    pub(super) fn strong(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    /// For text in the colour of an outcome.
    pub(super) fn outcome(self, outcome: RunOutcome, text: &str) -> String {
        match outcome {
            RunOutcome::Conformant => self.good(text),
            RunOutcome::NonConformant | RunOutcome::BadInput | RunOutcome::Internal | RunOutcome::Interrupted(_) => {
                self.bad(text)
            }
            RunOutcome::Inconclusive | RunOutcome::Unblessed | RunOutcome::NothingSelected => self.doubtful(text),
        }
    }

    fn with(self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}
