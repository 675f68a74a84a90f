//! TLS, mutual TLS and SASL that do not fit: each mistake has an error of its own.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use tare_kafka::kafka_protocol::ResponseError;
use tare_kafka::kafka_protocol::messages::{
    ApiKey, MetadataRequest, SaslAuthenticateResponse, SaslHandshakeResponse,
};
use tare_kafka::kafka_protocol::protocol::StrBytes;
use tare_kafka::sasl::{Credentials, Mechanism};
use tare_kafka_admin::client::{ClientError, ClientSettings, Cluster, Connector, Tls};
use tare_record::load::{Identity, Trust};

use super::fake::{Broker, advertised, all_versions, frame, healthy, next};
use super::{connect, only, patient};

/// A private authority, a broker's certificate and a client's, as files.
struct Certificates {
    folder: tempfile::TempDir,
    authority: CertificateDer<'static>,
    broker: (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>),
}

fn certificates(broker_name: &str) -> Certificates {
    let folder = tempfile::tempdir().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("ca.pem", &authority.pem());
    let signed = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &authority).unwrap(), key)
    };
    let (client, client_key) = signed("client");
    write("client.pem", &client.pem());
    write("client.key", &client_key.serialize_pem());
    let (broker, broker_key) = signed(broker_name);
    let key = PrivateKeyDer::try_from(broker_key.serialize_der()).unwrap();
    Certificates {
        authority: authority.der().clone(),
        broker: (vec![broker.der().clone()], key),
        folder,
    }
}

impl Certificates {
    fn path(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        path.to_str().unwrap().to_owned()
    }

    fn tls(&self) -> Tls {
        Tls {
            trust: Trust::File {
                path: self.path("ca.pem"),
            },
            ..Tls::default()
        }
    }

