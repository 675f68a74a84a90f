//! A single blocking call outside of a load: reflection and health checks before it.
//!
//! It uses the client of the load over one blocking stream, so that a call that works here works in the load.

use std::fmt::{self, Display};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tare_schema::load::{
    Body, CallKind, CallSpec, Deadline, Expect, ExpectBody, ExpectStatus, RequestSpec,
};
use thiserror::Error;

use super::message::PREFIX_BYTES;
use super::{Call, Grpc, Messages};
use crate::client::{
    Client, Closed, ConnId, Done, Due, ErrorClass, Outcome, Outlet, Stamp, Ticket, TimerId, Written,
};
use crate::clock::monotonic_ns;
use crate::protocols::http2::codec::Limits;
use crate::protocols::http2::dialect::{Dialect, HttpResponse, Outgoing};
use crate::protocols::http2::request::{RequestError, Scheme};
use crate::protocols::http2::{Http2, Http2Plan, Windows};
use crate::roster::{Connections, Opening};

/// Largest response.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Bytes of one read.
const BUFFER_BYTES: usize = 16 * 1024;

/// A call.
#[derive(Debug, Clone)]
pub struct Question {
    /// `/package.Service/Method`.
    pub path: String,
    /// Value of `:authority`.
    pub host: String,
    /// Value of `:scheme`: whether the stream is TLS.
    pub scheme: Scheme,
    /// Metadata.
    pub headers: Vec<(String, String)>,
    /// The messages of the call, in base64.
    pub messages: Vec<String>,
    /// Timeout of the whole call.
    pub limit: Duration,
}

/// Why a call failed.
#[derive(Debug, Error)]
pub enum AskError {
    /// The request cannot be sent.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The call failed; the class is that of the same failure in a load.
    #[error("{example} ({class})")]
    Failed {
        /// Its error class, such as `grpc-unimplemented`.
        class: String,
        /// The error message.
        example: String,
    },
    /// The call timed out.
    #[error("no whole answer within {} ms", limit.as_millis())]
    Limit {
        /// The timeout.
        limit: Duration,
    },
    /// The response is too large.
    #[error("the answer is larger than {ANSWER_BYTES_MAX} bytes")]
    Size,
}

/// Makes a call over a stream whose reads and writes have timeouts of their own, and returns the messages of the response.
///
/// # Errors
/// When the call fails, also by its status.
pub fn ask(stream: impl Read + Write, question: &Question) -> Result<Vec<Vec<u8>>, AskError> {
    let received = Arc::new(Mutex::new(ReceivedBody::default()));
    let mut client = client(question, &received)?;
    let mut outlet = StreamOutlet {
        stream,
        end: None,
        connects: 0,
        failed: None,
    };
    let until_ns = monotonic_ns().saturating_add(question.limit.as_nanos() as u64);
    client.start(&mut outlet);
    let due = Due {
        ticket: Ticket(0),
        request: 0,
    };
    client.due(due, &mut outlet);
    client.connected(ConnId(0), &mut outlet);
    client.flush(&mut outlet);
    let mut buffer = [0; BUFFER_BYTES];
    while outlet.end.is_none() {
        if monotonic_ns() >= until_ns {
            let limit = question.limit;
            return Err(AskError::Limit { limit });
        }
        let why = match (outlet.failed.take(), outlet.connects) {
            (Some(why), _) => Some(why),
            // The client gave up this connection and wants to open another.
            (None, 2..) => Some(Closed::Eof),
            (None, _) => match outlet.stream.read(&mut buffer) {
                Ok(0) => Some(Closed::Eof),
                Ok(count) => {
                    let now_ns = monotonic_ns();
                    client.bytes(
                        ConnId(0),
                        &buffer[..count],
                        Stamp::event(now_ns),
                        &mut outlet,
                    );
                    client.flush(&mut outlet);
                    None
                }
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut => None,
                    _ => Some(Closed::from_io(&error)),
                },
            },
        };
        if let Some(why) = why {
            client.closed(ConnId(0), why, &mut outlet);
            outlet.end.get_or_insert_with(|| {
                Err(AskError::Failed {
                    class: why.class().to_string(),
                    example: why.to_string(),
                })
            });
        }
    }
    outlet.end.unwrap_or(Ok(()))?;
    let received = received.lock().unwrap_or_else(PoisonError::into_inner);
    received.messages()
}

