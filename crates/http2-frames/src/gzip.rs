//! Decodes gzip, with a limit on what comes out.

use std::io::Read;

use flate2::read::MultiGzDecoder;

/// What was decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoded {
    Whole,
    /// The limit was reached: more would have come out.
    UpToLimit,
    /// The input ends within the data.
    CutOff,
}

/// Appends at most `bytes_max` decoded bytes to `out`.
///
/// # Errors
/// When the data is not gzip: why.
pub fn decode(data: &[u8], bytes_max: usize, out: &mut Vec<u8>) -> Result<Decoded, String> {
    let from = out.len();
    let mut decoder = MultiGzDecoder::new(data);
    let read = decoder.by_ref().take(bytes_max as u64 + 1).read_to_end(out);
    let is_beyond = out.len() - from > bytes_max;
    out.truncate(from + bytes_max);
    match read {
        _ if is_beyond => Ok(Decoded::UpToLimit),
        Ok(_) => Ok(Decoded::Whole),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(Decoded::CutOff),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn what_comes_out_has_a_limit_and_input_that_is_cut_off_is_told_from_wrong_input() {
        let data = gzip(&b"hello ".repeat(1000));
        for (max, expected) in [
            (6000, Decoded::Whole),
            (5999, Decoded::UpToLimit),
            (0, Decoded::UpToLimit),
        ] {
            let mut out = b"before".to_vec();
            assert_eq!(decode(&data, max, &mut out), Ok(expected), "{max}");
            assert_eq!(out.len(), 6 + max);
        }
        let mut out = Vec::new();
        let cut = &data[..data.len() - 9];
        assert_eq!(decode(cut, 9000, &mut out), Ok(Decoded::CutOff));
        assert!(decode(b"no gzip at all, really", 9000, &mut out).is_err());
        assert_eq!(decode(b"", 9000, &mut out), Ok(Decoded::CutOff));
    }
}
