//! The laboratory's client of Kafka brokers: readiness, topics, metrics. [`install`] adds it to a program.

mod metrics;
mod readiness;
mod topics;

use std::sync::Arc;
use std::time::Duration;

pub use metrics::broker_metrics;
use tare_kafka::sasl::Credentials;
use tare_kafka_admin::admin::{Admin, AdminError};
use tare_kafka_admin::client::{Address, ClientSettings, Cluster, Connector, Tls};
use tare_lab::brokers::{BrokerAccess, BrokerClient, PlannedTopic};
use tare_record::agent::Acknowledged;
use tare_record::files::password_in;
use tare_record::load::{LoginSpec, TlsSpec};
use tare_record::record::ReadBackRecord;

/// Longest time for opening a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// Adds the client to this process.
pub fn install() {
    tare_lab::brokers::install(&Client);
}

#[derive(Debug)]
struct Client;

impl BrokerClient for Client {
    fn check_ready(&self, broker: &BrokerAccess, all: usize) -> Result<(), String> {
        let settings = settings(broker)?;
        let mut addresses = addresses(broker)?.into_iter();
        addresses.try_for_each(|at| readiness::ask(&at, all, &settings))
    }

    fn members(&self, brokers: &BrokerAccess) -> Result<Vec<String>, String> {
        let cluster = Cluster::connect(addresses(brokers)?, settings(brokers)?);
        let cluster = cluster.map_err(|error| error.to_string())?;
        Ok(cluster.brokers().values().map(Address::to_string).collect())
    }

    fn create(&self, brokers: &BrokerAccess, topic: PlannedTopic<'_>) -> Result<(), String> {
        let (all, settings) = (addresses(brokers)?, settings(brokers)?);
        topics::create(all, &settings, topic).map_err(in_words)
    }

    fn delete(&self, brokers: &BrokerAccess, topic: &str) -> Result<(), String> {
        topics::delete(admin(brokers)?, topic).map_err(in_words)
    }

    fn elect(&self, brokers: &BrokerAccess, topic: &str) -> Result<String, String> {
        topics::elect(admin(brokers)?, topic).map_err(in_words)
    }

    fn reassign(&self, brokers: &BrokerAccess, topic: &str) -> Result<String, String> {
        topics::reassign(admin(brokers)?, topic).map_err(in_words)
    }

    fn read_back(
        &self,
        brokers: &BrokerAccess,
        topic: &str,
        run: u64,
        acknowledged: &[Acknowledged],
    ) -> Result<ReadBackRecord, String> {
        topics::read_back(admin(brokers)?, topic, run, acknowledged).map_err(in_words)
    }
}

fn admin(brokers: &BrokerAccess) -> Result<Admin, String> {
    let connected = Admin::connect(addresses(brokers)?, settings(brokers)?);
    connected.map_err(|error| error.to_string())
}

fn addresses(brokers: &BrokerAccess) -> Result<Vec<Address>, String> {
    let all = brokers.addresses.iter().map(|at| at.parse::<Address>());
    let all: Result<Vec<Address>, _> = all.collect();
    all.map_err(|error| error.to_string())
}

fn settings(brokers: &BrokerAccess) -> Result<ClientSettings, String> {
    let login = brokers.login.as_ref();
    Ok(ClientSettings {
        client_id: String::from("tare-lab"),
        tls: brokers.tls.as_ref().map(tls),
        sasl: login.map(credentials).transpose()?,
        connector: match &brokers.connect {
            Some(connect) => Connector::Custom(Arc::clone(connect)),
            None => Connector::Direct,
        },
        reach: brokers.reach,
        connect_timeout: brokers.timeout.min(CONNECT),
        request_timeout: brokers.timeout,
        ..ClientSettings::default()
    })
}

fn credentials(login: &LoginSpec) -> Result<Credentials, String> {
    Ok(Credentials {
        mechanism: login.mechanism.parse()?,
        user: login.user.clone(),
        password: password_in(&login.password_file)?,
    })
}

fn tls(spec: &TlsSpec) -> Tls {
    Tls {
        trust: spec.trust.clone(),
        identity: spec.identity.clone(),
        server_name: spec.server_name.clone(),
    }
}

fn in_words(error: AdminError) -> String {
    error.to_string()
}
