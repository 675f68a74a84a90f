//! Contents of records: values, keys, and the partition of a key.

use tare_kafka::batch::{EncodedRecord, RecordHeader};
use tare_kafka::send_time::SendTimestamps;
use tare_record::load::Keys;
use tare_stats::random::Random;

/// Contents of the records of one topic.
#[derive(Debug, Clone)]
pub struct Contents {
    values: Vec<EncodedRecord>,
    keys: Keys,
    stamps: Option<SendTimestamps>,
}

impl Contents {
    /// Records with these values, round-robin.
    #[must_use]
    pub fn new(
        values: &[Vec<u8>],
        headers: &[RecordHeader],
        keys: Keys,
        stamps: Option<SendTimestamps>,
    ) -> Self {
        let mut values: Vec<EncodedRecord> = values
            .iter()
            .map(|value| EncodedRecord::new(None, Some(value), headers))
            .collect();
        if values.is_empty() {
            values.push(EncodedRecord::new(None, Some(b""), headers));
        }
        Self {
            values,
            keys,
            stamps,
        }
    }

    /// The first record, which batches can repeat.
    pub(super) fn form(&self) -> EncodedRecord {
        self.values[0].clone()
    }

    /// Whether all records are equal, apart from send timestamps and serials.
    #[inline]
    pub(super) fn is_uniform(&self) -> bool {
        self.values.len() == 1 && self.keys == Keys::None
    }

    /// The send timestamp that is written to the start of the value, if any.
    #[inline]
    pub(super) fn stamp(&self, intended_ns: u64) -> Option<u64> {
        self.stamps.map(|stamps| stamps.write(intended_ns))
    }

    /// Distance from a value's start to the end of its record, and its length, in bytes.
    #[inline]
    pub(super) fn place_of(&self, value: usize) -> (usize, usize) {
        let record = &self.values[value];
        let from_end = record.bytes().len() - record.value_at();
        (from_end, record.value_bytes())
    }

    /// Bytes of a value on average.
    pub(super) fn value_bytes(&self) -> u64 {
        let sum: usize = self.values.iter().map(EncodedRecord::value_bytes).sum();
        (sum / self.values.len()) as u64
    }

    /// Bytes of a record on average, with its length and deltas.
    pub(super) fn record_bytes(&self) -> usize {
        let sum: usize = self.values.iter().map(|value| value.bytes().len()).sum();
        sum / self.values.len() + 8
    }
}

/// Selects keys and values for one worker.
#[derive(Debug)]
pub(super) struct RecordSelector {
    keys: Keys,
    random: Random,
    next_key: u64,
    step: u64,
    next_value: usize,
    zipf: Option<Zipf>,
    key: Vec<u8>,
}

impl RecordSelector {
    /// For worker `worker` of `workers`, which share the round-robin keys.
    pub fn new(keys: Keys, random: Random, (worker, workers): (u32, u32)) -> Self {
        let zipf = match keys {
            Keys::Zipf { count, exponent } => Some(Zipf::new(count, exponent)),
            _ => None,
        };
        Self {
            keys,
            random,
            next_key: u64::from(worker),
            step: u64::from(workers.max(1)),
            next_value: worker as usize,
            zipf,
            key: Vec::with_capacity(32),
        }
    }

    /// Index of the next record's value.
    #[inline]
    pub fn value(&mut self, contents: &Contents) -> usize {
        let at = self.next_value % contents.values.len();
        self.next_value = self.next_value.wrapping_add(1);
        at
    }

    /// The next record's key, with the length that precedes it in a record; `None` without keys.
    #[inline]
    pub fn key(&mut self) -> Option<&[u8]> {
        let (number, count) = match self.keys {
            Keys::None => return None,
            Keys::RoundRobin { count } => {
                let number = self.next_key % count.max(1);
                self.next_key = self.next_key.wrapping_add(self.step);
                (number, count)
            }
            Keys::Random { count } => (self.random.below(count), count),
            Keys::Zipf { count, .. } => {
                let zipf = self.zipf.as_ref();
                let number = zipf.map_or(0, |zipf| zipf.draw(&mut self.random));
                (number, count)
            }
        };
        write_key(&mut self.key, number, count);
        Some(&self.key)
    }
}

/// A key is `key-` and its index, zero-padded to the width of the last one.
#[inline]
fn write_key(out: &mut Vec<u8>, number: u64, count: u64) {
    let digits = count.saturating_sub(1).max(1).ilog10() as usize + 1;
    out.clear();
    // A zigzag varint, short enough for one byte.
    out.push(((4 + digits) << 1) as u8);
    out.extend_from_slice(b"key-");
    let start = out.len();
    out.resize(start + digits, b'0');
    let mut rest = number;
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// Parts of a record after its offset delta, for a value by its index and a key.
#[inline]
pub(super) fn parts<'a>(
    contents: &'a Contents,
    value: usize,
    key: Option<&'a [u8]>,
) -> [&'a [u8]; 2] {
    let record = &contents.values[value];
    match key {
        Some(key) => [key, record.behind_key()],
        None => [record.bytes(), &[]],
    }
}

