//! Handshake and session against a rustls server in memory: any split of the stream, key updates, ends, malformed bytes.

use std::io::{Cursor, Read, Write};
use std::sync::Arc;

use proptest::prelude::*;
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection};
use tare_record::load::{Resumption, TlsSpec, TlsVersion, Trust};

use super::{
    Decrypted, Handshake, HandshakeProgress, HandshakeResult, PostHandshake, Session, TlsClient,
    TlsFailure,
};

fn server(ticketer: Option<Ticketer>) -> ServerConnection {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    if let Some(ticketer) = ticketer {
        config.ticketer = Arc::new(ticketer);
    }
    ServerConnection::new(Arc::new(config)).unwrap()
}

fn client(version: TlsVersion) -> TlsClient {
    let spec = TlsSpec {
        trust: Trust::Any,
        identity: None,
        server_name: None,
        alpn: None,
        oldest: version,
        newest: version,
        resumption: Resumption::On,
    };
    TlsClient::new(&spec, "localhost:443", None).unwrap()
}

fn take(server: &mut ServerConnection, mut wire: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while !wire.is_empty() {
        server.read_tls(&mut wire).unwrap();
        server.process_new_packets().unwrap();
        let mut part = [0; 32 * 1024];
        while let Ok(count @ 1..) = server.reader().read(&mut part) {
            all.extend_from_slice(&part[..count]);
        }
    }
    all
}

fn give(server: &mut ServerConnection) -> Vec<u8> {
    let mut wire = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut wire).unwrap();
    }
    wire
}

/// Performs a handshake; the server's bytes arrive in pieces of this size.
fn shake(version: TlsVersion, piece: usize) -> (Session, ServerConnection, Vec<u8>) {
    shake_with(version, piece, None)
}

fn shake_with(
    version: TlsVersion,
    piece: usize,
    ticketer: Option<Ticketer>,
) -> (Session, ServerConnection, Vec<u8>) {
    let mut server = server(ticketer);
    let mut handshake = Handshake::begin(&client(version), None).unwrap();
    let mut out = Vec::new();
    handshake.proceed(&[], &mut out).unwrap();
    for _ in 0..10 {
        take(&mut server, &out);
        out.clear();
        let wire = give(&mut server);
        let mut pieces = wire.chunks(piece);
        while let Some(part) = pieces.next() {
            if handshake.proceed(part, &mut out).unwrap() == HandshakeProgress::Done {
                let HandshakeResult { session, early, .. } = handshake.finish().unwrap();
                assert!(early.is_empty());
                take(&mut server, &out);
                let rest = pieces.flatten().copied().collect();
                return (session, server, rest);
            }
        }
    }
    panic!("no end of the handshake");
}

/// What a session reads from bytes that arrive in these pieces, and its replies.
fn open(session: &mut Session, wire: &[u8], pieces: &[usize]) -> (Vec<u8>, u32, Vec<u8>) {
    let (mut data, mut tickets, mut out) = (Vec::new(), 0, Vec::new());
    let mut rest = wire;
    let mut sizes = pieces.iter().copied().cycle();
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(sizes.next().unwrap().clamp(1, rest.len()));
        rest = behind;
        let mut buffer = vec![0; 64 * 1024];
        let held = session.put_held(&mut buffer);
        buffer[held..held + part.len()].copy_from_slice(part);
        let all = held + part.len();
        let mut at = 0;
        loop {
            match session.open(&mut buffer[at..all], &mut out).unwrap() {
                Decrypted::Data { from, to, used } => {
                    data.extend_from_slice(&buffer[at + from..at + to]);
                    at += used;
                }
                Decrypted::Nothing { used, told } => {
                    tickets += u32::from(told == PostHandshake::Ticket);
                    at += used;
                }
                Decrypted::Incomplete => {
                    session.hold(&buffer[at..all]);
                    break;
                }
                Decrypted::Closed => break,
            }
        }
    }
    (data, tickets, out)
}

fn send(server: &mut ServerConnection, bytes: &[u8]) -> Vec<u8> {
    let mut wire = Vec::new();
    for part in bytes.chunks(20_000) {
        server.writer().write_all(part).unwrap();
        wire.extend(give(server));
    }
    wire
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_split_of_the_stream_gives_the_same_data(
        pieces in prop::collection::vec(1..9_000_usize, 1..20),
        piece in 1..3_000_usize,
        bytes in 0..70_000_usize,
        new in any::<bool>(),
    ) {
        let version = if new { TlsVersion::V1_3 } else { TlsVersion::V1_2 };
        let (mut session, mut server, mut wire) = shake(version, piece);
        wire.extend(give(&mut server));
        let sent: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
        wire.extend(send(&mut server, &sent));
        let (data, _, out) = open(&mut session, &wire, &pieces);
        prop_assert_eq!(data, sent.clone());
        prop_assert!(out.is_empty());
        let mut sealed = Vec::new();
        session.seal(&sent, &mut sealed).unwrap();
        prop_assert_eq!(take(&mut server, &sealed), sent);
    }
}

