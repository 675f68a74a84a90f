//! Start times are exact, shared without loss, and cut where the window is.

use proptest::prelude::*;
use std::sync::Arc;
use tare_record::load::{AtEnd, RateProfile, Shard, Stop, ThinkDistribution};
use tare_stats::hlog::Writer;
use tare_stats::random::Random;
use tare_stats::{Latencies, Range};

use super::*;

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

fn all(arrivals: &mut Arrivals) -> Vec<u64> {
    std::iter::from_fn(|| arrivals.take()).collect()
}

fn constant(rate: f64, warmup_ns: u64, stop: Stop, worker: u32, workers: u32) -> Arrivals {
    planned(
        &ArrivalSchedule::even(rate),
        warmup_ns,
        stop,
        worker,
        workers,
    )
}

fn planned(
    schedule: &ArrivalSchedule,
    warmup_ns: u64,
    stop: Stop,
    worker: u32,
    workers: u32,
) -> Arrivals {
    let planned = OpenLoop::new(schedule.clone(), warmup_ns, stop, worker, workers);
    let mut arrivals = Arrivals::OpenLoop(planned);
    arrivals.begin(S);
    arrivals
}

#[test]
fn a_constant_rate_does_not_drift_in_a_day() {
    let stop = Stop::Duration {
        window_ns: 86_400 * S,
    };
    let Arrivals::OpenLoop(mut arrivals) = constant(3.0, 0, stop, 0, 1) else {
        unreachable!()
    };
    let mut count = 0;
    let mut last = 0;
    while let Some(at) = arrivals.take() {
        count += 1;
        last = at;
    }
    assert_eq!(count, 3 * 86_400);
    assert_eq!(
        last - S,
        86_400 * S - 333_333_333,
        "a third of a second before the end, to the nanosecond"
    );
}

#[test]
fn the_window_begins_behind_the_warm_up_and_ends_before_its_end() {
    let stop = Stop::Duration { window_ns: 2 * S };
    let mut arrivals = constant(10.0, S, stop, 0, 1);
    assert_eq!(
        (arrivals.window_start_ns(), arrivals.window_end_ns()),
        (2 * S, 4 * S)
    );
    let starts = all(&mut arrivals);
    assert_eq!(starts.iter().filter(|&&at| at >= 2 * S).count(), 20);
    assert_eq!(starts.iter().filter(|&&at| at < 2 * S).count(), 10);
}

#[test]
fn a_count_is_counted_from_the_end_of_the_warm_up() {
    let mut arrivals = constant(10.0, S / 2, Stop::Count { exchanges: 7 }, 0, 1);
    let starts = all(&mut arrivals);
    assert_eq!(starts.len(), 5 + 7);
    assert_eq!(
        arrivals.window_end_ns() - arrivals.window_start_ns(),
        7 * S / 10
    );
}

#[test]
fn an_order_to_end_leaves_only_what_was_intended_before_it() {
    let mut arrivals = constant(1000.0, 0, Stop::Interrupted, 0, 1);
    assert_eq!(arrivals.take(), Some(S));
    arrivals.end_window_at(S + 5_500_000);
    assert_eq!(all(&mut arrivals).len(), 5);
    assert_eq!(arrivals.window_end_ns(), S + 5_500_000);
    assert!(arrivals.is_over(0));
}

/// Schedules of every kind, up to some thousand starts a second.
fn schedules() -> impl Strategy<Value = ArrivalSchedule> {
    let profile = || {
        (
            0.0..5000.0_f64,
            0.0..5000.0_f64,
            1..900_u64,
            0.5..5000.0_f64,
        )
            .prop_map(|(from, to, over_ms, last)| {
                let ramp = RateProfile::steady(from).ramp(to, over_ms * MS);
                ramp.jump(0.0).hold(20 * MS).jump(last)
            })
    };
    let recording = (
        proptest::collection::vec(0..800 * MS, 1..400),
        0.5..3.0_f64,
        any::<bool>(),
        0..3_u32,
    );
    prop_oneof![
        (0.5..100_000.0_f64).prop_map(ArrivalSchedule::even),
        profile().prop_map(ArrivalSchedule::Profile),
        (profile(), any::<u64>()).prop_map(|(profile, seed)| ArrivalSchedule::Random(
            PoissonSchedule::new(profile, Random::from_seed(seed))
        )),
        recording.prop_map(|(starts, speed, repeats, part)| {
            let at_end = if repeats { AtEnd::Repeat } else { AtEnd::Stop };
            let shard = Shard {
                count: 3,
                index: part,
            };
            ArrivalSchedule::Recorded(Arc::new(
                ArrivalTrace::of("test", starts, speed, at_end, shard).unwrap(),
            ))
        }),
    ]
}

