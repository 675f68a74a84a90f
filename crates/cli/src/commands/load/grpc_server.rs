//! gRPC calls before a load: server reflection and health check.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use tare_http2_frames::exchange::ExchangeLimits;
use tare_http2_frames::grpc::{
    self, Call, CallError, HEALTH_METHOD, REFLECTION_METHODS, UNIMPLEMENTED, check_serving,
    health_question,
};
use tare_load::proxy_protocol;
use tare_load::tls::TlsClient;
use tare_record::load::{ProxyProtocol, Transport};

use super::args::NetworkArgs;
use super::target::LoadUrl;

/// Pause between two health checks of a server that is not ready.
const RETRY_EVERY: Duration = Duration::from_millis(50);

/// Time for an address that is not the last one.
const FIRST_TRY: Duration = Duration::from_secs(1);

/// Largest response.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// A gRPC server with the metadata and transport of the load.
#[derive(Debug, Clone)]
pub struct GrpcServer {
    addresses: Vec<SocketAddr>,
    unix_socket: Option<PathBuf>,
    proxy_protocol: Option<ProxyProtocol>,
    host: String,
    headers: Vec<(String, String)>,
    tls: Option<TlsClient>,
    limit: Duration,
}

impl GrpcServer {
    /// The server of the load; every call has this time limit.
    pub fn new(
        (target, network): (&LoadUrl, &NetworkArgs),
        headers: Vec<(String, String)>,
        transport: &Transport,
        limit: Duration,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            addresses: target.addresses.clone(),
            unix_socket: network.unix_socket.clone(),
            proxy_protocol: network.proxy_protocol,
            host: target.host.clone(),
            headers,
            tls: match transport {
                Transport::Tcp => None,
                Transport::Tls(spec) => Some(TlsClient::new(spec, &target.host, Some("h2"))?),
            },
            limit,
        })
    }

    /// Calls server reflection; an older version of it when the server does not have the newest.
    pub fn reflect(&self, messages: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, String> {
        for path in REFLECTION_METHODS {
            match self.ask(path, messages, self.limit) {
                Err(CallError::Status {
                    code: UNIMPLEMENTED,
                    ..
                }) => {}
                answered => return answered.map_err(|error| error.to_string()),
            }
        }
        Err("it has no reflection (unimplemented)".to_owned())
    }

    /// Waits until the health check of a service answers SERVING.
    pub fn wait_until_serving(&self, service: &str) -> anyhow::Result<()> {
        let until = Instant::now() + self.limit;
        let mut earlier = None;
        loop {
            let begun = Instant::now();
            let left = until.saturating_duration_since(begun).max(RETRY_EVERY);
            let question = [health_question(service)];
            let asked = self.ask(HEALTH_METHOD, &question, left);
            let asked = asked.map_err(|error| error.to_string());
            let Err(newest) = asked.and_then(|answers| check_serving(&answers)) else {
                return Ok(());
            };
            // Attempts after the first have less time: the timeout of one says less than the reason before it.
            let why = match earlier {
                Some(earlier) if begun.elapsed().as_millis() >= left.as_millis() => earlier,
                _ => newest,
            };
            if until.saturating_duration_since(Instant::now()) < RETRY_EVERY {
                let limit = tare_record::units::Period(self.limit);
                let named = if service.is_empty() {
                    "the server"
                } else {
                    service
                };
                bail!(
                    "{named} was not ready to serve within {limit}: {why}; start it, or allow more with --timeout"
                );
            }
            earlier = Some(why);
            thread::sleep(RETRY_EVERY);
        }
    }

    fn ask(
        &self,
        path: &str,
        messages: &[Vec<u8>],
        limit: Duration,
    ) -> Result<Vec<Vec<u8>>, CallError> {
        let call = Call {
            path,
            authority: &self.host,
            scheme: match self.tls {
                None => "http",
                Some(_) => "https",
            },
            headers: &self.headers,
            messages,
            limits: ExchangeLimits {
                within: limit,
                bytes_max: ANSWER_BYTES_MAX,
            },
        };
        let stream = self.open(limit)?;
        match &self.tls {
            None => grpc::call(stream, &call),
            Some(tls) => grpc::call(tls.over(stream).map_err(failed)?, &call),
        }
    }

    fn open(&self, limit: Duration) -> Result<TcpStream, CallError> {
        let stream = match &self.unix_socket {
            // Reads, writes and timeouts are the same for every stream socket.
            Some(path) => UnixStream::connect(path).map(|unix| OwnedFd::from(unix).into()),
            None => self.first_that_answers(limit),
        };
        let mut stream: TcpStream = stream.map_err(failed)?;
        let limited = stream
            .set_read_timeout(Some(limit))
            .and_then(|()| stream.set_write_timeout(Some(limit)))
            .and_then(|()| self.begin(&mut stream));
        limited.map_err(failed)?;
        Ok(stream)
    }

    fn first_that_answers(&self, limit: Duration) -> io::Result<TcpStream> {
        let mut why = io::ErrorKind::AddrNotAvailable.into();
        for (at, address) in self.addresses.iter().enumerate() {
            let is_last = at + 1 == self.addresses.len();
            let limit = if is_last { limit } else { limit.min(FIRST_TRY) };
            match TcpStream::connect_timeout(address, limit) {
                Ok(stream) => return stream.set_nodelay(true).map(|()| stream),
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    /// What a connection begins with.
    fn begin(&self, stream: &mut TcpStream) -> io::Result<()> {
        let Some(version) = self.proxy_protocol else {
            return Ok(());
        };
        let ends = stream.local_addr().ok().zip(stream.peer_addr().ok());
        stream.write_all(&proxy_protocol::header(version, ends))
    }
}

fn failed(why: std::io::Error) -> CallError {
    CallError::Exchange(format!("cannot ask: {why}"))
}
