//! The search against a server whose answer is known: M/M/1 with noise, and with a generator that gives up.

use tare_stats::random::Random;

use super::*;

fn rules() -> Rules {
    Rules {
        first_per_s: 100.0,
        least_per_s: 1.0,
        most_per_s: 1_000_000.0,
        tolerance: 0.05,
        confirmations: 3,
        probes_max: 60,
    }
}

/// An M/M/1 queue: its time in system is exponential with rate µ − λ, so p99 = ln 100 / (µ − λ).
struct Server {
    served_per_s: f64,
    limit_s: f64,
    /// Standard deviation of the logarithm of a measured p99.
    noise: f64,
    /// Share of tries that something else disturbs.
    disturbed: f64,
    random: Random,
}

impl Server {
    /// The rate at which p99 is at its limit.
    fn truth(&self) -> f64 {
        self.served_per_s - 100_f64.ln() / self.limit_s
    }

    fn verdict(&mut self, rate_per_s: f64) -> ProbeVerdict {
        let noise = (self.random.normal() * self.noise).exp();
        let disturbed = self.random.unit() < self.disturbed;
        let spare = self.served_per_s - rate_per_s;
        let p99_s = 100_f64.ln() / spare * noise;
        match spare > 0.0 && p99_s < self.limit_s && !disturbed {
            true => ProbeVerdict::Passed,
            false => ProbeVerdict::Failed,
        }
    }
}

/// Runs a search to its end.
fn search(rules: &Rules, mut verdict: impl FnMut(f64) -> ProbeVerdict) -> (Answer, Vec<Probe>) {
    let mut probes = Vec::new();
    loop {
        match next(rules, &probes) {
            Step::Done(answer) => return (answer, probes),
            Step::Probe { rate_per_s, .. } => {
                assert!((rules.least_per_s..=rules.most_per_s).contains(&rate_per_s));
                let verdict = verdict(rate_per_s);
                probes.push(Probe {
                    rate_per_s,
                    verdict,
                });
            }
        }
    }
}

/// The border that was found: the rate kept, the rate missed, and whether that is sure.
#[track_caller]
fn found(answer: Answer) -> (f64, f64, Precision) {
    match answer {
        Answer::Found {
            passed_max_per_s,
            failed_min_per_s,
            sure,
        } => (passed_max_per_s, failed_min_per_s, sure),
        _ => panic!("{answer:?}"),
    }
}

#[test]
fn without_noise_the_border_is_found_within_the_tolerance_and_repeated() {
    for truth in [1.7, 37.0, 999.0, 123_456.0] {
        let (answer, probes) = search(&rules(), |rate| match rate <= truth {
            true => ProbeVerdict::Passed,
            false => ProbeVerdict::Failed,
        });
        let (passed_max_per_s, failed_min_per_s, sure) = found(answer);
        assert_eq!(sure, Precision::Confirmed, "{truth}: {answer:?}");
        assert!(passed_max_per_s <= truth && truth < failed_min_per_s);
        assert!(failed_min_per_s <= passed_max_per_s * 1.025 * 1.002);
        let tries = |rate: f64| probes.iter().filter(|p| p.rate_per_s == rate).count();
        assert!(
            tries(passed_max_per_s) >= 2 && tries(failed_min_per_s) >= 2,
            "two of three agree"
        );
        assert!(probes.len() < 30, "{}", probes.len());
    }
}

#[test]
fn a_noisy_server_is_found_within_the_tolerance_in_95_of_100_searches() {
    for (served_per_s, limit_s) in [(1000.0, 0.025), (1000.0, 0.05), (40_000.0, 0.001)] {
        let (mut good, mut effort) = (0, 0);
        const SEARCHES: u64 = 1000;
        for seed in 0..SEARCHES {
            let mut server = Server {
                served_per_s,
                limit_s,
                noise: 0.08,
                disturbed: 0.02,
                random: Random::from_seed(seed),
            };
            let truth = server.truth();
            let (answer, probes) = search(&rules(), |rate| server.verdict(rate));
            effort += probes.len();
            if let Answer::Found {
                passed_max_per_s, ..
            } = answer
            {
                good += u64::from((passed_max_per_s / truth - 1.0).abs() <= 0.05);
            }
        }
        assert!(
            good * 100 >= SEARCHES * 95,
            "{served_per_s}: {good} of {SEARCHES}"
        );
        assert!((effort as u64) < SEARCHES * 30, "{effort} tries");
    }
}

