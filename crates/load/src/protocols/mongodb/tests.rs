//! The client against Tare's own database, and against servers that answer wrongly.

use std::collections::HashMap;

use tare_mongo::database::{Context, Database, Limits};
use tare_mongo::message::{Header, MESSAGE_BYTES_MAX, Message, write_msg};
use tare_record::load::Stop;
use tare_stats::random::Random;

use super::{DocumentSource, MongoData, Mongodb, MongodbPlan, Operation};
use crate::arrivals::{Arrivals, ClosedLoop, SharedCount};
use crate::client::{Closed, ConnId};
use crate::engine::sim::{Act, Far, MS, S, Sim, connections};

/// A database behind every connection; answers may be changed on their way, and come in pieces.
struct Server {
    database: Database,
    inboxes: HashMap<ConnId, Vec<u8>>,
    /// Gets the number of the answer and the answer.
    change: fn(usize, Vec<u8>) -> Vec<Act>,
    answers: usize,
}

impl Server {
    fn new(change: fn(usize, Vec<u8>) -> Vec<Act>) -> Self {
        Self {
            database: Database::new(Limits::default()),
            inboxes: HashMap::new(),
            change,
            answers: 0,
        }
    }
}

fn unchanged(_: usize, answer: Vec<u8>) -> Vec<Act> {
    vec![Act::Send(answer)]
}

impl Far for Server {
    fn connect(&mut self, _now_ns: u64, conn: ConnId) -> Vec<(u64, Act)> {
        self.inboxes.insert(conn, Vec::new());
        vec![(0, Act::Accept)]
    }

    fn bytes(&mut self, _now_ns: u64, conn: ConnId, bytes: &[u8]) -> Vec<(u64, Act)> {
        let inbox = self.inboxes.entry(conn).or_default();
        inbox.extend_from_slice(bytes);
        let header = Header::read(inbox, MESSAGE_BYTES_MAX).unwrap().unwrap();
        assert_eq!(header.length, inbox.len(), "one message at a time");
        let message = Message::read(&header, inbox).unwrap();
        let context = Context {
            connection: 1,
            now_ms: 0,
        };
        let mut out = Vec::new();
        self.database.serve(&header, &message, context, &mut out);
        inbox.clear();
        self.answers += 1;
        let acts = (self.change)(self.answers, out);
        acts.into_iter().map(|act| (0, act)).collect()
    }
}

fn data(documents: u32) -> MongoData {
    MongoData {
        database: "d".into(),
        collection: "c".into(),
        documents,
        document_bytes: 100,
    }
}

fn client(operation: Operation, documents: u32, count: usize) -> Mongodb {
    Mongodb::new(MongodbPlan {
        operations: [operation].into(),
        connections: connections(count, S),
        documents: DocumentSource::new(&data(documents), (0, 1), 7, Random::from_seed(1)),
    })
}

/// Exchanges of one client over one connection: what was right, connections opened again, classes of the others.
fn run(
    operation: Operation,
    exchanges: u64,
    server: Server,
) -> ((u64, u64, Vec<String>), Sim<Mongodb, Server>) {
    let shared = SharedCount::new(exchanges, 1);
    let looped = ClosedLoop::new(1, 0, 0, Stop::Count { exchanges }, &shared);
    let client = client(operation, 1200, 1);
    let mut sim = Sim::new(client, Arrivals::ClosedLoop(looped), 1, server);
    sim.run_until(100 * S);
    assert!(sim.engine.is_drained(sim.net.now_ns));
    let counts = sim.engine.recorder().counts();
    let (ok, again) = (counts.window.ok, counts.connections.reconnects);
    let classes = sim.classes.seen();
    let classes = classes.iter().map(|seen| seen.class.to_string()).collect();
    ((ok, again, classes), sim)
}

/// How many documents are there.
fn counted(sim: &mut Sim<Mongodb, Server>) -> usize {
    let mut sent = Vec::new();
    write_msg(&mut sent, 1, 0, |w| {
        w.str("find", "c").i32("batchSize", 10_000).str("$db", "d");
    });
    let acts = sim.net.far.bytes(0, ConnId(99), &sent);
    let Act::Send(answer) = &acts[0].1 else {
        panic!("no answer")
    };
    let header = Header::read(answer, MESSAGE_BYTES_MAX).unwrap().unwrap();
    let Message::Msg(msg) = Message::read(&header, answer).unwrap() else {
        panic!("no OP_MSG")
    };
    let cursor = msg.body.get("cursor").unwrap().as_doc().unwrap();
    let batch = cursor.get("firstBatch").unwrap().as_array().unwrap();
    batch.iter().count()
}

