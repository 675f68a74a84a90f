//! One connection to one broker: requests out, answers in, one at a time.

use std::io::{Error, ErrorKind, Read, Write};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{ApiVersionsRequest, ApiVersionsResponse};
use kafka_protocol::protocol::{Request, StrBytes};
use rustls::{ClientConnection, StreamOwned};

use crate::frame::{self, ANSWER_MAX_BYTES, FrameError};

use super::address::Address;
use super::error::LinkError;
use super::settings::Settings;
use super::stream::Timed;
use super::tls::{self, TlsClient};
use super::versions::{Versions, name};

/// The version the first question is asked in; a broker that does not know it says so in version 0.
const FIRST_VERSION: i16 = 3;

/// How much of an answer is asked for from the system at once: an answer may claim to be longer than it will be.
const PIECE_BYTES: usize = 1 << 20;

/// What is below.
enum Stream {
    Plain(Timed),
    Tls(Box<StreamOwned<ClientConnection, Timed>>),
}

/// How far a connection has come: the same loss means different things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing was ever answered.
    Fresh,
    /// It has told its versions.
    Versions,
    /// It has answered something else too.
    Used,
}

/// A connection that has agreed on versions and let us in.
pub struct Connection {
    broker: Address,
    client: StrBytes,
    stream: Stream,
    versions: Versions,
    stage: Stage,
    correlation: i32,
    settings: Settings,
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
    /// Connects, shakes hands, agrees on versions, proves who we are: all within `connect_within`.
    pub(super) fn open(
        broker: &Address,
        settings: &Settings,
        tls: Option<&TlsClient>,
    ) -> Result<Connection, LinkError> {
        let until = Instant::now() + settings.connect_within;
        let mut stream = Timed::connect(broker, settings)?;
        stream.set_until(until);
        let stream = match tls {
            None => Stream::Plain(stream),
            Some(tls) => match tls.over(broker, stream) {
                Ok(stream) => Stream::Tls(Box::new(stream)),
                Err((error, _)) => return Err(no_handshake(broker, settings, &error)),
            },
        };
        let mut connection = Connection {
            broker: broker.clone(),
            client: StrBytes::from_string(settings.client_id.clone()),
            stream,
            versions: Versions::default(),
            stage: Stage::Fresh,
            correlation: 0,
            settings: settings.clone(),
        };
        connection.agree(until)?;
        if let Some(sasl) = &settings.sasl {
            super::sasl::prove(&mut connection, sasl, until)?;
            connection.stage = Stage::Used;
        }
        Ok(connection)
    }

    /// Whom it leads to.
    #[must_use]
    pub fn broker(&self) -> &Address {
        &self.broker
    }

    /// What the broker can.
    #[must_use]
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// Asks and waits for the answer, in the newest version that both know and that is no newer than `newest`.
    ///
    /// # Errors
    /// Why there is no answer. The connection is of no more use then.
    pub fn ask<R: Request>(
        &mut self,
        request: &R,
        newest: i16,
        until: Instant,
    ) -> Result<R::Response, LinkError> {
        let version = self
            .versions
            .choose::<R>(newest)
            .map_err(|gap| LinkError::Version {
                broker: self.broker.clone(),
                api: gap.api,
                theirs: gap.theirs,
                ours: gap.ours,
            })?;
        let frame = self.exchange(request, version, until)?;
        let answer = self.read::<R>(frame, version)?;
        self.stage = Stage::Used;
        Ok(answer)
    }

