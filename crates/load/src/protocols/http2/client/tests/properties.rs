//! Properties: whatever a server sends, each exchange ends exactly once; all responses of a correct server arrive.

use proptest::prelude::*;

use super::super::super::codec::tests::{block, raw, settings};
use super::super::conn::State;
use super::rig::{MS, ONE, Rig, Setup, goaway, head, last_data, ok, reset, window};
use crate::client::{Client, Closed, ConnId};

/// Something that happens to a client.
#[derive(Debug, Clone)]
enum Step {
    Due(u32),
    Bytes(Vec<u8>),
    Pass(u64),
    Close,
    Full,
    Wrote,
}

fn server_bytes() -> impl Strategy<Value = Vec<u8>> {
    let stream = (0u32..8).prop_map(|at| 2 * at + 1);
    let rubbish = prop::collection::vec(any::<u8>(), 0..40);
    stream.prop_flat_map(move |stream| {
        prop_oneof![
            6 => Just(ok(stream)),
            3 => Just([head(stream, &[(":status", "200")]), last_data(stream, b"hello")].concat()),
            2 => Just(head(stream, &[(":status", "200"), ("content-length", "5")])),
            2 => Just(last_data(stream, b"hello")),
            1 => Just(raw(1, 5, stream, &block(&[("grpc-status", "0")]))),
            1 => Just(reset(stream, 7)),
            1 => Just(goaway(stream, 0)),
            2 => (0u32..70_000).prop_map(move |more| window(stream, more)),
            1 => Just(window(0, 50_000)),
            2 => (0u32..200).prop_map(|limit| settings(&[(3, limit % 5), (4, limit)])),
            1 => Just(raw(6, 0, 0, &[1; 8])),
            1 => rubbish.clone(),
        ]
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u32..5).prop_map(Step::Due),
        10 => server_bytes().prop_map(Step::Bytes),
        2 => (0u64..600).prop_map(|ms| Step::Pass(ms * MS)),
        1 => Just(Step::Close),
        1 => Just(Step::Full),
        2 => Just(Step::Wrote),
    ]
}

/// Accepts all pending connections and sends the server's SETTINGS.
fn attend(rig: &mut Rig<super::super::super::stream_protocol::Http>) {
    for conn in 0..2u32 {
        if let State::Connecting { .. } = rig.client.conns[conn as usize].state {
            rig.connected(conn);
            rig.arrives(conn, &settings(&[(4, 20)]));
        }
    }
}

proptest! {
    #[test]
    fn each_exchange_ends_exactly_once_whatever_happens(
        steps in prop::collection::vec((step(), 0u32..2), 1..120),
    ) {
        let mut rig = Rig::new(Setup { connections: 2, ..ONE });
        let mut begun = 0;
        for (step, conn) in steps {
            attend(&mut rig);
            let is_open = rig.net.open[conn as usize];
            match step {
                Step::Due(request) if begun - rig.net.ended.len() < 60 => {
                    rig.due(request);
                    begun += 1;
                }
                Step::Bytes(bytes) if is_open => rig.arrives(conn, &bytes),
                Step::Pass(ns) => rig.pass(ns),
                Step::Close if is_open => {
                    rig.net.kernel = super::Kernel::Takes;
                    rig.closes(conn, Closed::Reset);
                }
                Step::Full => rig.net.kernel = super::Kernel::Full,
                Step::Wrote if is_open => {
                    rig.net.kernel = super::Kernel::Takes;
                    let now_ns = rig.net.now_ns;
                    for conn in 0..2 {
                        if rig.net.open[conn] && rig.client.conns[conn].output.is_blocked() {
                            rig.client.on_write_started(ConnId(conn as u32), now_ns, &mut rig.net);
                        }
                    }
                }
                _ => {}
            }
        }
        rig.client.abandon(&mut rig.net);
        prop_assert_eq!(rig.net.ended.len(), begun);
    }

    #[test]
    fn a_right_server_answers_everything_whatever_its_order_and_splits(
        order in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
        limit in 1u32..6,
        piece in 1usize..50,
    ) {
        let mut rig = Rig::greeted(&[(3, limit)]);
        for _ in 0..order.len() {
            rig.due(4);
        }
        let mut waiting: Vec<u32> = Vec::new();
        for pick in &order {
            let begun = rig.sent(0).into_iter().filter(|sent| sent.kind == 1).map(|sent| sent.stream);
            waiting.extend(begun);
            prop_assert!(waiting.len() <= limit as usize);
            let stream = waiting.swap_remove(pick.index(waiting.len()));
            let answer = [head(stream, &[(":status", "200"), ("content-length", "5")]), last_data(stream, b"hello")];
            for bytes in answer.concat().chunks(piece) {
                rig.arrives(0, bytes);
            }
        }
        prop_assert_eq!(rig.net.ended.len(), order.len());
        prop_assert!(rig.net.ended.iter().all(|ended| ended.class() == "ok"));
    }
}
