//! A stored backlog that is read over and over.

use tare_schema::load::{FetchEnd, FetchSpec, FetchUntil};

use super::tests::{filled, records, run, sim, spec};
use crate::engine::sim::{MS, S};

#[test]
fn a_backlog_is_read_again_from_its_beginning_as_long_as_the_load_lasts() {
    let brokers = filled(5, 20);
    let all = brokers.records() as u64;
    let again = FetchSpec {
        until: FetchUntil::default(),
        at_end: FetchEnd::Again,
        ..spec()
    };
    let mut world = sim(again, brokers);
    run(&mut world, 3 * S);
    let read = records(&world);
    assert!(read > 10 * all, "{read} of {all}");
    let counts = world.engine.recorder().counts();
    assert_eq!(counts.all.errors, 0);
    assert_eq!(counts.all.intended, counts.all.ok);
}

#[test]
fn an_empty_topic_is_waited_at_and_not_asked_in_a_circle() {
    let again = FetchSpec {
        until: FetchUntil::default(),
        at_end: FetchEnd::Again,
        ..spec()
    };
    let mut world = sim(again, filled(5, 0));
    world.run_until(900 * MS);
    assert_eq!(records(&world), 0);
    let asked = world.engine.recorder().counts().all.intended;
    assert!(asked <= 8, "a broker waits for records, {asked} fetches");
}
