//! One sum for Kafka, too: each intended record or fetch is ok, an error, unfinished or never sent, whatever the schedule, the
//! brokers' behaviour, the length of the queue and the end of the load.

use proptest::prelude::*;
use tare_load::client::Client;
use tare_load::engine::sim::{MS, RandomEnd, RandomLoad, RandomPace};
use tare_record::load::{FetchEnd, FetchSpec, FetchUntil, Stop};

use crate::fetch::{self, Fetch};
use crate::produce::{self, Produce};
use crate::sim::{Asked, Brokers, Fate};

fn cases() -> impl Strategy<Value = RandomLoad> {
    let pacing = prop_oneof![
        (1.0..300.0_f64).prop_map(RandomPace::Constant),
        (1..9_usize).prop_map(RandomPace::Closed),
    ];
    let stop = prop_oneof![
        (1..3000_u64).prop_map(|ms| Stop::Duration { window_ns: ms * MS }),
        (1..300_u64).prop_map(|exchanges| Stop::Count { exchanges }),
    ];
    let ending = prop_oneof![
        (0..3000_u64).prop_map(|ms| RandomEnd::Planned { drain_ns: ms * MS }),
        (0..3000_u64).prop_map(|ms| RandomEnd::Interrupted { at_ns: ms * MS }),
        (0..3000_u64, 0..500_u64).prop_map(|(at_ms, late_ms)| RandomEnd::Aborted {
            at_ns: at_ms * MS,
            late_ns: late_ms * MS,
        }),
    ];
    let fates = prop::collection::vec(any::<u8>(), 1..60);
    (pacing, 0..500_u64, stop, 1..60_usize, ending, fates).prop_map(
        |(pacing, warmup_ms, stop, queue, ending, script)| RandomLoad {
            pacing,
            warmup_ns: warmup_ms * MS,
            stop,
            queue,
            ending,
            script,
        },
    )
}

/// Brokers that treat requests as the script says, in turn.
fn brokers(script: Vec<u8>, is_down: bool) -> Brokers {
    let mut brokers = Brokers::new(&[1, 2], 3);
    if is_down {
        brokers.down.push(2);
    }
    brokers.rule = Box::new(
        move |asked: Asked| match script[asked.number % script.len()] {
            0..128 => Fate::Take,
            128..144 => Fate::Refuse(6),
            144..160 => Fate::Refuse(19),
            160..176 => Fate::Refuse(87),
            176..192 => Fate::TakeAndRefuse(7),
            192..208 => Fate::Close,
            208..224 => Fate::TakeAndClose,
            224..240 => Fate::Silence,
            240.. => Fate::Rubbish,
        },
    );
    brokers
}

fn check<C: Client>(case: &RandomLoad, client: C, is_down: bool) -> Result<(), TestCaseError> {
    let brokers = brokers(case.script.clone(), is_down);
    let checked = case.check(client, brokers, |recorder| recorder);
    checked.map_err(TestCaseError::fail)
}

proptest! {
    #[test]
    fn producing(case in cases(), is_down in any::<bool>(), idempotence in any::<bool>()) {
        let client = Produce::new(produce::tests::plan(idempotence)).unwrap();
        check(&case, client, is_down)?;
    }

    #[test]
    fn consuming(
        case in cases(),
        is_down in any::<bool>(),
        backlog in any::<bool>(),
        records in prop::option::of(1..200_u64),
        idle_ms in prop::option::of(1..3000_u64),
    ) {
        let spec = FetchSpec {
            until: FetchUntil {
                records,
                backlog,
                idle_ns: idle_ms.map(|ms| ms * MS),
            },
            at_end: FetchEnd::Wait,
            ..fetch::tests::spec()
        };
        let pacing = RandomPace::Closed(usize::from(spec.in_flight_max));
        let case = RandomLoad { pacing, ..case };
        check(&case, Fetch::new(fetch::tests::plan(spec, (0, 1))), is_down)?;
    }
}
