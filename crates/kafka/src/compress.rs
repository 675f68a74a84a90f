//! Compression and decompression of record batches, with a limit on the decompressed size.

use std::fmt;
use std::io::{self, Read, Write};
use std::str::FromStr;

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use zstd::stream::raw::Operation;

/// Header of the xerial snappy framing (snappy-java): magic bytes, version, oldest compatible version.
const XERIAL: [u8; 16] = [
    0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1,
];

/// Block size of that framing in snappy-java.
const XERIAL_BLOCK_BYTES: usize = 32 * 1024;

/// The compression type: the three lowest bits of a batch's attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Not compressed.
    #[default]
    None,
    Gzip,
    /// Snappy in the xerial framing.
    Snappy,
    /// LZ4 frames of independent blocks.
    Lz4,
    /// Zstandard.
    Zstd,
}

/// Why compression or decompression failed.
#[derive(Debug, thiserror::Error)]
pub enum CompressError {
    /// Unknown codec.
    #[error(
        "compression {0} is not one of Kafka's (0 to 4): the batch was written by something newer, or is corrupt"
    )]
    Unknown(i16),
    /// The decompressed size exceeds the limit.
    #[error(
        "more than {1} bytes come out of a {0} batch: raise the limit; it may be a decompression bomb"
    )]
    TooLarge(Compression, usize),
    /// The data is invalid for the codec, says the library.
    #[error("the records are not {0}: {1}")]
    Corrupt(Compression, String),
}

impl Compression {
    /// All codecs, by number.
    pub const ALL: [Compression; 5] = [
        Compression::None,
        Compression::Gzip,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd,
    ];

    /// The codec of a batch's attributes.
    ///
    /// # Errors
    /// If the number is not assigned.
    pub fn of_attributes(attributes: i16) -> Result<Self, CompressError> {
        let number = attributes & 7;
        let known = usize::try_from(number).ok();
        known
            .and_then(|at| Self::ALL.get(at).copied())
            .ok_or(CompressError::Unknown(number))
    }

    /// Its bits in a batch's attributes.
    #[must_use]
    pub fn attributes(self) -> i16 {
        self as i16
    }

    /// Its name in `compression.type`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Gzip => "gzip",
            Compression::Snappy => "snappy",
            Compression::Lz4 => "lz4",
            Compression::Zstd => "zstd",
        }
    }

    fn corrupt(self, reason: impl fmt::Display) -> CompressError {
        CompressError::Corrupt(self, reason.to_string())
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Compression {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|codec| codec.name() == word);
        found.ok_or_else(|| format!("no compression {word:?}: none, gzip, snappy, lz4 or zstd"))
    }
}

/// A compressor that keeps its state between batches.
pub struct Compressor {
    codec: Compression,
    level: Option<i32>,
    snappy: snap::raw::Encoder,
    zstd: Option<zstd::bulk::Compressor<'static>>,
    block: Vec<u8>,
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Compressor({}, {:?})", self.codec, self.level)
    }
}

impl Compressor {
    /// A compressor with a level if the codec has levels (gzip 1 to 9, zstd 1 to 22), else the codec's default.
    ///
    /// # Errors
    /// If zstd cannot allocate.
    pub fn new(codec: Compression, level: Option<i32>) -> Result<Self, CompressError> {
        let zstd = match codec {
            Compression::Zstd => {
                let compressor = zstd::bulk::Compressor::new(level.unwrap_or(3));
                Some(compressor.map_err(|error| codec.corrupt(error))?)
            }
            _ => None,
        };
        Ok(Self {
            codec,
            level,
            snappy: snap::raw::Encoder::new(),
            zstd,
            block: Vec::new(),
        })
    }

    #[must_use]
    pub fn codec(&self) -> Compression {
        self.codec
    }

