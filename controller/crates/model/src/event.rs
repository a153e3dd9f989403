//! Events: messages of a controller to users about an object, besides its status.

/// An event about an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its type.
    pub kind: EventKind,
    /// The reason, one word.
    pub reason: &'static str,
    /// The message, a sentence.
    pub message: String,
}

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The expected course.
    Normal,
    /// A problem that a user should know.
    Warning,
}

impl EventKind {
    /// The value in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}
