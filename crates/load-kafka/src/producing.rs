//! Kafka producers of a plan.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tare_kafka::audit::VALUE_BYTES_MIN;
use tare_kafka::batch::RecordHeader;
use tare_kafka::sasl::Credentials;
use tare_kafka::send_time::SendTimestamps;
use tare_record::files::password_in;
use tare_record::load::{LoadPlan, LoginSpec, Payloads, ProduceSpec, RequestSpec};
use tare_stats::random::Random;

use super::produce::{self, Contents, Produce, ProducePlan};
use super::resolver::SystemResolver;
use crate::cluster::ClusterPlan;
use tare_load::clock::{monotonic_ns, realtime_ns};
use tare_load::generator::{Launch, LoadError, LoadOutcome, PlanError, number, require};
use tare_load::protocols::ConnectionSecurity;
use tare_load::protocols::http1::request::body_bytes;

/// Timeout of a request, as a fraction of that of a record: there must be time to retry.
const REQUESTS_A_TIMEOUT: u64 = 3;

/// Runs a load of producers.
///
/// # Errors
/// When a payload, a password or the compression level cannot be used; else as a load.
pub(super) fn run(launch: Launch<'_, '_>) -> Result<LoadOutcome, LoadError> {
    let (plan, setup) = (launch.plan, launch.setup);
    let spec: ProduceSpec = launch.options()?;
    let contents = plan.load.requests.iter();
    let contents = contents.map(|request| contents_of(plan, &spec, request));
    let contents: Vec<Contents> = contents.collect::<Result<_, _>>()?;
    let topics = plan.load.requests.iter();
    let topics = topics.map(|request| request.path.trim_start_matches('/').to_owned());
    let cluster = ClusterPlan {
        client_id: spec.client_id.clone(),
        topics: topics.collect(),
        apis: produce::APIS,
        ..cluster(&launch, spec.sasl.as_ref())?
    };
    launch.fallible_clients(|part| {
        let purpose = format!("keys of worker {}", part.worker);
        let producer = Produce::new(ProducePlan {
            cluster: ClusterPlan {
                first: part.first,
                ..cluster.clone()
            },
            spec: spec.clone(),
            contents: contents.clone(),
            timeout_ns: plan.load.timeout_ns,
            waiting_max: setup.exchanges_max(part.worker, 0),
            worker: (part.worker, setup.workers),
            random: Random::for_purpose(setup.seed, &purpose),
            epoch_offset_ns: realtime_offset_ns(),
        });
        producer.map_err(|error| {
            number("the compression level", error, "one that the codec has").into()
        })
    })
}

/// The cluster of a load. Each client has its own topics, client id, APIs and first seed.
///
/// # Errors
/// When the password cannot be read.
pub(super) fn cluster(
    launch: &Launch<'_, '_>,
    login: Option<&LoginSpec>,
) -> Result<ClusterPlan, PlanError> {
    let load = &launch.plan.load;
    Ok(ClusterPlan {
        seeds: Arc::clone(&launch.setup.addresses),
        first: 0,
        topics: Vec::new(),
        client_id: String::new(),
        apis: &[],
        connect_timeout_ns: load.timeout_ns,
        // A fetch has a timeout of its own.
        request_timeout_ns: (load.timeout_ns / REQUESTS_A_TIMEOUT).max(1),
        names: Arc::new(SystemResolver::default()),
        address_overrides: launch.plan.address_overrides.clone().into(),
        security: ConnectionSecurity::of(&load.transport),
        login: login.map(credentials).transpose()?,
    })
}

/// Realtime − monotonic.
pub(super) fn realtime_offset_ns() -> i128 {
    i128::from(realtime_ns()) - i128::from(monotonic_ns())
}

fn contents_of(
    plan: &LoadPlan,
    spec: &ProduceSpec,
    request: &RequestSpec,
) -> Result<Contents, PlanError> {
    let values = match &spec.payloads {
        Payloads::Body => {
            let body = body_bytes(&request.body);
            vec![body.map_err(|why| PlanError::request(&request.name, &why))?]
        }
        &Payloads::Drawn {
            count,
            bytes,
            randomness,
        } => drawn(plan.seed, (count, bytes), randomness),
        Payloads::Given { base64 } => {
            let decoded = base64.iter().map(|text| STANDARD.decode(text));
            let decoded: Result<Vec<_>, _> = decoded.collect();
            decoded.map_err(|error| number("a payload", error, "in base64"))?
        }
    };
    let headers: Vec<RecordHeader> = request
        .headers
        .iter()
        .map(|(key, value)| RecordHeader {
            key: key.clone(),
            value: Some(value.clone().into_bytes()),
        })
        .collect();
    let shortest = values.iter().map(Vec::len).min().unwrap_or(0);
    let fits = spec.serials.is_none() || shortest >= VALUE_BYTES_MIN;
    let must = "at least 16 bytes where records are numbered to be read back";
    require(fits, "the length of a payload", shortest, must)?;
    let stamps = spec.timestamp_run.map(SendTimestamps::of_run);
    Ok(Contents::new(&values, &headers, spec.keys, stamps))
}

/// Payloads of a size, of which the first part is random.
fn drawn(seed: u64, (count, bytes): (u32, u32), randomness: f64) -> Vec<Vec<u8>> {
    let mut random = Random::for_purpose(seed, "payloads");
    let random_bytes = (f64::from(bytes) * randomness).round() as usize;
    let one = |_| {
        let mut payload = vec![b'a'; bytes as usize];
        for byte in &mut payload[..random_bytes] {
            *byte = random.bits() as u8;
        }
        payload
    };
    (0..count).map(one).collect()
}

/// Credentials of a login, with the password from its file.
fn credentials(spec: &LoginSpec) -> Result<Credentials, PlanError> {
    let password = password_in(&spec.password_file)
        .map_err(|said| PlanError::Invalid(format!("the password: {said}")))?;
    Ok(Credentials {
        mechanism: spec.mechanism.parse().map_err(PlanError::Invalid)?,
        user: spec.user.clone(),
        password,
    })
}
