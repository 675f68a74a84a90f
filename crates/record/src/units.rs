//! Durations, sizes, shares, cores and bit rates as text: `700ms`, `1kB`, `5%`, `300m`, `1Gbit/s`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest duration: a month.
const PERIOD_MAX: Duration = Duration::from_secs(31 * 24 * 3600);

/// Why a text is not a valid duration, size, share, number of cores or bit rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// A number without a unit.
    #[error("\"{0}\" has no unit: write {1}")]
    NoUnit(String, &'static str),
    /// An unknown unit.
    #[error("invalid unit \"{0}\": write {1}")]
    UnknownUnit(String, &'static str),
    /// A negative number.
    #[error("\"{0}\" is negative")]
    Negative(String),
    /// Not a number.
    #[error("invalid {1} \"{0}\": write {2}")]
    NoNumber(String, &'static str, &'static str),
    /// More than the limit.
    #[error("\"{0}\" is more than {1}")]
    TooMuch(String, &'static str),
}

const PERIODS: &str = "a number with ns, us, ms, s, m or h, such as 700ms";
const SIZES: &str = "a number with B, kB, MB, GB, KiB, MiB or GiB, such as 1kB";
const SHARES: &str = "a share such as 5% or 0.05";
const CORES: &str = "a number above 0 such as 0.3, or thousandths such as 300m";
/// More than any machine has.
const CORES_MAX: f64 = 100_000.0;
const RATES: &str = "a number with bit/s, kbit/s, Mbit/s or Gbit/s, such as 1Gbit/s";

/// A duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period(pub Duration);

impl Period {
    /// In nanoseconds; it fits, since no duration is longer than a month.
    #[must_use]
    pub fn as_ns(self) -> u64 {
        u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX)
    }
}

impl FromStr for Period {
    type Err = UnitError;

    /// Parses numbers with units, which add up: `1m30s`.
    fn from_str(text: &str) -> Result<Period, UnitError> {
        let mut rest = text.trim();
        if rest.starts_with('-') {
            return Err(UnitError::Negative(text.to_owned()));
        }
        if rest == "0" {
            return Ok(Period(Duration::ZERO));
        }
        let mut seconds = 0.0;
        while !rest.is_empty() {
            let (number, unit, after) = split_number(rest)
                .ok_or_else(|| UnitError::NoNumber(text.to_owned(), "time", PERIODS))?;
            let scale = match unit {
                "ns" => 1e-9,
                "us" | "µs" | "μs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3600.0,
                "" => return Err(UnitError::NoUnit(text.to_owned(), PERIODS)),
                _ => return Err(UnitError::UnknownUnit(unit.to_owned(), PERIODS)),
            };
            seconds += number * scale;
            rest = after.trim_start();
        }
        if text.trim().is_empty() {
            return Err(UnitError::NoNumber(text.to_owned(), "time", PERIODS));
        }
        if seconds > PERIOD_MAX.as_secs_f64() {
            return Err(UnitError::TooMuch(text.to_owned(), "a month"));
        }
        // Rounded to nanoseconds, because 0.7 s in binary is a little less than 700 ms.
        Ok(Period(Duration::from_nanos((seconds * 1e9).round() as u64)))
    }
}

impl fmt::Display for Period {
    /// Formats in the largest unit that gives a whole number, with one unit only, which every program can read: `700ms`, `90s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos();
        match ns {
            _ if ns.is_multiple_of(1_000_000_000) => write!(f, "{}s", ns / 1_000_000_000),
            _ if ns.is_multiple_of(1_000_000) => write!(f, "{}ms", ns / 1_000_000),
            _ if ns.is_multiple_of(1_000) => write!(f, "{}us", ns / 1_000),
            _ => write!(f, "{ns}ns"),
        }
    }
}

/// A size in bytes. MB is 10⁶ bytes; MiB (or Mi) is 2²⁰.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

