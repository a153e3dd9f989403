//! Colour, where asked for. Without it every report says the same in plain text: no meaning is
//! carried by colour alone.

use anstyle::{AnsiColor, Style};

use crate::outcome::Outcome;

/// Paints, or does not.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paint {
    colour: bool,
}

impl Paint {
    pub(super) const fn new(colour: bool) -> Self {
        Self { colour }
    }

    /// What was expected, and what is well.
    pub(super) fn good(self, text: &str) -> String {
        self.with(AnsiColor::Green.on_default(), text)
    }

    /// What happened instead, and what is wrong.
    pub(super) fn bad(self, text: &str) -> String {
        self.with(AnsiColor::Red.on_default(), text)
    }

    /// What is uncertain.
    pub(super) fn doubtful(self, text: &str) -> String {
        self.with(AnsiColor::Yellow.on_default(), text)
    }

    /// What stands in the second row.
    pub(super) fn faint(self, text: &str) -> String {
        self.with(Style::new().dimmed(), text)
    }

    /// What is looked at first.
    pub(super) fn strong(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    /// A word in the colour of an outcome.
    pub(super) fn outcome(self, outcome: Outcome, text: &str) -> String {
        match outcome {
            Outcome::Conformant => self.good(text),
            Outcome::NonConformant | Outcome::BadInput | Outcome::Internal | Outcome::Interrupted(_) => self.bad(text),
            Outcome::Inconclusive | Outcome::Unblessed | Outcome::NothingSelected => self.doubtful(text),
        }
    }

    fn with(self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }
}
