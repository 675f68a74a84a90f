//! The Kafka producer and the Kafka consumer of the arguments.

use anyhow::{Context, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tare_record::files::{USER_FILE_BYTES_MAX, read_user_file};
use tare_record::load::{
    Acks, Body, FetchAssignment, FetchDecode, FetchEnd, FetchFrom, FetchSpec, FetchUntil,
    LoginSpec, Payloads, ProduceSpec, RequestSpec, Stop,
};
use tare_record::units::Size;

use super::super::args::{Args, KafkaArgs, PayloadDelimiter};
use super::super::target::LoadUrl;

/// Default bytes of a value, as in other tools.
const PAYLOAD_BYTES: u64 = 100;
/// Most bytes of a value.
const PAYLOAD_BYTES_MAX: u64 = 64 << 20;
/// Memory for random values: enough different ones that compression finds none twice in a batch.
const DRAWN_BYTES: u64 = 4 << 20;
/// Most random values.
const DRAWN_MAX: u64 = 10_000;
/// Fetches in flight per worker: more than clusters usually have brokers; the consumer uses fewer when there are fewer brokers.
const FETCHES_IN_FLIGHT: u16 = 32;

/// Default time without a record after which a load that waits for some ends, as in Kafka's own tool.
const IDLE_NS: u64 = 10_000_000_000;

/// Commit interval of a group member.
const COMMIT_EVERY_MS: u64 = 1000;

/// Session timeout of a group member; short, since a load that was killed blocks its group until then.
const SESSION_TIMEOUT_MS: u32 = 10_000;

/// The producer of the URL and the arguments, and its one request, the topic; `None` for another protocol.
pub(super) fn producer(
    args: &Args,
    target: &LoadUrl,
    requests: &mut [RequestSpec],
) -> anyhow::Result<Option<ProduceSpec>> {
    if !target.is("kafka-produce") {
        return match args.options.first_flag("KafkaArgs") {
            Some(flag) => bail!("{flag} is for Kafka: write kafka://{}/topic", target.host),
            None => Ok(None),
        };
    }
    let [request] = requests else {
        bail!("one topic a load: leave out the file of requests");
    };
    let topic = topic(target)?;
    let kafka = &args.kafka;
    let spec = produce_spec(kafka)?;
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
fn topic(target: &LoadUrl) -> anyhow::Result<&str> {
    let topic = target.path.trim_matches('/');
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if topic.is_empty() || topic.len() > 249 || !topic.chars().all(is_name) {
        bail!(
            "{}: {topic:?} is not a topic: write {}/topic, of letters, digits, dots, - and _",
            target.url,
            target.url.trim_end_matches(&target.path)
        );
    }
    Ok(topic)
}

/// A size that fits into 32 bits.
fn size(size: Option<Size>, default_bytes: u32) -> anyhow::Result<u32> {
    size.map_or(Ok(default_bytes), |size| {
        u32::try_from(size.0).with_context(|| format!("{} bytes are too many", size.0))
    })
}

fn login(args: &KafkaArgs) -> Option<LoginSpec> {
    let mechanism = args.sasl_mechanism.as_deref();
    Some(LoginSpec {
        mechanism: mechanism.unwrap_or("SCRAM-SHA-512").to_owned(),
        user: args.sasl_user.clone()?,
        password_file: args.sasl_password_file.clone()?,
    })
}

fn produce_spec(args: &KafkaArgs) -> anyhow::Result<ProduceSpec> {
    let defaults = ProduceSpec::default();
    let acks = args.acks.unwrap_or(defaults.acks);
    Ok(ProduceSpec {
        client_id: args.client_id.clone().unwrap_or(defaults.client_id),
        acks,
        idempotence: args.idempotence.unwrap_or_else(|| {
            acks == Acks::All && args.max_in_flight.is_none_or(|count| count <= 5)
        }),
        linger_ns: args
            .linger
            .map_or(defaults.linger_ns, |linger| linger.as_ns()),
        batch_bytes: size(args.batch_size, defaults.batch_bytes)?,
        request_bytes_max: size(args.max_request_size, defaults.request_bytes_max)?,
        in_flight_max: args.max_in_flight.unwrap_or(defaults.in_flight_max),
        buffer_bytes: args
            .buffer_memory
            .map_or(defaults.buffer_bytes, |size| size.0),
        compression: args.compression.unwrap_or(defaults.compression),
        compression_level: args.compression_level,
        partitioner: args.partitioner.unwrap_or(defaults.partitioner),
        keys: args.keys.unwrap_or(defaults.keys),
        payloads: payloads(args)?,
        timestamp_run: None,
        serials: None,
        sasl: login(args),
    })
}

fn payloads(args: &KafkaArgs) -> anyhow::Result<Payloads> {
    if let Some(path) = &args.payload_file {
        let bytes = read_user_file(path, USER_FILE_BYTES_MAX).map_err(anyhow::Error::msg)?;
        let values = payload_values(&bytes, args.payload_delimiter.as_ref());
        let values = values.with_context(|| path.display().to_string())?;
        let base64: Vec<String> = values.iter().map(|value| STANDARD.encode(value)).collect();
        if base64.is_empty() {
            bail!("{} has no values", path.display());
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

/// The values in a file that are not empty. Without a delimiter they are the lines of a text: cutting other bytes at each line feed
/// would make other values of them.
fn payload_values<'a>(
    bytes: &'a [u8],
    delimiter: Option<&PayloadDelimiter>,
) -> anyhow::Result<Vec<&'a [u8]>> {
    let values: Vec<&[u8]> = match delimiter.map(|delimiter| delimiter.0.as_slice()) {
        Some([]) => vec![bytes],
        Some(delimiter) => split_at(bytes, delimiter),
        None => {
            if bytes.contains(&0) || std::str::from_utf8(bytes).is_err() {
                bail!(
                    "it is not text, which has a value in each line: say what stands between its values with \
                     --payload-delimiter, as '\\n', or '' if the file is one value"
                );
            }
            let lines = split_at(bytes, b"\n").into_iter();
            lines
                .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
                .collect()
        }
    };
    Ok(values
        .into_iter()
        .filter(|value| !value.is_empty())
        .collect())
}

/// The parts of bytes between delimiters, which are not empty.
fn split_at<'a>(bytes: &'a [u8], delimiter: &[u8]) -> Vec<&'a [u8]> {
    let mut parts = Vec::new();
    let (mut from, mut at) = (0, 0);
    while at + delimiter.len() <= bytes.len() {
        if bytes[at..].starts_with(delimiter) {
            parts.push(&bytes[from..at]);
            at += delimiter.len();
            from = at;
        } else {
            at += 1;
        }
    }
    parts.push(&bytes[from..]);
    parts
}

/// The consumer of the arguments, and its one request, the fetch; `None` without `--consume`.
pub(super) fn consumer(
    args: &Args,
    target: &LoadUrl,
    requests: &mut [RequestSpec],
) -> anyhow::Result<Option<FetchSpec>> {
    let is_kafka = target.is("kafka-produce");
    if let (false, Some(flag)) = (is_kafka, args.options.first_flag("ConsumeArgs")) {
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
    Ok(Some(fetch_spec(args, name)?))
}

/// A consumer of this topic with the settings of the arguments.
pub fn fetch_spec(args: &Args, topic: &str) -> anyhow::Result<FetchSpec> {
    let consume = &args.consume;
    let from = consume.from.unwrap_or(FetchFrom::Start);
    let is_bounded = args.pacing.count.is_some() || args.pacing.duration.is_some();
    let reads_backlog = !is_bounded && from != FetchFrom::End;
    let default_idle_ns = match reads_backlog || args.pacing.count.is_some() {
        true => IDLE_NS,
        false => 0,
    };
    let idle_ns = consume
        .idle_timeout
        .map_or(default_idle_ns, |idle| idle.as_ns());
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
        assignment: match &consume.group {
            None => FetchAssignment::Static,
            Some(group) => FetchAssignment::Group {
                group: group.clone(),
                assignors: match &consume.assignor {
                    Some(assignor) => vec![assignor.clone()],
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
        decode: match consume.decode_records {
            true => FetchDecode::Records,
            false => FetchDecode::Batches,
        },
        until: FetchUntil {
            records: args.pacing.count,
            backlog: reads_backlog,
            idle_ns: (idle_ns > 0).then_some(idle_ns),
        },
        at_end: FetchEnd::Wait,
        sasl: login(&args.kafka),
    })
}

/// The stop rule of a consumer. Where the fetch has an end of its own (records, backlog), the load has none.
pub(super) fn stop_of_consumer(spec: &FetchSpec, stop: Stop) -> Stop {
    match spec.until.backlog || spec.until.records.is_some() {
        true => Stop::Interrupted,
        false => stop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values<'a>(bytes: &'a [u8], delimiter: Option<&str>) -> Vec<&'a [u8]> {
        let delimiter = delimiter.map(|text| PayloadDelimiter(text.as_bytes().to_vec()));
        payload_values(bytes, delimiter.as_ref()).unwrap()
    }

    #[test]
    fn the_values_of_a_text_are_its_lines_whatever_ends_them() {
        let expected: [&[u8]; 3] = [b"a", b"b\rc", "é".as_bytes()];
        for text in ["a\nb\rc\n\né\n", "a\r\nb\rc\r\n\r\né"] {
            assert_eq!(values(text.as_bytes(), None), expected, "{text:?}");
        }
        assert!(values(b"\n\r\n", None).is_empty());
    }

    #[test]
    fn a_delimiter_cuts_bytes_where_it_stands_and_nowhere_else() {
        let bytes = b"a\nb--\xff\0---c";
        let expected: [&[u8]; 3] = [b"a\nb", b"\xff\0", b"-c"];
        assert_eq!(values(bytes, Some("--")), expected);
        assert_eq!(values(bytes, Some("")), [&bytes[..]]);
        assert_eq!(values(b"a\r\nb", Some("\n")), [&b"a\r"[..], b"b"]);
    }

    #[test]
    fn bytes_that_are_no_text_are_cut_only_as_the_user_says() {
        for bytes in [&b"a\0\nb"[..], b"\xff\xfe\n"] {
            let error = payload_values(bytes, None).unwrap_err().to_string();
            assert!(error.contains("--payload-delimiter"), "{error}");
        }
    }
}
