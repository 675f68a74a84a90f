//! The origin, with clients that together send more than it keeps for all of them.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use super::{PEAK_BYTES_MAX, peak_bytes, rig};

/// Connections, and bytes of the body that each begins: together twenty times what the origin may keep.
const CLIENTS: usize = 40;
const SENT_BYTES: usize = 32 << 20;

#[test]
fn bodies_on_many_connections_take_the_memory_of_one_budget() {
    // Each worker has a budget of its own.
    let (origin, address) = rig::origin(&["--buffers", "64MiB", "--workers", "1"]);
    let send = |_| {
        let address = address.clone();
        std::thread::spawn(move || {
            let mut stream = TcpStream::connect(address).unwrap();
            stream
                .set_write_timeout(Some(Duration::from_secs(20)))
                .unwrap();
            stream
                .set_read_timeout(Some(Duration::from_secs(20)))
                .unwrap();
            let head = format!(
                "POST /echo HTTP/1.1\r\nHost: o\r\nContent-Length: {}\r\n\r\n",
                SENT_BYTES + 1
            );
            stream.write_all(head.as_bytes()).unwrap();
            let piece = [b'x'; 64 * 1024];
            let mut left = SENT_BYTES;
            while left > 0 && stream.write_all(&piece).is_ok() {
                left -= piece.len();
            }
            (left > 0 || is_answered(&stream), stream)
        })
    };
    let clients: Vec<_> = (0..CLIENTS).map(send).collect();
    let ended: Vec<_> = clients.into_iter().map(|one| one.join().unwrap()).collect();
    let refused = ended.iter().filter(|(refused, _)| *refused).count();
    let peak = peak_bytes(origin.0.id()).unwrap();
    println!("{} MB, {refused} of {CLIENTS} refused", peak / 1_000_000);
    assert!(peak < PEAK_BYTES_MAX, "{peak} bytes");
    assert!(refused >= CLIENTS - 4, "{refused}");
    // Others are served meanwhile.
    assert!(rig::metric(&address, "connections") > 0);
}

/// Whether a refusal came: whoever holds memory waits for the last byte of its body.
fn is_answered(stream: &TcpStream) -> bool {
    // Longer than a busy machine delays one.
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    loop {
        match stream.peek(&mut [0; 64]) {
            Ok(_) => return true,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}
