//! Known truths of the comparison with earlier sessions: coverage under common and own deviations, and what is found when.

use super::*;
use crate::outcome::{Direction, Extent};
use crate::random::Random;

/// Deviations between sessions: common to all benchmarks, and of each.
#[derive(Clone, Copy)]
struct Noise {
    common: f64,
    own: f64,
}

/// A session of all benchmarks; `slower` is the factor of the first one.
fn session(random: &mut Random, benchmarks: usize, noise: Noise, slower: f64) -> Vec<f64> {
    let common = noise.common * random.normal();
    let of = |place: usize, random: &mut Random| {
        let level = 100.0 * (1.0 + place as f64);
        let factor = if place == 0 { slower } else { 1.0 };
        level * factor * (common + noise.own * random.normal()).exp()
    };
    (0..benchmarks).map(|place| of(place, random)).collect()
}

/// Judges one session after `sessions` others.
fn judged(
    random: &mut Random,
    benchmarks: usize,
    sessions: usize,
    noise: Noise,
    slower: f64,
) -> Vec<SessionComparison> {
    let earlier: Vec<Vec<f64>> = (0..sessions)
        .map(|_| session(random, benchmarks, noise, 1.0))
        .collect();
    let now = session(random, benchmarks, noise, slower);
    let columns: Vec<BenchmarkSessions> = (0..benchmarks)
        .map(|place| BenchmarkSessions {
            earlier: earlier.iter().map(|one| Some(one[place])).collect(),
            now: now[place],
        })
        .collect();
    compare(&columns, benchmarks, Margin::relative(0.05))
}

fn differs(one: &SessionComparison) -> bool {
    matches!(one.outcome, Outcome::Differs { .. })
}

/// Share of simulated sessions in which the condition holds.
fn share(
    sessions: usize,
    noise: Noise,
    slower: f64,
    holds: fn(&[SessionComparison]) -> bool,
) -> f64 {
    const DRAWS: usize = 600;
    let mut random = Random::for_purpose(7, "sessions");
    let hits = (0..DRAWS)
        .filter(|_| holds(&judged(&mut random, 6, sessions, noise, slower)))
        .count();
    hits as f64 / DRAWS as f64
}

#[test]
fn without_a_change_at_most_one_session_in_twenty_has_a_difference_however_benchmarks_deviate() {
    for (common, own) in [(0.0, 0.01), (0.01, 0.01), (0.02, 0.0), (0.02, 0.005)] {
        for sessions in [3, 5, 10] {
            let noise = Noise { common, own };
            let share = share(sessions, noise, 1.0, |all| all.iter().any(differs));
            println!("{common} {own} {sessions}: {share}");
            // The F test picks a benchmark that deviates by chance: as for arms, a little more than 5 % can result.
            assert!(share < 0.075, "{common} {own} {sessions}: {share}");
        }
    }
}

#[test]
fn a_slowdown_of_ten_percent_is_found_more_often_with_more_sessions_that_deviate_less() {
    let found =
        |sessions, common, own| share(sessions, Noise { common, own }, 1.1, |all| differs(&all[0]));
    for (sessions, common, own, least) in [
        (3, 0.0, 0.01, 0.75),
        (5, 0.005, 0.01, 0.9),
        (10, 0.01, 0.01, 0.95),
        (10, 0.0, 0.02, 0.8),
    ] {
        let share = found(sessions, common, own);
        println!("{sessions} {common} {own}: {share}");
        assert!(share > least, "{sessions} {common} {own}: {share}");
    }
}

#[test]
fn one_benchmark_alone_has_students_prediction_interval() {
    let earlier = [100.0, 102.0, 99.0, 101.0];
    let logs: Vec<f64> = earlier.iter().map(|value: &f64| value.ln()).collect();
    let one = BenchmarkSessions {
        earlier: earlier.map(Some).into(),
        now: 110.0,
    };
    let found = compare(&[one], 1, Margin::relative(0.05))[0];
    let error = (variance(&logs).unwrap() * 1.25).sqrt();
    let half = student_quantile(0.975, 3.0) * error;
    let centre = 110.0_f64.ln() - mean(&logs).unwrap();
    let interval = found.decision.unwrap();
    assert!((interval.low.ln() - (centre - half)).abs() < 1e-9);
    assert!((interval.high.ln() - (centre + half)).abs() < 1e-9);
    let expected = Outcome::Differs {
        direction: Direction::Higher,
        extent: Extent::MayExceedMargin,
    };
    assert_eq!(found.outcome, expected);
}

#[test]
fn benchmarks_that_always_move_together_are_worth_one() {
    let moves = [0.98, 1.03, 1.01, 0.99];
    let columns: Vec<BenchmarkSessions> = (1..=8)
        .map(|level| BenchmarkSessions {
            earlier: moves.map(|by| Some(by * f64::from(level))).into(),
            now: f64::from(level),
        })
        .collect();
    let all = compare(&columns, 1, Margin::relative(0.05));
    let alone = compare(&columns[..1], 1, Margin::relative(0.05));
    let width = |one: &SessionComparison| one.decision.unwrap().half_width();
    assert!((width(&all[0]) - width(&alone[0])).abs() < 1e-9);
}

#[test]
fn with_two_sessions_there_is_a_ratio_and_no_interval_and_values_that_never_change_are_exact() {
    let of = |earlier: &[Option<f64>], now| {
        let one = BenchmarkSessions {
            earlier: earlier.into(),
            now,
        };
        compare(&[one], 1, Margin::relative(0.05))[0]
    };
    let few = of(&[Some(100.0), None, Some(100.0)], 110.0);
    assert_eq!(few.outcome, Outcome::TooFewBlocks { complete: 2 });
    assert!((few.ratio.unwrap() - 1.1).abs() < 1e-12 && few.decision.is_none());
    let exact = [Some(2.0); 3];
    assert!(differs(&of(&exact, 3.0)));
    assert_eq!(of(&exact, 2.0).outcome, Outcome::Same);
}

#[test]
fn a_benchmark_that_deviates_far_more_has_no_part_in_the_variance_of_the_others() {
    let mut random = Random::for_purpose(11, "sessions");
    let quiet = Noise {
        common: 0.0,
        own: 0.001,
    };
    let (mut found, mut alarms) = (0, 0);
    for _ in 0..200 {
        let mut column = |place: usize, slower: f64| {
            // The last one allocates.
            let own = if place == 3 { 0.3 } else { quiet.own };
            let mut value = |factor: f64| 100.0 * factor * (own * random.normal()).exp();
            BenchmarkSessions {
                earlier: (0..5).map(|_| Some(value(1.0))).collect(),
                now: value(slower),
            }
        };
        let columns: Vec<BenchmarkSessions> = (0..4)
            .map(|place| column(place, if place == 0 { 1.1 } else { 1.0 }))
            .collect();
        let judged = compare(&columns, 4, Margin::relative(0.05));
        found += u32::from(differs(&judged[0]));
        alarms += u32::from(judged[1..].iter().any(differs));
    }
    assert!(found == 200, "{found}");
    // Three unchanged ones at 95 % together.
    assert!(alarms <= 15, "{alarms}");
}
