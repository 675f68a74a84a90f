//! The brokers of one cluster: who they are, a connection to each, and another try when one goes away.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};

use kafka_protocol::messages::{MetadataRequest, MetadataResponse};
use kafka_protocol::protocol::Request;

use super::address::Address;
use super::connection::Connection;
use super::error::LinkError;
use super::settings::Settings;
use super::tls::TlsClient;
use super::versions::Versions;

/// First pause before another try.
const PAUSE_FIRST: Duration = Duration::from_millis(50);
/// Longest pause.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Whether a request may be sent a second time when the connection was lost before its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// It changes nothing, or the same twice.
    Safe,
    /// What it did is not known: the caller must look.
    Never,
}

/// Pauses between tries: they double, up to a second, until a moment.
#[derive(Debug)]
pub struct Patience {
    until: Instant,
    pause: Duration,
}

impl Patience {
    /// For so long.
    #[must_use]
    pub fn of(within: Duration) -> Patience {
        Patience {
            until: Instant::now() + within,
            pause: PAUSE_FIRST,
        }
    }

    /// When it ends.
    #[must_use]
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Waits; `false` when there is no time for another try.
    #[must_use]
    pub fn wait(&mut self) -> bool {
        let left = self.until.saturating_duration_since(Instant::now());
        if left <= self.pause {
            return false;
        }
        sleep(self.pause);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        true
    }
}

/// A cluster, as a client sees it.
#[derive(Debug)]
pub struct Cluster {
    settings: Settings,
    tls: Option<TlsClient>,
    bootstrap: Vec<Address>,
    /// Every broker that the last metadata named.
    brokers: BTreeMap<i32, Address>,
    links: BTreeMap<Address, Connection>,
}

impl Cluster {
    /// Finds the brokers through the first of these addresses that answers.
    ///
    /// # Errors
    /// Why none does.
    pub fn connect(bootstrap: Vec<Address>, settings: Settings) -> Result<Cluster, LinkError> {
        let tls = settings.tls.as_ref().map(TlsClient::new).transpose()?;
        let mut cluster = Cluster {
            settings,
            tls,
            bootstrap,
            brokers: BTreeMap::new(),
            links: BTreeMap::new(),
        };
        cluster.refresh()?;
        Ok(cluster)
    }

    /// How it is talked to.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Every broker that was there when last asked.
    #[must_use]
    pub fn brokers(&self) -> &BTreeMap<i32, Address> {
        &self.brokers
    }

    /// Asks who the brokers are.
    ///
    /// # Errors
    /// When nobody answers.
    pub fn refresh(&mut self) -> Result<(), LinkError> {
        let none = MetadataRequest::default()
            .with_topics(Some(Vec::new()))
            .with_allow_auto_topic_creation(false);
        self.metadata(&none).map(drop)
    }

    /// What topics, partitions and brokers there are.
    ///
    /// # Errors
    /// When nobody answers.
    pub fn metadata(&mut self, request: &MetadataRequest) -> Result<MetadataResponse, LinkError> {
        let answer = self.ask(request)?;
        let brokers = answer.brokers.iter();
        self.brokers = brokers
            .filter_map(|broker| {
                let port = u16::try_from(broker.port).ok()?;
                let host = broker.host.to_string();
                Some((broker.node_id.0, Address { host, port }))
            })
            .collect();
        // Connections to brokers that have gone are of no more use; the first ones may have another name for the same broker.
        let known: Vec<&Address> = self.brokers.values().chain(&self.bootstrap).collect();
        self.links.retain(|address, _| known.contains(&address));
        Ok(answer)
    }

    /// What a broker that is connected to can.
    ///
    /// # Errors
    /// When nobody is there.
    pub fn versions(&mut self) -> Result<Versions, LinkError> {
        if let Some(link) = self.links.values().next() {
            return Ok(link.versions().clone());
        }
        self.refresh()?;
        let link = self.links.values().next();
        Ok(link.map(|link| link.versions().clone()).unwrap_or_default())
    }

    /// Asks any broker; another one when that goes away.
    ///
    /// # Errors
    /// When nobody answers.
    pub fn ask<R: Request>(&mut self, request: &R) -> Result<R::Response, LinkError> {
        self.any(request, Repeat::Safe)
    }

