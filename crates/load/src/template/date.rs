//! Formatted dates from seconds since the epoch; always UTC.

use super::encode::{Escaping, put, put_unsigned};

const DAY_S: i64 = 86_400;
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

/// A second of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Days since 1970-01-01.
    pub day: i64,
    /// Seconds of that day.
    pub second: u32,
}

impl Moment {
    /// From seconds since the epoch.
    #[must_use]
    pub fn of_unix(unix_s: i64) -> Self {
        Self {
            day: unix_s.div_euclid(DAY_S),
            second: unix_s.rem_euclid(DAY_S) as u32,
        }
    }
}

/// Days since 1970-01-01 of a date.
///
/// Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
#[must_use]
pub fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let shifted = i64::from(if month > 2 { month - 3 } else { month + 9 });
    let of_year = (153 * shifted + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day; the inverse of [`days_from_civil`], from the same source.
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * shifted + 2) / 5 + 1) as u32;
    let month = (if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    }) as u32;
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Writes a date in a validated format; `false` if it is not valid in this place.
pub fn write_date(moment: Moment, format: &str, escaping: Escaping, out: &mut Vec<u8>) -> bool {
    let (year, month, day) = civil_from_days(moment.day);
    let mut text = [0_u8; 4];
    let mut letters = format.chars();
    let mut fits = true;
    while let Some(letter) = letters.next() {
        let number = |number: u32, out: &mut Vec<u8>| put_unsigned(u64::from(number), 2, out);
        if letter != '%' {
            fits &= put(letter.encode_utf8(&mut text).as_bytes(), escaping, out);
            continue;
        }
        match letters.next() {
            Some('Y') => put_unsigned(year.unsigned_abs(), 4, out),
            Some('m') => number(month, out),
            Some('d') => number(day, out),
            Some('b') => out.extend_from_slice(MONTHS[month as usize - 1].as_bytes()),
            Some('a') => {
                let at = moment.day.rem_euclid(7) as usize;
                out.extend_from_slice(WEEKDAYS[at].as_bytes());
            }
            Some('H') => number(moment.second / 3600, out),
            Some('M') => number(moment.second / 60 % 60, out),
            Some('S') => number(moment.second % 60, out),
            _ => fits &= put(b"%", escaping, out),
        }
    }
    fits
}
