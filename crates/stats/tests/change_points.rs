//! Change points: against Apache Otava, the error rates that METHODOLOGY states, and properties for any series.

use proptest::prelude::*;
use tare_stats::change_points::{ChangePoint, Options, SeriesError, find};
use tare_stats::random::Random;

/// Made with Apache Otava (`reference/change_points.py`).
const OTAVA: &str = include_str!("../reference/change_points.csv");
const SEED: u64 = 20_181_114;
const SERIES: usize = 1000;
const RUNS: usize = 100;

fn points(values: &[f64]) -> Vec<ChangePoint> {
    find(values, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn indices(values: &[f64]) -> Vec<usize> {
    points(values).iter().map(|point| point.index).collect()
}

/// Log-normal values around levels, `(level, runs)` each.
fn series(levels: &[(f64, usize)], deviation: f64, random: &mut Random) -> Vec<f64> {
    levels
        .iter()
        .flat_map(|&(level, runs)| std::iter::repeat_n(level, runs))
        .map(|level| level * (deviation * random.normal()).exp())
        .collect()
}

#[test]
fn the_points_are_those_of_otava_corrected_in_two_places() {
    let mut lines = OTAVA.lines().filter(|line| !line.starts_with('#'));
    let (mut checked, mut found) = (0, 0);
    let mut unlike = Vec::new();
    while let Some(head) = lines.next() {
        let fields: Vec<&str> = head.split(',').collect();
        let ["series", name, max_p, min_change, window] = fields[..] else {
            panic!("{head}");
        };
        let options = Options {
            max_p: max_p.parse().unwrap(),
            min_change: min_change.parse().unwrap(),
            min_segment: 1,
            window: window.parse().unwrap(),
        };
        let mut numbers = || lines.next().unwrap().split(',').skip(1);
        let values: Vec<f64> = numbers().map(|value| value.parse().unwrap()).collect();
        let otava: Vec<usize> = numbers().map(|index| index.parse().unwrap()).collect();
        let want: Vec<usize> = numbers().map(|index| index.parse().unwrap()).collect();
        let got = find(&values, &options).unwrap();
        let got: Vec<usize> = got.iter().map(|point| point.index).collect();
        assert_eq!(got, want, "{name}");
        if got != otava {
            unlike.push(name);
        }
        checked += 1;
        found += want.len();
    }
    // Weak p values and drift: many points that are hardly significant.
    let borderline = [
        "flat at a weak p value",
        "flat with a smallest change",
        "drift",
        "drift with a smallest change",
        "seven hundred values",
    ];
    assert_eq!(unlike, borderline, "the others are as Otava itself says");
    assert!(
        checked == 20 && found > 40,
        "{checked} series, {found} points"
    );
}

/// Of [`SERIES`] series, in how many something is found.
#[derive(Debug, Default)]
struct Rates {
    /// A flat series has a change point.
    whole: usize,
    /// A flat series had one after at least one of its runs.
    nightly: usize,
    /// A step of 10 % is found within five runs.
    found: usize,
}

fn rates(deviation: impl Fn(&mut Random) -> f64) -> Rates {
    let mut random = Random::from_seed(SEED);
    let mut rates = Rates::default();
    for _ in 0..SERIES {
        let deviation = deviation(&mut random);
        let flat = series(&[(150.0, RUNS)], deviation, &mut random);
        rates.whole += usize::from(!indices(&flat).is_empty());
        let alarms = (1..=RUNS).any(|runs| !indices(&flat[..runs]).is_empty());
        rates.nightly += usize::from(alarms);
        let at = 20 + random.below(60) as usize;
        let step = series(&[(150.0, at), (165.0, 5)], deviation, &mut random);
        let found = (at + 1..=at + 5).any(|runs| {
            let found = points(&step[..runs]);
            found.iter().any(|p| p.index + 3 >= at && p.ratio() > 1.0)
        });
        rates.found += usize::from(found);
    }
    rates
}

#[test]
fn flat_series_have_no_change_point_and_a_step_is_found_within_five_runs() {
    for deviation in [0.02, 0.03, 0.04, 0.05] {
        println!(
            "deviation {deviation}, of {SERIES}: {:?}",
            rates(|_| deviation)
        );
    }
    let between = rates(|random| 0.02 + 0.03 * random.unit());
    println!("deviations of 2 to 5 %, of {SERIES}: {between:?}");
    assert!(between.whole * 20 <= SERIES, "{between:?}");
    assert!(between.found * 20 >= SERIES * 19, "{between:?}");
}

/// Whether a two-sided CUSUM that knows the level and the deviation (both removed from `values`) and the step alarms.
fn cusum(values: &[f64], half_step: f64, threshold: f64) -> bool {
    let (mut up, mut down) = (0.0_f64, 0.0_f64);
    values.iter().any(|value| {
        up = (up + value - half_step).max(0.0);
        down = (down - value - half_step).max(0.0);
        up.max(down) > threshold
    })
}

#[test]
fn at_five_percent_deviation_no_rule_finds_a_step_of_ten_percent_within_five_runs_without_alarms() {
    let mut random = Random::from_seed(SEED);
    let half_step = 0.5 * 1.1_f64.ln() / 0.05;
    let mut normal = |runs: usize| (0..runs).map(|_| random.normal()).collect::<Vec<f64>>();
    let flat: Vec<Vec<f64>> = (0..SERIES).map(|_| normal(RUNS)).collect();
    let alarms = |threshold: f64| {
        let alarms = flat.iter().filter(|v| cusum(v, half_step, threshold));
        alarms.count()
    };
    // The lowest threshold with alarms in at most 5 % of the series.
    let threshold = (1..).map(|tenths| f64::from(tenths) / 10.0);
    let threshold = threshold.into_iter().find(|t| alarms(*t) * 20 <= SERIES);
    let found = (0..SERIES).filter(|_| {
        let mut step = normal(50);
        step.extend(normal(5).iter().map(|value| value + 2.0 * half_step));
        cusum(&step, half_step, threshold.unwrap())
    });
    let found = found.count();
    println!("CUSUM: threshold {threshold:?}, found {found} of {SERIES}");
    assert!(found * 100 < SERIES * 90, "{found}");
}

#[test]
fn outliers_are_no_change_and_a_change_is_found_beside_them() {
    let mut random = Random::from_seed(SEED);
    for at in [0, 1, 30, 58, 59] {
        for size in [0.3, 1.5, 4.0] {
            let mut values = series(&[(100.0, 60)], 0.02, &mut random);
            values[at] *= size;
            assert_eq!(indices(&values), [], "{size} at {at}");
        }
    }
    let mut values = series(&[(100.0, 40), (120.0, 40)], 0.02, &mut random);
    values[20] *= 1.3;
    assert_eq!(indices(&values), [40]);
}

#[test]
fn steps_steps_back_and_drift_are_found_where_they_are() {
    let mut random = Random::from_seed(SEED);
    let values = series(&[(100.0, 30), (115.0, 20), (100.0, 30)], 0.02, &mut random);
    let found = points(&values);
    assert_eq!(indices(&values), [30, 50]);
    assert!((found[0].before / 100.0 - 1.0).abs() < 0.02, "{found:?}");
    assert!((found[0].ratio() / 1.15 - 1.0).abs() < 0.03, "{found:?}");
    assert!(found[0].p < 1e-9 && found[1].ratio() < 1.0, "{found:?}");
    // Drift is a staircase: each point at least the smallest change apart from the one before.
    let ramp: Vec<(f64, usize)> = (0..120).map(|i| (100.0 + f64::from(i) / 3.0, 1)).collect();
    let found = points(&series(&ramp, 0.02, &mut random));
    assert!((2..=7).contains(&found.len()), "{found:?}");
    assert!(found.iter().all(|point| point.ratio() > 1.05), "{found:?}");
    // A change below the smallest one is none, however certain.
    assert_eq!(
        indices(&series(&[(100.0, 50), (104.0, 50)], 0.005, &mut random)),
        []
    );
}

#[test]
fn short_and_constant_series_have_no_change_points() {
    for len in 0..6 {
        assert_eq!(indices(&vec![1.0; len]), []);
        assert_eq!(indices(&[1.0, 9.0, 2.0, 8.0, 3.0][..len.min(5)]), []);
    }
    assert_eq!(indices(&[3.0; 1000]), []);
    // Without any noise every step is certain.
    assert_eq!(indices(&[&[3.0; 3][..], &[4.0; 3]].concat()), [3]);
}

#[test]
fn what_is_no_positive_number_is_refused_with_its_place() {
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = find(&[1.0, value], &Options::default());
        assert!(
            matches!(refused, Err(SeriesError::NotPositive { index: 1, .. })),
            "{refused:?}"
        );
    }
    for (window, min_segment) in [(1, 1), (1001, 3), (5, 3), (50, 0)] {
        let options = Options {
            window,
            min_segment,
            ..Options::default()
        };
        assert!(find(&[1.0], &options).is_err(), "{options:?}");
    }
}

#[test]
fn a_hundred_thousand_values_are_searched_in_windows() {
    let mut random = Random::from_seed(SEED);
    let levels: Vec<(f64, usize)> = (0..200)
        .map(|step| (if step % 2 == 0 { 100.0 } else { 112.0 }, 500))
        .collect();
    let values = series(&levels, 0.02, &mut random);
    // Points that alternate in every segment, nearly all of which are removed again.
    let teeth: Vec<(f64, usize)> = (0..10_000)
        .map(|tooth| (100.0 + 4.0 * f64::from(tooth % 2), 10))
        .collect();
    let teeth = series(&teeth, 0.003, &mut random);
    let found = indices(&values);
    let is_found = |step: &usize| found.iter().any(|index| index.abs_diff(*step) <= 3);
    assert!(
        (500..100_000).step_by(500).all(|step| is_found(&step)),
        "{found:?}"
    );
    assert!(found.len() < 205, "{found:?}");
    assert_eq!(indices(&teeth), []);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_positive_series_has_ordered_points_of_the_promised_size(
        values in prop::collection::vec(
            prop_oneof![1e-3..1e3_f64, f64::MIN_POSITIVE..f64::MAX, Just(1.0), Just(f64::MAX)], 0..120),
        max_p in 1e-6..0.9_f64,
        min_change in 0.0..0.5_f64,
        min_segment in 1_usize..6,
        window in 12_usize..80,
    ) {
        let options = Options { max_p, min_change, min_segment, window };
        let found = find(&values, &options).unwrap();
        for point in &found {
            prop_assert!(point.p < max_p);
            prop_assert!(point.ratio().max(1.0 / point.ratio()) - 1.0 > min_change * (1.0 - 1e-9));
        }
        let bounds: Vec<usize> = std::iter::once(0)
            .chain(found.iter().map(|point| point.index))
            .chain([values.len()])
            .collect();
        prop_assert!(found.is_empty() || bounds.windows(2).all(|b| b[0] < b[1]));
    }

    #[test]
    fn the_unit_does_not_matter(
        values in prop::collection::vec(1e-3..1e3_f64, 0..150),
        power in -30_i32..30,
    ) {
        let unit = 2.0_f64.powi(power);
        let scaled: Vec<f64> = values.iter().map(|value| value * unit).collect();
        prop_assert_eq!(indices(&scaled), indices(&values));
    }

    /// In one window and with one step, what is found does not depend on the direction of time.
    #[test]
    fn a_step_is_found_at_the_same_place_backwards(
        seed in any::<u64>(), before in 8_usize..22, after in 8_usize..22,
    ) {
        let mut random = Random::from_seed(seed);
        let mut values = series(&[(100.0, before), (120.0, after)], 0.01, &mut random);
        prop_assert_eq!(indices(&values), vec![before]);
        values.reverse();
        prop_assert_eq!(indices(&values), vec![after]);
    }
}
