//! FNV-1a with 32 bits, computed incrementally over text.

use std::fmt;

pub(super) struct Fnv(u32);

impl Default for Fnv {
    fn default() -> Self {
        Self(0x811c_9dc5)
    }
}

impl Fnv {
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    }

    pub(super) fn value(&self) -> u32 {
        self.0
    }
}

impl fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}