    /// Appends the compressed input.
    ///
    /// # Errors
    /// If the codec fails: input beyond its limits.
    pub fn compress(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CompressError> {
        let codec = self.codec;
        let fail = |error: io::Error| codec.corrupt(error);
        match codec {
            Compression::None => out.extend_from_slice(input),
            Compression::Gzip => {
                let level = self.level.map_or(6, |level| level.clamp(1, 9) as u32);
                let mut encoder = GzEncoder::new(&mut *out, flate2::Compression::new(level));
                encoder.write_all(input).map_err(fail)?;
                encoder.finish().map_err(fail)?;
            }
            Compression::Snappy => self.compress_snappy(input, out)?,
            Compression::Lz4 => {
                // Java's LZ4 reader rejects dependent blocks.
                let info = FrameInfo::new()
                    .block_mode(BlockMode::Independent)
                    .block_size(BlockSize::Max64KB);
                let mut encoder = FrameEncoder::with_frame_info(info, &mut *out);
                encoder.write_all(input).map_err(fail)?;
                encoder.finish().map_err(|error| codec.corrupt(error))?;
            }
            Compression::Zstd => {
                let Some(zstd) = &mut self.zstd else {
                    return Ok(());
                };
                let start = out.len();
                let most = zstd::zstd_safe::compress_bound(input.len());
                out.resize(start + most, 0);
                let written = zstd
                    .compress_to_buffer(input, &mut out[start..])
                    .map_err(fail)?;
                out.truncate(start + written);
            }
        }
        Ok(())
    }

    fn compress_snappy(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(), CompressError> {
        out.extend_from_slice(&XERIAL);
        for piece in input.chunks(XERIAL_BLOCK_BYTES) {
            self.block
                .resize(snap::raw::max_compress_len(piece.len()), 0);
            let written = self
                .snappy
                .compress(piece, &mut self.block)
                .map_err(|error| Compression::Snappy.corrupt(error))?;
            out.extend_from_slice(&(written as u32).to_be_bytes());
            out.extend_from_slice(&self.block[..written]);
        }
        Ok(())
    }
}

/// A decompressor that keeps its state between batches.
#[derive(Default)]
pub struct Decompressor {
    zstd: Option<zstd::stream::raw::Decoder<'static>>,
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Decompressor")
    }
}

impl Decompressor {
    /// Replaces `out` by the decompressed input, if that has at most `max_bytes`.
    ///
    /// # Errors
    /// If the input is incomplete, invalid for the codec, or too large.
    pub fn decompress(
        &mut self,
        codec: Compression,
        input: &[u8],
        out: &mut Vec<u8>,
        max_bytes: usize,
    ) -> Result<(), CompressError> {
        out.clear();
        match codec {
            Compression::None => {
                check_size(codec, input.len(), max_bytes)?;
                out.extend_from_slice(input);
            }
            Compression::Gzip => read_all(codec, MultiGzDecoder::new(input), out, max_bytes)?,
            Compression::Snappy => decompress_snappy(input, out, max_bytes)?,
            Compression::Lz4 => read_all(codec, FrameDecoder::new(input), out, max_bytes)?,
            Compression::Zstd => self.decompress_zstd(input, out, max_bytes)?,
        }
        Ok(())
    }