    /// Has any broker do something, at most once.
    ///
    /// # Errors
    /// When nobody answers; what was done is then not known.
    pub fn tell<R: Request>(&mut self, request: &R) -> Result<R::Response, LinkError> {
        self.any(request, Repeat::Never)
    }

    fn any<R: Request>(&mut self, request: &R, repeat: Repeat) -> Result<R::Response, LinkError> {
        let mut patience = Patience::of(self.settings.answer_within);
        loop {
            let mut last = None;
            let candidates = self.candidates();
            for (number, address) in (1..).zip(&candidates) {
                // One that hangs must leave time for the next one.
                let until = match repeat {
                    Repeat::Safe if number < candidates.len() => {
                        let half = Instant::now() + self.settings.answer_within / 2;
                        half.min(patience.until())
                    }
                    _ => patience.until(),
                };
                match self.at(address, request, i16::MAX, until, repeat) {
                    Ok(answer) => return Ok(answer),
                    Err(Lost { error, is_final }) if is_final => return Err(error),
                    Err(Lost { error, .. }) => last = Some(error),
                }
            }
            let last = last.unwrap_or(LinkError::NoAddress);
            // A cluster that never answered is not waited for: the address is more likely wrong than the broker young.
            if self.brokers.is_empty() || !patience.wait() {
                return Err(LinkError::Nobody {
                    last: Box::new(last),
                });
            }
        }
    }

    /// Asks one broker, in a version no newer than `newest`.
    ///
    /// # Errors
    /// When it is not there or does not answer.
    pub fn ask_broker<R: Request>(
        &mut self,
        id: i32,
        request: &R,
        newest: i16,
    ) -> Result<R::Response, LinkError> {
        let mut patience = Patience::of(self.settings.answer_within);
        loop {
            let address = match self.brokers.get(&id).cloned() {
                Some(address) => address,
                None => {
                    self.refresh()?;
                    let found = self.brokers.get(&id).cloned();
                    found.ok_or(LinkError::NoBroker { id })?
                }
            };
            match self.at(&address, request, newest, patience.until(), Repeat::Safe) {
                Ok(answer) => return Ok(answer),
                Err(Lost { error, is_final }) => {
                    // One that refuses connections is down, one that may not be called is as good as that, and one that was silent
                    // for the whole time may be down:
                    // whoever needs it asks again later.
                    let is_down = matches!(
                        error,
                        LinkError::Refused { .. } | LinkError::OutOfReach { .. }
                    );
                    if is_final || is_down || !patience.wait() {
                        return Err(error);
                    }
                    self.refresh()?;
                }
            }
        }
    }

    /// Connected brokers first, then those known, then those named at the start.
    fn candidates(&self) -> Vec<Address> {
        let mut all: Vec<Address> = Vec::new();
        let connected = self.links.keys();
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

    fn at<R: Request>(
        &mut self,
        address: &Address,
        request: &R,
        newest: i16,
        until: Instant,
        repeat: Repeat,
    ) -> Result<R::Response, Lost> {
        if !self.links.contains_key(address) {
            let opened = Connection::open(address, &self.settings, self.tls.as_ref());
            let opened = opened.map_err(|error| Lost {
                is_final: !error.is_passing() && !self.is_one_of_several(),
                error,
            })?;
            self.links.insert(address.clone(), opened);
        }
        let Some(link) = self.links.get_mut(address) else {
            return Err(LinkError::NoAddress.into());
        };
        link.ask(request, newest, until).map_err(|error| {
            // Whatever went wrong, what comes next on this connection belongs to nobody.
            if !matches!(error, LinkError::Version { .. } | LinkError::Request { .. }) {
                self.links.remove(address);
            }
            Lost {
                is_final: !error.is_passing() || repeat == Repeat::Never,
                error,
            }
        })
    }

    /// Whether somebody else could be asked: then a broker with a wrong certificate is not the end.
    fn is_one_of_several(&self) -> bool {
        !self.brokers.is_empty() || self.bootstrap.len() > 1
    }
}

/// A try that failed.
struct Lost {
    error: LinkError,
    /// No other try would do better.
    is_final: bool,
}

impl From<LinkError> for Lost {
    fn from(error: LinkError) -> Lost {
        Lost {
            error,
            is_final: true,
        }
    }
}
