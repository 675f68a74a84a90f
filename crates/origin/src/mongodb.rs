//! The MongoDB wire protocol: splits the input into messages; the database that all workers share answers them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tare_mongo::database::{Code, Context, Database, Limits, Operation, refuse};
use tare_mongo::message::{Header, MESSAGE_BYTES_MAX, Message, MessageError};

use crate::behaviour::{After, Behaviour, BehaviourOverride};
use crate::protocol::{Next, Protocol};
use crate::service::Service;
use crate::timers;

/// Bytes of answers after which they are sent before the next message is handled.
const ANSWER_BYTES: usize = 256 * 1024;

/// Capacity that is kept of a buffer for incomplete messages.
const KEEP_BYTES: usize = 64 * 1024;

/// Told to whoever sends the rest of a large message while all buffers are full.
const FULL: &str = "the origin's buffers are full: send fewer or shorter messages at a time";

/// The database of one origin.
#[derive(Debug, Clone)]
pub(crate) struct SharedDatabase(Arc<Mutex<Database>>);

impl SharedDatabase {
    /// An empty one, with default limits.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Database::new(Limits::default()))))
    }

    /// Uncontended with one worker.
    fn lock(&self) -> MutexGuard<'_, Database> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Mongodb {
    database: SharedDatabase,
    number: i64,
    /// Bytes from the start of the first message that is not answered.
    pending: Vec<u8>,
    /// The behaviour of the first message, while that waits for its delay.
    delayed: Option<Behaviour>,
    /// What happens to the connection after the answers written.
    after: After,
}

/// The result of handling the first message.
enum Step {
    /// A message of this many bytes is answered.
    Answered(usize),
    /// There is no complete message.
    Incomplete,
    /// Something else has to be done first; the message is kept.
    First(Next),
}

impl Mongodb {
    pub(crate) fn new(service: &Service) -> Self {
        let database = service.database.clone();
        let number = database.lock().connect();
        Self {
            database,
            number,
            pending: Vec::new(),
            delayed: None,
            after: After::KeepAlive,
        }
    }

    /// Answers complete messages; returns the number of their bytes.
    fn answer(&mut self, input: &[u8], service: &mut Service, out: &mut Vec<u8>) -> (usize, Next) {
        let mut taken = 0;
        loop {
            match self.after {
                After::KeepAlive => {}
                After::Close | After::Reset => return (taken, Next::Close),
            }
            if out.len() >= ANSWER_BYTES {
                return (taken, Next::Resume);
            }
            match self.step(&input[taken..], service, out) {
                Step::Answered(bytes) => taken += bytes,
                Step::Incomplete => return (taken, Next::Read),
                Step::First(next) => return (taken, next),
            }
        }
    }

    fn step(&mut self, input: &[u8], service: &mut Service, out: &mut Vec<u8>) -> Step {
        let header = match Header::read(input, MESSAGE_BYTES_MAX) {
            Ok(Some(header)) => header,
            Ok(None) => return Step::Incomplete,
            Err(error) => return self.hang_up(0, error, service, out),
        };
        let Some(bytes) = input.get(..header.length) else {
            return Step::Incomplete;
        };
        let message = match Message::read(&header, bytes) {
            Ok(message) => message,
            Err(error) => return self.hang_up(header.request_id, error, service, out),
        };
        if let Message::Msg(msg) = &message
            && msg.more_to_come
        {
            service.counters.malformed.add(1);
            let advice = "writes without an answer (w: 0) are not served; use w: 1";
            refuse(header.request_id, Code::IllegalOperation, advice, out);
            return Step::First(Next::Close);
        }
        let operation = operation_of(&message);
        let behaviour = match self.delayed.take() {
            Some(behaviour) => behaviour,
            // Hello is exempt: a driver whose hello fails or is delayed would not connect.
            None if operation == Operation::Hello => Behaviour::default(),
            None => {
                let behaviour = service.behave(&BehaviourOverride::default());
                if !behaviour.delay.is_zero() {
                    self.delayed = Some(behaviour);
                    return Step::First(Next::Wait(behaviour.delay));
                }
                behaviour
            }
        };
        if behaviour.after == After::Reset {
            service.counters.resets.add(1);
            return Step::First(Next::Reset);
        }
        self.after = behaviour.after;
        let failed = if behaviour.status == Behaviour::default().status {
            let context = Context {
                connection: self.number,
                now_ms: i64::try_from(timers::realtime_ns() / 1_000_000).unwrap_or(0),
            };
            let mut database = self.database.lock();
            let served = database.serve(&header, &message, context, out);
            served.failed.is_some()
        } else {
            let text = format!("injected by status={}", behaviour.status);
            refuse(header.request_id, Code::UnknownError, &text, out);
            true
        };
        service.counters.operation(operation);
        if failed {
            service.counters.failed_operation(operation);
        }
        Step::Answered(header.length)
    }

    /// Answers with an error and closes: the start of the next message is unknown.
    #[cold]
    fn hang_up(
        &mut self,
        request_id: i32,
        error: MessageError,
        service: &Service,
        out: &mut Vec<u8>,
    ) -> Step {
        service.counters.malformed.add(1);
        refuse(request_id, Code::BadValue, &error.to_string(), out);
        Step::First(Next::Close)
    }

    fn keep(&mut self, rest: &[u8]) {
        self.pending.extend_from_slice(rest);
    }
}

fn operation_of(message: &Message<'_>) -> Operation {
    let body = match message {
        Message::Msg(msg) => msg.body,
        Message::Query(query) => query.command(),
    };
    let name = body.first().map_or("", |(name, _)| name);
    Operation::of(name)
}

impl Protocol for Mongodb {
    fn receive(
        &mut self,
        input: &[u8],
        _: Option<u64>,
        service: &mut Service,
        out: &mut Vec<u8>,
    ) -> Next {
        if self.pending.is_empty() {
            let (taken, next) = self.answer(input, service, out);
            self.keep(&input[taken..]);
            return next;
        }
        if !service.append(&mut self.pending, input) {
            if self.pending.capacity() > KEEP_BYTES {
                self.pending = Vec::new();
                refuse(0, Code::UnknownError, FULL, out);
                return Next::Close;
            }
            self.keep(input);
        }
        self.resume(service, out)
    }

    fn resume(&mut self, service: &mut Service, out: &mut Vec<u8>) -> Next {
        let mut pending = std::mem::take(&mut self.pending);
        let (taken, next) = self.answer(&pending, service, out);
        pending.drain(..taken);
        if pending.is_empty() {
            pending.shrink_to(service.kept(KEEP_BYTES));
        }
        self.pending = pending;
        next
    }

    fn held_bytes(&mut self) -> usize {
        self.pending.capacity()
    }

    fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }
}
