//! Tests of the paired comparison: against least squares done another way, and its rules one by one.

use proptest::prelude::*;

use super::*;
use crate::outcome::{Direction, Extent, Margin, MoreBlocks, Outcome};
use crate::random::Random;

fn input(table: &PairedTable) -> ComparisonInput<'_> {
    ComparisonInput {
        table,
        role: MetricRole::Primary,
        margin: Margin::default(),
        resolution: 0.0,
    }
}

fn compare(table: &PairedTable, margin: f64) -> Comparisons {
    let family = ComparisonFamily::new(table.arms(), 1, 1);
    family.compare(&ComparisonInput {
        margin: Margin::relative(margin),
        ..input(table)
    })
}

/// Two baseline copies and the arms of these ratios, with this noise.
fn table(blocks: usize, ratios: &[f64], noise: f64) -> PairedTable {
    let mut random = Random::from_seed(7);
    let rows: Vec<Vec<Option<f64>>> = (0..blocks)
        .map(|_| {
            let level = 1e6 * (0.2 * random.normal()).exp();
            [1.0, 1.0]
                .iter()
                .chain(ratios)
                .map(|ratio| Some(level * ratio * (noise * random.normal()).exp()))
                .collect()
        })
        .collect();
    PairedTable::new(BaselineCopies::Two, ratios.len(), &rows).unwrap()
}

fn close(got: f64, want: f64, what: &str) {
    assert!(
        (got - want).abs() <= 1e-9 * want.abs().max(1e-3),
        "{what}: {got} for {want}"
    );
}

#[test]
fn the_model_agrees_with_full_least_squares_also_with_missing_trials() {
    let reference = include_str!("../../reference/paired.csv");
    let mut lines = reference.lines().peekable();
    let (mut tables, mut last_p) = (0, None);
    let numbers = |line: &str| -> Vec<Option<f64>> {
        line.split(',').skip(1).map(|n| n.parse().ok()).collect()
    };
    while let Some(head) = lines.next_if(|line| line.starts_with("table")) {
        let head = numbers(head);
        let arms = head[1].unwrap() as usize;
        let copies = if head[0] == Some(2.0) {
            BaselineCopies::Two
        } else {
            BaselineCopies::One
        };
        let rows: Vec<_> = std::iter::from_fn(|| lines.next_if(|line| line.starts_with("row")))
            .map(numbers)
            .collect();
        let table = PairedTable::new(copies, arms, &rows).unwrap();
        let all: Vec<usize> = (0..arms).collect();
        let fit = model::fit(&table, &all).unwrap();
        let want = numbers(lines.next().unwrap());
        close(fit.variance, want[0].unwrap(), "variance");
        close(fit.degrees, want[1].unwrap(), "degrees");
        close(fit.correlation_min(), want[2].unwrap(), "correlation");
        for arm in 0..arms {
            let want = numbers(lines.next().unwrap());
            close(fit.contrasts[arm], want[0].unwrap(), "contrast");
            let error = (fit.variance * fit.covariance[arm][arm]).sqrt();
            close(error, want[1].unwrap(), "standard error");
        }
        last_p = compare(&table, 0.0).arms[0].intervals.map(|i| i.p);
        tables += 1;
    }
    let want = numbers(lines.next().unwrap())[0].unwrap();
    close(last_p.unwrap(), want, "p of the paired t test");
    assert_eq!(tables, 5);
}

#[test]
fn welchs_test_agrees_with_scipy() {
    let reference = include_str!("../../reference/paired.csv");
    let numbers = |name: &str| -> Vec<f64> {
        let line = reference
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap();
        line.split(',')
            .skip(1)
            .map(|n| n.parse().unwrap())
            .collect()
    };
    let (before, after, want) = (numbers("before"), numbers("after"), numbers("welch"));
    let got = crate::unpaired::compare(&crate::unpaired::UnpairedInput {
        before: &before,
        after: &after,
        family: 1,
        margin: Margin::default(),
        resolution: 0.0,
    })
    .unwrap();
    let interval = got.decision.unwrap();
    close(got.p.unwrap(), want[0], "p");
    close(interval.low, want[1], "low");
    close(interval.high, want[2], "high");
}