    /// A broker that speaks TLS, and mutual TLS when asked for.
    fn broker(&self, clients: Clients) -> Broker {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match clients {
            Clients::Anybody => builder.with_no_client_auth(),
            Clients::Known => {
                let mut roots = RootCertStore::empty();
                roots.add(self.authority.clone()).unwrap();
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let (chain, key) = (&self.broker.0, self.broker.1.clone_key());
        let config = Arc::new(builder.with_single_cert(chain.clone(), key).unwrap());
        Broker::start(move |stream, _, port| {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            healthy(&mut stream, port, 9);
            // What the handshake has to say at its end, such as an alert, goes out before the socket closes.
            let _ = stream.conn.complete_io(&mut stream.sock);
            let _ = stream.sock.read(&mut [0; 64]);
        })
    }
}

#[derive(Clone, Copy)]
enum Clients {
    Anybody,
    Known,
}

fn with(tls: Tls) -> ClientSettings {
    ClientSettings {
        tls: Some(tls),
        ..patient()
    }
}

#[test]
fn tls_with_the_right_authority_leads_in() {
    let certificates = certificates("127.0.0.1");
    let broker = certificates.broker(Clients::Anybody);
    assert!(connect(&broker, with(certificates.tls())).is_ok());
}

#[test]
fn a_certificate_of_an_unknown_authority_is_not_trusted() {
    let certificates = certificates("127.0.0.1");
    let broker = certificates.broker(Clients::Anybody);
    let other = super::security::certificates("127.0.0.1");
    let error = only(connect(&broker, with(other.tls())));
    assert!(matches!(error, ClientError::Untrusted(..)), "{error}");
    assert!(error.to_string().contains(&broker.address.to_string()));
}

#[test]
fn a_certificate_for_another_name_is_told_and_can_be_expected() {
    let certificates = certificates("kafka.example");
    let broker = certificates.broker(Clients::Anybody);
    let error = only(connect(&broker, with(certificates.tls())));
    assert!(
        matches!(error, ClientError::HostnameMismatch(..)),
        "{error}"
    );
    let named = Tls {
        server_name: Some("kafka.example".to_owned()),
        ..certificates.tls()
    };
    assert!(connect(&broker, with(named)).is_ok());
}

#[test]
fn a_listener_that_wants_a_certificate_says_so_and_takes_a_good_one() {
    let certificates = certificates("127.0.0.1");
    let broker = certificates.broker(Clients::Known);
    let error = only(connect(&broker, with(certificates.tls())));
    assert!(
        matches!(error, ClientError::ClientCertificateRejected(..)),
        "{error}"
    );
    let shown = Tls {
        identity: Some(Identity {
            certificate: certificates.path("client.pem"),
            key: certificates.path("client.key"),
        }),
        ..certificates.tls()
    };
    assert!(connect(&broker, with(shown)).is_ok());
}

#[test]
fn a_plain_client_at_a_tls_listener_is_told_to_use_tls() {
    let certificates = certificates("127.0.0.1");
    let broker = certificates.broker(Clients::Anybody);
    let error = only(connect(&broker, patient()));
    assert!(matches!(error, ClientError::NotPlain(..)), "{error}");
    assert!(error.to_string().contains("--tls"));
}

#[test]
fn a_tls_client_at_a_plain_listener_is_told_to_leave_tls_out() {
    // A broker takes the first bytes of a handshake for the length of a request that is too long, and closes.
    let broker = Broker::start(|stream, _, _| {
        let _ = stream.read(&mut [0; 1024]);
    });
    let certificates = certificates("127.0.0.1");
    let error = only(connect(&broker, with(certificates.tls())));
    assert!(matches!(error, ClientError::NotTls(..)), "{error}");
}

#[test]
fn a_file_without_certificates_is_named() {
    let certificates = certificates("127.0.0.1");
    let tls = Tls {
        trust: Trust::File {
            path: certificates.path("client.key"),
        },
        ..Tls::default()
    };
    let address = "127.0.0.1:1".parse().unwrap();
    let error = Cluster::connect(vec![address], with(tls))
        .map(drop)
        .unwrap_err();
    assert!(matches!(error, ClientError::File { .. }), "{error}");
    assert!(error.to_string().contains("client.key"), "{error}");
}

fn guarded(handshake: ResponseError, authenticate: i16) -> Broker {
    Broker::start(move |stream, _, _| {
        while let Some(asked) = next(stream) {
            let (version, number) = (asked.version, asked.correlation);
            let answer = match ApiKey::try_from(asked.key).unwrap() {
                ApiKey::ApiVersions => frame(&all_versions(), version, number),
                ApiKey::SaslHandshake => {
                    let code = match handshake {
                        ResponseError::Unknown(_) => 0,
                        error => error.code(),
                    };
                    let mechanisms = vec![StrBytes::from_static_str("SCRAM-SHA-512")];
                    let answer = SaslHandshakeResponse::default()
                        .with_error_code(code)
                        .with_mechanisms(mechanisms);
                    frame(&answer, version, number)
                }
                _ => {
                    let said = StrBytes::from_static_str("Authentication failed");
                    let answer = SaslAuthenticateResponse::default()
                        .with_error_code(authenticate)
                        .with_error_message(Some(said));
                    frame(&answer, version, number)
                }
            };
            stream.write_all(&answer).unwrap();
        }
    })
}

fn ann() -> ClientSettings {
    ClientSettings {
        sasl: Some(Credentials {
            mechanism: Mechanism::Plain,
            user: "ann".to_owned(),
            password: "secret".to_owned(),
        }),
        ..patient()
    }
}

#[test]
fn a_wrong_password_names_user_and_broker_but_never_the_password() {
    let broker = guarded(
        ResponseError::Unknown(0),
        ResponseError::SaslAuthenticationFailed.code(),
    );
    let error = only(connect(&broker, ann()));
    let words = format!("{error} {error:?} {:?}", ann());
    assert!(
        matches!(error, ClientError::AuthenticationFailed(..)),
        "{words}"
    );
    assert!(words.contains("ann") && words.contains(&broker.address.to_string()));
    assert!(!words.contains("secret"), "{words}");
}

#[test]
fn a_mechanism_that_is_not_offered_names_those_that_are() {
    let broker = guarded(ResponseError::UnsupportedSaslMechanism, 0);
    let error = only(connect(&broker, ann()));
    assert!(error.to_string().contains("SCRAM-SHA-512"), "{error}");
}

#[test]
fn a_listener_without_passwords_is_told() {
    let broker = guarded(ResponseError::IllegalSaslState, 0);
    let error = only(connect(&broker, ann()));
    assert!(matches!(error, ClientError::SaslNotEnabled(_)), "{error}");
}

/// Lets everybody in and says that the only broker is at a public address, of TEST-NET-3.
fn leading_outside() -> Broker {
    Broker::start(|stream, _, _| {
        while let Some(asked) = next(stream) {
            let (version, number) = (asked.version, asked.correlation);
            let answer = match ApiKey::try_from(asked.key).unwrap() {
                ApiKey::ApiVersions => frame(&all_versions(), version, number),
                ApiKey::SaslHandshake => frame(&SaslHandshakeResponse::default(), version, number),
                ApiKey::SaslAuthenticate => {
                    frame(&SaslAuthenticateResponse::default(), version, number)
                }
                _ => frame(&advertised("203.0.113.7", 9092), version, number),
            };
            stream.write_all(&answer).unwrap();
        }
    })
}

#[test]
fn a_public_address_that_a_broker_advertises_is_not_dialled_and_gets_no_password() {
    let seed = leading_outside();
    let dialled = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&dialled);
    let settings = ClientSettings {
        connector: Connector::Custom(Arc::new(move |at, within| {
            noted.lock().unwrap().push(at.to_string());
            // Nothing leaves this machine, whatever is tried.
            assert!(at.ip().is_loopback(), "{at} is dialled");
            TcpStream::connect_timeout(&at, within)
        })),
        ..ann()
    };
    let mut cluster = connect(&seed, settings).unwrap();
    let error = cluster
        .request_to(1, &MetadataRequest::default(), i16::MAX)
        .unwrap_err();
    assert!(
        matches!(error, ClientError::AddressNotAllowed(..)),
        "{error}"
    );
    let words = error.to_string();
    for part in [
        "203.0.113.7:9092",
        "--allow-public-target",
        "advertised.listeners",
    ] {
        assert!(words.contains(part), "{words}");
    }
    assert_eq!(*dialled.lock().unwrap(), [seed.address.to_string()]);
}
