//! Mutations of inputs: flipped bits, boundary values, and pieces copied, deleted, inserted and spliced from other inputs.

/// Longest input.
pub const BYTES_MAX: usize = 8192;

/// Boundary values of lengths and counts.
const EDGES: [u64; 10] = [
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    u64::MAX,
];

/// A generator of inputs, deterministic for a seed.
#[derive(Debug, Clone)]
pub struct Mutator {
    state: u64,
}

impl Mutator {
    #[must_use]
    pub fn from_seed(seed: u64) -> Mutator {
        Mutator { state: seed | 1 }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    /// Writes an input to `out`: a mutation of one of `seeds`, or of random bytes.
    pub fn input(&mut self, seeds: &[Vec<u8>], out: &mut Vec<u8>) {
        out.clear();
        if !seeds.is_empty() && self.below(8) > 0 {
            out.extend_from_slice(&seeds[self.below(seeds.len())]);
        } else {
            let length = self.below(256);
            out.extend((0..length).map(|_| self.next() as u8));
        }
        for _ in 0..=self.below(8) {
            self.change(seeds, out);
        }
        out.truncate(BYTES_MAX);
    }

    fn change(&mut self, seeds: &[Vec<u8>], out: &mut Vec<u8>) {
        let at = self.below(out.len() + 1);
        match self.below(7) {
            0 => {
                if let Some(byte) = out.get_mut(at) {
                    *byte ^= 1 << self.below(8);
                }
            }
            1 => {
                if let Some(byte) = out.get_mut(at) {
                    *byte = self.next() as u8;
                }
            }
            2 => self.edge(at, out),
            3 => {
                let until = at + self.below(out.len() - at + 1);
                out.drain(at..until);
            }
            4 => {
                let until = at + self.below((out.len() - at + 1).min(512));
                let piece = out[at..until].to_vec();
                let to = self.below(out.len() + 1);
                out.splice(to..to, piece);
            }
            5 => {
                if let Some(other) = seeds.get(self.below(seeds.len())) {
                    let from = self.below(other.len() + 1);
                    out.truncate(at);
                    out.extend_from_slice(&other[from..]);
                }
            }
            _ => {
                let bytes: Vec<u8> = (0..self.below(16)).map(|_| self.next() as u8).collect();
                out.splice(at..at, bytes);
            }
        }
    }

    /// Writes a boundary value of one to eight bytes, big or little endian.
    fn edge(&mut self, at: usize, out: &mut [u8]) {
        let width = 1 << self.below(4);
        let number = EDGES[self.below(EDGES.len())];
        let bytes = match self.below(2) {
            0 => number.to_be_bytes()[8 - width..].to_vec(),
            _ => number.to_le_bytes()[..width].to_vec(),
        };
        if let Some(place) = out.get_mut(at..at + width) {
            place.copy_from_slice(&bytes);
        }
    }
}
