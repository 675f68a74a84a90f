//! A blocking connection to one broker, one request at a time.

use std::io::{Error, ErrorKind, Read, Write};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};
use kafka_protocol::protocol::{Request, StrBytes};
use rustls::ClientConnection;
use tare_kafka::frame::{self, ANSWER_MAX_BYTES, FrameError};
use tare_record::broker_address::Address;
use tare_tls::TlsStream;

use super::error::{ClientError, Result};
use super::settings::ClientSettings;
use super::stream::DeadlineStream;
use super::tls::{self, TlsClient};
use super::versions::{Versions, name};

/// Version of the first ApiVersions request; a broker that does not support it answers in version 0.
const API_VERSIONS_VERSION: i16 = 3;

/// Read size: a response may claim to be longer than it is, so its buffer grows with the data.
const READ_CHUNK_BYTES: usize = 1 << 20;

enum Stream {
    Plain(DeadlineStream),
    Tls(Box<TlsStream<ClientConnection, DeadlineStream>>),
}

/// The stage of a connection: the same I/O error has a different meaning in each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// No response yet.
    New,
    /// ApiVersions was answered.
    Versions,
    /// Another request was answered too.
    Established,
}

/// A connection with negotiated versions and completed authentication.
pub struct Connection {
    broker: Address,
    client: StrBytes,
    stream: Stream,
    versions: Versions,
    stage: Stage,
    correlation: i32,
    settings: ClientSettings,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("broker", &self.broker)
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects to one broker alone.
    ///
    /// # Errors
    /// If it cannot be reached, or is no broker.
    pub fn connect(broker: &Address, settings: &ClientSettings) -> Result<Connection> {
        let tls = settings.tls.as_ref().map(TlsClient::new).transpose()?;
        Connection::open(
            broker,
            settings,
            tls.as_ref(),
            Instant::now() + settings.connect_timeout,
        )
    }

    /// Connects: TCP, TLS handshake, ApiVersions, SASL; all within `connect_timeout`, and before `latest`.
    pub(super) fn open(
        broker: &Address,
        settings: &ClientSettings,
        tls: Option<&TlsClient>,
        latest: Instant,
    ) -> Result<Connection> {
        let deadline = latest.min(Instant::now() + settings.connect_timeout);
        let mut stream = DeadlineStream::connect(broker, settings, deadline)?;
        stream.set_deadline(deadline);
        let stream = match tls {
            None => Stream::Plain(stream),
            Some(tls) => {
                let stream = tls.handshake(broker, stream);
                let stream = stream.map_err(|error| handshake_error(broker, settings, &error));
                Stream::Tls(Box::new(stream?))
            }
        };
        let mut connection = Connection {
            broker: broker.clone(),
            client: StrBytes::from_string(settings.client_id.clone()),
            stream,
            versions: Versions::default(),
            stage: Stage::New,
            correlation: 0,
            settings: settings.clone(),
        };
        connection.negotiate_versions(deadline)?;
        if let Some(sasl) = &settings.sasl {
            super::sasl::authenticate(&mut connection, sasl, deadline)?;
            connection.stage = Stage::Established;
        }
        Ok(connection)
    }

    /// The broker's address.
    #[must_use]
    pub fn broker(&self) -> &Address {
        &self.broker
    }

    /// API versions of the broker.
    #[must_use]
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// Sends a request and waits for the response, in the newest common version that is no newer than `newest`.
    ///
    /// # Errors
    /// If there is no valid response. The connection cannot be used any more then.
    pub fn request<R: Request>(
        &mut self,
        request: &R,
        newest: i16,
        deadline: Instant,
    ) -> Result<R::Response> {
        let version = self
            .versions
            .choose::<R>(newest)
            .map_err(|gap| ClientError::Version(self.broker.clone(), gap))?;
        let frame = self.exchange(request, version, deadline)?;
        let answer = self.read::<R>(frame, version)?;
        self.stage = Stage::Established;
        Ok(answer)
    }

