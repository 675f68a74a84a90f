//! What can be wrong between two sides that speak TLS, as classes with the next step.

use std::fmt;

use rustls::{AlertDescription, CertificateError, Error};
use tare_schema::agent::Fault;

use crate::client::ErrorClass;

/// Why a connection over TLS ended, or did not come to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsFault {
    /// The server's certificate is valid no longer, or not yet.
    CertificateExpired,
    /// It is for another name.
    CertificateName,
    /// None of the authorities we believe signed it.
    CertificateUntrusted,
    /// It is broken in another way.
    CertificateBroken,
    /// The server does not accept ours, or wants one: its alert.
    CertificateRefused(u8),
    /// Another alert of the server.
    Alert(u8),
    /// The two have no version, suite or group in common.
    Incompatible,
    /// What came is not TLS, or broke its rules.
    Protocol,
    /// The server speaks none of the protocols offered, or chose another than the load needs.
    AlpnRefused,
    /// The connection ended without the word that it would.
    Truncated,
    /// It ended in the middle of the handshake.
    ClosedInHandshake,
}

impl TlsFault {
    /// The class of an exchange that failed by it.
    #[must_use]
    pub fn class(self) -> ErrorClass {
        let of = ErrorClass::of;
        match self {
            TlsFault::CertificateExpired => of("certificate-expired", Fault::Peer),
            TlsFault::CertificateName => of("certificate-name", Fault::Peer),
            TlsFault::CertificateUntrusted => of("certificate-untrusted", Fault::Peer),
            TlsFault::CertificateBroken => of("certificate-broken", Fault::Peer),
            TlsFault::CertificateRefused(_) => of("certificate-refused", Fault::Client),
            TlsFault::Alert(code) => ErrorClass {
                name: "tls-alert",
                code: Some(code.into()),
                fault: Fault::Peer,
            },
            TlsFault::Incompatible => of("tls-incompatible", Fault::Peer),
            TlsFault::Protocol => of("tls-protocol", Fault::Peer),
            TlsFault::AlpnRefused => of("alpn-refused", Fault::Peer),
            TlsFault::Truncated => of("tls-truncated", Fault::Peer),
            TlsFault::ClosedInHandshake => of("tls-closed", Fault::Peer),
        }
    }

    /// Whether every further attempt must end in the same way: what is offered does not fit what is wanted.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, TlsFault::Truncated | TlsFault::ClosedInHandshake)
    }

    /// What rustls found.
    #[must_use]
    pub fn from_rustls(error: &Error) -> Self {
        match error {
            Error::InvalidCertificate(wrong) => of_certificate(wrong),
            Error::NoCertificatesPresented => TlsFault::CertificateBroken,
            Error::AlertReceived(alert) => TlsFault::from_alert(u8::from(*alert)),
            Error::PeerIncompatible(_) => TlsFault::Incompatible,
            Error::NoApplicationProtocol => TlsFault::AlpnRefused,
            _ => TlsFault::Protocol,
        }
    }

    /// What an alert of the server means.
    #[must_use]
    pub fn from_alert(code: u8) -> Self {
        use AlertDescription as A;
        match A::from(code) {
            A::NoCertificate
            | A::BadCertificate
            | A::UnsupportedCertificate
            | A::CertificateRevoked
            | A::CertificateExpired
            | A::CertificateUnknown
            | A::UnknownCA
            | A::AccessDenied
            | A::CertificateRequired => TlsFault::CertificateRefused(code),
            A::NoApplicationProtocol => TlsFault::AlpnRefused,
            _ => TlsFault::Alert(code),
        }
    }
}

fn of_certificate(wrong: &CertificateError) -> TlsFault {
    use CertificateError as C;
    match wrong {
        C::Expired | C::ExpiredContext { .. } | C::NotValidYet | C::NotValidYetContext { .. } => {
            TlsFault::CertificateExpired
        }
        C::NotValidForName | C::NotValidForNameContext { .. } => TlsFault::CertificateName,
        C::UnknownIssuer | C::BadSignature => TlsFault::CertificateUntrusted,
        // A self-signed authority shown as a server's certificate, among others.
        C::Other(_) | C::InvalidPurpose | C::InvalidPurposeContext { .. } => {
            TlsFault::CertificateUntrusted
        }
        _ => TlsFault::CertificateBroken,
    }
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            TlsFault::CertificateExpired => {
                "the server's certificate is expired or not yet valid: renew it, or accept it with --insecure"
            }
            TlsFault::CertificateName => {
                "the server's certificate is for another name: give the name with --sni NAME, or accept it with --insecure"
            }
            TlsFault::CertificateUntrusted => {
                "no authority we trust signed the server's certificate: give the authority with --cacert FILE, or accept it with --insecure"
            }
            TlsFault::CertificateBroken => {
                "the server's certificate is broken or missing: look at it with openssl s_client -connect HOST:PORT"
            }
            TlsFault::CertificateRefused(code) => {
                return write!(
                    f,
                    "the server refused our certificate or our having none ({}): give one it accepts with --cert FILE --key FILE",
                    alert(*code)
                );
            }
            TlsFault::Alert(code) => {
                return write!(
                    f,
                    "the server broke off with the TLS alert {}{}",
                    alert(*code),
                    step(*code)
                );
            }
            TlsFault::Incompatible => {
                "no TLS version, cipher suite or group in common with the server: widen --tls-min and --tls-max"
            }
            TlsFault::Protocol => {
                "the server's answer is not TLS: use http:// if the port speaks plaintext, or check the port"
            }
            TlsFault::AlpnRefused => {
                "the server does not speak the protocol asked for over TLS (ALPN): choose another protocol, or set what is offered with --alpn"
            }
            TlsFault::Truncated => {
                "the server ended the connection without the close_notify of TLS: what was under way may be cut off"
            }
            TlsFault::ClosedInHandshake => {
                "the server closed the connection in the middle of the TLS handshake: look at its log"
            }
        };
        f.write_str(words)
    }
}

/// An alert by name and number.
fn alert(code: u8) -> impl fmt::Display {
    struct Named(u8);
    impl fmt::Display for Named {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match AlertDescription::from(self.0).as_str() {
                Some(name) => write!(f, "{name}, {}", self.0),
                None => write!(f, "{}", self.0),
            }
        }
    }
    Named(code)
}

fn step(code: u8) -> &'static str {
    match AlertDescription::from(code) {
        AlertDescription::ProtocolVersion => {
            ": it does not speak the versions offered; widen --tls-min and --tls-max"
        }
        AlertDescription::UnrecognisedName => ": it does not serve this name; give it with --sni",
        AlertDescription::HandshakeFailure => {
            ": it accepts nothing of what was offered, or wants a client certificate (--cert FILE --key FILE)"
        }
        AlertDescription::DecryptError => {
            ": a signature was wrong to it; an authority of it may have the name of ours, but another key"
        }
        _ => ": look at its log",
    }
}
