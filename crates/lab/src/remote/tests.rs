//! Sessions over connections that are cut at any byte, and who is let in.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::connection::{Caller, Peer};
use super::greeting::{
    Hello, NotConnected, SERVER_NAME, Within, client_config, greet, let_in, server_config, token_of,
};
use crate::certificates::Authority;
use crate::keeper::lock;

const LIMIT: Duration = Duration::from_secs(60);
const SECRET: &str = "of-this-run";

/// A server with one session; what it received.
struct Server {
    address: SocketAddr,
    peer: Arc<Peer>,
    received: Arc<Mutex<Vec<Vec<u8>>>>,
    connections: Arc<AtomicU64>,
}

fn serve(authority: &Authority) -> Server {
    let (certificate, key) = authority.sign(SERVER_NAME, &[], &[]).unwrap();
    let config = server_config(&certificate, &key).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server {
        address: listener.local_addr().unwrap(),
        peer: Peer::new().unwrap(),
        received: Arc::default(),
        connections: Arc::default(),
    };
    let (peer, received) = (Arc::clone(&server.peer), Arc::clone(&server.received));
    let connections = Arc::clone(&server.connections);
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let (peer, received) = (Arc::clone(&peer), Arc::clone(&received));
            let (config, connections) = (Arc::clone(&config), Arc::clone(&connections));
            std::thread::spawn(move || {
                let socket = Within::new(socket.unwrap(), LIMIT).unwrap();
                let found = let_in(socket, &config, (SECRET, 1), |_| Ok(peer));
                if let Ok((link, peer, _)) = found {
                    connections.fetch_add(1, Ordering::Relaxed);
                    peer.serve(link, &mut |message| lock(&received).push(message));
                }
            });
        }
    });
    server
}

fn caller(
    authority: &Authority,
    secret: &str,
    dial: impl FnMut() -> std::io::Result<TcpStream> + Send + 'static,
) -> Caller {
    Caller {
        dial: Box::new(dial),
        config: client_config(&authority.root_pem()).unwrap(),
        token: token_of(secret, "server"),
        name: String::from("server"),
        silence: LIMIT,
    }
}

/// Passes bytes on, both ways, until this many have passed.
fn cut_after(bytes: usize, to: SocketAddr) -> std::io::Result<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let near = TcpStream::connect(listener.local_addr()?)?;
    let (inner, _) = listener.accept()?;
    let far = TcpStream::connect(to)?;
    let left = Arc::new(Mutex::new(bytes));
    for (mut from, mut to) in [
        (inner.try_clone()?, far.try_clone()?),
        (far.try_clone()?, inner.try_clone()?),
    ] {
        let left = Arc::clone(&left);
        std::thread::spawn(move || {
            let mut chunk = [0; 700];
            while let Ok(count @ 1..) = from.read(&mut chunk) {
                let mut left = lock(&left);
                let passes = count.min(*left);
                *left -= passes;
                if to.write_all(&chunk[..passes]).is_err() || passes < count {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
        });
    }
    Ok(near)
}

fn until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !holds() {
        assert!(Instant::now() < deadline, "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn all_messages_arrive_once_and_in_order_over_connections_that_are_cut() {
    const COUNT: u32 = 400;
    let authority = Authority::new("cut").unwrap();
    let server = serve(&authority);
    let address = server.address;
    let near = Peer::new().unwrap();
    let mut bytes = 2000;
    let dial = move || {
        // Each connection lasts a little longer: first within the handshake, then within messages.
        bytes += 7919;
        cut_after(bytes, address)
    };
    let caller = caller(&authority, SECRET, dial);
    let received: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let (calling, hearing) = (Arc::clone(&near), Arc::clone(&received));
    let thread = std::thread::spawn(move || {
        caller.run(&calling, |message| lock(&hearing).push(message));
    });
    let message = |number: u32| {
        let mut message = number.to_be_bytes().to_vec();
        message.resize(4 + number as usize % 900, 7);
        message
    };
    for number in 0..COUNT {
        near.send(message(number)).unwrap();
        server.peer.send(message(number)).unwrap();
    }
    let all: Vec<Vec<u8>> = (0..COUNT).map(message).collect();
    until(|| lock(&server.received).len() >= all.len() && lock(&received).len() >= all.len());
    assert!(*lock(&server.received) == all && *lock(&received) == all);
    assert!(server.connections.load(Ordering::Relaxed) > 3);
    // What was acknowledged is not kept.
    near.wait_sent(LIMIT);
    assert!(near.clock(LIMIT).unwrap().offset_ns.unsigned_abs() < 1_000_000_000);
    server.peer.end("the test is over");
    thread.join().unwrap();
    assert_eq!(near.ended().unwrap(), "the test is over");
    assert!(near.send(Vec::new()).is_err());
}

#[test]
fn a_stranger_and_another_authority_are_refused() {
    let authority = Authority::new("own").unwrap();
    let server = serve(&authority);
    let address = server.address;
    let peer = Peer::new().unwrap();
    let wrong = caller(&authority, "of-another", move || {
        TcpStream::connect(address)
    });
    wrong.run(&peer, |_| ());
    assert_eq!(peer.ended().unwrap(), "the token is wrong");
    let other = Authority::new("other").unwrap();
    let hello = Hello {
        token: token_of(SECRET, "server"),
        name: "server".into(),
        instance: 1,
        received: 0,
    };
    let config = client_config(&other.root_pem()).unwrap();
    let socket = TcpStream::connect(address).unwrap();
    let greeted = greet(socket, &config, &hello);
    assert!(matches!(greeted, Err(NotConnected::Failed(reason)) if reason.contains("certificate")));
    assert_eq!(server.connections.load(Ordering::Relaxed), 0);
}

#[test]
fn who_is_never_reached_is_gone_after_the_silence() {
    let authority = Authority::new("deaf").unwrap();
    let refused = || Err(std::io::ErrorKind::ConnectionRefused.into());
    let caller = Caller {
        silence: Duration::from_millis(300),
        ..caller(&authority, SECRET, refused)
    };
    let peer = Peer::new().unwrap();
    caller.run(&peer, |_| ());
    let why = peer.ended().unwrap();
    assert!(
        why.contains("nothing was heard") && why.contains("refused"),
        "{why}"
    );
}