#[test]
fn a_clear_difference_is_called_with_its_direction_and_unit() {
    let comparisons = compare(&table(5, &[1.3, 0.8, 1.0], 0.01), 0.05);
    let outcome = |arm: usize| comparisons.arms[arm].outcome;
    let extent = Extent::MayExceedMargin;
    assert_eq!(
        outcome(0),
        Outcome::Differs {
            direction: Direction::Higher,
            extent
        }
    );
    assert_eq!(
        outcome(1),
        Outcome::Differs {
            direction: Direction::Lower,
            extent
        }
    );
    assert_eq!(outcome(2), Outcome::Same);
    let difference = comparisons.arms[0].difference.unwrap();
    assert!(difference.low > 0.0 && difference.low < difference.estimate);
    let expected = comparisons.baseline.unwrap() * 0.3;
    assert!(
        (difference.estimate / expected - 1.0).abs() < 0.1,
        "{difference:?}"
    );
}

#[test]
fn a_real_but_negligible_difference_is_said_to_be_both() {
    let comparisons = compare(&table(8, &[1.01], 0.001), 0.05);
    let Outcome::Differs { direction, extent } = comparisons.arms[0].outcome else {
        panic!("{comparisons:?}");
    };
    assert_eq!(
        (direction, extent),
        (Direction::Higher, Extent::WithinMargin)
    );
}

#[test]
fn undecided_says_how_many_blocks_or_that_there_are_too_many() {
    let rows = [1.10, 0.98, 1.07, 1.0].map(|ratio| vec![Some(5.0), Some(5.0 * ratio)]);
    let some = PairedTable::new(BaselineCopies::One, 1, &rows).unwrap();
    let some = compare(&some, 0.0).arms[0].outcome;
    // Log-ratio 0.036 with deviation 0.054: (1.96 + 0.84) × 0.054 / 0.036 squared is about 18 blocks, 4 are there.
    assert!(
        matches!(
            some,
            Outcome::Undecided {
                more: MoreBlocks::About(13..=18)
            }
        ),
        "{some:?}"
    );
    let rows: Vec<Vec<Option<f64>>> = (0..6)
        .map(|b| vec![Some(100.0), Some(if b % 2 == 0 { 50.0 } else { 200.0 })])
        .collect();
    let none = PairedTable::new(BaselineCopies::One, 1, &rows).unwrap();
    let none = compare(&none, 0.0).arms[0].outcome;
    assert_eq!(
        none,
        Outcome::Undecided {
            more: MoreBlocks::MoreThan(100)
        }
    );
}

#[test]
fn fewer_than_three_complete_blocks_have_an_estimate_and_nothing_more() {
    let two = compare(&table(2, &[1.5], 0.01), 0.0);
    assert_eq!(two.arms[0].outcome, Outcome::TooFewBlocks { complete: 2 });
    assert!(two.arms[0].intervals.is_none() && two.arms[0].difference.is_none());
    assert!(two.arms[0].ratio.is_some_and(|r| (r - 1.5).abs() < 0.1));
    // Four blocks, but the arm shares only two with the baseline.
    let rows = [
        vec![Some(1.0), Some(1.1), Some(2.0)],
        vec![None, Some(1.1), Some(2.1)],
        vec![Some(1.0), Some(1.2), None],
        vec![Some(1.1), Some(1.1), Some(2.2)],
    ];
    let table = PairedTable::new(BaselineCopies::One, 2, &rows).unwrap();
    let arms = compare(&table, 0.0).arms;
    assert!(arms[0].intervals.is_some());
    assert_eq!(arms[1].outcome, Outcome::TooFewBlocks { complete: 2 });
    let empty = PairedTable::new(BaselineCopies::One, 1, &[]).unwrap();
    assert_eq!(compare(&empty, 0.0).arms[0].ratio, None);
}