    fn negotiate_versions(&mut self, deadline: Instant) -> Result<()> {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str("tare"))
            .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
        let frame = self.exchange(&request, API_VERSIONS_VERSION, deadline)?;
        // A broker that does not support our version answers in version 0, with the error code first in the body.
        let is_refused =
            frame.get(4..6) == Some(&ResponseError::UnsupportedVersion.code().to_be_bytes()[..]);
        let answer: ApiVersionsResponse = match is_refused {
            false => self.read::<ApiVersionsRequest>(frame, API_VERSIONS_VERSION)?,
            true => {
                let frame = self.exchange(&ApiVersionsRequest::default(), 0, deadline)?;
                self.read::<ApiVersionsRequest>(frame, 0)?
            }
        };
        if let Some(error) = ResponseError::try_from_code(answer.error_code) {
            return Err(self.malformed(name(ApiVersionsRequest::KEY), format!("error {error}")));
        }
        self.versions = Versions::of(&answer);
        self.stage = Stage::Versions;
        Ok(())
    }

    fn exchange<R: Request>(
        &mut self,
        request: &R,
        version: i16,
        deadline: Instant,
    ) -> Result<Bytes> {
        self.correlation = self.correlation.wrapping_add(1);
        let mut out = BytesMut::new();
        frame::write(&mut out, request, version, self.correlation, &self.client)
            .map_err(|error| ClientError::Request(self.broker.clone(), name(R::KEY), error))?;
        self.set_deadline(deadline);
        let io = self.send(&out).and_then(|()| self.receive());
        let frame = match io {
            Ok(frame) => frame,
            Err(error) => return Err(self.connection_error(name(R::KEY), &error)),
        };
        match frame::correlation(&frame) {
            Some(number) if number == self.correlation => Ok(frame),
            other => {
                let expected = self.correlation;
                let why = other.map_or("a frame without a correlation id".to_owned(), |found| {
                    format!("correlation id {found}, expected {expected}")
                });
                Err(self.malformed(name(R::KEY), why))
            }
        }
    }

    fn read<R: Request>(&self, frame: Bytes, version: i16) -> Result<R::Response> {
        frame::read::<R>(frame, version)
            .map_err(|error| self.malformed(name(R::KEY), error.to_string()))
    }

    fn set_deadline(&mut self, deadline: Instant) {
        match &mut self.stream {
            Stream::Plain(stream) => stream.set_deadline(deadline),
            Stream::Tls(stream) => stream.sock.0.set_deadline(deadline),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let stream: &mut dyn Write = match &mut self.stream {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => stream,
        };
        stream.write_all(bytes)?;
        stream.flush()
    }

    fn receive(&mut self) -> Result<Bytes, Error> {
        let stream: &mut dyn Read = match &mut self.stream {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => stream,
        };
        let mut head = [0; 4];
        stream.read_exact(&mut head)?;
        let length = frame::length(&head, ANSWER_MAX_BYTES)
            .map_err(|error| Error::new(ErrorKind::InvalidData, error))?
            .unwrap_or_default();
        let mut body = Vec::new();
        while body.len() < length {
            let from = body.len();
            body.resize(length.min(from + READ_CHUNK_BYTES), 0);
            stream.read_exact(&mut body[from..])?;
        }
        Ok(body.into())
    }

    pub(super) fn malformed(&self, api: String, why: String) -> ClientError {
        ClientError::Malformed(self.broker.clone(), api, why)
    }

    fn has_no_client_certificate(&self) -> bool {
        let tls = self.settings.tls.as_ref();
        tls.is_some_and(|tls| tls.identity.is_none())
    }

    /// The meaning of an I/O error, by the stage of the connection.
    fn connection_error(&self, api: String, error: &Error) -> ClientError {
        if let Some(tls_error) = tls::tls_error(&self.broker, error) {
            return tls_error;
        }
        let broker = self.broker.clone();
        let is_plain = matches!(self.stream, Stream::Plain(_));
        let frame = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<FrameError>());
        match (error.kind(), self.stage) {
            (ErrorKind::TimedOut, Stage::New) => {
                ClientError::Timeout(broker, api, self.settings.connect_timeout)
            }
            (ErrorKind::TimedOut, _) => {
                ClientError::Timeout(broker, api, self.settings.request_timeout)
            }
            (_, Stage::New) if is_plain => {
                let why = frame.map_or_else(|| close_reason(error), ToString::to_string);
                ClientError::NotPlain(broker, why)
            }
            _ if frame.is_some() => self.malformed(api, error.to_string()),
            // In TLS 1.3 the client's handshake ends before the broker checks its certificate; the alert may be lost with the
            // connection.
            (_, Stage::New) if self.has_no_client_certificate() => {
                let why = format!("{} right after the handshake", close_reason(error));
                ClientError::ClientCertificateRejected(broker, why)
            }
            (_, Stage::Versions) if self.settings.sasl.is_none() => {
                ClientError::SaslRequired(broker, close_reason(error))
            }
            _ => ClientError::Closed(broker, api, close_reason(error)),
        }
    }
}

fn handshake_error(broker: &Address, settings: &ClientSettings, error: &Error) -> ClientError {
    if let Some(tls_error) = tls::tls_error(broker, error) {
        return tls_error;
    }
    let broker = broker.clone();
    match error.kind() {
        ErrorKind::TimedOut => ClientError::Timeout(
            broker,
            "the TLS handshake".to_owned(),
            settings.connect_timeout,
        ),
        ErrorKind::InvalidInput => ClientError::Tls(broker, error.to_string()),
        _ => ClientError::NotTls(broker, close_reason(error)),
    }
}

/// A broken connection, for messages.
fn close_reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
        _ => error.to_string(),
    }
}