proptest! {
    #[test]
    fn workers_share_every_schedule_without_loss_or_overlap(
        schedule in schedules(), workers in 1..8_u32, window_ms in 1..2000_u64, warmup_ms in 0..500_u64,
        exchanges in proptest::option::of(1..3000_u64),
    ) {
        let stop = match exchanges {
            Some(exchanges) => Stop::Count { exchanges },
            None => Stop::Duration { window_ns: window_ms * MS },
        };
        let warmup_ns = warmup_ms * MS;
        let mut whole = planned(&schedule, warmup_ns, stop, 0, 1);
        let alone = all(&mut whole);
        let mut shared = Vec::new();
        for worker in 0..workers {
            let mut share = planned(&schedule, warmup_ns, stop, worker, workers);
            shared.extend(all(&mut share));
            prop_assert_eq!(share.window_end_ns(), whole.window_end_ns(), "all end the window together");
        }
        shared.sort_unstable();
        prop_assert_eq!(&shared, &alone);
        prop_assert!(alone.is_sorted());
        if let (Some(exchanges), false) = (exchanges, matches!(schedule, ArrivalSchedule::Recorded(_))) {
            let counted = alone.iter().filter(|&&at| at >= whole.window_start_ns()).count();
            prop_assert_eq!(counted as u64, exchanges);
        }
    }

    #[test]
    fn a_schedule_has_as_many_starts_as_the_integral_of_its_rate(
        from in 0.0..20_000.0_f64, to in 1.0..20_000.0_f64, over_ms in 1..1500_u64, window_ms in 1..2000_u64,
    ) {
        let profile = RateProfile::steady(from).ramp(to, over_ms * MS);
        let stop = Stop::Duration { window_ns: window_ms * MS };
        let starts = all(&mut planned(&ArrivalSchedule::Profile(profile.clone()), 0, stop, 0, 1));
        let integral = profile.count_until(window_ms * MS);
        // The first start is at the beginning, so a whole integral has as many; a fraction has begun one more.
        prop_assert!((starts.len() as f64 - integral).abs() < 1.0 + 1e-6, "{} {}", starts.len(), integral);
        for (index, &at_ns) in starts.iter().enumerate() {
            let error = (profile.count_until(at_ns - S) - index as f64).abs();
            // Half a nanosecond of rounding at this rate.
            prop_assert!(error <= 0.51e-9 * profile.peak_per_s() + 1e-7, "start {} is {} off", index, error);
        }
    }

    #[test]
    fn a_shared_count_is_used_up_exactly(exchanges in 1..5000_u64, workers in 1..6_u32) {
        let shared = SharedCount::new(exchanges, workers);
        let mut looped: Vec<Arrivals> = (0..workers)
            .map(|_| {
                let stop = Stop::Count { exchanges };
                let mut arrivals = Arrivals::ClosedLoop(ClosedLoop::new(3, 0, 0, stop, &shared));
                arrivals.begin(S);
                arrivals
            })
            .collect();
        let mut taken = 0;
        let mut now = 2 * S;
        let mut at = 0;
        while looped.iter().any(|l| !l.is_over(now)) {
            let arrivals = &mut looped[at % workers as usize];
            if arrivals.take().is_some() {
                taken += 1;
                arrivals.ended(now, 1);
            }
            now += 1;
            at += 1;
        }
        prop_assert_eq!(taken, exchanges);
    }
}

#[test]
fn a_client_pauses_between_an_answer_and_its_next_exchange() {
    let shared = SharedCount::new(0, 1);
    let stop = Stop::Duration { window_ns: 100 * S };
    let mut arrivals = Arrivals::ClosedLoop(ClosedLoop::new(2, S, 0, stop, &shared));
    arrivals.begin(S);
    assert_eq!(
        all(&mut arrivals),
        [S, S + S / 2],
        "first exchanges are spread over a pause"
    );
    assert_eq!(arrivals.next_ns(), NEVER);
    arrivals.ended(5 * S, 1);
    assert_eq!(arrivals.next_ns(), 6 * S);
    arrivals.end_window_at(6 * S);
    assert_eq!(arrivals.take(), None);
    assert!(arrivals.is_over(6 * S));
}