#[test]
fn the_margin_is_the_larger_of_a_share_and_an_amount_and_no_scatter_widens_it() {
    // The two copies of the baseline are far apart: that says nothing of what matters.
    let rows: Vec<_> = [0.2_f64, -0.3, 0.1]
        .iter()
        .map(|x| vec![Some(100.0), Some(100.0 * x.exp()), Some(100.0)])
        .collect();
    let table = PairedTable::new(BaselineCopies::Two, 1, &rows).unwrap();
    let baseline = compare(&table, 0.05).baseline.unwrap();
    let used = |relative, absolute| {
        let margin = Margin { relative, absolute };
        let asked = ComparisonInput {
            margin,
            ..input(&table)
        };
        ComparisonFamily::new(1, 1, 1)
            .compare(&asked)
            .margin
            .unwrap()
    };
    assert_eq!(used(0.05, 0.0), 0.05);
    assert_eq!(used(0.05, 1.0), 0.05);
    assert_eq!(used(0.05, 20.0), 20.0 / baseline);
}

#[test]
fn an_arm_that_scatters_far_more_than_the_rest_is_judged_by_its_own_scatter() {
    let mut rows = Vec::new();
    for (b, wild) in [0.5, 1.6, 0.7, 1.9, 0.6].iter().enumerate() {
        let wobble = 1.0 + 0.002 * (b as f64 - 2.0);
        rows.push(vec![
            Some(10.0),
            Some(10.0 * wobble),
            Some(11.0 / wobble),
            Some(10.0 * wild),
        ]);
    }
    let table = PairedTable::new(BaselineCopies::Two, 2, &rows).unwrap();
    let comparisons = compare(&table, 0.0);
    let intervals = |arm: usize| comparisons.arms[arm].intervals.unwrap();
    assert!(comparisons.variance_ratio.unwrap() > 4.0);
    assert_eq!(intervals(1).residual, Residual::Own);
    assert_eq!(intervals(0).residual, Residual::Pooled);
    let own = intervals(0).unpooled.unwrap();
    assert!(own.half_width() < intervals(0).unadjusted_95.half_width());
    assert!(intervals(1).decision.half_width() > intervals(0).decision.half_width());
}

#[test]
fn equal_values_are_the_same_only_within_the_scales_step() {
    let rows: Vec<_> = (0..5).map(|_| vec![Some(1000.0), Some(1001.0)]).collect();
    let table = PairedTable::new(BaselineCopies::One, 1, &rows).unwrap();
    let family = ComparisonFamily::new(1, 1, 1);
    let exact = family.compare(&input(&table)).arms[0].outcome;
    assert!(matches!(exact, Outcome::Differs { .. }), "{exact:?}");
    let resolution = 4.0 / 1024.0;
    let coarse = ComparisonInput {
        resolution,
        ..input(&table)
    };
    let coarse = family.compare(&coarse).arms[0].outcome;
    assert!(matches!(coarse, Outcome::Undecided { .. }), "{coarse:?}");
    let equal: Vec<_> = (0..5).map(|_| vec![Some(5.0); 3]).collect();
    let equal = PairedTable::new(BaselineCopies::Two, 1, &equal).unwrap();
    assert_eq!(compare(&equal, 0.01).arms[0].outcome, Outcome::Same);
}

#[test]
fn a_table_with_a_wrong_width_or_a_zero_is_refused() {
    let narrow = PairedTable::new(BaselineCopies::One, 2, &[vec![Some(1.0)]]);
    assert!(matches!(
        narrow,
        Err(TableError::Width {
            found: 1,
            wanted: 3,
            ..
        })
    ));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let table = PairedTable::new(BaselineCopies::One, 1, &[vec![Some(1.0), Some(bad)]]);
        assert!(
            matches!(table, Err(TableError::NotPositive { column: 1, .. })),
            "{bad}"
        );
    }
}

#[test]
fn a_larger_family_widens_the_deciding_interval_only() {
    let table = table(5, &[1.1, 1.0], 0.02);
    let of = |levels| {
        ComparisonFamily::new(2, levels, 3)
            .compare(&input(&table))
            .arms[0]
            .intervals
            .unwrap()
    };
    let (small, large) = (of(1), of(4));
    assert!(large.decision.half_width() > small.decision.half_width());
    assert_eq!(
        (large.unadjusted_95, large.unadjusted_90),
        (small.unadjusted_95, small.unadjusted_90)
    );
    assert!(small.unadjusted_95.half_width() < small.decision.half_width());
}

