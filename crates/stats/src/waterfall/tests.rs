//! Steps that add up, by hand and at random.

use super::*;
use crate::random::Random;

fn rows(values: &[&[f64]]) -> Vec<Vec<Option<f64>>> {
    values
        .iter()
        .map(|row| row.iter().copied().map(Some).collect())
        .collect()
}

#[test]
fn steps_are_mean_differences_within_blocks_and_add_up_to_the_total() {
    let found = decompose(&rows(&[
        &[100.0, 130.0, 128.0, 200.0],
        &[110.0, 142.0, 144.0, 214.0],
        &[120.0, 148.0, 148.0, 216.0],
    ]))
    .unwrap();
    assert_eq!(found.blocks, 3);
    assert_eq!(found.means, [110.0, 140.0, 140.0, 210.0]);
    let steps: Vec<f64> = found.steps.iter().map(|step| step.estimate).collect();
    assert_eq!(steps, [30.0, 0.0, 70.0]);
    assert_eq!(found.total.estimate, 100.0);
    assert_eq!(steps.iter().sum::<f64>(), found.total.estimate);
    // 30, 32, 28: s = 2, t(0.975; 2) = 4.30265, half = 4.30265 × 2 / √3.
    let (low, high) = found.steps[0].interval.unwrap();
    assert!((low - (30.0 - 4.968_275)).abs() < 1e-4, "{low}");
    assert!((high - (30.0 + 4.968_275)).abs() < 1e-4, "{high}");
}

#[test]
fn a_block_in_which_one_arm_is_missing_counts_for_no_step() {
    let mut rows = rows(&[&[1.0, 2.0, 4.0], &[1.0, 3.0, 4.0], &[1.0, 90.0, 5.0]]);
    rows[2][2] = None;
    let found = decompose(&rows).unwrap();
    assert_eq!(found.blocks, 2);
    assert_eq!(found.steps[0].estimate, 1.5);
    assert_eq!(found.steps[1].estimate, 1.5);
    assert_eq!(found.total.estimate, 3.0);
    assert_eq!(found.steps[0].interval, None, "two blocks tell no interval");
}

#[test]
fn nothing_whole_is_nothing() {
    assert_eq!(decompose(&[]), None);
    assert_eq!(decompose(&[vec![Some(1.0), None]]), None);
    assert_eq!(decompose(&rows(&[&[1.0]])), None);
}

#[test]
fn whatever_the_values_the_steps_telescope() {
    let mut random = Random::from_seed(11);
    for arms in 2..12 {
        let rows: Vec<Vec<Option<f64>>> = (0..7)
            .map(|_| (0..arms).map(|_| Some(random.unit() * 1e6)).collect())
            .collect();
        let found = decompose(&rows).unwrap();
        let sum: f64 = found.steps.iter().map(|step| step.estimate).sum();
        assert!((sum - found.total.estimate).abs() <= 1e-12 * 1e6 * f64::from(arms));
        let ends = found.means[found.means.len() - 1] - found.means[0];
        assert!((ends - found.total.estimate).abs() <= 1e-12 * 1e6 * f64::from(arms));
    }
}