impl FromStr for Size {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Size, UnitError> {
        let bytes = quantity(text, "size", SIZES, |unit| match unit {
            "" | "B" => Some(1.0),
            "kB" | "KB" | "k" => Some(1e3),
            "MB" | "M" => Some(1e6),
            "GB" | "G" => Some(1e9),
            "KiB" | "Ki" => Some(1024.0),
            "MiB" | "Mi" => Some(1_048_576.0),
            "GiB" | "Gi" => Some(1_073_741_824.0),
            _ => None,
        })?;
        // Integers below 2^53 are exact in every JSON reader.
        if bytes >= 9_007_199_254_740_992.0 {
            return Err(UnitError::TooMuch(text.to_owned(), "8 PiB"));
        }
        if (bytes - bytes.round()).abs() > 1e-6 {
            let what = "whole number of bytes";
            return Err(UnitError::NoNumber(text.to_owned(), what, SIZES));
        }
        Ok(Size(bytes.round() as u64))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 6] = [
            (1_000_000_000, "GB"),
            (1_073_741_824, "GiB"),
            (1_000_000, "MB"),
            (1_048_576, "MiB"),
            (1_000, "kB"),
            (1_024, "KiB"),
        ];
        write_in(f, self.0, &UNITS, "B")
    }
}

/// Bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitRate(pub u64);

impl FromStr for BitRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<BitRate, UnitError> {
        let bits = quantity(text, "speed", RATES, |unit| {
            match unit.strip_suffix("/s").unwrap_or(unit) {
                "bit" => Some(1.0),
                "kbit" => Some(1e3),
                "Mbit" => Some(1e6),
                "Gbit" => Some(1e9),
                _ => None,
            }
        })?;
        if bits.round() > 1e12 {
            return Err(UnitError::TooMuch(text.to_owned(), "1000 Gbit/s"));
        }
        Ok(BitRate(bits.round() as u64))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 3] = [
            (1_000_000_000, "Gbit/s"),
            (1_000_000, "Mbit/s"),
            (1_000, "kbit/s"),
        ];
        write_in(f, self.0, &UNITS, "bit/s")
    }
}

/// A share of a whole (0 to 1).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Share(pub f64);

impl FromStr for Share {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Share, UnitError> {
        let no_share = || UnitError::NoNumber(text.to_owned(), "share", SHARES);
        let trimmed = text.trim();
        let (digits, scale) = match trimmed.strip_suffix('%') {
            Some(percent) => (percent.trim_end(), 100.0),
            None => (trimmed, 1.0),
        };
        let value = digits.parse::<f64>().map_err(|_| no_share())? / scale;
        if value.is_nan() {
            return Err(no_share());
        }
        if value < 0.0 {
            return Err(UnitError::Negative(text.to_owned()));
        }
        if value > 1.0 {
            return Err(UnitError::TooMuch(text.to_owned(), "100%"));
        }
        Ok(Share(value))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ten digits hide rounding errors such as that of 0.07 × 100.
        write!(f, "{}%", (self.0 * 1e12).round() / 1e10)
    }
}

/// A number of cores, above 0, as Kubernetes writes it.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct CoreCount(pub f64);

impl FromStr for CoreCount {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<CoreCount, UnitError> {
        let trimmed = text.trim();
        let (digits, scale) = match trimmed.strip_suffix('m') {
            Some(thousandths) => (thousandths, 1000.0),
            None => (trimmed, 1.0),
        };
        let cores = digits.parse::<f64>().map(|number| number / scale);
        let cores = cores.ok().filter(|cores| *cores > 0.0);
        let no_cores = || UnitError::NoNumber(text.to_owned(), "number of cores", CORES);
        match cores.ok_or_else(no_cores)? {
            cores if cores > CORES_MAX => Err(UnitError::TooMuch(text.to_owned(), "100000 cores")),
            cores => Ok(CoreCount(cores)),
        }
    }
}

impl fmt::Display for CoreCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thousandths = self.0 * 1000.0;
        match (thousandths - thousandths.round()).abs() < 1e-9 && self.0.fract() != 0.0 {
            true => write!(f, "{}m", thousandths.round()),
            false => write!(f, "{}", self.0),
        }
    }
}

