//! Histograms of a worker in a fixed hash table from (second, series, bucket) to a count; recording does not allocate.
//!
//! Buckets are those of an HdrHistogram with three digits from 1 ns: a histogram filled from the table equals one filled
//! directly. One table serves all requests, outcomes and seconds, however late a response is, at one probe per observation.

/// log2 of the number of slots.
const SLOTS_BITS: u32 = 15;
const SLOTS: usize = 1 << SLOTS_BITS;
const LINES_BITS: u32 = SLOTS_BITS - TOGETHER_BITS;

/// A table with more filled slots should be replaced: probes grow long.
const FILLED_MAX: usize = SLOTS / 8 * 5;

/// Largest value, an hour; the default of [`tare_stats::Range`].
pub const HIGHEST_NS: u64 = 3_600_000_000_000;

/// Quantity of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Quantity {
    /// `arrived − released`, where `arrived − intended` is in the same bucket; the aggregator adds that, so that a punctual start
    /// costs one observation.
    Latency = 0,
    /// `arrived − sent`.
    Service = 1,
    /// `released − intended`.
    Lateness = 2,
    /// `seen − arrived`.
    Lag = 3,
    /// `sent − released`; the class is the number of the cause.
    Wait = 4,
    /// Of a connection: the TCP connect time; the class marks attempts begun before the window.
    Connect = 5,
    /// Of a connection: the TLS handshake; class as in [`Quantity::Connect`].
    Handshake = 6,
    /// First byte of a response − `sent`, only for responses read in several pieces. For the others it equals `service`, and the
    /// aggregator adds it.
    FirstByte = 7,
    /// `service` of a response read in several pieces.
    ServiceMultiRead = 8,
    /// Of a record: from its intended send time to its arrival.
    EndToEnd = 9,
    /// Of a record: from its timestamp to its arrival.
    Age = 10,
    /// `arrived − released`, where `arrived − intended` is in another bucket.
    LatencyOnly = 11,
    /// `arrived − intended`, where it is not that of [`Quantity::Latency`].
    Response = 12,
}

impl Quantity {
    const ALL: [Quantity; 13] = [
        Quantity::Latency,
        Quantity::Service,
        Quantity::Lateness,
        Quantity::Lag,
        Quantity::Wait,
        Quantity::Connect,
        Quantity::Handshake,
        Quantity::FirstByte,
        Quantity::ServiceMultiRead,
        Quantity::EndToEnd,
        Quantity::Age,
        Quantity::LatencyOnly,
        Quantity::Response,
    ];
}

/// Whether an exchange counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Intended before the window.
    WarmUp,
    /// Intended within it.
    Window,
}

impl Phase {
    /// By whether the exchange is of the window.
    #[inline]
    #[must_use]
    pub fn of(in_window: bool) -> Self {
        match in_window {
            true => Phase::Window,
            false => Phase::WarmUp,
        }
    }
}

/// Key of a count without its bucket. Ordered by second first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// Second of the intended start, from the start of the warm-up.
    pub second: u32,
    /// Warm-up or window.
    pub phase: Phase,
    pub request: u16,
    /// Number of the outcome class; 0 is correct.
    pub class: u8,
    /// What was observed.
    pub quantity: Quantity,
}

const REQUEST_BITS: u32 = 12;
const CLASS_BITS: u32 = 7;
const QUANTITY_BITS: u32 = 4;
const BUCKET_BITS: u32 = 16;
const SECOND_BITS: u32 = 24;

/// Most requests with series of their own.
pub const TAGGED_REQUESTS_MAX: usize = 4096;
const _: () = assert!(
    TAGGED_REQUESTS_MAX == 1 << REQUEST_BITS,
    "each number of a request must fit a key"
);
/// Most classes with series of their own.
pub const CLASSES_MAX: usize = 1 << CLASS_BITS;
/// Last second with series of its own: half a year. Later ones count as this one.
const SECOND_MAX: u32 = (1 << SECOND_BITS) - 1;

