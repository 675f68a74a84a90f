//! What the lab asks Kafka brokers. The client is the crate `tare-lab-kafka`: a program that has it installs it.

use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{fmt, io};

use tare_record::agent::Acknowledged;
use tare_record::load::{AddressPolicy, LoginSpec, TlsSpec};
use tare_record::record::ReadBackRecord;

/// The brokers of a cluster, and how they are asked.
#[derive(Clone)]
pub struct BrokerAccess {
    /// `HOST:PORT` of each.
    pub addresses: Vec<String>,
    /// How connections are opened; `None`: by the kernel.
    pub connect: Option<Arc<DialFn>>,
    pub login: Option<LoginSpec>,
    pub tls: Option<TlsSpec>,
    pub reach: AddressPolicy,
    /// Timeout of one answer.
    pub timeout: Duration,
}

/// Connects to an address within a timeout.
pub type DialFn = dyn Fn(SocketAddr, Duration) -> io::Result<TcpStream> + Send + Sync;

/// A topic to create.
#[derive(Debug, Clone, Copy)]
pub struct PlannedTopic<'a> {
    pub name: &'a str,
    pub partitions: u32,
    pub replicas: u16,
    /// Whether the topic may exist already. A broker forwards a request to the controller and repeats it when it gets no answer, such
    /// as after a pause: where names are used once, the first attempt created what exists.
    pub may_exist: bool,
}

/// A client of Kafka brokers. Errors are texts for users.
pub trait BrokerClient: fmt::Debug + Sync {
    /// Checks that a broker has a controller and sees all brokers of its cluster, whatever others would say.
    ///
    /// # Errors
    /// What is missing.
    fn check_ready(&self, broker: &BrokerAccess, all: usize) -> Result<(), String>;

    /// `HOST:PORT` of all brokers, as they are advertised.
    ///
    /// # Errors
    /// Why the cluster could not be asked.
    fn members(&self, brokers: &BrokerAccess) -> Result<Vec<String>, String>;

    /// Creates a topic; done when every broker knows the leader and all replicas of each partition.
    ///
    /// # Errors
    /// Why it failed; then there is no such topic.
    fn create(&self, brokers: &BrokerAccess, topic: PlannedTopic<'_>) -> Result<(), String>;

    /// Deletes a topic.
    ///
    /// # Errors
    /// Why it could not be deleted.
    fn delete(&self, brokers: &BrokerAccess, topic: &str) -> Result<(), String>;

    /// Elects the preferred leaders of a topic; returns what happened.
    ///
    /// # Errors
    /// Why not every one leads.
    fn elect(&self, brokers: &BrokerAccess, topic: &str) -> Result<String, String>;

    /// Moves the partitions of a topic to the next brokers, and waits until they are in sync there; returns what happened.
    ///
    /// # Errors
    /// Why they were not moved.
    fn reassign(&self, brokers: &BrokerAccess, topic: &str) -> Result<String, String>;

    /// Reads a topic back and compares it with what the writers of a run had acknowledged.
    ///
    /// # Errors
    /// Why it could not be read.
    fn read_back(
        &self,
        brokers: &BrokerAccess,
        topic: &str,
        run: u64,
        acknowledged: &[Acknowledged],
    ) -> Result<ReadBackRecord, String>;
}

static CLIENT: OnceLock<&'static dyn BrokerClient> = OnceLock::new();

/// Installs the client of this process.
pub fn install(client: &'static dyn BrokerClient) {
    // A second time it is the same.
    let _ = CLIENT.set(client);
}

/// The client of this process.
pub(crate) fn client() -> Result<&'static dyn BrokerClient, String> {
    let client = CLIENT.get().copied();
    client.ok_or_else(|| String::from("this program has no client of Kafka brokers"))
}

impl fmt::Debug for BrokerAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BrokerAccess")
            .field(&self.addresses)
            .finish()
    }
}
