//! Known truths of the decisions, and twenty sessions over time.

use tare_stats::random::Random;

use super::*;

const MARGIN: f64 = 0.05;

fn case(unit: &str, better: Better, now: &[f64], before: Before) -> Case {
    Case {
        project: String::new(),
        name: ("go: A".into(), unit.into()),
        better,
        now: now.into(),
        before,
    }
}

fn sessions(all: &[&[f64]]) -> Before {
    Before::Sessions(all.iter().map(|one| Some(one.to_vec())).collect())
}

fn outcome(case: Case) -> BenchmarkOutcome {
    judge(&[case], MARGIN)[0].outcome
}

#[test]
fn a_change_is_worse_or_better_by_the_direction_of_its_unit() {
    let before = || sessions(&[&[100.0, 101.0], &[101.0, 100.0], &[100.5], &[100.2]]);
    for (better, value, expected) in [
        (Better::Lower, 120.0, BenchmarkOutcome::Worse),
        (Better::Lower, 80.0, BenchmarkOutcome::Better),
        (Better::Higher, 120.0, BenchmarkOutcome::Better),
        (Better::Higher, 80.0, BenchmarkOutcome::Worse),
        (Better::Lower, 100.4, BenchmarkOutcome::Same),
    ] {
        assert_eq!(
            outcome(case("x", better, &[value], before())),
            expected,
            "{better:?} {value}"
        );
    }
    assert_eq!(
        outcome(case("x", Better::Lower, &[1.0], sessions(&[]))),
        BenchmarkOutcome::New
    );
    let wild = sessions(&[&[80.0], &[100.0], &[130.0]]);
    assert_eq!(
        outcome(case("x", Better::Lower, &[120.0], wild)),
        BenchmarkOutcome::Undecided
    );
}

#[test]
fn a_difference_that_is_shown_and_smaller_than_the_margin_is_the_same() {
    let before = sessions(&[&[100.0], &[100.0], &[100.0]]);
    assert_eq!(
        outcome(case("x", Better::Lower, &[103.0], before)),
        BenchmarkOutcome::Same
    );
}

#[test]
fn counts_of_zero_have_no_ratio_and_are_decided_where_all_are() {
    let of = |now: &[f64], before: Before| {
        let found = &judge(&[case("allocs/op", Better::Lower, now, before)], MARGIN)[0];
        assert_eq!(found.ratio, None);
        found.outcome
    };
    assert_eq!(of(&[0.0, 0.0], sessions(&[&[0.0]])), BenchmarkOutcome::Same);
    assert_eq!(
        of(&[1.0, 1.0], sessions(&[&[0.0], &[0.0]])),
        BenchmarkOutcome::Worse
    );
    assert_eq!(
        of(&[0.0, 0.0], sessions(&[&[2.0], &[2.0]])),
        BenchmarkOutcome::Better
    );
    assert_eq!(
        of(&[0.0, 1.0], sessions(&[&[0.0], &[0.0]])),
        BenchmarkOutcome::Undecided
    );
    assert_eq!(
        of(&[-1.0], sessions(&[&[-1.0], &[-1.0]])),
        BenchmarkOutcome::Undecided
    );
}

#[test]
fn one_or_two_sessions_are_judged_by_their_repeats() {
    let before = || sessions(&[&[100.0, 101.0, 99.5], &[100.5, 100.0, 99.0]]);
    let of = |now: &[f64]| outcome(case("ns", Better::Lower, now, before()));
    assert_eq!(of(&[130.0, 131.0, 129.0]), BenchmarkOutcome::Worse);
    assert_eq!(of(&[100.0, 100.5, 99.9]), BenchmarkOutcome::Same);
    assert_eq!(of(&[130.0]), BenchmarkOutcome::Undecided);
}

#[test]
fn rounds_of_two_revisions_are_compared_in_pairs() {
    // The level doubles over the rounds; the new revision is 10 % slower in each.
    let rounds = |factor: f64| {
        let all = (0..8).map(|round| {
            let level = 100.0 * (1.0 + f64::from(round) / 8.0);
            (level, level * factor * (1.0 + 0.002 * f64::from(round % 3)))
        });
        Before::Rounds(all.collect())
    };
    let of = |factor| outcome(case("ns", Better::Lower, &[1.0], rounds(factor)));
    assert_eq!(of(1.1), BenchmarkOutcome::Worse);
    assert_eq!(of(0.9), BenchmarkOutcome::Better);
    assert_eq!(of(1.0), BenchmarkOutcome::Same);
    assert_eq!(
        outcome(case(
            "ns",
            Better::Lower,
            &[1.0],
            Before::Rounds(Vec::new())
        )),
        BenchmarkOutcome::New
    );
}

