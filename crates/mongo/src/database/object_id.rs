//! Generates object ids for documents without `_id`.

/// Generates ids: seconds, five bytes of the process, a counter (MongoDB manual, "ObjectId").
#[derive(Debug)]
pub(crate) struct ObjectIds {
    process: [u8; 5],
    counter: u32,
}

impl ObjectIds {
    pub(crate) fn new(seed: u64) -> Self {
        // SplitMix64 mixing: similar seeds give different ids.
        let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let bytes = mixed.to_be_bytes();
        Self {
            process: [bytes[0], bytes[1], bytes[2], bytes[3], bytes[4]],
            counter: u32::from(bytes[5]) << 16 | u32::from(bytes[6]) << 8 | u32::from(bytes[7]),
        }
    }

    pub(crate) fn next(&mut self, now_ms: i64) -> [u8; 12] {
        // 32 bits of seconds, until the year 2106.
        let seconds = (now_ms / 1000) as u32;
        self.counter = (self.counter + 1) & 0x00ff_ffff;
        let mut id = [0; 12];
        id[..4].copy_from_slice(&seconds.to_be_bytes());
        id[4..9].copy_from_slice(&self.process);
        id[9..].copy_from_slice(&self.counter.to_be_bytes()[1..]);
        id
    }
}
