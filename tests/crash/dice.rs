//! Chance that can be repeated: a seed gives the same choices again. The machine's timing is not repeated with it.

use std::hash::{BuildHasher as _, RandomState};

/// `SplitMix64`: small, and good enough to choose by.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// One of 0..`bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let place = self.below(choices.len() as u64);
        choices[usize::try_from(place).expect("it is below a length")]
    }

    /// Dice of their own for a part of the test, so that parts do not disturb each other.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }
}

/// The seed of this run: `TOOLBATCH_SEED`, else a new one. It is printed, so that a failure can be repeated.
pub(crate) fn seed(test: &str) -> u64 {
    let seed = setting("TOOLBATCH_SEED").unwrap_or_else(|| RandomState::new().hash_one(test));
    println!("{test}: TOOLBATCH_SEED={seed}");
    seed
}

/// A number from the environment.
pub(crate) fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is {text:?}; it takes a whole number")))
}