#[test]
fn the_documents_are_there_before_the_load_begins_and_every_operation_is_right() {
    for (operation, documents) in [
        (Operation::Find, 1200),
        (Operation::Insert, 1250),
        (Operation::Update, 1200),
        (Operation::Delete, 1200),
    ] {
        let (ends, mut sim) = run(operation, 50, Server::new(unchanged));
        assert_eq!(ends, (50, 0, vec![]), "{operation:?}");
        assert_eq!(counted(&mut sim), documents, "{operation:?}");
    }
}

#[test]
fn answers_in_pieces_are_put_together() {
    fn pieces(_: usize, answer: Vec<u8>) -> Vec<Act> {
        answer
            .chunks(5)
            .map(|piece| Act::Send(piece.to_vec()))
            .collect()
    }
    let (ends, _) = run(Operation::Find, 10, Server::new(pieces));
    assert_eq!(ends, (10, 0, vec![]));
}

#[test]
fn what_was_inserted_is_deleted_in_turn() {
    let mut documents = DocumentSource::new(&data(1), (0, 1), 7, Random::from_seed(1));
    let mut message = Vec::new();
    assert_eq!(
        documents
            .write_request(Operation::Delete, &mut message)
            .matches,
        0
    );
    for _ in 0..2 {
        let sent = documents.write_request(Operation::Insert, &mut message);
        documents.record_insert(&sent);
    }
    let deleted: Vec<_> = (0..3)
        .map(|_| documents.write_request(Operation::Delete, &mut message))
        .map(|sent| (sent.document, sent.matches))
        .collect();
    assert_eq!(deleted, [(1, 1), (2, 1), (0, 0)]);
}

#[test]
fn errors_of_the_server_are_told_by_their_code_and_keep_the_connection() {
    fn failing(number: usize, answer: Vec<u8>) -> Vec<Act> {
        // The first three answers are to the preload.
        if number <= 3 {
            return unchanged(number, answer);
        }
        let header = Header::read(&answer, MESSAGE_BYTES_MAX).unwrap().unwrap();
        let mut out = Vec::new();
        write_msg(&mut out, 1, header.response_to, |w| {
            w.f64("ok", 0.0)
                .str("errmsg", "interrupted")
                .i32("code", 11_600);
        });
        vec![Act::Send(out)]
    }
    let (ends, sim) = run(Operation::Update, 10, Server::new(failing));
    assert_eq!(ends, (0, 0, vec!["mongodb-error-11600".to_owned()]));
    let example = sim.classes.seen()[0].example.clone().unwrap();
    assert_eq!(example, "the server answers error 11600: interrupted");
}

#[test]
fn a_find_of_nothing_and_an_answer_to_another_request_are_wrong() {
    fn emptied(number: usize, answer: Vec<u8>) -> Vec<Act> {
        if number <= 3 {
            return unchanged(number, answer);
        }
        let header = Header::read(&answer, MESSAGE_BYTES_MAX).unwrap().unwrap();
        let mut out = Vec::new();
        write_msg(&mut out, 1, header.response_to, |w| {
            w.f64("ok", 1.0).doc("cursor", |w| {
                w.array("firstBatch", |_| {});
            });
        });
        vec![Act::Send(out)]
    }
    fn misled(number: usize, mut answer: Vec<u8>) -> Vec<Act> {
        if number > 3 {
            answer[8] ^= 0x55;
        }
        unchanged(number, answer)
    }
    let (ends, sim) = run(Operation::Find, 5, Server::new(emptied));
    assert_eq!(ends, (0, 0, vec!["wrong-body".to_owned()]));
    let example = sim.classes.seen()[0].example.clone().unwrap();
    assert_eq!(example, "0 documents matched, not 1");
    let (ends, _) = run(Operation::Find, 5, Server::new(misled));
    assert_eq!(ends, (0, 5, vec!["malformed".to_owned()]));
}

#[test]
fn a_connection_lost_while_it_fills_is_followed_by_one_that_fills_again() {
    fn dropping(number: usize, answer: Vec<u8>) -> Vec<Act> {
        match number {
            2 => vec![Act::Close(Closed::Reset)],
            number => unchanged(number, answer),
        }
    }
    let server = Server::new(dropping);
    let shared = SharedCount::new(5, 1);
    let looped = ClosedLoop::new(1, 0, 0, Stop::Count { exchanges: 5 }, &shared);
    let mut sim = Sim::new(
        client(Operation::Find, 1200, 1),
        Arrivals::ClosedLoop(looped),
        1,
        server,
    );
    sim.run_until(100 * S + MS);
    assert_eq!(sim.engine.recorder().counts().window.ok, 5);
    assert_eq!(counted(&mut sim), 1200);
}
