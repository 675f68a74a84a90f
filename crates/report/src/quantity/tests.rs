//! Tests of rounding and units.

use super::*;
use proptest::prelude::*;

fn interval(estimate: f64, low: f64, high: f64) -> Interval {
    Interval {
        estimate,
        low: Some(low),
        high: Some(high),
    }
}

#[test]
fn a_latency_is_written_in_the_unit_people_use_for_its_size() {
    let ns = |v| value(Unit::Nanoseconds, v);
    assert_eq!(ns(850.0), "850 ns");
    assert_eq!(ns(62_000.0), "62.0 µs");
    assert_eq!(ns(312_400.0), "0.312 ms");
    assert_eq!(ns(99_960.0), "0.100 ms");
    assert_eq!(ns(1_420_000.0), "1.42 ms");
    assert_eq!(ns(12_400_000.0), "12.4 ms");
    assert_eq!(ns(999_900_000.0), "1.00 s");
    assert_eq!(ns(0.0), "0 ns");
}

#[test]
fn rates_memory_and_cpu_have_their_units_too() {
    assert_eq!(value(Unit::PerSecond, 1999.6), "2000/s");
    assert_eq!(value(Unit::PerSecond, 123_456.0), "123,456/s");
    assert_eq!(value(Unit::PerSecond, 19.96), "20.0/s");
    assert_eq!(value(Unit::Bytes, 1_200_000.0), "1.20 MB");
    assert_eq!(value(Unit::Bytes, 120_400_000.0), "120 MB");
    assert_eq!(value(Unit::CpuSecondsPer1000, 0.4231), "0.423 s");
    assert_eq!(value(Unit::CpuSecondsPer1000, 0.0042), "0.00420 s");
}

#[test]
fn what_is_missing_or_a_bound_says_so() {
    assert_eq!(figure(Unit::Nanoseconds, None), "–");
    assert_eq!(
        figure(
            Unit::Nanoseconds,
            Some(MaybeLowerBound {
                value: 1e10,
                is_lower_bound: true
            })
        ),
        "> 10.0 s"
    );
    assert_eq!(value(Unit::Nanoseconds, f64::NAN), "–");
}

#[test]
fn a_difference_has_the_decimals_that_its_interval_warrants() {
    let ms = |e, l, h| difference(Unit::Nanoseconds, &interval(e, l, h), Sign::Shown);
    assert_eq!(ms(312_345.0, 281_000.0, 343_000.0), "+0.31 ms (0.28–0.34)");
    assert_eq!(
        ms(312_345.0, 300_000.0, 324_000.0),
        "+0.312 ms (0.300–0.324)"
    );
    assert_eq!(
        ms(-312_345.0, -343_000.0, -281_000.0),
        "−0.31 ms (−0.34 to −0.28)"
    );
    assert_eq!(ms(10_000.0, -20_000.0, 40_000.0), "+10 µs (−20 to 40)");
    assert_eq!(
        ms(4.1e6, 0.2e6, 30.3e6),
        "+4.1 ms (0.2–30.3)",
        "it excludes 0"
    );
    assert_eq!(ms(0.4e6, -0.1e6, 4.8e6), "+0.4 ms (−0.1 to 4.8)");
    assert_eq!(
        ms(1.48e6, -0.49e6, 11.2e6),
        "+1.5 ms (−0.5 to 11.2)",
        "it holds 0"
    );
    assert_eq!(ms(3.61e6, -0.09e6, 113.4e6), "+3.6 ms (−0.1 to 113.4)");
    assert_eq!(ms(-4.1e6, -30.3e6, -0.2e6), "−4.1 ms (−30.3 to −0.2)");
    let wide = difference(Unit::Nanoseconds, &interval(1e6, 1e6, 1e6), Sign::Shown);
    assert_eq!(wide, "+1 ms (1–1)");
}

#[test]
fn a_word_for_the_direction_replaces_the_sign() {
    let less = interval(-312_345.0, -343_000.0, -281_000.0);
    assert_eq!(
        difference(Unit::Nanoseconds, &less, Sign::Spoken),
        "0.31 ms (0.28–0.34)"
    );
}

#[test]
fn the_ends_of_a_wide_ratio_have_digits_of_their_own() {
    assert_eq!(times(&interval(0.611, 0.58, 0.64)), "× 0.61 (0.58–0.64)");
    assert_eq!(times(&interval(1.6, 0.11, 12.4)), "× 1.6 (0.11–12)");
    assert_eq!(
        times(&interval(0.0031, 0.0011, 0.0092)),
        "× 0.0031 (0.0011–0.0092)"
    );
}

#[test]
fn a_ratio_is_told_as_a_change() {
    assert_eq!(
        change(&interval(1.123, 1.10, 1.14), Sign::Shown),
        "+12 % (10–14)"
    );
    assert_eq!(
        change(&interval(0.9, 0.88, 0.92), Sign::Shown),
        "−10 % (−12 to −8)"
    );
    let bare = Interval {
        estimate: 1.484,
        low: None,
        high: None,
    };
    assert_eq!(change(&bare, Sign::Shown), "+48 %");
    assert_eq!(percent(0.02), "2 %");
    assert_eq!(percent(0.14), "14 %");
}

proptest! {
    #[test]
    fn a_written_latency_is_within_half_a_percent_of_the_true_one(ns in 1.0f64..1e12) {
        let text = value(Unit::Nanoseconds, ns);
        let (number, unit) = text.split_once(' ').unwrap();
        let size = match unit { "ns" => 1.0, "µs" => 1e3, "ms" => 1e6, "s" => 1e9, other => panic!("{other}") };
        let read: f64 = number.replace(',', "").parse().unwrap();
        prop_assert!((read * size / ns - 1.0).abs() <= 0.0051, "{ns} → {text}");
    }

    #[test]
    fn no_figure_is_ever_too_wide_for_a_column(v in proptest::num::f64::ANY) {
        for unit in [Unit::Nanoseconds, Unit::PerSecond, Unit::CpuSecondsPer1000, Unit::Bytes] {
            if v.abs() < 1e15 {
                prop_assert!(value(unit, v).chars().count() <= 24);
            }
        }
    }
}
