//! Why bytes cannot be decoded, or an object cannot be encoded.

/// Why bytes cannot be decoded, or an object cannot be encoded. Messages are lower-case fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtobufError(pub(crate) String);

impl std::fmt::Display for ProtobufError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProtobufError {}