#[test]
fn drawn_pauses_have_the_mean_asked_for_and_clients_go_on_in_the_order_of_their_ends() {
    for (spread, longest) in [
        (ThinkDistribution::Uniform, 2.0),
        (ThinkDistribution::Exponential, 30.0),
    ] {
        let shared = SharedCount::new(0, 1);
        let stop = Stop::Interrupted;
        let looped = ClosedLoop::new(1, MS, 0, stop, &shared).drawing(spread, Random::from_seed(5));
        let mut arrivals = Arrivals::ClosedLoop(looped);
        arrivals.begin(0);
        let mut now = arrivals.take().unwrap();
        let mut sum = 0;
        for _ in 0..20_000 {
            arrivals.ended(now, 1);
            let next = arrivals.take().unwrap();
            assert!((next - now) as f64 <= longest * MS as f64);
            sum += next - now;
            now = next;
        }
        let mean = sum as f64 / 20_000.0 / MS as f64;
        assert!((mean - 1.0).abs() < 0.03, "{spread:?}: {mean}");
    }
}

#[test]
fn random_gaps_are_exponential_whatever_the_rate_does() {
    let profile = RateProfile::steady(100.0).ramp(5000.0, 20 * S);
    let schedule =
        ArrivalSchedule::Random(PoissonSchedule::new(profile.clone(), Random::from_seed(9)));
    let stop = Stop::Duration { window_ns: 20 * S };
    let starts = all(&mut planned(&schedule, 0, stop, 0, 1));
    let expected = profile.count_until(20 * S);
    // Five standard deviations of a Poisson count.
    assert!((starts.len() as f64 - expected).abs() < 5.0 * expected.sqrt());
    let mut at: Vec<f64> = starts
        .iter()
        .map(|at| profile.count_until(at - S))
        .collect();
    at.insert(0, 0.0);
    let mut gaps: Vec<f64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_by(f64::total_cmp);
    let count = gaps.len() as f64;
    // Kolmogorov and Smirnov: 1.95 / √n is passed by one sample in a thousand.
    let distance = gaps.iter().enumerate().fold(0.0_f64, |worst, (rank, gap)| {
        let share = 1.0 - (-gap).exp();
        worst.max((share - rank as f64 / count).abs())
    });
    assert!(distance < 1.95 / count.sqrt(), "{distance}");
}

