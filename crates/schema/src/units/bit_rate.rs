//! Bit rates of links.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{UnitError, split_number};

const RATES: &str = "a number with bit/s, kbit/s, Mbit/s or Gbit/s, such as 1Gbit/s";

/// Bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitRate(pub u64);

impl FromStr for BitRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let trimmed = text.trim();
        if trimmed.starts_with('-') {
            return Err(UnitError::Negative(text.to_owned()));
        }
        let no_rate = || UnitError::NoNumber(text.to_owned(), "speed", RATES);
        let (number, unit, rest) = split_number(trimmed).ok_or_else(no_rate)?;
        if !rest.is_empty() {
            return Err(no_rate());
        }
        let scale = match unit.strip_suffix("/s").unwrap_or(unit) {
            "" => return Err(UnitError::NoUnit(text.to_owned(), RATES)),
            "bit" => 1.0,
            "kbit" => 1e3,
            "Mbit" => 1e6,
            "Gbit" => 1e9,
            _ => return Err(UnitError::UnknownUnit(unit.to_owned(), RATES)),
        };
        let bits = (number * scale).round();
        if bits > 1e12 {
            return Err(UnitError::TooMuch(text.to_owned(), "1000 Gbit/s"));
        }
        Ok(Self(bits as u64))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (scale, unit) in [
            (1_000_000_000, "Gbit"),
            (1_000_000, "Mbit"),
            (1_000, "kbit"),
        ] {
            if self.0 >= scale && self.0.is_multiple_of(scale) {
                return write!(f, "{}{unit}/s", self.0 / scale);
            }
        }
        write!(f, "{}bit/s", self.0)
    }
}

impl<'de> Deserialize<'de> for BitRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

impl Serialize for BitRate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for BitRate {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("BitRate")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "format": "bit-rate",
            "description": "A speed: a number with bit/s, kbit/s, Mbit/s or Gbit/s (`1Gbit/s`)."
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(said("100MB/s").contains("\"MB/s\" is no unit: write a number with bit/s"));
        assert!(said("-1Mbit/s").contains("negative"));
        assert!(said("fast").contains("is no speed"));
        assert!(said("2000Gbit/s").contains("more than 1000 Gbit/s"));
    }
}