    fn agree(&mut self, until: Instant) -> Result<(), LinkError> {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str("tare"))
            .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
        let frame = self.exchange(&request, FIRST_VERSION, until)?;
        // A broker that does not know our version answers in version 0, with the error in the first word of the body.
        let is_refused =
            frame.get(4..6) == Some(&ResponseError::UnsupportedVersion.code().to_be_bytes()[..]);
        let answer: ApiVersionsResponse = match is_refused {
            false => self.read::<ApiVersionsRequest>(frame, FIRST_VERSION)?,
            true => {
                let frame = self.exchange(&ApiVersionsRequest::default(), 0, until)?;
                self.read::<ApiVersionsRequest>(frame, 0)?
            }
        };
        if let Some(error) = ResponseError::try_from_code(answer.error_code) {
            return Err(self.garbage(name(ApiVersionsRequest::KEY), format!("error {error}")));
        }
        self.versions = Versions::of(&answer);
        self.stage = Stage::Versions;
        Ok(())
    }

    fn exchange<R: Request>(
        &mut self,
        request: &R,
        version: i16,
        until: Instant,
    ) -> Result<Bytes, LinkError> {
        self.correlation = self.correlation.wrapping_add(1);
        let mut out = BytesMut::new();
        frame::write(&mut out, request, version, self.correlation, &self.client).map_err(
            |source| LinkError::Request {
                broker: self.broker.clone(),
                api: name(R::KEY),
                source,
            },
        )?;
        self.set_until(until);
        let io = self.send(&out).and_then(|()| self.receive());
        let frame = match io {
            Ok(frame) => frame,
            Err(error) => return Err(self.lost(name(R::KEY), &error)),
        };
        match frame::correlation(&frame) {
            Some(number) if number == self.correlation => Ok(frame),
            other => Err(self.garbage(
                name(R::KEY),
                match other {
                    Some(number) => {
                        format!(
                            "the answer to request {number}, {} was asked",
                            self.correlation
                        )
                    }
                    None => "a frame without a number".to_owned(),
                },
            )),
        }
    }

    fn read<R: Request>(&self, frame: Bytes, version: i16) -> Result<R::Response, LinkError> {
        frame::read::<R>(frame, version)
            .map_err(|error| self.garbage(name(R::KEY), error.to_string()))
    }

    fn set_until(&mut self, until: Instant) {
        match &mut self.stream {
            Stream::Plain(stream) => stream.set_until(until),
            Stream::Tls(stream) => stream.sock.set_until(until),
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
            body.resize(length.min(from + PIECE_BYTES), 0);
            stream.read_exact(&mut body[from..])?;
        }
        Ok(body.into())
    }

    pub(super) fn garbage(&self, api: String, why: String) -> LinkError {
        LinkError::Garbage {
            broker: self.broker.clone(),
            api,
            why,
        }
    }

    fn shows_nothing(&self) -> bool {
        let tls = self.settings.tls.as_ref();
        tls.is_some_and(|tls| tls.identity.is_none())
    }

    /// What a broken connection means, by how far it had come.
    fn lost(&self, api: String, error: &Error) -> LinkError {
        if let Some(meaning) = tls::meaning(&self.broker, error) {
            return meaning;
        }
        let broker = self.broker.clone();
        let is_plain = matches!(self.stream, Stream::Plain(_));
        let frame = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<FrameError>());
        match (error.kind(), self.stage) {
            (ErrorKind::TimedOut, _) => LinkError::Slow {
                broker,
                api,
                within: match self.stage {
                    Stage::Fresh => self.settings.connect_within,
                    _ => self.settings.answer_within,
                },
            },
            (_, Stage::Fresh) if is_plain => LinkError::NotPlain {
                broker,
                why: frame.map_or_else(|| ended(error), ToString::to_string),
            },
            _ if frame.is_some() => self.garbage(api, error.to_string()),
            // In TLS 1.3 the client is done before the broker has looked for a certificate; its alert may be lost with the
            // connection.
            (_, Stage::Fresh) if self.shows_nothing() => LinkError::Identity {
                broker,
                why: format!("{} right after the handshake", ended(error)),
            },
            (_, Stage::Versions) if self.settings.sasl.is_none() => LinkError::WantsSasl {
                broker,
                why: ended(error),
            },
            _ => LinkError::Closed {
                broker,
                api,
                why: ended(error),
            },
        }
    }
}

fn no_handshake(broker: &Address, settings: &Settings, error: &Error) -> LinkError {
    if let Some(meaning) = tls::meaning(broker, error) {
        return meaning;
    }
    let broker = broker.clone();
    match error.kind() {
        ErrorKind::TimedOut => LinkError::Slow {
            broker,
            api: "the TLS handshake".to_owned(),
            within: settings.connect_within,
        },
        ErrorKind::InvalidInput => LinkError::Tls {
            broker,
            why: error.to_string(),
        },
        _ => LinkError::NotTls {
            broker,
            why: ended(error),
        },
    }
}

/// The end of a stream in words.
fn ended(error: &Error) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof => "it closed the connection".to_owned(),
        _ => error.to_string(),
    }
}
