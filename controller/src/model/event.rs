//! Events: what a controller tells users about an object, besides its status.

/// An event about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// How bad it is.
    pub kind: EventKind,
    /// Why, in one word.
    pub reason: &'static str,
    /// What, in a sentence.
    pub message: String,
}

/// How bad an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// As it should be.
    Normal,
    /// A user should know.
    Warning,
}

impl EventKind {
    /// As the API writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}
