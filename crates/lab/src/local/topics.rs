//! Administration of topics: brokers of a test bed are called from within their pods, external ones as clients call them.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tare_kafka::audit::DeliveryAudit;
use tare_kafka_admin::admin::{
    Admin, AdminError, ItemResult, Mode, NewTopic, PartitionLayout, TopicIdentity,
};
use tare_kafka_admin::client::{self, Address, ClientSettings, RetryBackoff};
use tare_kafka_admin::reassignment::PartitionReassignment;
use tare_record::agent::Acknowledged;
use tare_record::plan::PreparedTopic;
use tare_record::record::ReadBackRecord;

use super::external::{self, ANSWER};
use super::layout::stem;
use super::placed::PlacedTestBed;
use super::test_bed::LocalTestBed;
use crate::LabError;
use crate::connector::Connector;
use crate::environment::TopicAdministration;
use crate::fault::FaultHandle;

/// Timeout of a request to the cluster and of its effect: brokers may be down meanwhile.
const WITHIN: Duration = Duration::from_secs(60);

/// Connection settings for the brokers of a step.
struct Brokers {
    at: Vec<Address>,
    settings: ClientSettings,
}

impl Brokers {
    fn of(placed: &PlacedTestBed, topic: &PreparedTopic) -> Result<Brokers, LabError> {
        let PreparedTopic {
            step: name,
            part,
            port,
            ..
        } = topic;
        if let Some((at, settings)) = external::brokers(&placed.external, part, placed.reach)? {
            return Ok(Brokers { at, settings });
        }
        let of_part = |name: &str| name == part || stem(name) == part;
        let mut connectors: BTreeMap<IpAddr, Connector> = BTreeMap::new();
        let mut at = Vec::new();
        let contexts = placed.layout.contexts.iter();
        for context in contexts.filter(|context| of_part(&context.name)) {
            let port = context.ports.get(port).ok_or_else(|| {
                LabError::Plan(format!(
                    "the step `{name}` asks the port `{port}` of {}, which has none of that name",
                    context.name
                ))
            })?;
            at.push(Address {
                host: context.address.to_string(),
                port: *port,
            });
            connectors.insert(context.address, placed.pods.connector(&context.pod));
        }
        if at.is_empty() {
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
        let settings = ClientSettings {
            client_id: "tare-lab".to_owned(),
            connector: client::Connector::Custom(Arc::new(dial)),
            request_timeout: ANSWER,
            ..ClientSettings::default()
        };
        Ok(Brokers { at, settings })
    }

    fn connect(self) -> Result<Admin, AdminError> {
        Ok(Admin::connect(self.at, self.settings)?)
    }
}

impl TopicAdministration for LocalTestBed {
    fn create(
        &mut self,
        topic: &PreparedTopic,
        partitions: u32,
        replicas: u16,
    ) -> Result<(), LabError> {
        let failed =
            |error: AdminError| LabError::Plan(format!("the step `{}`: {error}", topic.step));
        let brokers = Brokers::of(&self.placed, topic)?;
        let (all, settings) = (brokers.at.clone(), brokers.settings.clone());
        let new = NewTopic {
            name: topic.topic.clone(),
            shape: PartitionLayout::ByCluster {
                partitions: i32::try_from(partitions).ok(),
                replicas: i16::try_from(replicas).ok(),
            },
            configs: BTreeMap::new(),
        };
        let mut admin = brokers.connect().map_err(failed)?;
        let mut created = admin.create_topics(&[new], Mode::Apply).map_err(failed)?;
        if !self.placed.is_external(topic) {
            // A broker forwards the request to the controller and repeats it when it gets no answer, such as after a pause.
            // The names of a test bed's topics are used once: a topic that exists was created by the first attempt.
            created.retain(|outcome| !outcome.is_existing_topic());
        }
        ItemResult::all(&created).map_err(failed)?;
        let until = Instant::now() + WITHIN;
        // Brokers learn of it one by one; a client may ask any of them.
        let known = all.into_iter().try_for_each(|broker| {
            let mut of_broker = Admin::connect(vec![broker], settings.clone())?;
            let left = until.saturating_duration_since(Instant::now());
            of_broker
                .wait_until_in_sync(&[&topic.topic], left)
                .map(drop)
        });
        if let Err(error) = known {
            // The first error is the one to report.
            let _ = admin.delete_topics(&[TopicIdentity::named(&topic.topic)]);
            return Err(failed(error));
        }
        if self.placed.is_external(topic) {
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
        let brokers = Brokers::of(&self.placed, topic)?;
        let topic = topic.topic.clone();
        FaultHandle::spawn("elect", move || {
            in_words(brokers.connect().and_then(|admin| elect(admin, topic)))
        })
    }

    fn reassign(&mut self, topic: &PreparedTopic) -> Result<FaultHandle, LabError> {
        let brokers = Brokers::of(&self.placed, topic)?;
        let topic = topic.topic.clone();
        FaultHandle::spawn("reassign", move || {
            in_words(brokers.connect().and_then(|admin| reassign(admin, topic)))
        })
    }

    fn read_back(
        &mut self,
        topic: &PreparedTopic,
        run: u64,
        acknowledged: &[Acknowledged],
    ) -> Result<ReadBackRecord, LabError> {
        let name = topic.topic.as_str();
        let failed =
            |error: AdminError| LabError::Plan(format!("{name} cannot be read back: {error}"));
        let mut account = DeliveryAudit::of_run(run);
        for one in acknowledged.iter().filter(|one| one.topic == name) {
            for &[from, count] in &one.ranges {
                account
                    .acknowledged(one.partition, one.writer, (from, count))
                    .map_err(|error| failed(error.into()))?;
            }
        }
        let mut admin = Brokers::of(&self.placed, topic)?
            .connect()
            .map_err(failed)?;
        admin
            .read_back(name, &mut account, WITHIN)
            .map_err(failed)?;
        let found = account.close();
        Ok(ReadBackRecord {
            topic: name.to_owned(),
            acknowledged: found.acknowledged,
            read: found.read,
            lost: found.lost,
            duplicated: found.duplicated,
            unacknowledged: found.unacknowledged,
            reordered: found.reordered,
            unexpected: found.foreign,
            violations: Vec::new(),
        })
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
    let failed = |error: AdminError| {
        LabError::Plan(format!(
            "the topic {} is not deleted ({error}): delete it by `tare kafka topics delete {0}`",
            topic.topic
        ))
    };
    let mut admin = Brokers::of(placed, topic)?.connect().map_err(failed)?;
    let deleted = admin.delete_topics(&[TopicIdentity::named(&topic.topic)]);
    deleted
        .and_then(|outcomes| ItemResult::all(&outcomes))
        .map_err(failed)
}

fn elect(mut admin: Admin, topic: String) -> Result<String, AdminError> {
    let found = admin.topics_named(&[&topic])?;
    let partitions = found.iter().flat_map(|topic| &topic.partitions);
    let others: Vec<i32> = partitions
        .filter(|one| !one.is_preferred_led())
        .map(|one| one.partition)
        .collect();
    if others.is_empty() {
        return Ok(String::from("the preferred leaders led already"));
    }
    let count = others.len();
    let outcomes = admin.elect_preferred(Some(&BTreeMap::from([(topic, others)])))?;
    let refused = outcomes.iter().find_map(|one| one.error.as_ref());
    match refused {
        Some(error) => Err(AdminError::Input(format!(
            "not every preferred leader leads: {error}"
        ))),
        None => Ok(format!("{count} partitions have another leader")),
    }
}

/// Moves each partition of a topic to the next brokers, in order of their ids, and waits until all are moved.
fn reassign(mut admin: Admin, topic: String) -> Result<String, AdminError> {
    let mut all: Vec<i32> = admin.sites()?.iter().map(|site| site.broker).collect();
    all.sort_unstable();
    let placed = admin.placed(std::slice::from_ref(&topic))?;
    let next = |broker: &i32| {
        let at = all.iter().position(|one| one == broker).unwrap_or(0);
        all[(at + 1) % all.len()]
    };
    let moves: Vec<PartitionReassignment> = placed
        .into_iter()
        .map(|one| PartitionReassignment {
            to: one.replicas.iter().map(next).collect(),
            topic: one.topic,
            partition: one.partition,
            from: one.replicas,
        })
        .collect();
    admin.reassign(&moves, None)?;
    let began = Instant::now();
    let mut patience = RetryBackoff::of(WITHIN);
    while admin.reassignments()?.iter().any(|one| one.topic == topic) {
        if !patience.wait() {
            return Err(AdminError::Late {
                what: String::from("the partitions did not arrive"),
                seconds: WITHIN.as_secs(),
            });
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    Ok(format!(
        "{} partitions moved in {seconds:.1} s",
        moves.len()
    ))
}

fn in_words(done: Result<String, AdminError>) -> Result<String, String> {
    done.map_err(|error| error.to_string())
}