#[test]
fn a_key_update_of_the_server_is_followed_and_answered() {
    let (mut session, mut server, mut wire) = shake(TlsVersion::V1_3, 4096);
    wire.extend(give(&mut server));
    for round in 0..3 {
        server.refresh_traffic_keys().unwrap();
        let text = format!("under new keys {round}");
        wire.extend(send(&mut server, text.as_bytes()));
        let (data, _, out) = open(&mut session, &wire, &[7]);
        assert_eq!(data, text.as_bytes());
        assert!(!out.is_empty(), "the server asked for an update in return");
        wire.clear();
        take(&mut server, &out);
        let mut sealed = Vec::new();
        session.seal(b"also", &mut sealed).unwrap();
        assert_eq!(take(&mut server, &sealed), b"also");
    }
}

#[test]
fn a_used_up_key_is_changed_before_more_is_sealed_or_the_connection_ends_where_it_cannot_be() {
    let (mut session, mut server, _) = shake(TlsVersion::V1_3, 4096);
    session.limit_sending(2);
    for _ in 0..5 {
        let mut sealed = Vec::new();
        session.seal(b"on and on", &mut sealed).unwrap();
        assert_eq!(take(&mut server, &sealed), b"on and on");
    }
    let (mut session, _, _) = shake(TlsVersion::V1_2, 4096);
    session.limit_sending(0);
    assert!(session.seal(b"x", &mut Vec::new()).is_err());
}

#[test]
fn tickets_and_the_word_of_the_end_are_told() {
    let (mut session, mut server, mut wire) = shake(TlsVersion::V1_3, 4096);
    wire.extend(give(&mut server));
    let (data, tickets, _) = open(&mut session, &wire, &[100_000]);
    assert!(data.is_empty() && tickets >= 1, "{tickets} tickets");
    server.send_close_notify();
    let mut wire = give(&mut server);
    assert_eq!(
        session.open(&mut wire, &mut Vec::new()),
        Ok(Decrypted::Closed)
    );
    let mut goodbye = Vec::new();
    session.seal_close(&mut goodbye);
    server.read_tls(&mut Cursor::new(&goodbye)).unwrap();
    assert!(server.process_new_packets().unwrap().peer_has_closed());
}

/// Issues tickets of this length.
#[derive(Debug)]
struct Ticketer(usize);

impl rustls::server::ProducesTickets for Ticketer {
    fn enabled(&self) -> bool {
        true
    }
    fn lifetime(&self) -> u32 {
        3600
    }
    fn encrypt(&self, _plain: &[u8]) -> Option<Vec<u8>> {
        Some(vec![7; self.0])
    }
    fn decrypt(&self, _cipher: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

#[test]
fn more_bytes_than_a_handshake_takes_are_not_even_looked_at() {
    for (bytes, is_read) in [(100, true), (256 * 1024 + 1, false)] {
        let mut handshake = Handshake::begin(&client(TlsVersion::V1_3), None).unwrap();
        let mut out = Vec::new();
        handshake.proceed(&[], &mut out).unwrap();
        out.clear();
        assert!(handshake.proceed(&vec![b'x'; bytes], &mut out).is_err());
        // What is read and wrong is answered with an alert.
        assert_eq!(!out.is_empty(), is_read, "{bytes} bytes");
    }
}

#[test]
fn a_ticket_far_longer_than_any_is_not_kept() {
    for (bytes, kept) in [(16_000, 2), (60_000, 0)] {
        let (mut session, mut server, wire) =
            shake_with(TlsVersion::V1_3, 4096, Some(Ticketer(bytes)));
        let rest = [wire, give(&mut server)].concat();
        let (_, tickets, _) = open(&mut session, &rest, &[10_000]);
        assert_eq!(tickets, kept, "of {bytes} bytes");
    }
}

#[test]
fn a_changed_byte_and_malformed_input_are_faults_of_the_protocol() {
    for version in [TlsVersion::V1_2, TlsVersion::V1_3] {
        let (mut session, mut server, rest) = shake(version, 4096);
        let mut wire = rest;
        wire.extend(give(&mut server));
        open(&mut session, &wire, &[4096]);
        let mut sealed = send(&mut server, b"true");
        let last = sealed.len() - 1;
        sealed[last] ^= 1;
        let opened = session.open(&mut sealed, &mut Vec::new());
        assert_eq!(opened, Err(TlsFailure::Protocol));
    }
    let (mut session, ..) = shake(TlsVersion::V1_3, 4096);
    let mut plain = b"HTTP/1.1 400 Bad Request\r\n".to_vec();
    let opened = session.open(&mut plain, &mut Vec::new());
    assert_eq!(opened, Err(TlsFailure::Protocol));
}
