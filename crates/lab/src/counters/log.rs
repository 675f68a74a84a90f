//! Counts matching lines of a log file.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};
use std::path::Path;

use regex::Regex;
use tare_record::counter::LogSource;

use super::CounterValue;
use crate::connector::Connector;

/// Larger files are an error: a count of a part of them would be wrong.
const LOG_BYTES_MAX: u64 = 256 << 20;
/// A longer line is split.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// Sums of matching lines by edge and label. A missing file has no lines.
pub(super) fn count(connector: &Connector, from: &LogSource) -> Result<Vec<CounterValue>, String> {
    let regex =
        Regex::new(&from.pattern).map_err(|error| format!("`{}`: {error}", from.pattern))?;
    let failed = |error: std::io::Error| format!("{}: {error}", from.file);
    let read = connector.read(Path::new(&from.file), LOG_BYTES_MAX);
    let Some((text, length)) = read.map_err(failed)? else {
        return Ok(Vec::new());
    };
    if length > LOG_BYTES_MAX || length > text.len() as u64 {
        return Err(format!("{} is larger than {} bytes", from.file, text.len()));
    }
    let mut sums: BTreeMap<(Option<String>, Option<String>), f64> = BTreeMap::new();
    let mut reader = text.as_slice();
    let mut line = Vec::new();
    loop {
        line.clear();
        let limited = (&mut reader)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line);
        // An incomplete last line is still being written: it counts next time.
        if limited.map_err(failed)? == 0 || line.last() != Some(&b'\n') && at_end(&mut reader) {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let Some(captures) = regex.captures(text.trim_end()) else {
            continue;
        };
        let group = |name: &str| captures.name(name).map(|found| found.as_str().to_owned());
        let value = match group("value") {
            Some(value) => value
                .parse()
                .map_err(|_| format!("invalid number `{value}` in {}", from.file))?,
            None => 1.0,
        };
        *sums.entry((group("edge"), group("label"))).or_default() += value;
    }
    Ok(sums
        .into_iter()
        .map(|((edge, label), value)| CounterValue { edge, label, value })
        .collect())
}

fn at_end(reader: &mut impl BufRead) -> bool {
    reader.fill_buf().is_ok_and(<[u8]>::is_empty)
}
