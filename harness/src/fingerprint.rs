//! A short name for a text, the same on every machine and in every build: FNV-1a, 64 bits.
//!
//! It guards against forgetting, not against malice: an edited case, a cluster that was made from
//! another configuration.

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;
/// How many digits a fingerprint has.
pub(crate) const DIGITS: usize = 16;

/// Sixteen hexadecimal digits in lower case.
pub(crate) fn fingerprint(bytes: impl IntoIterator<Item = u8>) -> String {
    format!("{:0DIGITS$x}", number(bytes))
}

/// The same as a number.
pub(crate) fn number(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    /// From the algorithm's own published vectors.
    #[test]
    fn known_vectors() {
        assert_eq!(fingerprint(*b""), "cbf29ce484222325");
        assert_eq!(fingerprint(*b"foobar"), "85944171f73967e8");
    }
}
