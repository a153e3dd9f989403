//! Random choices from a seed.

/// SplitMix64.
#[derive(Debug, Clone)]
pub(crate) struct Lots(u64);

impl Lots {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// True so many times of a hundred.
    pub(crate) fn percent(&mut self, of: u64) -> bool {
        self.next() % 100 < of
    }

    pub(crate) fn one<T: Clone>(&mut self, among: &[T]) -> T {
        let count = u64::try_from(among.len()).expect("a length fits");
        among[usize::try_from(self.next() % count).expect("below a length")].clone()
    }
}
