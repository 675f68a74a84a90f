//! Resolves the arguments of `tare load` into a load plan.

mod grpc;
mod grpc_schema;
mod kafka;
mod pace;
mod paths;
mod protocol;
mod request;
mod targets;

use anyhow::bail;
use tare_load::protocols::grpc::GrpcOptions;
use tare_load::protocols::http2::Http2Options;
use tare_load::protocols::{connect, http1};
use tare_record::FORMAT_VERSION;
use tare_record::load::{CallSpec, ClientSpec, Cores, Endpoint, LoadPlan, LoadSpec, Sched};

use super::args::Args;
use super::target::LoadUrl;
use crate::values::counted;
pub use grpc::server;
pub use kafka::fetch_spec;
pub use request::Content;

/// The load of the arguments, resolved.
#[derive(Debug, Clone)]
pub struct ResolvedLoad {
    /// The plan for the generator.
    pub plan: LoadPlan,
    /// A description of the whole load.
    pub words: String,
    /// The same without pacing and stop rule, which a search or a curve chooses.
    pub target_text: String,
}

impl ResolvedLoad {
    /// Resolves the arguments.
    pub fn new(args: &Args, target: &LoadUrl, mut content: Content) -> anyhow::Result<Self> {
        let pacing = pace::pacing(&args.pacing)?;
        let consumer = kafka::consumer(args, target, &mut content.requests)?;
        let producer = match &consumer {
            Some(_) => None,
            None => kafka::producer(args, target, &mut content.requests)?,
        };
        let calls = match (grpc::is_wanted(args)?, content.requests.as_mut_slice()) {
            (false, _) => None,
            (true, [request]) => Some(grpc::calls(args, target, request)?),
            (true, _) => bail!(
                "calls of gRPC are described by the command line, one kind a load: leave out the file"
            ),
        };
        let shared_by = match args.protocol.http2 || calls.is_some() {
            true => u32::from(args.protocol.streams.max(1)),
            false => 1,
        };
        let needed = args
            .pacing
            .clients
            .map(|clients| clients.div_ceil(shared_by));
        // With Kafka a worker has one connection to each broker.
        let is_kafka = producer.is_some() || consumer.is_some();
        let needed = needed.filter(|_| !is_kafka);
        let default_connections = if is_kafka {
            args.pacing.workers
        } else {
            LoadSpec::CONNECTIONS
        };
        let connections = args
            .pacing
            .connections
            .or(needed)
            .unwrap_or(default_connections);
        if let (Some(clients), Some(needed)) = (
            args.pacing.clients,
            needed.filter(|&needed| needed > connections),
        ) {
            bail!(
                "{clients} clients cannot share {connections} connections: at most {shared_by} fit on each, so leave out \
                 --connections or give at least {needed}"
            );
        }
        let stop = pace::stop(&args.pacing, &pacing);
        let stop = consumer
            .as_ref()
            .map_or(stop, |consumer| kafka::stop_of_consumer(consumer, stop));
        if !target.is("http1") && (args.protocol.http2 || args.protocol.grpc) {
            let url = &target.url;
            bail!("--http2 and --grpc are for http:// and https://, not for {url}");
        }
        let mongodb = protocol::mongodb_load(args, target)?;
        let exchange = protocol::tcp_exchange(args, target)?;
        let options = args.options.of(target)?;
        let client = match (consumer, producer, exchange, mongodb) {
            (Some(fetch), ..) => ClientSpec::with(connections, &fetch),
            (None, Some(produce), ..) => ClientSpec::with(connections, &produce),
            (None, None, Some(exchange), _) => ClientSpec::with(connections, &exchange),
            (None, None, None, Some((data, operations))) => {
                content.requests = operations;
                ClientSpec::with(connections, &data)
            }
            (None, None, None, None) => match options {
                Some((load, options)) => {
                    let mut client = (load.client)(connections, &content.requests);
                    client.options.extend(options);
                    client
                }
                None => client(args, connections, calls),
            },
        };
        let carriers = format!(
            "{}, {}",
            counted(connections, "connection"),
            counted(args.pacing.workers, "worker")
        );
        let target_text = format!("{} · {carriers}", target.url);
        let words = format!(
            "{} · {} · {} · {carriers}",
            target.url,
            tare_report::pace::words(&pacing),
            pace::stop_text(&pacing, stop),
        );
        let plan = LoadPlan {
            version: FORMAT_VERSION,
            role: "client".into(),
            start_at_unix_us: None,
            start_lead_ns: None,
            seed: args.seed,
            endpoint: Endpoint {
                addresses: target.addresses.clone(),
                host: target.host.clone(),
            },
            allowed_addresses: args.allow_public_target.into(),
            address_overrides: Vec::new(),
            // Who asks for SCHED_FIFO has a core for it; otherwise other programs may share the cores.
            cores: match args.pacing.sched {
                Sched::Fifo => Cores::Dedicated,
                Sched::Auto | Sched::Normal => Cores::Shared,
            },
            cpu_per_exchange_ns: None,
            load: LoadSpec {
                pacing,
                stop,
                warmup_ns: args.pacing.warmup.as_ns(),
                timeout_ns: args.pacing.timeout.as_ns(),
                workers: args.pacing.workers,
                spin: args.pacing.spin,
                sched: args.pacing.sched,
                transport: protocol::transport(args, target)?,
                mix: content.mix,
                connections: pace::connections(&args.pacing, &args.network)?,
                requests: content
                    .requests
                    .into_iter()
                    .map(|request| pace::closing(args, request))
                    .collect(),
                ..LoadSpec::new(client)
            },
        };
        Ok(Self {
            plan,
            words,
            target_text,
        })
    }
}

fn client(args: &Args, connections: u32, calls: Option<CallSpec>) -> ClientSpec {
    let streams = args.protocol.streams;
    if args.protocol.connect_only || args.protocol.handshakes {
        return ClientSpec::new(connect::NAME, connections);
    }
    match (calls, args.protocol.http2) {
        (Some(calls), _) => ClientSpec::with(connections, &GrpcOptions { streams, calls }),
        (None, true) => ClientSpec::with(connections, &Http2Options { streams }),
        (None, false) => http1::client(connections),
    }
}