impl Series {
    #[inline]
    fn key(self, bucket: u16) -> u64 {
        let mut key = u64::from(self.second.min(SECOND_MAX));
        key = (key << 1) | u64::from(self.phase == Phase::Window);
        key = (key << REQUEST_BITS) | (u64::from(self.request) & (TAGGED_REQUESTS_MAX as u64 - 1));
        key = (key << CLASS_BITS) | (u64::from(self.class) & (CLASSES_MAX as u64 - 1));
        key = (key << QUANTITY_BITS) | self.quantity as u64;
        (key << BUCKET_BITS) | u64::from(bucket)
    }

    fn from_key(key: u64) -> (Self, u16) {
        let bucket = key as u16;
        let key = key >> BUCKET_BITS;
        let quantity = Quantity::ALL
            [((key & ((1 << QUANTITY_BITS) - 1)) as usize).min(Quantity::ALL.len() - 1)];
        let key = key >> QUANTITY_BITS;
        let class = (key & (CLASSES_MAX as u64 - 1)) as u8;
        let key = key >> CLASS_BITS;
        let request = (key & (TAGGED_REQUESTS_MAX as u64 - 1)) as u16;
        let key = key >> REQUEST_BITS;
        let phase = Phase::of(key & 1 == 1);
        let second = (key >> 1) as u32;
        (
            Self {
                second,
                phase,
                request,
                class,
                quantity,
            },
            bucket,
        )
    }
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The key plus one: zero marks an empty slot, so that fresh pages need no writing.
    key_plus_one: u64,
    count: u64,
}

/// log2 of the neighbouring buckets that share a cache line: most observations of a series are close together.
const TOGETHER_BITS: u32 = 2;

/// Home slot of a key. Fibonacci hashing of the cache line: unhashed, neighbouring series would overlap.
#[inline]
fn home_of(key: u64) -> usize {
    let line = (key >> TOGETHER_BITS).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LINES_BITS);
    ((line << TOGETHER_BITS) | (key & ((1 << TOGETHER_BITS) - 1))) as usize
}

const EMPTY: Slot = Slot {
    key_plus_one: 0,
    count: 0,
};

/// The table; see the module.
#[derive(Debug)]
pub struct HistogramTable {
    slots: Box<[Slot]>,
    filled: usize,
    out_of_range: u64,
}

impl HistogramTable {
    /// An empty table, its memory touched so that no page fault disturbs a measurement.
    #[must_use]
    pub fn new() -> Self {
        let mut slots = vec![EMPTY; SLOTS].into_boxed_slice();
        for slot in slots.iter_mut().step_by(4096 / size_of::<Slot>()) {
            // A plain store of zero to zeroed memory may be removed; an opaque value may not.
            slot.count = std::hint::black_box(0);
        }
        Self {
            slots,
            filled: 0,
            out_of_range: 0,
        }
    }

    /// Counts one observation.
    #[inline]
    pub fn record(&mut self, series: Series, value_ns: u64) {
        self.record_times(1, series, value_ns);
    }

    /// Counts `times` observations of one value.
    #[inline]
    pub fn record_times(&mut self, times: u64, series: Series, value_ns: u64) {
        if value_ns > HIGHEST_NS && series.phase == Phase::Window {
            self.out_of_range += times;
        }
        let key = series.key(bucket_of(value_ns.min(HIGHEST_NS))) + 1;
        let mut at = home_of(key - 1);
        loop {
            let slot = &mut self.slots[at & (SLOTS - 1)];
            if slot.key_plus_one == key {
                slot.count += times;
                return;
            }
            if slot.key_plus_one == 0 {
                *slot = Slot {
                    key_plus_one: key,
                    count: times,
                };
                self.filled += 1;
                return;
            }
            at += 1;
        }
    }