fn rows() -> impl Strategy<Value = Vec<Vec<Option<f64>>>> {
    let value = prop::option::weighted(0.9, 0.5_f64..2.0);
    prop::collection::vec(prop::collection::vec(value, 4), 3..9)
}

/// What must not change when only order or scale do.
fn essence(comparisons: &Comparisons) -> Vec<Option<[f64; 3]>> {
    comparisons
        .arms
        .iter()
        .map(|c| {
            let interval = c.intervals?.decision;
            Some([c.ratio?, interval.low, interval.high])
        })
        .collect()
}

fn alike(a: &[Option<[f64; 3]>], b: &[Option<[f64; 3]>]) -> bool {
    a.iter().zip(b).all(|(a, b)| match (a, b) {
        (Some(a), Some(b)) => a.iter().zip(b).all(|(a, b)| (a / b - 1.0).abs() < 1e-7),
        (a, b) => a.is_none() && b.is_none(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_of_blocks_does_not_matter(rows in rows(), seed: u64) {
        let table = |rows: &[Vec<Option<f64>>]| PairedTable::new(BaselineCopies::Two, 2, rows).unwrap();
        let before = compare(&table(&rows), 0.05);
        let mut shuffled = rows;
        Random::from_seed(seed).shuffle(&mut shuffled);
        let after = compare(&table(&shuffled), 0.05);
        prop_assert!(alike(&essence(&before), &essence(&after)), "{before:?} {after:?}");
    }

    #[test]
    fn the_unit_of_a_metric_does_not_change_its_ratios(rows in rows(), scale in 1e-6_f64..1e6) {
        let table = |rows: &[Vec<Option<f64>>]| PairedTable::new(BaselineCopies::Two, 2, rows).unwrap();
        let scaled: Vec<Vec<Option<f64>>> = rows
            .iter()
            .map(|row| row.iter().map(|v| v.map(|v| v * scale)).collect())
            .collect();
        let (a, b) = (compare(&table(&rows), 0.0), compare(&table(&scaled), 0.0));
        prop_assert!(alike(&essence(&a), &essence(&b)), "{a:?} {b:?}");
    }

    #[test]
    fn intervals_hold_the_estimate_and_agree_with_difference_and_outcome(rows in rows()) {
        let table = PairedTable::new(BaselineCopies::Two, 2, &rows).unwrap();
        for c in compare(&table, 0.0).arms {
            let (Some(i), Some(ratio)) = (c.intervals, c.ratio) else { continue };
            prop_assert!(i.decision.contains(ratio) && i.unadjusted_95.contains(ratio));
            prop_assert!(i.unadjusted_90.contains(ratio));
            prop_assert!(i.unadjusted_90.half_width() <= i.unadjusted_95.half_width());
            prop_assert!(i.unadjusted_95.half_width() <= i.decision.half_width() * (1.0 + 1e-9));
            let d = c.difference.unwrap();
            prop_assert_eq!(d.low > 0.0 || d.high < 0.0, !i.decision.contains(1.0));
            let differs = matches!(c.outcome, Outcome::Differs { .. });
            prop_assert_eq!(differs, !i.decision.contains(1.0));
        }
    }

    #[test]
    fn a_larger_margin_never_makes_or_unmakes_a_difference_and_keeps_same(
        rows in rows(), margin in 0.0_f64..0.5, more in 0.0_f64..0.5,
    ) {
        let table = PairedTable::new(BaselineCopies::One, 3, &rows).unwrap();
        let (before, after) = (compare(&table, margin), compare(&table, margin + more));
        for (b, a) in before.arms.iter().zip(&after.arms) {
            let differs = |o| matches!(o, Outcome::Differs { .. });
            prop_assert_eq!(differs(b.outcome), differs(a.outcome));
            if b.outcome == Outcome::Same {
                prop_assert_eq!(a.outcome, Outcome::Same);
            }
        }
    }
}
