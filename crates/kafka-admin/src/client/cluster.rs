//! A cluster client: broker discovery, one connection per broker, retries.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{MetadataRequest, MetadataResponse};
use kafka_protocol::protocol::Request;
use tare_record::broker_address::Address;

use super::connection::Connection;
use super::error::{ClientError, Result};
use super::settings::ClientSettings;
use super::tls::TlsClient;
use super::versions::Versions;

/// First retry pause.
const BACKOFF_FIRST: Duration = Duration::from_millis(50);
/// Longest retry pause.
const BACKOFF_MAX: Duration = Duration::from_secs(1);

/// Whether a request may be repeated if its connection was lost before the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetrySafety {
    /// It changes nothing, or has the same effect twice.
    Idempotent,
    /// Its effect is unknown after a lost connection: the caller must check.
    Never,
}

/// Retry backoff: pauses double up to a second, until a deadline.
#[derive(Debug)]
pub struct RetryBackoff {
    deadline: Instant,
    pause: Duration,
}

impl RetryBackoff {
    /// A backoff whose deadline is this far away.
    #[must_use]
    pub fn of(within: Duration) -> RetryBackoff {
        RetryBackoff {
            deadline: Instant::now() + within,
            pause: BACKOFF_FIRST,
        }
    }

    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Sleeps for the next pause; `false` if the deadline comes first.
    #[must_use]
    pub fn wait(&mut self) -> bool {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left <= self.pause {
            return false;
        }
        sleep(self.pause);
        self.pause = (self.pause * 2).min(BACKOFF_MAX);
        true
    }
}

/// A client of one cluster.
#[derive(Debug)]
pub struct Cluster {
    settings: ClientSettings,
    tls: Option<TlsClient>,
    bootstrap: Vec<Address>,
    /// Brokers of the latest metadata.
    brokers: BTreeMap<i32, Address>,
    connections: BTreeMap<Address, Connection>,
}

impl Cluster {
    /// Discovers the brokers through the first bootstrap address that answers.
    ///
    /// # Errors
    /// The error of the last address, if none answers.
    pub fn connect(bootstrap: Vec<Address>, settings: ClientSettings) -> Result<Cluster> {
        let tls = settings.tls.as_ref().map(TlsClient::new).transpose()?;
        let mut cluster = Cluster {
            settings,
            tls,
            bootstrap,
            brokers: BTreeMap::new(),
            connections: BTreeMap::new(),
        };
        cluster.refresh()?;
        Ok(cluster)
    }

    /// The connection settings.
    #[must_use]
    pub fn settings(&self) -> &ClientSettings {
        &self.settings
    }

    /// Brokers of the latest metadata.
    #[must_use]
    pub fn brokers(&self) -> &BTreeMap<i32, Address> {
        &self.brokers
    }

    /// Refreshes the list of brokers.
    ///
    /// # Errors
    /// If no broker answers.
    pub fn refresh(&mut self) -> Result<()> {
        self.metadata(Some(Vec::new())).map(drop)
    }

    /// Metadata: the brokers, and these topics with their partitions; `None`: all topics.
    ///
    /// # Errors
    /// If no broker answers.
    pub fn metadata(
        &mut self,
        topics: Option<Vec<MetadataRequestTopic>>,
    ) -> Result<MetadataResponse> {
        let request = MetadataRequest::default()
            .with_topics(topics)
            .with_allow_auto_topic_creation(false);
        let answer = self.request(&request)?;
        let brokers = answer.brokers.iter();
        self.brokers = brokers
            .filter_map(|broker| {
                let port = u16::try_from(broker.port).ok()?;
                let host = broker.host.to_string();
                Some((broker.node_id.0, Address { host, port }))
            })
            .collect();
        // Drops connections to removed brokers. Bootstrap addresses stay: they may be another name of the same broker.
        let known: Vec<&Address> = self.brokers.values().chain(&self.bootstrap).collect();
        self.connections
            .retain(|address, _| known.contains(&address));
        Ok(answer)
    }

    /// API versions of a connected broker.
    ///
    /// # Errors
    /// If no broker can be reached.
    pub fn versions(&mut self) -> Result<Versions> {
        if self.connections.is_empty() {
            self.refresh()?;
        }
        let connection = self.connections.values().next();
        Ok(connection.map_or_else(Versions::default, |one| one.versions().clone()))
    }

    /// Sends a request that is safe to repeat to any broker; to another one if that fails.
    ///
    /// # Errors
    /// If no broker answers.
    pub fn request<R: Request>(&mut self, request: &R) -> Result<R::Response> {
        self.request_any(request, RetrySafety::Idempotent)
    }

