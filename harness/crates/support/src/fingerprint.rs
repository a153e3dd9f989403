//! A short identifier of a text, the same on every machine and in every build: FNV-1a, 64 bits.
//!
//! It detects accidental changes only, such as an edited case or a cluster that was created from
//! another configuration; it is not secure.

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;
/// The number of digits of a fingerprint.
pub const DIGITS: usize = 16;

/// Returns 16 hexadecimal digits in lower case.
pub fn fingerprint(bytes: impl IntoIterator<Item = u8>) -> String {
    format!("{:0DIGITS$x}", hash(bytes))
}

/// The hash as a number.
pub fn hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    /// The algorithm's published vectors.
    #[test]
    fn matches_published_vectors() {
        assert_eq!(fingerprint(*b""), "cbf29ce484222325");
        assert_eq!(fingerprint(*b"foobar"), "85944171f73967e8");
    }
}
