//! Random numbers from a seed (SplitMix64): equal seeds give equal names, UIDs and delays.

/// A deterministic random number generator, public for test tools that need reproducible numbers
/// beside the server's.
#[derive(Debug, Clone)]
pub struct SeededRng(u64);

/// The alphabet of upstream's generated suffixes.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

impl SeededRng {
    /// Starts the sequence of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }

    /// A version 4 UUID.
    pub fn uid(&mut self) -> String {
        let (a, b) = (self.draw(), self.draw());
        let (high, mid, low) = (a >> 32, (a >> 16) & 0xffff, a & 0xfff);
        let (variant, node) = (0x8000 | ((b >> 48) & 0x3fff), b & 0xffff_ffff_ffff);
        format!("{high:08x}-{mid:04x}-4{low:03x}-{variant:04x}-{node:012x}")
    }

    /// A suffix for `generateName`.
    pub fn suffix(&mut self) -> String {
        (0..5).map(|_| char::from(LETTERS[usize::try_from(self.below(27)).expect("below 27")])).collect()
    }
}