/// A single number with a unit, in the base unit; `scale` gives the factor of a unit.
fn quantity(
    text: &str,
    what: &'static str,
    units: &'static str,
    scale: impl Fn(&str) -> Option<f64>,
) -> Result<f64, UnitError> {
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(UnitError::Negative(text.to_owned()));
    }
    let no_number = || UnitError::NoNumber(text.to_owned(), what, units);
    let (number, unit, rest) = split_number(trimmed).ok_or_else(no_number)?;
    match scale(unit) {
        _ if !rest.is_empty() => Err(no_number()),
        Some(scale) => Ok(number * scale),
        None if unit.is_empty() => Err(UnitError::NoUnit(text.to_owned(), units)),
        None => Err(UnitError::UnknownUnit(unit.to_owned(), units)),
    }
}

/// Writes a number in the first of these units in which it is whole, else in the base unit.
fn write_in(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(u64, &str)],
    base: &str,
) -> fmt::Result {
    let fits = |(scale, _): &&(u64, &str)| value >= *scale && value.is_multiple_of(*scale);
    match units.iter().find(fits) {
        Some((scale, unit)) => write!(f, "{}{unit}", value / scale),
        None => write!(f, "{value}{base}"),
    }
}

/// Splits `700ms…` into 700, `ms`, `…`.
fn split_number(text: &str) -> Option<(f64, &str, &str)> {
    let digits = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let number = text[..digits].parse::<f64>().ok()?;
    let after = text[digits..].trim_start();
    let unit = after
        .find(|c: char| c.is_ascii_digit() || c == '.' || c.is_whitespace())
        .unwrap_or(after.len());
    Some((number, &after[..unit], &after[unit..]))
}

/// A text or a bare number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(serde_json::Number),
    Text(String),
}

macro_rules! written {
    ($name:ident, $format:literal, $types:tt, $about:literal) => {
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = match Written::deserialize(deserializer)? {
                    Written::Number(number) => number.to_string(),
                    Written::Text(text) => text,
                };
                text.parse().map_err(D::Error::custom)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                std::borrow::Cow::Borrowed(stringify!($name))
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": $types, "format": $format, "description": $about})
            }
        }
    };
}

written!(
    Period,
    "period",
    ["string", "number"],
    "A time: a number with ns, us, ms, s, m or h (`700ms`, `1m30s`)."
);
written!(
    Size,
    "size",
    ["string", "number"],
    "A size: bytes, or a number with B, kB, MB, GB (powers of 1000), KiB, MiB, GiB (powers of 1024)."
);
written!(
    Share,
    "share",
    ["string", "number"],
    "A share: `5%` or 0.05."
);
written!(
    CoreCount,
    "cores",
    ["string", "number"],
    "Cores: a number above 0, or thousandths of one (`300m`)."
);
written!(
    BitRate,
    "bit-rate",
    "string",
    "A speed: a number with bit/s, kbit/s, Mbit/s or Gbit/s (`1Gbit/s`)."
);

/// Reads a share as the number that it is.
///
/// # Errors
/// If it is no share.
pub fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Share::deserialize(deserializer).map(|share| share.0)
}

