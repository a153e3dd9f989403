//! Draws the order of stimuli that are ready at one instant from the seed.

/// A separate sequence of random numbers, so that the order changes no names and no delays.
#[derive(Debug, Clone)]
pub(super) struct ReadyOrder(Option<kube_apiserver_sim::SeededRng>);

impl ReadyOrder {
    /// With seed 0 the first is always chosen.
    pub(super) fn new(seed: u64) -> Self {
        if seed == 0 { Self(None) } else { Self::always(seed) }
    }

    /// Draws with seed 0 too.
    pub(super) fn always(seed: u64) -> Self {
        Self(Some(kube_apiserver_sim::SeededRng::new(seed ^ 0x0b0b_b1e5_0b0b_b1e5)))
    }

    /// A number below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        let Some(chance) = &mut self.0 else { return 0 };
        usize::try_from(chance.below(limit as u64)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_repeats_its_sequence_and_seed_0_takes_the_first() {
        let draws = |seed| {
            let mut chance = ReadyOrder::new(seed);
            (0..50).map(|_| chance.below(7)).collect::<Vec<_>>()
        };
        assert_eq!(draws(0), [0; 50]);
        assert_eq!(draws(3), draws(3));
        assert_ne!(draws(3), draws(4));
        assert!((0..7).all(|number| draws(3).contains(&number)));
    }
}
