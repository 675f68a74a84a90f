//! HTTP/1.1 servers that never read, or never come to an end.

use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::{repeat, says, server, survives, wait_for_bytes};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

#[test]
fn answers_to_requests_that_were_never_read_keep_no_requests() {
    let served = AtomicU32::new(0);
    let address = server(move |mut stream| {
        stream.set_nodelay(true)?;
        wait_for_bytes(&stream)?;
        // One answer for each request, but slower than those are begun. An answer that comes before its request ends the connection too,
        // with other words: the result keeps those of the first end, so the first connections are served most slowly.
        let pause_ms = if served.fetch_add(1, Ordering::Relaxed) < 2 {
            1500
        } else {
            100
        };
        loop {
            stream.write_all(OK)?;
            std::thread::park_timeout(Duration::from_millis(pause_ms));
        }
    });
    let how = ["--clients", "2", "--count", "60", "--body-size", "8MiB"];
    let outcomes = survives(&format!("http://{address}/"), &how);
    assert!(says(&outcomes, "does not read requests"), "{outcomes:?}");
}

/// All that has no end in HTTP/1.1.
#[test]
fn endless_heads_interim_answers_bodies_and_trailers_take_no_memory() {
    let endless: [(&[u8], &[u8]); 6] = [
        (
            b"HTTP/1.1 200 OK\r\n",
            b"x-fill: yyyyyyyyyyyyyyyyyyyyyy\r\n",
        ),
        (
            b"HTTP/1.1 200 OK\r\nx-fill: ",
            b"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
        ),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
            b"x-fill: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n",
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1;x=yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\nz\r\n",
        ),
    ];
    for (begin, unit) in endless {
        let address = server(move |mut stream| {
            wait_for_bytes(&stream)?;
            stream.write_all(begin)?;
            repeat(&stream, unit)
        });
        let how = ["--clients", "8", "--count", "40", "--timeout", "1s"];
        survives(&format!("http://{address}/"), &how);
    }
}

#[test]
fn heads_that_stop_short_on_many_connections_take_the_limit_of_a_head_each() {
    let address = server(|mut stream| {
        wait_for_bytes(&stream)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nx-fill: ")?;
        stream.write_all(&[b'y'; 60_000])?;
        // Until the client goes.
        std::io::copy(&mut stream, &mut std::io::sink()).map(drop)
    });
    let how = ["--clients", "400", "--count", "400"];
    let outcomes = survives(&format!("http://{address}/"), &how);
    let ended: u64 = outcomes.iter().map(|one| one.count).sum();
    assert_eq!(ended, 400, "{outcomes:?}");
}
