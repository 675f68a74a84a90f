//! Start times are exact, shared without loss, and cut where the window is.

use proptest::prelude::*;
use tare_schema::load::Stop;

use super::*;

const S: u64 = 1_000_000_000;

fn all(arrivals: &mut Arrivals) -> Vec<u64> {
    std::iter::from_fn(|| arrivals.take()).collect()
}

fn constant(rate: f64, warmup_ns: u64, stop: Stop, worker: u32, workers: u32) -> Arrivals {
    let mut arrivals = Arrivals::Constant(Constant::new(rate, warmup_ns, stop, worker, workers));
    arrivals.begin(S);
    arrivals
}

#[test]
fn a_constant_rate_does_not_drift_in_a_day() {
    let stop = Stop::Duration {
        window_ns: 86_400 * S,
    };
    let Arrivals::Constant(mut arrivals) = constant(3.0, 0, stop, 0, 1) else {
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
    arrivals.cut(S + 5_500_000);
    assert_eq!(all(&mut arrivals).len(), 5);
    assert_eq!(arrivals.window_end_ns(), S + 5_500_000);
    assert!(arrivals.is_over(0));
}

proptest! {
    #[test]
    fn workers_share_a_constant_rate_without_loss_or_overlap(
        rate in 0.5..100_000.0_f64, workers in 1..8_u32, window_ms in 1..2000_u64, warmup_ms in 0..500_u64,
    ) {
        let stop = Stop::Duration { window_ns: window_ms * 1_000_000 };
        let alone = all(&mut constant(rate, warmup_ms * 1_000_000, stop, 0, 1));
        let mut shared: Vec<u64> = (0..workers)
            .flat_map(|worker| all(&mut constant(rate, warmup_ms * 1_000_000, stop, worker, workers)))
            .collect();
        shared.sort_unstable();
        prop_assert_eq!(shared, alone);
    }

    #[test]
    fn a_shared_count_is_used_up_exactly(exchanges in 1..5000_u64, workers in 1..6_u32) {
        let shared = SharedCount::new(exchanges, workers);
        let mut looped: Vec<Arrivals> = (0..workers)
            .map(|_| {
                let stop = Stop::Count { exchanges };
                let mut arrivals = Arrivals::Looped(Looped::new(3, 0, 0, stop, &shared));
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
                arrivals.ended(now);
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
    let mut arrivals = Arrivals::Looped(Looped::new(2, S, 0, stop, &shared));
    arrivals.begin(S);
    assert_eq!(
        all(&mut arrivals),
        [S, S + S / 2],
        "first exchanges are spread over a pause"
    );
    assert_eq!(arrivals.next_ns(), NEVER);
    arrivals.ended(5 * S);
    assert_eq!(arrivals.next_ns(), 6 * S);
    arrivals.cut(6 * S);
    assert_eq!(arrivals.take(), None);
    assert!(arrivals.is_over(6 * S));
}
