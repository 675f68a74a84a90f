//! The seeded random number generator behind every random choice: a run's order is reproducible from its seed.

/// xoshiro256**, seeded through SplitMix64: small, fast, and far better than shuffling needs. Not for secrets.
///
/// Source: D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators", ACM TOMS 47 (2021), and
/// G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator from a seed; the same seed gives the same sequence on every machine and in every version.
    #[must_use]
    pub fn from_seed(seed: u64) -> Self {
        let mut mixer = SplitMix(seed);
        Self {
            state: [mixer.next(), mixer.next(), mixer.next(), mixer.next()],
        }
    }

    /// A generator for one purpose of a seed (`"block 3"`), independent of the draws for other purposes.
    #[must_use]
    pub fn for_purpose(seed: u64, purpose: &str) -> Self {
        // FNV-1a (draft-eastlake-fnv) only distinguishes purposes, SplitMix64 does the mixing.
        let hash = purpose
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
        Self::from_seed(SplitMix(seed).next() ^ hash)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A uniform number in [0, 1), in steps of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A uniform integer below `limit`; 0 when `limit` is 0.
    ///
    /// Source: D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29 (2019).
    pub fn below(&mut self, limit: u64) -> u64 {
        if limit == 0 {
            return 0;
        }
        let reject_below = limit.wrapping_neg() % limit;
        loop {
            let wide = u128::from(self.bits()) * u128::from(limit);
            if wide as u64 >= reject_below {
                return (wide >> 64) as u64;
            }
        }
    }

    /// A standard normal number, by inversion.
    pub fn normal(&mut self) -> f64 {
        // Offset by half a step: p is never 0, so the result is never −∞.
        let p = ((self.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        crate::distribution::normal_quantile(p)
    }

    /// An exponential number of mean 1, by inversion: inter-arrival times of a Poisson process.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Shuffles the items, every order equally likely (Fisher–Yates, Knuth's algorithm P).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let chosen = self.below(last as u64 + 1) as usize;
            items.swap(last, chosen);
        }
    }
}

struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mixer_gives_the_published_sequence() {
        let mut mixer = SplitMix(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| mixer.next()).collect();
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821
            ]
        );
    }

    #[test]
    fn the_generator_gives_the_published_sequence() {
        let mut random = Random {
            state: [1, 2, 3, 4],
        };
        let first: Vec<u64> = (0..10).map(|_| random.bits()).collect();
        assert_eq!(
            first,
            [
                11_520,
                0,
                1_509_978_240,
                1_215_971_899_390_074_240,
                1_216_172_134_540_287_360,
                607_988_272_756_665_600,
                16_172_922_978_634_559_625,
                8_476_171_486_693_032_832,
                10_595_114_339_597_558_777,
                2_904_607_092_377_533_576
            ]
        );
    }

    #[test]
    fn every_order_of_four_is_about_equally_frequent() {
        let mut random = Random::from_seed(1);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            let mut items = [0, 1, 2, 3];
            random.shuffle(&mut items);
            *seen.entry(items).or_insert(0_u32) += 1;
        }
        assert_eq!(seen.len(), 24);
        let chi: f64 = seen
            .values()
            .map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0)
            .sum();
        // 99.9 % of a chi-square with 23 degrees of freedom.
        assert!(chi < 49.7, "chi-square {chi}");
    }

    #[test]
    fn purposes_draw_independently_and_repeatably() {
        let draw = |purpose| Random::for_purpose(7, purpose).bits();
        assert_eq!(draw("block 1"), draw("block 1"));
        assert_ne!(draw("block 1"), draw("block 2"));
        assert_ne!(Random::for_purpose(8, "block 1").bits(), draw("block 1"));
    }

    #[test]
    fn normal_and_exponential_numbers_have_their_moments() {
        let mut random = Random::from_seed(3);
        let n = 100_000;
        let normals: Vec<f64> = (0..n).map(|_| random.normal()).collect();
        let mean = normals.iter().sum::<f64>() / f64::from(n);
        let variance = normals.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        let gaps = (0..n).map(|_| random.exponential()).sum::<f64>() / f64::from(n);
        assert!(
            mean.abs() < 0.015 && (variance - 1.0).abs() < 0.02,
            "{mean} {variance}"
        );
        assert!((gaps - 1.0).abs() < 0.015, "{gaps}");
        assert_eq!(random.below(0), 0);
        assert!((0..1000).all(|_| random.below(3) < 3));
    }
}