#[test]
fn a_search_that_begins_far_above_or_below_comes_to_the_same_border() {
    for first_per_s in [1.0, 90_000.0] {
        let rules = Rules {
            first_per_s,
            ..rules()
        };
        let (answer, _) = search(&rules, |rate| match rate <= 500.0 {
            true => ProbeVerdict::Passed,
            false => ProbeVerdict::Failed,
        });
        let (passed_max_per_s, ..) = found(answer);
        assert!((475.0..=500.0).contains(&passed_max_per_s), "{answer:?}");
    }
}

#[test]
fn one_false_miss_at_the_start_does_not_hold_the_search_down() {
    let mut tries = 0;
    let (answer, _) = search(&rules(), |rate| {
        tries += 1;
        match tries > 1 && rate <= 5000.0 {
            true => ProbeVerdict::Passed,
            false => ProbeVerdict::Failed,
        }
    });
    let (passed_max_per_s, ..) = found(answer);
    assert!(passed_max_per_s >= 4750.0, "{answer:?}");
}

#[test]
fn a_generator_at_its_limit_is_not_blamed_on_the_server() {
    let (answer, _) = search(&rules(), |rate| match rate <= 3000.0 {
        true => ProbeVerdict::Passed,
        false => ProbeVerdict::GeneratorLimited,
    });
    let Answer::AtLeast {
        passed_max_per_s,
        limit: Limit::Generator(at),
    } = answer
    else {
        panic!("{answer:?}")
    };
    assert!(passed_max_per_s <= 3000.0 && at > 3000.0);
    let (answer, _) = search(&rules(), |_| ProbeVerdict::GeneratorLimited);
    assert_eq!(answer, Answer::Unknown);
}

#[test]
fn a_generator_that_was_held_up_now_and_then_does_not_end_the_search() {
    let mut tries = 0;
    let (answer, _) = search(&rules(), |rate| {
        tries += 1;
        match (tries % 3, rate <= 3000.0) {
            (0, _) => ProbeVerdict::GeneratorLimited,
            (_, true) => ProbeVerdict::Passed,
            (_, false) => ProbeVerdict::Failed,
        }
    });
    let (passed_max_per_s, failed_min_per_s, sure) = found(answer);
    assert_eq!(sure, Precision::Confirmed, "{answer:?}");
    assert!(passed_max_per_s <= 3000.0 && failed_min_per_s > 3000.0);
    assert!(failed_min_per_s / passed_max_per_s < 1.06);
}

#[test]
fn a_server_that_keeps_or_misses_everything_has_a_bound_on_one_side() {
    let rules = Rules {
        most_per_s: 3000.0,
        ..rules()
    };
    let (answer, _) = search(&rules, |_| ProbeVerdict::Passed);
    let limit = Limit::Most;
    assert_eq!(
        answer,
        Answer::AtLeast {
            passed_max_per_s: 3000.0,
            limit
        }
    );
    let (answer, _) = search(&rules, |_| ProbeVerdict::Failed);
    assert_eq!(
        answer,
        Answer::Below {
            failed_min_per_s: 1.0
        }
    );
}

#[test]
fn a_coin_for_a_server_ends_with_a_rough_answer() {
    let mut random = Random::from_seed(4);
    let (answer, probes) = search(&rules(), |_| match random.below(2) {
        0 => ProbeVerdict::Passed,
        _ => ProbeVerdict::Failed,
    });
    assert!(probes.len() <= 60);
    assert_ne!(answer, Answer::Unknown);
}

#[test]
fn a_search_cut_short_says_what_it_knows() {
    let probe = |rate_per_s, verdict| Probe {
        rate_per_s,
        verdict,
    };
    let grown = [
        probe(100.0, ProbeVerdict::Passed),
        probe(200.0, ProbeVerdict::Passed),
    ];
    let limit = Limit::Effort;
    let at_least = Answer::AtLeast {
        passed_max_per_s: 200.0,
        limit,
    };
    assert_eq!(conclude(&rules(), &grown), at_least);
    let bounded = [
        probe(100.0, ProbeVerdict::Passed),
        probe(200.0, ProbeVerdict::Failed),
    ];
    let rough = Answer::Found {
        passed_max_per_s: 100.0,
        failed_min_per_s: 200.0,
        sure: Precision::Rough,
    };
    assert_eq!(conclude(&rules(), &bounded), rough);
    assert_eq!(conclude(&rules(), &[]), Answer::Unknown);
}

#[test]
fn rates_are_round_and_stay_what_they_are() {
    for (rate, round) in [
        (1234.56, 1235.0),
        (0.012_345_6, 0.012_35),
        (98_765.4, 98_770.0),
    ] {
        assert!((rounded(rate) - round).abs() < round * 1e-9, "{rate}");
        assert_eq!(rounded(rounded(rate)), rounded(rate));
    }
}