fn client(
    question: &Question,
    received: &Arc<Mutex<ReceivedBody>>,
) -> Result<Http2<RecordedCalls>, RequestError> {
    let spec = RequestSpec {
        name: "question".into(),
        weight: 1.0,
        method: "POST".into(),
        path: question.path.clone(),
        headers: question.headers.clone(),
        body: Body::Messages {
            base64: question.messages.clone(),
        },
        parts: Default::default(),
        expect: Expect {
            status: ExpectStatus::Success,
            body: ExpectBody::Any,
        },
    };
    let calls = CallSpec {
        kind: CallKind::Bidirectional,
        messages: question.messages.len().max(1) as u32,
        deadline: Deadline::Timeout,
        ..CallSpec::default()
    };
    let call = Call::new(
        &spec,
        &calls,
        &question.host,
        question.scheme,
        question.limit,
    )?;
    let recorded = RecordedCall {
        call,
        received: Arc::clone(received),
    };
    Ok(Http2::new(Http2Plan {
        requests: Arc::new([recorded]),
        connections: Connections {
            // Not used: the stream is already connected.
            addresses: Arc::new([SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))]),
            first: 0,
            count: 1,
            exchanges_max: u64::MAX,
            opening: Opening::default(),
            timeout_ns: question.limit.as_nanos() as u64,
            waiting_max: 1,
        },
        streams: 1,
        windows: Windows::default(),
        limits: Limits::default(),
    }))
}

/// A call, and the body of its response.
#[derive(Debug)]
struct RecordedCall {
    call: Call,
    received: Arc<Mutex<ReceivedBody>>,
}

/// The body of a response.
#[derive(Debug, Default)]
struct ReceivedBody {
    bytes: Vec<u8>,
    is_too_large: bool,
}

impl ReceivedBody {
    fn push(&mut self, slice: &[u8]) {
        self.is_too_large |= self.bytes.len() + slice.len() > ANSWER_BYTES_MAX;
        if !self.is_too_large {
            self.bytes.extend_from_slice(slice);
        }
    }

    /// The messages; their framing was checked at the end of the call.
    fn messages(&self) -> Result<Vec<Vec<u8>>, AskError> {
        if self.is_too_large {
            return Err(AskError::Size);
        }
        let mut messages = Vec::new();
        let mut rest = self.bytes.as_slice();
        while let Some((&[_, a, b, c, d], behind)) = rest.split_first_chunk::<PREFIX_BYTES>() {
            let size = u32::from_be_bytes([a, b, c, d]) as usize;
            let (message, behind) = behind.split_at(size.min(behind.len()));
            messages.push(message.to_vec());
            rest = behind;
        }
        Ok(messages)
    }
}

/// Calls as in a load, but response bodies are kept.
#[derive(Debug)]
struct RecordedCalls;

impl Dialect for RecordedCalls {
    type Request = RecordedCall;
    type Progress = Messages;

    fn outgoing(recorded: &RecordedCall) -> Outgoing<'_> {
        Grpc::outgoing(&recorded.call)
    }

    fn data(recorded: &RecordedCall, messages: &mut Messages, slice: &[u8]) {
        Grpc::data(&recorded.call, messages, slice);
        let mut received = recorded
            .received
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        received.push(slice);
    }

    fn judge(
        recorded: &RecordedCall,
        messages: &Messages,
        answer: &HttpResponse<'_>,
        tell: impl FnOnce(Outcome, &dyn Display),
    ) {
        Grpc::judge(&recorded.call, messages, answer, tell);
    }
}

/// The client's outlet: one stream that is already connected.
struct StreamOutlet<S> {
    stream: S,
    end: Option<Result<(), AskError>>,
    connects: u32,
    failed: Option<Closed>,
}

impl<S: Read + Write> Outlet for StreamOutlet<S> {
    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn connect(&mut self, _conn: ConnId, _address: SocketAddr) {
        self.connects += 1;
    }

    fn write(&mut self, _conn: ConnId, bytes: &[u8]) -> Written {
        let at_ns = monotonic_ns();
        let written = self
            .stream
            .write_all(bytes)
            .and_then(|()| self.stream.flush());
        if let Err(error) = written {
            self.failed = Some(Closed::from_io(&error));
        }
        Written::Sent(at_ns)
    }

