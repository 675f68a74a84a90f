//! TLS errors: their classes and messages with the next step.

use std::fmt;

use rustls::{AlertDescription, CertificateError, Error};
use tare_record::agent::ErrorSource;
use tare_tls::CertificateFlaw;

use crate::client::ErrorClass;

/// Why a TLS connection ended or a handshake failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsFailure {
    /// The server's certificate is expired or not yet valid.
    CertificateExpired,
    /// It is for another name.
    CertificateNameMismatch,
    /// No trusted authority signed it.
    CertificateUntrusted,
    /// It has this flaw.
    CertificateFlaw(CertificateFlaw),
    /// It is invalid in another way, or missing.
    CertificateInvalid,
    /// The server rejects the client's certificate, or requires one: its alert.
    ClientCertificateRejected(u8),
    /// Another alert of the server.
    Alert(u8),
    /// No TLS version, cipher suite or group in common.
    Incompatible,
    /// Received bytes are not TLS, or violate the protocol.
    Protocol,
    /// ALPN: the server supports none of the offered protocols, or chose another one than the load needs.
    AlpnMismatch,
    /// Closed without close_notify.
    Truncated,
    /// Closed during the handshake.
    ClosedInHandshake,
}

impl TlsFailure {
    #[must_use]
    pub fn class(self) -> ErrorClass {
        let of = ErrorClass::of;
        match self {
            TlsFailure::CertificateExpired => of("certificate-expired", ErrorSource::Peer),
            TlsFailure::CertificateNameMismatch => {
                of("certificate-name-mismatch", ErrorSource::Peer)
            }
            TlsFailure::CertificateUntrusted => of("certificate-untrusted", ErrorSource::Peer),
            TlsFailure::CertificateFlaw(flaw) => match flaw {
                CertificateFlaw::Version1 => of("certificate-untrusted", ErrorSource::Peer),
                CertificateFlaw::NoNames => of("certificate-name-mismatch", ErrorSource::Peer),
                CertificateFlaw::RsaBits(_)
                | CertificateFlaw::P521
                | CertificateFlaw::Signature => of("certificate-invalid", ErrorSource::Peer),
            },
            TlsFailure::CertificateInvalid => of("certificate-invalid", ErrorSource::Peer),
            TlsFailure::ClientCertificateRejected(_) => {
                of("client-certificate-rejected", ErrorSource::Configuration)
            }
            TlsFailure::Alert(code) => ErrorClass {
                name: "tls-alert",
                code: Some(code.into()),
                error_source: ErrorSource::Peer,
            },
            TlsFailure::Incompatible => of("tls-incompatible", ErrorSource::Peer),
            TlsFailure::Protocol => of("tls-protocol", ErrorSource::Peer),
            TlsFailure::AlpnMismatch => of("alpn-mismatch", ErrorSource::Peer),
            TlsFailure::Truncated => of("tls-truncated", ErrorSource::Peer),
            TlsFailure::ClosedInHandshake => of("tls-handshake-eof", ErrorSource::Peer),
        }
    }

    /// Whether the error is permanent: further attempts would fail in the same way.
    #[must_use]
    pub fn is_final(self) -> bool {
        !matches!(self, TlsFailure::Truncated | TlsFailure::ClosedInHandshake)
    }

    /// From an error of rustls.
    #[must_use]
    pub fn from_rustls(error: &Error) -> Self {
        match error {
            Error::InvalidCertificate(wrong) => from_certificate_error(wrong),
            Error::NoCertificatesPresented => TlsFailure::CertificateInvalid,
            Error::AlertReceived(alert) => TlsFailure::from_alert(u8::from(*alert)),
            Error::PeerIncompatible(_) => TlsFailure::Incompatible,
            Error::NoApplicationProtocol => TlsFailure::AlpnMismatch,
            _ => TlsFailure::Protocol,
        }
    }

    /// From the code of an alert of the server.
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
            | A::CertificateRequired => TlsFailure::ClientCertificateRejected(code),
            A::NoApplicationProtocol => TlsFailure::AlpnMismatch,
            _ => TlsFailure::Alert(code),
        }
    }
}

fn from_certificate_error(wrong: &CertificateError) -> TlsFailure {
    use CertificateError as C;
    if let C::Other(other) = wrong
        && let Some(flaw) = other.0.downcast_ref::<CertificateFlaw>()
    {
        return TlsFailure::CertificateFlaw(*flaw);
    }
    match wrong {
        C::Expired | C::ExpiredContext { .. } | C::NotValidYet | C::NotValidYetContext { .. } => {
            TlsFailure::CertificateExpired
        }
        C::NotValidForName | C::NotValidForNameContext { .. } => {
            TlsFailure::CertificateNameMismatch
        }
        C::UnknownIssuer | C::BadSignature => TlsFailure::CertificateUntrusted,
        // Among others, a self-signed CA certificate used as the server's certificate.
        C::Other(_) | C::InvalidPurpose | C::InvalidPurposeContext { .. } => {
            TlsFailure::CertificateUntrusted
        }
        _ => TlsFailure::CertificateInvalid,
    }
}

impl fmt::Display for TlsFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            TlsFailure::CertificateExpired => {
                "the server's certificate is expired or not yet valid: renew it, or accept it with --insecure"
            }
            TlsFailure::CertificateNameMismatch => {
                "the server's certificate is for another name: give the name with --sni NAME, or accept it with --insecure"
            }
            TlsFailure::CertificateUntrusted => {
                "no authority we trust signed the server's certificate: give the authority with --cacert FILE, or accept it with --insecure"
            }
            TlsFailure::CertificateFlaw(flaw) => return flaw.fmt(f),
            TlsFailure::CertificateInvalid => {
                "the server's certificate is broken or missing: look at it with openssl s_client -connect HOST:PORT"
            }
            TlsFailure::ClientCertificateRejected(code) => {
                return write!(
                    f,
                    "the server refused our certificate or our having none ({}): give one it accepts with --cert FILE --key FILE",
                    alert(*code)
                );
            }
            TlsFailure::Alert(code) => {
                return write!(
                    f,
                    "the server ended the handshake with the TLS alert {}{}",
                    alert(*code),
                    step(*code)
                );
            }
            TlsFailure::Incompatible => {
                "no TLS version, cipher suite or group in common with the server: widen --tls-min and --tls-max"
            }
            TlsFailure::Protocol => {
                "the server's answer is not TLS: use http:// if the port speaks plaintext, or check the port"
            }
            TlsFailure::AlpnMismatch => {
                "the server does not speak the protocol asked for over TLS (ALPN): choose another protocol, or set what is offered with --alpn"
            }
            TlsFailure::Truncated => {
                "the server ended the connection without the close_notify of TLS: what was under way may be cut off"
            }
            TlsFailure::ClosedInHandshake => {
                "the server closed the connection in the middle of the TLS handshake: look at its log"
            }
        };
        f.write_str(words)
    }
}

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
            ": it accepts nothing of what was offered (a server with a key on P-521 needs one on P-256, or --insecure), or wants a client certificate (--cert FILE --key FILE)"
        }
        AlertDescription::DecryptError => {
            ": a signature was wrong to it; an authority of it may have the name of ours, but another key"
        }
        _ => ": look at its log",
    }
}
