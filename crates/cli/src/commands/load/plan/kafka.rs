//! The Kafka producer of the arguments.

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tare_schema::load::{Acks, Body, LoginSpec, Payloads, ProduceSpec, RequestSpec};
use tare_schema::named::{GIVEN_BYTES_MAX, read_given};

use super::super::args::{Args, KafkaArgs, OnOff};
use super::super::target::LoadUrl;

/// Default bytes of a value, as in other tools.
const PAYLOAD_BYTES: u64 = 100;
/// Most bytes of a value.
const PAYLOAD_BYTES_MAX: u64 = 64 << 20;
/// Memory for random values: enough different ones that compression finds none twice in a batch.
const DRAWN_BYTES: u64 = 4 << 20;
/// Most random values.
const DRAWN_MAX: u64 = 10_000;

/// The producer of the URL and the arguments, and its one request, the topic; `None` for another protocol.
pub(super) fn producer(
    args: &Args,
    target: &LoadUrl,
    requests: &mut [RequestSpec],
) -> anyhow::Result<Option<ProduceSpec>> {
    if !target.is("kafka-produce") {
        return match args.kafka.given() {
            Some(flag) => bail!("{flag} is for Kafka: write kafka://{}/topic", target.host),
            None => Ok(None),
        };
    }
    let [request] = requests else {
        bail!("one topic a load: leave out the file of requests");
    };
    let topic = topic(target)?;
    let kafka = &args.kafka;
    let spec = of(kafka)?;
    request.name = topic.replace('.', "_").chars().take(64).collect();
    request.method = "PRODUCE".into();
    request.path = topic.to_owned();
    if request.body == Body::None {
        let bytes = kafka.payload.map_or(PAYLOAD_BYTES, |size| size.0);
        if bytes > PAYLOAD_BYTES_MAX {
            bail!(
                "a value of {bytes} bytes: brokers take 1 MiB unless told otherwise, tare at most 64 MiB"
            );
        }
        request.body = Body::Filler { bytes };
    }
    Ok(Some(spec))
}

/// The topic that a URL names.
pub(super) fn topic(target: &LoadUrl) -> anyhow::Result<&str> {
    let topic = target.path.trim_matches('/');
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if topic.is_empty() || topic.len() > 249 || !topic.chars().all(is_name) {
        bail!(
            "{}: {topic:?} is no topic: write {}/topic, of letters, digits, dots, - and _",
            target.url,
            target.url.trim_end_matches(&target.path)
        );
    }
    Ok(topic)
}

fn of(args: &KafkaArgs) -> anyhow::Result<ProduceSpec> {
    let defaults = ProduceSpec::default();
    let size = |size: Option<tare_schema::units::Size>, defaults: u32| -> anyhow::Result<u32> {
        size.map_or(Ok(defaults), |size| {
            u32::try_from(size.0).with_context(|| format!("{} bytes are too many", size.0))
        })
    };
    let acks = args.acks.map_or(defaults.acks, Acks::from);
    Ok(ProduceSpec {
        client_id: args.client_id.clone().unwrap_or(defaults.client_id),
        acks,
        idempotence: match args.idempotence {
            Some(given) => given == OnOff::On,
            None => acks == Acks::All && args.max_in_flight.is_none_or(|count| count <= 5),
        },
        linger_ns: args
            .linger
            .map_or(defaults.linger_ns, |linger| linger.as_ns()),
        batch_bytes: size(args.batch_size, defaults.batch_bytes)?,
        request_bytes_max: size(args.max_request_size, defaults.request_bytes_max)?,
        in_flight_max: args.max_in_flight.unwrap_or(defaults.in_flight_max),
        buffer_bytes: args
            .buffer_memory
            .map_or(defaults.buffer_bytes, |size| size.0),
        compression: args.compression.map_or(defaults.compression, Into::into),
        compression_level: args.compression_level,
        partitioner: args.partitioner.map_or(defaults.partitioner, Into::into),
        keys: args.keys.map_or(defaults.keys, |keys| keys.0),
        payloads: payloads(args)?,
        stamps_of_run: None,
        serials: None,
        login: match (&args.sasl_user, &args.sasl_password_file) {
            (Some(user), Some(file)) => Some(LoginSpec {
                mechanism: args
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

fn payloads(args: &KafkaArgs) -> anyhow::Result<Payloads> {
    if let Some(path) = &args.payload_file {
        let bytes = read_given(path, GIVEN_BYTES_MAX).map_err(anyhow::Error::msg)?;
        let lines = bytes
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty());
        let base64: Vec<String> = lines.map(|line| STANDARD.encode(line)).collect();
        if base64.is_empty() {
            bail!("{} has no lines", path.display());
        }
        return Ok(Payloads::Given { base64 });
    }
    let Some(randomness) = args.payload_random else {
        return Ok(Payloads::Body);
    };
    let bytes = args.payload.map_or(PAYLOAD_BYTES, |size| size.0);
    if bytes > PAYLOAD_BYTES_MAX {
        bail!("a value of {bytes} bytes: tare takes at most 64 MiB");
    }
    let count = (DRAWN_BYTES / bytes.max(1)).clamp(1, DRAWN_MAX);
    Ok(Payloads::Drawn {
        count: count as u32,
        bytes: bytes as u32,
        randomness,
    })
}
