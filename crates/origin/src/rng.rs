//! A seeded random number generator: the same seed gives the same behaviours.

/// SplitMix64 (Steele, Lea, Flood 2014): small, fast, and good enough to draw delays.
#[derive(Debug, Clone)]
pub(crate) struct Rng {
    state: u64,
}

impl Rng {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self {
            state: seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95),
        }
    }

    /// Uniform in [0, 1), 53 bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit in an f64 exactly")]
    pub(crate) fn uniform(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with the given probability; draws nothing when the answer is certain.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        probability >= 1.0 || self.uniform() < probability
    }
}
