//! Tests of the histogram: what quantiles may be given, what is a bound, what merging keeps.

use super::*;

fn of(values: impl IntoIterator<Item = u64>) -> Latencies {
    let mut latencies = Latencies::new(Range::default()).unwrap();
    values.into_iter().for_each(|v| latencies.record(v));
    latencies
}

#[test]
fn a_quantile_needs_ten_observations_beyond_it() {
    let thousand = of(1..=1000);
    assert_eq!(thousand.quantile(0.99), Quantile::Exact(990));
    assert_eq!(thousand.quantile(0.991), Quantile::TooFew);
    assert_eq!(of(1..=999).quantile(0.99), Quantile::TooFew);
    assert_eq!(of(1..=20).quantile(0.5), Quantile::Exact(10));
    assert_eq!(of(1..=19).quantile(0.5), Quantile::TooFew);
    assert_eq!(thousand.quantile(0.011), Quantile::Exact(11));
    assert_eq!(thousand.quantile(0.010), Quantile::TooFew);
    assert_eq!(of([]).quantile(0.5), Quantile::TooFew);
    assert_eq!(thousand.quantile(f64::NAN), Quantile::TooFew);
}

#[test]
fn rounding_in_the_share_does_not_move_the_rank() {
    assert_eq!(rank(0.07, 100), 7);
    assert_eq!(rank(0.29, 100), 29);
    assert_eq!(rank(0.999, 1_000_000), 999_000);
    assert_eq!(rank(0.0, 5), 1);
    assert_eq!(rank(1.0, 5), 5);
}

#[test]
fn a_quantile_is_exact_below_the_youngest_unfinished_and_a_bound_from_it_on() {
    let mut latencies = of(1..=900);
    (0..100).for_each(|i| latencies.record_unfinished(500 + i));
    assert_eq!(latencies.count(), 1000);
    assert_eq!(latencies.unfinished(), 100);
    assert_eq!(latencies.youngest_unfinished_ns(), Some(500));
    assert_eq!(latencies.quantile(0.499), Quantile::Exact(499));
    // Rank 500 is 500 itself, recorded twice: finished once, unfinished once.
    assert_eq!(latencies.quantile(0.5), Quantile::Above(500));
    assert_eq!(latencies.quantile(0.9), Quantile::Above(800));
    assert_eq!(latencies.max(), Some(Quantile::Above(900)));
}

#[test]
fn many_at_once_are_the_same_as_one_after_the_other_however_many() {
    let mut single = of(1..=90);
    (0..7).for_each(|_| single.record_unfinished(40));
    let mut many = of(1..=90);
    many.record_many_unfinished(40, 7);
    many.record_many_unfinished(3, 0);
    assert_eq!(single, many);
    // One call, not 2^53.
    many.record_many_unfinished(50, COUNT_MAX - 97);
    assert_eq!(many.count(), COUNT_MAX);
    assert_eq!(many.unfinished(), COUNT_MAX - 90);
}

#[test]
fn without_its_empty_buckets_a_histogram_merges_the_same() {
    let mut some = of((1..=900).map(|n| n * n * 1000));
    some.record_unfinished(5_000_000);
    some.record(u64::MAX);
    let (mut whole, mut sparse) = (of([7, 8]), of([7, 8]));
    whole.merge(&some).unwrap();
    sparse.merge_sparse(&some.sparse()).unwrap();
    assert_eq!(whole, sparse);
    assert_eq!(
        (whole.max(), whole.min_ns()),
        (sparse.max(), sparse.min_ns())
    );
    let range = Range {
        lowest_ns: 1,
        highest_ns: 1_000_000,
    };
    let mut other = Latencies::new(range).unwrap();
    assert_eq!(
        other.merge_sparse(&some.sparse()),
        Err(LatenciesError::Shape)
    );
}

#[test]
fn out_of_range_is_counted_and_bounds_the_tail() {
    let range = Range {
        lowest_ns: 1,
        highest_ns: 1_000_000,
    };
    let mut latencies = Latencies::new(range).unwrap();
    (1..=80).for_each(|v| latencies.record(v));
    (0..20).for_each(|_| latencies.record(u64::MAX));
    assert_eq!((latencies.count(), latencies.out_of_range()), (100, 20));
    assert_eq!(latencies.quantile(0.8), Quantile::Exact(80));
    let Quantile::Above(bound) = latencies.quantile(0.85) else {
        panic!("not a bound")
    };
    assert!((999_000..=1_000_000).contains(&bound), "{bound}");
    latencies.record(1_000_000);
    assert_eq!(latencies.out_of_range(), 20, "the end belongs to the range");
    latencies.clear();
    assert_eq!((latencies.count(), latencies.out_of_range()), (0, 0));
}

#[test]
fn the_curve_runs_from_the_median_as_far_as_counts_carry_then_to_the_maximum() {
    let curve = of(1..=1000).curve(1);
    let quantiles: Vec<f64> = curve.iter().map(|p| p.quantile).collect();
    assert_eq!(
        quantiles,
        [0.5, 0.75, 0.875, 0.9375, 0.96875, 0.984_375, 1.0]
    );
    assert_eq!(curve[0].value, Quantile::Exact(500));
    assert_eq!(curve[6].value, Quantile::Exact(1000));
    assert!(of([]).curve(5).is_empty());
    assert_eq!(of([7]).curve(5).len(), 1);
}

#[test]
fn histograms_of_different_shape_do_not_merge() {
    let range = Range {
        lowest_ns: 1000,
        highest_ns: 60_000_000_000,
    };
    let mut coarse = Latencies::new(range).unwrap();
    assert_eq!(coarse.merge(&of([1])), Err(LatenciesError::Shape));
    assert!(coarse.is_empty());
    assert!(
        Latencies::new(Range {
            lowest_ns: 0,
            highest_ns: 9
        })
        .is_err()
    );
}

#[test]
fn an_empty_histogram_has_no_figures() {
    let empty = of([]);
    assert_eq!(
        (empty.min_ns(), empty.mean_ns(), empty.max()),
        (None, None, None)
    );
    let some = of([0, 10, 20]);
    assert_eq!((some.min_ns(), some.mean_ns()), (Some(0), Some(10.0)));
}
