//! Kafka admin requests: to brokers of a test bed from within their pods, to external ones as clients connect.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tare_kafka::audit::DeliveryAudit;
use tare_kafka_admin::admin::reassign::ThrottleRate;
use tare_kafka_admin::admin::{Admin, AdminError, Mode, NewTopic, Outcome, PartitionLayout};
use tare_kafka_admin::client::{Address, Connector, RetryBackoff, Settings};
use tare_kafka_admin::reassignment::PartitionReassignment;
use tare_schema::agent::Acknowledged;
use tare_schema::plan::{Preparation, PreparedTopic};
use tare_schema::record::ReadBackRecord;

use super::external;
use super::layout::stem;
use super::test_bed::PlacedTestBed;
use crate::LabError;
use crate::connector::Connector;
use crate::fault::FaultHandle;

/// Timeout of a request to the cluster and of its effect: brokers may be down meanwhile.
const WITHIN: Duration = Duration::from_secs(60);
/// Timeout of one response.
pub(super) const ANSWER: Duration = Duration::from_secs(20);

/// Connection settings for the brokers of a step.
struct Brokers {
    at: Vec<Address>,
    settings: Settings,
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
        let connect = move |to: SocketAddr, within: Duration| {
            // Each broker is called from its own pod: nothing on the way can refuse that.
            let connector = connectors
                .get(&to.ip())
                .or_else(|| connectors.values().next());
            let none = || std::io::Error::from(std::io::ErrorKind::NotFound);
            connector.ok_or_else(none)?.connect(to, within)
        };
        let settings = Settings {
            client_id: "tare-lab".to_owned(),
            connector: Connector::Custom(Arc::new(connect)),
            request_timeout: ANSWER,
            ..Settings::default()
        };
        Ok(Brokers { at, settings })
    }

    fn admin(self) -> Result<Admin, AdminError> {
        Ok(Admin::connect(self.at, self.settings)?)
    }
}

/// Creates the topic of a step on an external cluster; `None`: the brokers are in the test bed.
pub(super) fn make(
    placed: &PlacedTestBed,
    step: &Preparation,
) -> Result<Option<PreparedTopic>, LabError> {
    let (
        Some(of),
        Preparation::Topic {
            partitions,
            replicas,
            ..
        },
    ) = (PreparedTopic::of(step), step)
    else {
        return Ok(None);
    };
    if !placed
        .external
        .values()
        .any(|found| found.def.part == of.part)
    {
        return Ok(None);
    }
    let failed = |error: AdminError| LabError::Plan(format!("the step `{}`: {error}", of.step));
    let shape = PartitionLayout::ByCluster {
        partitions: i32::try_from(*partitions).ok(),
        replicas: i16::try_from(*replicas).ok(),
    };
    let topic = NewTopic {
        name: of.topic.clone(),
        shape,
        configs: BTreeMap::new(),
    };
    let mut admin = Brokers::of(placed, &of)?.admin().map_err(failed)?;
    let made = admin.create_topics(&[topic], Mode::Apply);
    made.and_then(|made| Outcome::all(&made)).map_err(failed)?;
    let (patience, seconds) = (RetryBackoff::of(WITHIN), WITHIN.as_secs());
    if let Err(error) = admin.wait_until_in_sync(&[&of.topic], patience, seconds) {
        // The first error is the one to report.
        let _ = admin.delete_topics(&[&of.topic]);
        return Err(failed(error));
    }
    Ok(Some(of))
}

/// Deletes the topic that a step created on an external cluster.
pub(super) fn delete(placed: &PlacedTestBed, of: &PreparedTopic) -> Result<(), LabError> {
    let failed = |error: AdminError| {
        LabError::Plan(format!(
            "the topic {} is not deleted ({error}): delete it by `tare kafka topics delete {0}`",
            of.topic
        ))
    };
    let mut admin = Brokers::of(placed, of)?.admin().map_err(failed)?;
    let deleted = admin.delete_topics(&[&of.topic]);
    deleted
        .and_then(|deleted| Outcome::all(&deleted))
        .map_err(failed)
}

/// Elects the preferred leaders of a topic.
pub(super) fn elect(placed: &PlacedTestBed, of: &PreparedTopic) -> Result<FaultHandle, LabError> {
    let brokers = Brokers::of(placed, of)?;
    let topic = of.topic.clone();
    FaultHandle::spawn("elect", move || {
        in_words(brokers.admin().and_then(|mut admin| {
            let found = admin.topics_named(&[&topic])?;
            let partitions = found.iter().flat_map(|topic| &topic.partitions);
            let wanted: Vec<i32> = partitions
                .filter(|one| !one.is_preferred_led())
                .map(|one| one.partition)
                .collect();
            if wanted.is_empty() {
                return Ok(String::from("the preferred leaders led already"));
            }
            let count = wanted.len();
            let asked = BTreeMap::from([(topic.clone(), wanted)]);
            let outcomes = admin.elect_preferred(Some(&asked))?;
            let refused = outcomes.iter().find_map(|one| one.refusal.as_ref());
            match refused {
                Some(refusal) => Err(AdminError::Input(format!(
                    "not every preferred leader leads: {refusal}"
                ))),
                None => Ok(format!("{count} partitions have another leader")),
            }
        }))
    })
}

/// Moves each partition of a topic to the next brokers, in order of their ids, and waits until all are moved.
pub(super) fn reassign(
    placed: &PlacedTestBed,
    of: &PreparedTopic,
) -> Result<FaultHandle, LabError> {
    let brokers = Brokers::of(placed, of)?;
    let topic = of.topic.clone();
    FaultHandle::spawn("reassign", move || {
        in_words(brokers.admin().and_then(|mut admin| {
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
            admin.reassign(&moves, ThrottleRate::None)?;
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
        }))
    })
}

fn in_words(done: Result<String, AdminError>) -> Result<String, String> {
    done.map_err(|error| error.to_string())
}

/// Reads a topic back and compares it with what was acknowledged.
pub(super) fn read_back(
    placed: &PlacedTestBed,
    of: &PreparedTopic,
    run: u64,
    acknowledged: &[Acknowledged],
) -> Result<ReadBackRecord, LabError> {
    let topic = of.topic.as_str();
    let failed =
        |error: AdminError| LabError::Plan(format!("{topic} cannot be read back: {error}"));
    let mut account = DeliveryAudit::of_run(run);
    for one in acknowledged.iter().filter(|one| one.topic == topic) {
        for &[from, count] in &one.ranges {
            account
                .acknowledged(one.partition, one.writer, (from, count))
                .map_err(|error| failed(error.into()))?;
        }
    }
    let mut admin = Brokers::of(placed, of)?.admin().map_err(failed)?;
    admin
        .read_back(topic, &mut account, WITHIN)
        .map_err(failed)?;
    let found = account.close();
    Ok(ReadBackRecord {
        topic: topic.to_owned(),
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
