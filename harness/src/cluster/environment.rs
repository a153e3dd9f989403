//! What the environment says.

/// The value of a variable that is set to something; an empty one says as little as none.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
