//! The origin: a test server that returns responses with the size, delay, status and connection end that each request asks for.
//!
//! It is the server of a measurement, so it must be cheap and never the limit: epoll loops of its own, no allocation per request
//! after warm-up. Three layers are independent: the listener (`acceptor`), the transport (`transport`: plain TCP or TLS) and the
//! protocol (`protocol`: HTTP/1.1, HTTP/2 with gRPC, TCP, MongoDB's).
//!
//! | request | answer |
//! | --- | --- |
//! | any path | a body of `size=` bytes, see [`expected_body`] |
//! | `POST /echo` | the request's body |
//! | `/metrics` | counters, Prometheus text; not counted themselves |
//! | `/ready` | 200 as soon as it serves |
//! | `/control/stall?for=1s[&in=5s]` | the whole server stops answering for that long |
//!
//! Over HTTP/2 it also serves gRPC: `tare.origin.Echo` (proto/origin.proto), the standard health and reflection services.
//! Over plain TCP, bytes are echoed, answered in fixed sizes, discarded, or sent without end ([`TcpMode`]); over UDP, datagrams are
//! echoed.
//!
//! Over MongoDB's protocol there is a database in memory (`tare_mongo::database`), shared by all workers; behaviours apply to every
//! operation but a driver's hello, and `status=` other than 200 is answered by an error.
//!
//! Behaviours are written as in [`BehaviourOverride`], in the query or the header `Tare-Behaviour`. With `timestamps` the answer has
//! a header `Tare-Timestamps: <arrived> <sent>`: the kernel's receive timestamp of the request's last byte ("-" if there is none) and
//! the time just before the answer was written to the kernel (with TLS, before it was encrypted), both in nanoseconds of the realtime
//! clock. With several requests in one packet the timestamp is an upper bound for all but the last.
//!
//! Answers carry no `Date` header (RFC 9110 §6.6.1 would have one): a clock call and 37 bytes per answer that no measurement
//! needs.

mod acceptor;
mod any_protocol;
mod behaviour;
mod body;
mod connection;
mod counters;
mod delay;
mod error;
mod forwarded_identity;
mod fuzz;
mod grpc;
mod http1;
mod http2;
mod mongodb;
mod options;
mod protocol;
mod server;
mod service;
mod stall;
mod stop;
mod sys;
mod tcp;
mod timers;
mod tls;
mod transport;
mod udp;
mod worker;

pub use behaviour::{BehaviourError, BehaviourOverride};
pub use body::expected_body;
pub use counters::Totals;
pub use error::OriginError;
#[doc(hidden)]
pub use fuzz::fuzz_entry;
pub use options::{Limits, OriginOptions, ReceiveTimestamps, ServerProtocol, TcpMode, TcpSizes};
pub use server::{Origin, bind};
pub use stall::PlannedStall;
pub use stop::StopHandle;
pub use tls::{Identity, SessionTickets, TlsOptions, TlsVersions};