    /// Whether it should be replaced soon.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.filled >= FILLED_MAX
    }

    /// Observations of the window beyond the range, which are counted in the last bucket.
    #[must_use]
    pub fn out_of_range(&self) -> u64 {
        self.out_of_range
    }

    /// Moves all counts to `into`, sorted by series and bucket.
    pub fn drain_sorted(&mut self, into: &mut Vec<(Series, u16, u64)>) {
        into.clear();
        for slot in &mut self.slots {
            if slot.key_plus_one != 0 {
                let (series, bucket) = Series::from_key(slot.key_plus_one - 1);
                into.push((series, bucket, slot.count));
                *slot = EMPTY;
            }
        }
        self.filled = 0;
        self.out_of_range = 0;
        into.sort_unstable_by_key(|&(series, bucket, _)| (series, bucket));
    }
}

impl Default for HistogramTable {
    fn default() -> Self {
        Self::new()
    }
}

/// log2 of half the linear part: three digits need 2048 sub-buckets, half of which each doubling uses.
const HALF_BITS: u32 = 10;
const LINEAR: u64 = 2 << HALF_BITS;

/// The HdrHistogram bucket of a value: exact below 2048, then 1024 to each doubling.
#[inline]
#[must_use]
pub fn bucket_of(value_ns: u64) -> u16 {
    let doublings = (u64::BITS - HALF_BITS - 1) - (value_ns | (LINEAR - 1)).leading_zeros();
    let within = value_ns >> doublings;
    // Largest: 32 doublings for an hour, well within 16 bits.
    ((u64::from(doublings) << HALF_BITS) + within) as u16
}

/// The largest value of a bucket: what HdrHistogram's tools print for it.
#[must_use]
pub fn value_of(bucket: u16) -> u64 {
    let bucket = u64::from(bucket);
    if bucket < LINEAR {
        return bucket;
    }
    let doublings = (bucket >> HALF_BITS) - 1;
    let within = bucket - (doublings << HALF_BITS);
    ((within + 1) << doublings) - 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series(second: u32, request: u16, class: u8, quantity: Quantity) -> Series {
        Series {
            second,
            phase: Phase::Window,
            request,
            class,
            quantity,
        }
    }

    proptest! {
        #[test]
        fn a_bucket_is_that_of_the_histogram_it_goes_to(value_ns in 0..=HIGHEST_NS) {
            let histogram =
                hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 3).unwrap();
            let value = value_of(bucket_of(value_ns));
            prop_assert!(histogram.equivalent(value, value_ns));
            prop_assert_eq!(value, histogram.highest_equivalent(value_ns));
        }

        #[test]
        fn a_key_gives_its_series_back(second in 0..1_000_000_u32, request in 0..4096_u16, class in 0..128_u8,
                                       quantity in 0..Quantity::ALL.len(), bucket in 0..=u16::MAX) {
            let of = series(second, request, class, Quantity::ALL[quantity]);
            prop_assert_eq!(Series::from_key(of.key(bucket)), (of, bucket));
        }

        #[test]
        fn no_observation_is_lost_or_moved(values in prop::collection::vec((0..3_u32, 0..5_000_000_u64), 0..3000)) {
            let mut table = HistogramTable::new();
            for &(second, value) in &values {
                table.record(series(second, 0, 0, Quantity::Latency), value);
            }
            let mut expected: Vec<(u32, u16)> = values.iter().map(|&(s, v)| (s, bucket_of(v))).collect();
            expected.sort_unstable();
            let mut drained = Vec::new();
            table.drain_sorted(&mut drained);
            let got: Vec<(u32, u16)> = drained
                .iter()
                .flat_map(|&(s, b, n)| std::iter::repeat_n((s.second, b), usize::try_from(n).unwrap()))
                .collect();
            prop_assert_eq!(got, expected);
            table.drain_sorted(&mut drained);
            prop_assert!(drained.is_empty());
        }
    }

    #[test]
    fn a_value_beyond_an_hour_is_counted_at_the_top_and_as_out_of_range() {
        let mut table = HistogramTable::new();
        table.record(series(0, 0, 0, Quantity::Latency), HIGHEST_NS + 1);
        assert_eq!(table.out_of_range(), 1);
        let mut drained = Vec::new();
        table.drain_sorted(&mut drained);
        assert_eq!(drained[0].1, bucket_of(HIGHEST_NS));
    }
}