    fn pour(&mut self, _conn: ConnId, bytes: &[u8]) -> usize {
        self.stream.write(bytes).unwrap_or(0)
    }

    fn half_close(&mut self, _conn: ConnId) {}

    fn close(&mut self, _conn: ConnId) {}

    fn timer(&mut self, _timer: TimerId, _at_ns: u64) {
        // The timeout of the call is checked between reads, which have timeouts of their own.
    }

    fn done(&mut self, _ticket: Ticket, done: &Done<'_>) {
        self.end = Some(match done.outcome {
            Outcome::Ok(_) => Ok(()),
            Outcome::Wrong(class) => Err(failed(class, done.example)),
            Outcome::Unfinished => Err(failed(ErrorClass::UNFINISHED, done.example)),
        });
    }

    fn fault(&mut self, class: ErrorClass, example: &dyn Display) {
        self.end.get_or_insert_with(|| Err(failed(class, example)));
    }
}

fn failed(class: ErrorClass, example: &dyn fmt::Display) -> AskError {
    AskError::Failed {
        class: class.to_string(),
        example: example.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::protocols::http2::codec::tests::{block, raw, settings};

    /// A server with a fixed script. Its SETTINGS come in a read of their own, because the client sends no request before them.
    /// Received bytes are kept.
    struct Script {
        says: Vec<u8>,
        settings_bytes: usize,
        at: usize,
        piece: usize,
        told: Arc<Mutex<Vec<u8>>>,
    }

    impl Read for Script {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let end = match self.at < self.settings_bytes {
                true => self.settings_bytes,
                false => self.says.len(),
            };
            let rest = &self.says[self.at..end];
            let count = rest.len().min(self.piece).min(buffer.len());
            buffer[..count].copy_from_slice(&rest[..count]);
            self.at += count;
            Ok(count)
        }
    }

    impl Write for Script {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.told.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const HEAD: &[(&str, &str)] = &[(":status", "200"), ("content-type", "application/grpc")];

    /// Calls a server that sends these frames after its SETTINGS, in pieces of `piece` bytes.
    fn recorded(frames: &[Vec<u8>], piece: usize) -> (Result<Vec<Vec<u8>>, AskError>, Vec<u8>) {
        let told = Arc::default();
        let script = Script {
            says: [&[settings(&[])], frames].concat().concat(),
            settings_bytes: settings(&[]).len(),
            at: 0,
            piece,
            told: Arc::clone(&told),
        };
        let question = Question {
            path: "/a.B/C".into(),
            host: "here".into(),
            scheme: Scheme::Http,
            headers: vec![("x-key".into(), "1".into())],
            messages: vec!["YQ==".into(), "YmI=".into()],
            limit: Duration::from_secs(10),
        };
        let answer = ask(script, &question);
        let told = told.lock().unwrap().clone();
        (answer, told)
    }

    #[test]
    fn the_messages_of_an_answer_are_given_however_they_arrive() {
        let frames = [
            raw(1, 4, 1, &block(HEAD)),
            raw(0, 0, 1, b"\0\0\0\0\x02hi\0\0\0\0\0"),
            raw(0, 0, 1, b"\0\0\0\0\x01x"),
            raw(1, 5, 1, &block(&[("grpc-status", "0")])),
        ];
        for piece in 1..40 {
            let (answer, told) = recorded(&frames, piece);
            assert_eq!(answer.unwrap(), [b"hi".to_vec(), Vec::new(), b"x".to_vec()]);
            let body = b"\0\0\0\0\x01a\0\0\0\0\x02bb";
            assert!(told.windows(body.len()).any(|part| part == body));
        }
    }

    #[test]
    fn a_status_an_end_and_a_replaced_connection_are_told_by_their_class() {
        let class = |frames: &[Vec<u8>]| match recorded(frames, 1000).0 {
            Err(AskError::Failed { class, .. }) => class,
            other => panic!("{other:?}"),
        };
        let refused = [HEAD, &[("grpc-status", "12")]].concat();
        assert_eq!(
            class(&[raw(1, 5, 1, &block(&refused))]),
            "grpc-unimplemented"
        );
        assert_eq!(class(&[]), "closed");
        let goaway = raw(7, 0, 0, &[0; 8]);
        assert_eq!(class(&[goaway]), "closed");
        let rubbish = raw(1, 5, 1, &[0xff; 5]);
        assert_eq!(class(&[rubbish]), "malformed");
    }
}
