//! The origin as its clients see it, over loopback. `behaviours`: what an answer can be asked to be; `buffers`: more memory than there is; `requests`: right and
//! wrong requests; `life`: start, many connections, stalls, counters, the end; `mongodb`: the database and its driver; `tcp`: bytes and resets; `tls`: certificates and handshakes; `rig`: a server and a small client.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod behaviours;
mod buffers;
mod descriptors;
mod http2;
mod life;
mod mongodb;
mod requests;
mod rig;
mod tcp;
mod tls;