#[test]
fn the_worst_is_first_and_exact_counts_do_not_widen_the_intervals_of_others() {
    let time = |now| Case {
        name: ("go: T".into(), "ns/op".into()),
        ..case(
            "",
            Better::Lower,
            &[now],
            sessions(&[&[100.0], &[101.0], &[100.4]]),
        )
    };
    let count = |number: usize| Case {
        name: (format!("go: C{number}"), "allocs/op".into()),
        ..case(
            "",
            Better::Lower,
            &[2.0],
            sessions(&[&[2.0], &[2.0], &[2.0]]),
        )
    };
    let with: Vec<Case> = (0..20).map(count).chain([time(115.0)]).collect();
    let found = judge(&with, MARGIN);
    assert_eq!(found[0].benchmark, "go: T");
    assert_eq!(found[0].outcome, BenchmarkOutcome::Worse);
    assert_eq!(found[0].ratio, judge(&[time(115.0)], MARGIN)[0].ratio);
    assert!(
        found[1..]
            .iter()
            .all(|one| one.outcome == BenchmarkOutcome::Same)
    );
}

/// A machine whose sessions deviate: all benchmarks together, and each by itself; repeats deviate within a session, and one in ten is
/// much slower, as on a machine with neighbours.
struct Machine {
    random: Random,
    between: f64,
}

impl Machine {
    fn session(&mut self, benchmarks: usize, slower: f64) -> Vec<Vec<f64>> {
        let common = 0.5 * self.between * self.random.normal();
        let of = |place: usize, machine: &mut Machine| {
            let own = machine.between * machine.random.normal();
            let level = 50.0
                * (1.0 + place as f64)
                * (common + own).exp()
                * if place == 0 { slower } else { 1.0 };
            let repeat = |machine: &mut Machine| {
                let hit = if machine.random.unit() < 0.1 {
                    1.5
                } else {
                    1.0
                };
                level * hit * (0.01 * machine.random.normal()).exp()
            };
            (0..5).map(|_| repeat(machine)).collect()
        };
        (0..benchmarks).map(|place| of(place, self)).collect()
    }
}

/// Judges a session against the last ten, and returns what is worse.
fn worse(history: &[Vec<Vec<f64>>], now: &[Vec<f64>]) -> Vec<usize> {
    let earlier = &history[history.len().saturating_sub(10)..];
    let cases = now.iter().enumerate().map(|(place, values)| Case {
        name: (format!("go: {place:02}"), "ns/op".into()),
        ..case(
            "",
            Better::Lower,
            values,
            Before::Sessions(
                earlier
                    .iter()
                    .map(|session| Some(session[place].clone()))
                    .collect(),
            ),
        )
    });
    let found = judge(&cases.collect::<Vec<_>>(), MARGIN);
    let worse = found
        .iter()
        .filter(|one| one.outcome == BenchmarkOutcome::Worse);
    worse
        .map(|one| one.benchmark[4..].parse().unwrap())
        .collect()
}

#[test]
fn over_twenty_sessions_ten_percent_is_found_and_nothing_else() {
    const HISTORIES: usize = 100;
    for (between, alarms_max, found_min) in [(0.005, 0, 99), (0.01, 6, 95)] {
        let (mut alarms, mut found, mut others) = (0, 0, 0);
        for number in 0..HISTORIES {
            let mut machine = Machine {
                random: Random::for_purpose(number as u64, "twenty sessions"),
                between,
            };
            let mut history: Vec<Vec<Vec<f64>>> = (0..3).map(|_| machine.session(8, 1.0)).collect();
            let mut has_alarm = false;
            for _ in 3..20 {
                let now = machine.session(8, 1.0);
                has_alarm |= !worse(&history, &now).is_empty();
                history.push(now);
            }
            alarms += usize::from(has_alarm);
            let planted = worse(&history, &machine.session(8, 1.1));
            found += usize::from(planted.contains(&0));
            others += usize::from(planted.iter().any(|place| *place != 0));
        }
        println!(
            "{between}: {alarms} histories with an alarm, found {found}, others {others} of {HISTORIES}"
        );
        assert!(alarms <= alarms_max, "{between}: {alarms}");
        assert!(found >= found_min, "{between}: {found}");
        assert!(others <= alarms_max, "{between}: {others}");
    }
}