    fn decompress_zstd(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        max_bytes: usize,
    ) -> Result<(), CompressError> {
        let codec = Compression::Zstd;
        let fail = |error: io::Error| codec.corrupt(error);
        let decoder = match &mut self.zstd {
            Some(decoder) => {
                decoder.reinit().map_err(fail)?;
                decoder
            }
            none => none.insert(zstd::stream::raw::Decoder::new().map_err(fail)?),
        };
        let mut rest = input;
        loop {
            let start = out.len();
            check_size(codec, start, max_bytes)?;
            // One byte above the limit shows that there is more.
            let more = (rest.len() * 4).clamp(4096, 1 << 20);
            out.resize((start + more).min(max_bytes + 1), 0);
            let status = decoder
                .run_on_buffers(rest, &mut out[start..])
                .map_err(fail)?;
            out.truncate(start + status.bytes_written);
            rest = &rest[status.bytes_read..];
            let ended = status.remaining == 0;
            if rest.is_empty() && ended {
                return check_size(codec, out.len(), max_bytes);
            }
            if status.bytes_written == 0 && status.bytes_read == 0 && start <= max_bytes {
                return Err(codec.corrupt("it ends in the middle"));
            }
        }
    }
}

fn read_all(
    codec: Compression,
    from: impl Read,
    out: &mut Vec<u8>,
    max_bytes: usize,
) -> Result<(), CompressError> {
    let limit = max_bytes as u64 + 1;
    from.take(limit)
        .read_to_end(out)
        .map_err(|error| codec.corrupt(error))?;
    check_size(codec, out.len(), max_bytes)
}

fn check_size(codec: Compression, bytes: usize, max_bytes: usize) -> Result<(), CompressError> {
    match bytes > max_bytes {
        true => Err(CompressError::TooLarge(codec, max_bytes)),
        false => Ok(()),
    }
}

/// Reads the xerial framing, or a bare block as other clients write it.
fn decompress_snappy(
    input: &[u8],
    out: &mut Vec<u8>,
    max_bytes: usize,
) -> Result<(), CompressError> {
    if !input.starts_with(&XERIAL[..8]) {
        return append_snappy(input, out, max_bytes);
    }
    let Some(mut rest) = input.get(XERIAL.len()..) else {
        return Err(Compression::Snappy.corrupt("its head is cut off"));
    };
    while !rest.is_empty() {
        let block = rest
            .split_first_chunk::<4>()
            .and_then(|(head, behind)| behind.split_at_checked(u32::from_be_bytes(*head) as usize));
        let Some((block, behind)) = block else {
            return Err(Compression::Snappy.corrupt("a block is cut off"));
        };
        append_snappy(block, out, max_bytes)?;
        rest = behind;
    }
    Ok(())
}

fn append_snappy(block: &[u8], out: &mut Vec<u8>, max_bytes: usize) -> Result<(), CompressError> {
    let codec = Compression::Snappy;
    let length = snap::raw::decompress_len(block).map_err(|error| codec.corrupt(error))?;
    let start = out.len();
    check_size(codec, start.saturating_add(length), max_bytes)?;
    out.resize(start + length, 0);
    snap::raw::Decoder::new()
        .decompress(block, &mut out[start..])
        .map_err(|error| codec.corrupt(error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn through(codec: Compression, input: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let mut packed = Vec::new();
        let mut compressor = Compressor::new(codec, None).unwrap();
        compressor.compress(input, &mut packed).unwrap();
        let mut back = vec![1, 2, 3];
        Decompressor::default()
            .decompress(codec, &packed, &mut back, input.len())
            .unwrap();
        (packed, back)
    }

    proptest! {
        #[test]
        fn what_is_compressed_comes_back_whole(
            input in prop::collection::vec(any::<u8>(), 0..5000), times in 1..60_usize,
        ) {
            let input = input.repeat(times);
            for codec in Compression::ALL {
                prop_assert_eq!(&through(codec, &input).1, &input, "{}", codec);
            }
        }

        #[test]
        fn malformed_input_is_an_error_or_stays_within_the_limit(
            input in prop::collection::vec(any::<u8>(), 0..300), cut in 0..300_usize,
        ) {
            let mut out = Vec::new();
            let mut decompressor = Decompressor::default();
            for codec in Compression::ALL {
                let _ = decompressor.decompress(codec, &input, &mut out, 1000);
                let mut packed = through(codec, &input).0;
                packed.truncate(cut.min(packed.len()));
                if decompressor.decompress(codec, &packed, &mut out, 1000).is_ok() {
                    prop_assert!(out.len() <= 1000);
                }
            }
        }
    }

    #[test]
    fn what_grows_beyond_the_limit_is_refused() {
        let zeros = vec![0; 100_000];
        let mut out = Vec::new();
        for codec in Compression::ALL {
            let mut packed = Vec::new();
            let mut compressor = Compressor::new(codec, None).unwrap();
            compressor.compress(&zeros, &mut packed).unwrap();
            let found = Decompressor::default().decompress(codec, &packed, &mut out, 99_999);
            assert!(
                matches!(found, Err(CompressError::TooLarge(..))),
                "{codec}: {found:?}"
            );
        }
    }

    #[test]
    fn a_bare_snappy_block_is_read_too() {
        let packed = snap::raw::Encoder::new()
            .compress_vec(b"hello hello")
            .unwrap();
        let mut out = Vec::new();
        Decompressor::default()
            .decompress(Compression::Snappy, &packed, &mut out, 100)
            .unwrap();
        assert_eq!(out, b"hello hello");
    }

    #[test]
    fn a_codec_is_found_by_its_word_and_by_its_bits() {
        for codec in Compression::ALL {
            assert_eq!(codec.name().parse(), Ok(codec));
            let bits = codec.attributes() | 0x18;
            assert_eq!(Compression::of_attributes(bits).unwrap(), codec);
        }
        assert!(Compression::of_attributes(5).is_err());
        assert!("gz".parse::<Compression>().is_err());
    }
}