    /// Sends a request to any broker, at most once.
    ///
    /// # Errors
    /// If no broker answers; the effect of the request is then unknown.
    pub fn request_once<R: Request>(&mut self, request: &R) -> Result<R::Response> {
        self.request_any(request, RetrySafety::Never)
    }

    fn request_any<R: Request>(&mut self, request: &R, safety: RetrySafety) -> Result<R::Response> {
        let mut patience = RetryBackoff::of(self.settings.request_timeout);
        loop {
            let mut last = None;
            let candidates = self.candidates();
            for (number, address) in (1..).zip(&candidates) {
                // Many addresses that drop packets take no longer than one.
                if last.is_some() && Instant::now() >= patience.deadline() {
                    break;
                }
                // One broker that hangs must leave time for the next.
                let deadline = match safety {
                    RetrySafety::Idempotent if number < candidates.len() => {
                        let half = Instant::now() + self.settings.request_timeout / 2;
                        half.min(patience.deadline())
                    }
                    _ => patience.deadline(),
                };
                match self.request_at(address, request, i16::MAX, deadline, safety) {
                    Ok(answer) => return Ok(answer),
                    Err(FailedAttempt { error, is_final }) if is_final => return Err(error),
                    Err(FailedAttempt { error, .. }) => last = Some(error),
                }
            }
            let last = last.unwrap_or(ClientError::NoAddress);
            // No retry before the first response: a wrong address is likelier than a starting broker.
            if self.brokers.is_empty() || !patience.wait() {
                return Err(ClientError::NoBrokerReachable(Box::new(last)));
            }
        }
    }

    /// Sends a request to one broker, in a version no newer than `newest`.
    ///
    /// # Errors
    /// If the broker is not known or does not answer.
    pub fn request_to<R: Request>(
        &mut self,
        id: i32,
        request: &R,
        newest: i16,
    ) -> Result<R::Response> {
        let mut patience = RetryBackoff::of(self.settings.request_timeout);
        loop {
            let address = match self.brokers.get(&id).cloned() {
                Some(address) => address,
                None => {
                    self.refresh()?;
                    let found = self.brokers.get(&id).cloned();
                    found.ok_or(ClientError::NoBroker(id))?
                }
            };
            match self.request_at(
                &address,
                request,
                newest,
                patience.deadline(),
                RetrySafety::Idempotent,
            ) {
                Ok(answer) => return Ok(answer),
                Err(FailedAttempt { error, is_final }) => {
                    // Not retried: a broker that refuses connections is down, and one at a forbidden address, or that
                    // advertises a name which is not found here, is as good as down.
                    let is_down = matches!(
                        error,
                        ClientError::Refused(..)
                            | ClientError::AddressNotAllowed(..)
                            | ClientError::HostNotFound(..)
                    );
                    if is_final || is_down || !patience.wait() {
                        return Err(error);
                    }
                    self.refresh()?;
                }
            }
        }
    }

    /// Connected brokers first, then known ones, then the bootstrap addresses.
    fn candidates(&self) -> Vec<Address> {
        let mut all: Vec<Address> = Vec::new();
        let connected = self.connections.keys();
        for address in connected
            .chain(self.brokers.values())
            .chain(&self.bootstrap)
        {
            if !all.contains(address) {
                all.push(address.clone());
            }
        }
        all
    }

    fn request_at<R: Request>(
        &mut self,
        address: &Address,
        request: &R,
        newest: i16,
        deadline: Instant,
        safety: RetrySafety,
    ) -> Result<R::Response, FailedAttempt> {
        if !self.connections.contains_key(address) {
            let opened = Connection::open(address, &self.settings, self.tls.as_ref(), deadline);
            let opened = opened.map_err(|error| FailedAttempt {
                is_final: !error.is_retriable() && !self.has_alternatives(),
                error,
            })?;
            self.connections.insert(address.clone(), opened);
        }
        let Some(connection) = self.connections.get_mut(address) else {
            return Err(ClientError::NoAddress.into());
        };
        connection
            .request(request, newest, deadline)
            .map_err(|error| {
                // After any other error, the next bytes on this connection cannot be matched to a request.
                if !matches!(error, ClientError::Version(..) | ClientError::Request(..)) {
                    self.connections.remove(address);
                }
                FailedAttempt {
                    is_final: !error.is_retriable() || safety == RetrySafety::Never,
                    error,
                }
            })
    }

    /// Whether there are other brokers to ask: then a wrong certificate of one is not final.
    fn has_alternatives(&self) -> bool {
        !self.brokers.is_empty() || self.bootstrap.len() > 1
    }
}

struct FailedAttempt {
    error: ClientError,
    /// A retry cannot succeed.
    is_final: bool,
}

impl From<ClientError> for FailedAttempt {
    fn from(error: ClientError) -> FailedAttempt {
        FailedAttempt {
            error,
            is_final: true,
        }
    }
}
