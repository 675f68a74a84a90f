//! Administration of topics: brokers of a test bed are called from within their pods, external ones as clients call them.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tare_record::agent::Acknowledged;
use tare_record::load::AddressPolicy;
use tare_record::plan::PreparedTopic;
use tare_record::record::ReadBackRecord;

use super::external::{self, ANSWER};
use super::layout::stem;
use super::placed::PlacedTestBed;
use super::test_bed::LocalTestBed;
use crate::LabError;
use crate::brokers::{self, BrokerAccess, PlannedTopic};
use crate::connector::Connector;
use crate::environment::TopicAdministration;
use crate::fault::FaultHandle;

/// The brokers of a step.
fn brokers_of(placed: &PlacedTestBed, topic: &PreparedTopic) -> Result<BrokerAccess, LabError> {
    let PreparedTopic {
        step: name,
        part,
        port,
        ..
    } = topic;
    if let Some(brokers) = external::brokers(&placed.external, part, placed.reach)? {
        return Ok(brokers);
    }
    let of_part = |name: &str| name == part || stem(name) == part;
    let mut connectors: BTreeMap<IpAddr, Connector> = BTreeMap::new();
    let mut addresses = Vec::new();
    let contexts = placed.layout.contexts.iter();
    for context in contexts.filter(|context| of_part(&context.name)) {
        let port = context.ports.get(port).ok_or_else(|| {
            LabError::Plan(format!(
                "the step `{name}` asks the port `{port}` of {}, which has none of that name",
                context.name
            ))
        })?;
        addresses.push(SocketAddr::new(context.address, *port).to_string());
        connectors.insert(context.address, placed.pods.connector(&context.pod));
    }
    if addresses.is_empty() {
        return Err(LabError::Plan(format!(
            "the step `{name}` is for the part `{part}`, which has no instance"
        )));
    }
    let dial = move |to: SocketAddr, within: Duration| {
        // Each broker is called from its own pod: nothing on the way can refuse that.
        let connector = connectors
            .get(&to.ip())
            .or_else(|| connectors.values().next());
        let none = || std::io::Error::from(std::io::ErrorKind::NotFound);
        connector.ok_or_else(none)?.connect(to, within)
    };
    Ok(BrokerAccess {
        addresses,
        connect: Some(Arc::new(dial)),
        login: None,
        tls: None,
        reach: AddressPolicy::default(),
        timeout: ANSWER,
    })
}

impl TopicAdministration for LocalTestBed {
    fn create(
        &mut self,
        topic: &PreparedTopic,
        partitions: u32,
        replicas: u16,
    ) -> Result<(), LabError> {
        let brokers = brokers_of(&self.placed, topic)?;
        let is_external = self.placed.is_external(topic);
        let new = PlannedTopic {
            name: &topic.topic,
            partitions,
            replicas,
            may_exist: !is_external,
        };
        brokers::client()
            .and_then(|client| client.create(&brokers, new))
            .map_err(|error| LabError::Plan(format!("the step `{}`: {error}", topic.step)))?;
        if is_external {
            self.created.push(topic.clone());
        }
        Ok(())
    }

    fn delete(&mut self, topic: &PreparedTopic) -> Result<(), LabError> {
        if self.placed.is_external(topic) {
            let Some(at) = self.created.iter().position(|one| one == topic) else {
                return Ok(());
            };
            self.created.swap_remove(at);
        }
        delete(&self.placed, topic)
    }

    fn elect_preferred_leaders(&mut self, topic: &PreparedTopic) -> Result<FaultHandle, LabError> {
        let brokers = brokers_of(&self.placed, topic)?;
        let topic = topic.topic.clone();
        FaultHandle::spawn("elect", move || brokers::client()?.elect(&brokers, &topic))
    }

    fn reassign(&mut self, topic: &PreparedTopic) -> Result<FaultHandle, LabError> {
        let brokers = brokers_of(&self.placed, topic)?;
        let topic = topic.topic.clone();
        FaultHandle::spawn("reassign", move || {
            brokers::client()?.reassign(&brokers, &topic)
        })
    }

    fn read_back(
        &mut self,
        topic: &PreparedTopic,
        run: u64,
        acknowledged: &[Acknowledged],
    ) -> Result<ReadBackRecord, LabError> {
        let brokers = brokers_of(&self.placed, topic)?;
        let name = &topic.topic;
        brokers::client()
            .and_then(|client| client.read_back(&brokers, name, run, acknowledged))
            .map_err(|error| LabError::Plan(format!("{name} cannot be read back: {error}")))
    }
}

impl LocalTestBed {
    /// Deletes all topics that are left on external brokers.
    pub(super) fn delete_created_topics(&mut self) -> Result<(), LabError> {
        let left = std::mem::take(&mut self.created);
        // All are tried, even if one fails.
        let failed: Vec<LabError> = left
            .iter()
            .filter_map(|topic| delete(&self.placed, topic).err())
            .collect();
        failed.into_iter().next().map_or(Ok(()), Err)
    }
}

fn delete(placed: &PlacedTestBed, topic: &PreparedTopic) -> Result<(), LabError> {
    let brokers = brokers_of(placed, topic)?;
    brokers::client()
        .and_then(|client| client.delete(&brokers, &topic.topic))
        .map_err(|error| {
            LabError::Plan(format!(
                "the topic {} is not deleted ({error}): delete it by `tare kafka topics delete {0}`",
                topic.topic
            ))
        })
}