/// Checks a text against a format of this module; `None`: it is valid, or the format is of another module.
#[must_use]
pub fn check_format(format: &str, text: &str) -> Option<String> {
    match format {
        "period" => text.parse::<Period>().err().map(|error| error.to_string()),
        "size" => text.parse::<Size>().err().map(|error| error.to_string()),
        "bit-rate" => text.parse::<BitRate>().err().map(|error| error.to_string()),
        "share" => text.parse::<Share>().err().map(|error| error.to_string()),
        "cores" => text
            .parse::<CoreCount>()
            .err()
            .map(|error| error.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_whole_or_thousandths_and_above_nothing() {
        for (text, cores, shown) in [
            ("2", 2.0, "2"),
            ("0.3", 0.3, "300m"),
            ("300m", 0.3, "300m"),
            ("1500m", 1.5, "1500m"),
            ("2000m", 2.0, "2"),
        ] {
            let read: CoreCount = text.parse().unwrap();
            assert!((read.0 - cores).abs() < 1e-12, "{text}");
            assert_eq!(read.to_string(), shown);
        }
        for wrong in ["0", "0m", "-1", "m", "", "300 m", "3M", "nan", "inf", "1e9"] {
            assert!(wrong.parse::<CoreCount>().is_err(), "{wrong}");
        }
        let said = "300u".parse::<CoreCount>().unwrap_err().to_string();
        assert!(said.contains("300m"), "{said}");
    }

    #[test]
    fn times_are_read_with_their_unit() {
        for (text, ns) in [
            ("700ms", 700_000_000),
            ("0.7s", 700_000_000),
            ("1m30s", 90_000_000_000),
            ("2 s", 2_000_000_000),
            ("15us", 15_000),
            ("15µs", 15_000),
            ("1h", 3_600_000_000_000),
            ("0", 0),
            ("0ms", 0),
        ] {
            assert_eq!(text.parse::<Period>().unwrap().as_ns(), ns, "{text}");
        }
    }

    #[test]
    fn a_time_without_unit_or_below_zero_is_refused_in_words() {
        let said = |text: &str| text.parse::<Period>().unwrap_err().to_string();
        assert!(said("3").contains("has no unit"));
        assert!(said("-3s").contains("negative"));
        assert!(said("3 parsecs").contains("invalid unit \"parsecs\""));
        assert!(said("").contains("invalid time \"\""));
        assert!(said("soon").contains("invalid time \"soon\""));
        assert!(said("90000h").contains("more than a month"));
    }

    #[test]
    fn megabytes_are_decimal_and_mebibytes_are_not() {
        assert_eq!("1MB".parse::<Size>(), Ok(Size(1_000_000)));
        assert_eq!("1MiB".parse::<Size>(), Ok(Size(1_048_576)));
        assert_eq!("1Gi".parse::<Size>(), Ok(Size(1_073_741_824)));
        assert_eq!("1.5kB".parse::<Size>(), Ok(Size(1_500)));
        assert_eq!("100".parse::<Size>(), Ok(Size(100)));
        assert!("1.0005kB".parse::<Size>().is_err());
        assert!("10 apples".parse::<Size>().is_err());
    }

    #[test]
    fn shares_are_percent_or_fractions() {
        assert_eq!("5%".parse::<Share>(), Ok(Share(0.05)));
        assert_eq!("0.05".parse::<Share>(), Ok(Share(0.05)));
        assert!("120%".parse::<Share>().is_err());
        assert!("-1%".parse::<Share>().is_err());
        assert!("NaN".parse::<Share>().is_err());
    }

    #[test]
    fn what_is_printed_reads_back_as_the_same() {
        for ns in [
            0,
            1,
            999,
            15_000,
            700_000_000,
            1_500_000_000,
            90_000_000_000,
        ] {
            let period = Period(Duration::from_nanos(ns));
            assert_eq!(period.to_string().parse::<Period>(), Ok(period), "{period}");
        }
        for bytes in [0, 1, 999, 1_000, 1_024, 1_500, 1_048_576, 2_000_000_000] {
            assert_eq!(Size(bytes).to_string().parse::<Size>(), Ok(Size(bytes)));
        }
        assert_eq!(Share(0.07).to_string(), "7%");
    }

    #[test]
    fn speeds_are_read_with_their_unit_and_printed_so_that_they_read_back() {
        for (text, bits, printed) in [
            ("1Gbit/s", 1_000_000_000, "1Gbit/s"),
            ("2.5 Gbit", 2_500_000_000, "2500Mbit/s"),
            ("100Mbit/s", 100_000_000, "100Mbit/s"),
            ("64kbit", 64_000, "64kbit/s"),
            ("7bit/s", 7, "7bit/s"),
        ] {
            let rate: BitRate = text.parse().unwrap();
            assert_eq!(rate, BitRate(bits), "{text}");
            assert_eq!(rate.to_string(), printed);
            assert_eq!(printed.parse(), Ok(rate));
        }
    }

    #[test]
    fn bytes_and_bare_numbers_are_refused_in_words() {
        let said = |text: &str| text.parse::<BitRate>().unwrap_err().to_string();
        assert!(said("100").contains("has no unit"));
        assert!(said("100MB/s").contains("invalid unit \"MB/s\": write a number with bit/s"));
        assert!(said("-1Mbit/s").contains("negative"));
        assert!(said("fast").contains("invalid speed \"fast\""));
        assert!(said("2000Gbit/s").contains("more than 1000 Gbit/s"));
    }
}