#[test]
fn another_seed_draws_other_starts_and_the_same_one_the_same() {
    let draw = |seed| {
        let random = PoissonSchedule::new(RateProfile::steady(1000.0), Random::from_seed(seed));
        let stop = Stop::Count { exchanges: 100 };
        all(&mut planned(
            &ArrivalSchedule::Random(random),
            0,
            stop,
            0,
            1,
        ))
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
}

fn parse(text: &str) -> Result<Vec<u64>, String> {
    super::parse::starts("file", text).map_err(|error| error.to_string())
}

#[test]
fn a_recording_is_read_in_seconds_or_nanoseconds_or_from_what_a_load_wrote() {
    assert_eq!(
        parse("# mine\n0\n0.25\n1.5e0\n").unwrap(),
        [0, S / 4, S + S / 2]
    );
    assert_eq!(
        parse("1700000000000000000\n1700000000000000007\n").unwrap()[1] % 10,
        7
    );
    let csv = "role,offset_ns,length_ns,intended,released\nload,1000000000,1000000000,2,2\n\
        load,1500000000,500000000,1,1\n";
    assert_eq!(parse(csv).unwrap(), [0, S / 2, S]);
    let unix = "1700000000000\n1700000000250\n";
    let starts = parse(unix).unwrap();
    assert_eq!(starts[1] - starts[0], S / 4, "milliseconds");
    assert_eq!(parse("0\n1700000000250\n").unwrap()[1], 1_700_000_000_250);
    let jtl = "timeStamp,elapsed,label,responseCode\n1700000000000,12,\"a, b\",200\n1700000001000,9,c,200\n";
    let starts = parse(jtl).unwrap();
    assert_eq!((starts.len(), starts[1] - starts[0]), (2, S));
    assert!(
        parse("timeStamp,elapsed\n17,1\n")
            .unwrap_err()
            .contains("file:2")
    );
    let second = std::time::Duration::from_secs(1);
    let mut two = Latencies::new(Range::default()).unwrap();
    two.record_many(5, 2);
    let mut writer =
        Writer::begin(Vec::new(), std::time::Duration::ZERO, &["load of client"]).unwrap();
    for tag in ["client.request.latency", "client.request.service"] {
        writer.interval(tag, second, second, &two).unwrap();
    }
    let hlog = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert_eq!(parse(&hlog).unwrap(), [S, S + S / 2]);
}

#[test]
fn what_is_no_recording_says_which_line_is_wrong() {
    assert!(
        parse("0\n1\nsoon\n")
            .unwrap_err()
            .contains("file:3: \"soon\"")
    );
    assert!(parse("-1.0\n").unwrap_err().contains("file:1"));
    assert!(
        parse("offset_ns,length_ns\n1,1\n")
            .unwrap_err()
            .contains("file:1")
    );
    let huge = format!("offset_ns,length_ns,intended\n1,1,{}\n", u64::MAX);
    assert!(parse(&huge).unwrap_err().contains("more than"));
    let none = ArrivalTrace::of("file", Vec::new(), 1.0, AtEnd::Stop, Shard::ALL);
    assert!(none.unwrap_err().to_string().contains("no starts"));
}

#[test]
fn a_recording_begins_at_once_and_repeats_one_mean_gap_behind_its_end() {
    let starts = vec![7 * S, 5 * S, 6 * S];
    let of = |at_end, speed| {
        ArrivalTrace::of("file", starts.clone(), speed, at_end, Shard::ALL).unwrap()
    };
    let run = |recording| {
        let schedule = ArrivalSchedule::Recorded(Arc::new(recording));
        let stop = Stop::Duration { window_ns: 5 * S };
        let mut arrivals = planned(&schedule, 0, stop, 0, 1);
        let starts: Vec<u64> = all(&mut arrivals).iter().map(|at| at - S).collect();
        (starts, arrivals.window_end_ns() - S)
    };
    assert_eq!(run(of(AtEnd::Stop, 1.0)), (vec![0, S, 2 * S], 3 * S));
    assert_eq!(
        run(of(AtEnd::Repeat, 1.0)),
        (vec![0, S, 2 * S, 3 * S, 4 * S], 5 * S)
    );
    assert_eq!(run(of(AtEnd::Stop, 2.0)), (vec![0, S / 2, S], S * 3 / 2));
    assert_eq!(
        of(AtEnd::Stop, 1.0).peak_arrivals(S),
        4,
        "two of a round, and room for its neighbours"
    );
}

#[test]
fn what_ended_together_is_ready_together_and_taken_in_runs() {
    let shared = SharedCount::new(1000, 1);
    let stop = Stop::Duration { window_ns: S };
    let mut arrivals = Arrivals::ClosedLoop(ClosedLoop::new(0, 0, 0, stop, &shared));
    arrivals.begin(S);
    arrivals.ended(S + 5, 70);
    arrivals.ended(S + 4, 30);
    arrivals.ended(S + 9, 1);
    assert_eq!(arrivals.take_batch(64), Some((S + 5, 64)));
    assert_eq!(arrivals.take(), Some(S + 5));
    assert_eq!(arrivals.take_batch(64), Some((S + 5, 35)));
    assert_eq!(arrivals.take_batch(64), Some((S + 9, 1)));
    assert_eq!(arrivals.take_batch(64), None);
}

#[test]
fn runs_are_cut_to_the_number_of_exchanges_that_is_left() {
    let shared = SharedCount::new(100, 1);
    let stop = Stop::Count { exchanges: 100 };
    let mut arrivals = Arrivals::ClosedLoop(ClosedLoop::new(0, 0, 0, stop, &shared));
    arrivals.begin(S);
    arrivals.ended(S, 500);
    let mut taken = 0;
    while let Some((_, count)) = arrivals.take_batch(64) {
        taken += count;
    }
    assert_eq!(taken, 100);
}
