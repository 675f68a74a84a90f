//! Buffers for a peer that reads little or nothing, over real sockets, and what sockets are not opened for.

use std::io::Read;
use std::net::{TcpListener, TcpStream as Peer};

use mio::Poll;
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};

use super::*;

const CONN: ConnId = ConnId(0);
const FAR: ConnId = ConnId(3);

/// A connection whose kernel takes little, and its other end.
fn connected() -> (Sockets, SocketKey, Peer) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    set_socket_recv_buffer_size(&listener, 8 * 1024).unwrap();
    let registry = Poll::new().unwrap().registry().try_clone().unwrap();
    let mut sockets = Sockets::new(
        registry,
        SocketKind::Stream,
        1,
        None,
        ConnectOptions::default(),
    );
    sockets.connect(CONN, listener.local_addr().unwrap());
    let (peer, _) = listener.accept().unwrap();
    let key = sockets.key(CONN);
    while sockets.finish_connect(key).is_none() {
        std::thread::yield_now();
    }
    set_socket_send_buffer_size(&sockets.live(key).unwrap().fd, 8 * 1024).unwrap();
    (sockets, key, peer)
}

/// Writes until the kernel takes no more.
fn fill(sockets: &mut Sockets, key: SocketKey, bytes: &[u8]) {
    while !sockets.live(key).unwrap().has_unsent() {
        sockets.write_or_buffer(key, bytes);
    }
}

#[test]
fn what_went_is_not_kept_while_a_rest_waits_and_the_order_stays() {
    let (mut sockets, key, mut peer) = connected();
    let (mut written, mut read) = (0_u64, 0_u64);
    let mut piece = vec![0; 100_000];
    let mut part = vec![0; 20_000];
    while read < 20_000_000 {
        if sockets.live(key).unwrap().start.is_none() {
            for byte in &mut piece {
                *byte = (written % 251) as u8;
                written += 1;
            }
            sockets.write_or_buffer(key, &piece);
        }
        let count = peer.read(&mut part).unwrap();
        for &byte in &part[..count] {
            assert_eq!(byte, (read % 251) as u8, "byte {read}");
            read += 1;
        }
        sockets.flush(key);
        let kept = sockets.live(key).unwrap().unsent.capacity();
        assert!(kept < 1_000_000, "{kept} bytes kept after {read}");
    }
    assert_eq!(sockets.take_failed(), None);
}

#[test]
fn a_write_behind_one_that_has_not_begun_is_not_kept_and_ends_the_connection() {
    let (mut sockets, key, mut peer) = connected();
    fill(&mut sockets, key, &[1; 50_000]);
    sockets.flush(key);
    let first = sockets.write_or_buffer(key, b"begins later");
    assert_eq!((first, sockets.take_failed()), (Written::Queued, None));
    let kept = sockets.live(key).unwrap().unsent.len();
    for _ in 0..3 {
        assert_eq!(sockets.write_or_buffer(key, &[2; 50_000]), Written::Queued);
    }
    assert_eq!(sockets.live(key).unwrap().unsent.len(), kept);
    assert_eq!(sockets.take_failed(), Some((key, Closed::RepliesUnread)));
    assert_eq!(sockets.take_failed(), None, "once");
    // Once it has begun, the next one may be kept again.
    let mut part = vec![0; 50_000];
    while sockets.flush(key).is_none() {
        assert!(peer.read(&mut part).unwrap() > 0);
    }
    sockets.write_or_buffer(key, b"and on");
    assert_eq!(sockets.take_failed(), None);
}

#[test]
fn what_a_peer_has_tls_say_and_does_not_read_is_bounded() {
    let (mut sockets, key, mut peer) = connected();
    fill(&mut sockets, key, &[1; 50_000]);
    let before = sockets.live(key).unwrap().unsent.len();
    let answers = REPLY_BYTES_MAX / 27;
    for _ in 0..answers {
        sockets.write_control(key, &[3; 27]);
    }
    assert_eq!(sockets.take_failed(), None, "so much may wait");
    for _ in 0..1000 {
        sockets.write_control(key, &[3; 27]);
    }
    assert_eq!(sockets.take_failed(), Some((key, Closed::RepliesUnread)));
    assert_eq!(sockets.take_failed(), None, "once");
    let kept = sockets.live(key).unwrap().unsent.len() - before;
    assert_eq!(kept, answers * 27);
    // A peer that reads gets as many replies again.
    let mut part = vec![0; 50_000];
    while sockets.live(key).unwrap().has_unsent() {
        assert!(peer.read(&mut part).unwrap() > 0);
        sockets.flush(key);
    }
    fill(&mut sockets, key, &[1; 50_000]);
    sockets.write_control(key, &[3; 27]);
    assert_eq!(sockets.take_failed(), None);
}

fn sockets(reach: AddressPolicy) -> Sockets {
    let poll = mio::Poll::new().unwrap();
    let registry = poll.registry().try_clone().unwrap();
    let dial = ConnectOptions {
        reach,
        ..ConnectOptions::default()
    };
    Sockets::new(registry, SocketKind::Stream, 4, None, dial)
}

#[test]
fn an_address_out_of_reach_gets_no_socket_and_fails_with_its_name() {
    for address in [
        "203.0.113.7:9092",
        "169.254.169.254:80",
        "[2001:db8::1]:443",
        "[::ffff:203.0.113.7]:80",
    ] {
        let address: SocketAddr = address.parse().unwrap();
        let mut sockets = sockets(AddressPolicy::Private);
        sockets.connect(FAR, address);
        assert!(sockets.slots[3].socket.is_none(), "{address} is called");
        let (key, why) = sockets.take_failed().unwrap();
        assert_eq!(key, sockets.key(FAR));
        let Closed::AddressNotAllowed(refused) = why else {
            panic!("{why:?}");
        };
        assert_eq!(refused.address, address.ip());
        assert!(sockets.take_failed().is_none(), "told once");
    }
}

#[test]
fn an_address_within_reach_gets_a_socket() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut sockets = sockets(AddressPolicy::Private);
    sockets.connect(FAR, listener.local_addr().unwrap());
    assert!(sockets.slots[3].socket.is_some());
    assert!(listener.accept().is_ok());
}