/// Draws ranks by rejection-inversion.
///
/// Source: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions",
/// ACM TOMACS 6 (1996).
#[derive(Debug, Clone)]
struct Zipf {
    count: f64,
    exponent: f64,
    integral_first: f64,
    integral_last: f64,
    shortcut: f64,
}

impl Zipf {
    fn new(count: u64, exponent: f64) -> Self {
        let mut zipf = Self {
            count: count.max(1) as f64,
            exponent,
            integral_first: 0.0,
            integral_last: 0.0,
            shortcut: 0.0,
        };
        zipf.integral_first = zipf.integral(1.5) - 1.0;
        zipf.integral_last = zipf.integral(zipf.count + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.height(2.0));
        zipf
    }

    /// Integral of the height from 1 on.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.exponent) * log;
        let quotient = if t.abs() > 1e-8 {
            t.exp_m1() / t
        } else {
            1.0 + t / 2.0
        };
        quotient * log
    }

    fn height(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    fn inverse(&self, x: f64) -> f64 {
        let t = (x * (1.0 - self.exponent)).max(-1.0);
        let quotient = if t.abs() > 1e-8 {
            t.ln_1p() / t
        } else {
            1.0 - t / 2.0
        };
        (quotient * x).exp()
    }

    /// A rank from 0.
    fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let u = self.integral_last + random.unit() * (self.integral_first - self.integral_last);
            let x = self.inverse(u);
            let rank = (x + 0.5).floor().clamp(1.0, self.count);
            if rank - x <= self.shortcut || u >= self.integral(rank + 0.5) - self.height(rank) {
                return rank as u64 - 1;
            }
        }
    }
}

/// The hash by which Java's producer chooses a partition for a key (`Utils.murmur2`).
#[inline]
pub(super) fn murmur2(bytes: &[u8]) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = 0x9747_b28c ^ bytes.len() as u32;
    let (words, rest) = bytes.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M);
        k = (k ^ (k >> 24)).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ k;
    }
    if !rest.is_empty() {
        for (at, &byte) in rest.iter().enumerate() {
            hash ^= u32::from(byte) << (8 * at);
        }
        hash = hash.wrapping_mul(M);
    }
    hash ^= hash >> 13;
    hash = hash.wrapping_mul(M);
    hash ^ (hash >> 15)
}

#[inline]
pub(super) fn partition_of(key: &[u8], partitions: usize) -> usize {
    (murmur2(key) & 0x7fff_ffff) as usize % partitions.max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_hash_as_in_java() {
        // From Kafka's UtilsTest.testMurmur2.
        for (key, hash) in [
            (&b"21"[..], -973_932_308),
            (b"foobar", -790_332_482),
            (b"a-little-bit-long-string", -985_981_536),
            (b"a-little-bit-longer-string", -1_486_304_829),
            (
                b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8",
                -58_897_971,
            ),
            (b"abc", 479_470_107),
        ] {
            assert_eq!(murmur2(key) as i32, hash, "{key:?}");
        }
    }

    fn numbers(keys: Keys, draws: usize) -> Vec<usize> {
        let mut selector = RecordSelector::new(keys, Random::from_seed(3), (1, 2));
        let mut counts = vec![0; 1000];
        for _ in 0..draws {
            let key = selector.key().unwrap();
            assert_eq!(usize::from(key[0]) / 2, key.len() - 1);
            let digits = std::str::from_utf8(&key[5..]).unwrap();
            assert_eq!(digits.len(), 3);
            counts[digits.parse::<usize>().unwrap()] += 1;
        }
        counts
    }

    #[test]
    fn keys_come_in_turn_at_random_and_by_a_power() {
        let count = 1000;
        let turns = numbers(Keys::RoundRobin { count }, 1500);
        assert!(
            turns.iter().skip(1).step_by(2).all(|&n| n == 3),
            "worker 1 of 2"
        );
        assert!(turns.iter().step_by(2).all(|&n| n == 0));
        let random = numbers(Keys::Random { count }, 100_000);
        assert!(random.iter().all(|&n| (40..180).contains(&n)));
        for exponent in [0.7, 1.0, 1.3] {
            let zipf = numbers(Keys::Zipf { count, exponent }, 200_000);
            let sum: f64 = (1..=1000).map(|rank| f64::from(rank).powf(-exponent)).sum();
            for rank in [0_usize, 1, 9, 99] {
                let expected = 200_000.0 * ((rank + 1) as f64).powf(-exponent) / sum;
                let found = zipf[rank] as f64;
                let off = (found - expected).abs();
                assert!(
                    off < 6.0 * expected.sqrt(),
                    "{exponent} {rank}: {found}, not {expected}"
                );
            }
        }
        assert!(
            RecordSelector::new(Keys::None, Random::from_seed(1), (0, 1))
                .key()
                .is_none()
        );
    }
}
