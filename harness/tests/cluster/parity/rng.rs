//! Random choices from a seed.

use kube_apiserver_sim::SeededRng;

/// A random number generator, as in the simulated server.
#[derive(Debug, Clone)]
pub(crate) struct Rng(SeededRng);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SeededRng::new(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.draw()
    }

    /// True with this probability in percent.
    pub(crate) fn percent(&mut self, of: u64) -> bool {
        self.next() % 100 < of
    }

    pub(crate) fn one<T: Clone>(&mut self, among: &[T]) -> T {
        let count = u64::try_from(among.len()).expect("a length fits");
        among[usize::try_from(self.next() % count).expect("below a length")].clone()
    }
}
