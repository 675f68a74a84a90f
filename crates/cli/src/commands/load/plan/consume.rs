//! The Kafka consumer of the arguments.

use anyhow::{Context, bail};
use tare_schema::load::{
    FetchDepth, FetchEnd, FetchFrom, FetchShare, FetchSpec, FetchUntil, LoginSpec, RequestSpec,
    Stop,
};
use tare_schema::units::Size;

use super::super::args::Args;
use super::super::target::LoadUrl;
use super::kafka::topic;

/// Fetches in flight per worker: more than clusters usually have brokers; the consumer uses fewer when there are fewer brokers.
const FETCHES_IN_FLIGHT: u16 = 32;

/// Commit interval of a group member.
const COMMIT_EVERY_MS: u64 = 1000;

/// Session timeout of a group member; short, since a load that was killed blocks its group until then.
const SESSION_TIMEOUT_MS: u32 = 10_000;

/// The consumer of the arguments, and its one request, the fetch; `None` without `--consume`.
pub(super) fn consumer(
    args: &Args,
    target: &LoadUrl,
    requests: &mut [RequestSpec],
) -> anyhow::Result<Option<FetchSpec>> {
    let is_kafka = target.is("kafka-produce");
    if let (false, Some(flag)) = (is_kafka, args.consume.given()) {
        bail!("{flag} is for Kafka: write kafka://{}/topic", target.host);
    }
    if !args.consume.consume {
        return Ok(None);
    }
    let [request] = requests else {
        bail!("one topic a load: leave out the file of requests");
    };
    let name = topic(target)?;
    request.name = "fetch".into();
    request.method = "FETCH".into();
    request.path = name.to_owned();
    Ok(Some(of(args, name)?))
}

/// A consumer of this topic with the settings of the arguments.
pub(super) fn of(args: &Args, topic: &str) -> anyhow::Result<FetchSpec> {
    let consume = &args.consume;
    let size = |size: Option<Size>, default_bytes: u32| -> anyhow::Result<u32> {
        size.map_or(Ok(default_bytes), |size| {
            u32::try_from(size.0).with_context(|| format!("{} bytes are too many", size.0))
        })
    };
    let from = consume.from.map_or(FetchFrom::Start, |from| from.0);
    let is_bounded = args.pacing.count.is_some() || args.pacing.duration.is_some();
    let wait_ms = consume
        .fetch_max_wait
        .map_or(500, |wait| wait.as_ns() / 1_000_000);
    Ok(FetchSpec {
        topics: vec![topic.to_owned()],
        client_id: args
            .kafka
            .client_id
            .clone()
            .unwrap_or_else(|| "tare".into()),
        in_flight_max: FETCHES_IN_FLIGHT,
        share: match &consume.group {
            None => FetchShare::Assigned,
            Some(group) => FetchShare::Group {
                group: group.clone(),
                assignors: match consume.assignor {
                    Some(assignor) => vec![assignor.name().into()],
                    None => vec!["range".into(), "sticky".into()],
                },
                commit_every_ms: Some(COMMIT_EVERY_MS),
                session_timeout_ms: SESSION_TIMEOUT_MS,
            },
        },
        from,
        min_bytes: size(consume.fetch_min_bytes, 1)?,
        max_wait_ms: u32::try_from(wait_ms).unwrap_or(u32::MAX),
        max_bytes: size(consume.fetch_max_bytes, 50 << 20)?,
        partition_max_bytes: size(consume.max_partition_fetch_bytes, 1 << 20)?,
        check_crc: !consume.no_check_crcs,
        depth: match consume.decode_records {
            true => FetchDepth::Records,
            false => FetchDepth::Batches,
        },
        until: FetchUntil {
            records: args.pacing.count,
            backlog: !is_bounded && from != FetchFrom::End,
        },
        at_end: FetchEnd::Wait,
        login: match (&args.kafka.sasl_user, &args.kafka.sasl_password_file) {
            (Some(user), Some(file)) => Some(LoginSpec {
                mechanism: args
                    .kafka
                    .sasl_mechanism
                    .clone()
                    .unwrap_or_else(|| "SCRAM-SHA-512".into()),
                user: user.clone(),
                password_file: file.clone(),
            }),
            _ => None,
        },
    })
}

/// The stop rule of a consumer. Where the fetch has an end of its own (records, backlog), the load has none.
pub(super) fn stop(spec: &FetchSpec, stop: Stop) -> Stop {
    match spec.until.backlog || spec.until.records.is_some() {
        true => Stop::Interrupted,
        false => stop,
    }
}
