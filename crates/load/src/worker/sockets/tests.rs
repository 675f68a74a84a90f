//! What is kept for a peer that reads little or nothing, over real sockets.

use std::io::Read;
use std::net::{TcpListener, TcpStream as Peer};

use mio::Poll;
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};

use super::*;

const CONN: ConnId = ConnId(0);

/// A connection whose kernel takes little, and its other end.
fn connected() -> (Sockets, Life, Peer) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    set_socket_recv_buffer_size(&listener, 8 * 1024).unwrap();
    let registry = Poll::new().unwrap().registry().try_clone().unwrap();
    let mut sockets = Sockets::new(registry, 1, None);
    sockets.connect(CONN, listener.local_addr().unwrap());
    let (peer, _) = listener.accept().unwrap();
    let life = sockets.life(CONN);
    while sockets.settle(life).is_none() {
        std::thread::yield_now();
    }
    set_socket_send_buffer_size(&sockets.live(life).unwrap().stream, 8 * 1024).unwrap();
    (sockets, life, peer)
}

/// Writes until the kernel takes no more.
fn fill(sockets: &mut Sockets, life: Life, bytes: &[u8]) {
    while !sockets.live(life).unwrap().has_unsent() {
        sockets.give(life, bytes);
    }
}

#[test]
fn what_went_is_not_kept_while_a_rest_waits_and_the_order_stays() {
    let (mut sockets, life, mut peer) = connected();
    let (mut written, mut read) = (0_u64, 0_u64);
    let mut piece = vec![0; 100_000];
    let mut part = vec![0; 20_000];
    while read < 20_000_000 {
        if sockets.live(life).unwrap().start.is_none() {
            for byte in &mut piece {
                *byte = (written % 251) as u8;
                written += 1;
            }
            sockets.give(life, &piece);
        }
        let count = peer.read(&mut part).unwrap();
        for &byte in &part[..count] {
            assert_eq!(byte, (read % 251) as u8, "byte {read}");
            read += 1;
        }
        sockets.flush(life);
        let kept = sockets.live(life).unwrap().unsent.capacity();
        assert!(kept < 1_000_000, "{kept} bytes kept after {read}");
    }
    assert_eq!(sockets.take_failed(), None);
}

#[test]
fn a_write_behind_one_that_has_not_begun_is_not_kept_and_ends_the_connection() {
    let (mut sockets, life, mut peer) = connected();
    fill(&mut sockets, life, &[1; 50_000]);
    sockets.flush(life);
    let first = sockets.give(life, b"begins later");
    assert_eq!((first, sockets.take_failed()), (Written::Queued, None));
    let kept = sockets.live(life).unwrap().unsent.len();
    for _ in 0..3 {
        assert_eq!(sockets.give(life, &[2; 50_000]), Written::Queued);
    }
    assert_eq!(sockets.live(life).unwrap().unsent.len(), kept);
    assert_eq!(sockets.take_failed(), Some((life, Closed::Unread)));
    assert_eq!(sockets.take_failed(), None, "once");
    // Once it has begun, the next one may be kept again.
    let mut part = vec![0; 50_000];
    while sockets.flush(life).is_none() {
        assert!(peer.read(&mut part).unwrap() > 0);
    }
    sockets.give(life, b"and on");
    assert_eq!(sockets.take_failed(), None);
}

#[test]
fn what_a_peer_has_tls_say_and_does_not_read_is_bounded() {
    let (mut sockets, life, mut peer) = connected();
    fill(&mut sockets, life, &[1; 50_000]);
    let before = sockets.live(life).unwrap().unsent.len();
    let answers = ANSWERS_BYTES_MAX / 27;
    for _ in 0..answers {
        sockets.give_own(life, &[3; 27]);
    }
    assert_eq!(sockets.take_failed(), None, "so much may wait");
    for _ in 0..1000 {
        sockets.give_own(life, &[3; 27]);
    }
    assert_eq!(sockets.take_failed(), Some((life, Closed::Unread)));
    assert_eq!(sockets.take_failed(), None, "once");
    let kept = sockets.live(life).unwrap().unsent.len() - before;
    assert_eq!(kept, answers * 27);
    // Who reads may have as much said again.
    let mut part = vec![0; 50_000];
    while sockets.live(life).unwrap().has_unsent() {
        assert!(peer.read(&mut part).unwrap() > 0);
        sockets.flush(life);
    }
    fill(&mut sockets, life, &[1; 50_000]);
    sockets.give_own(life, &[3; 27]);
    assert_eq!(sockets.take_failed(), None);
}
