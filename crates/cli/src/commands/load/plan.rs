//! From the arguments of `tare load` to a load plan.

use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, bail};
use tare_schema::FORMAT_VERSION;
use tare_schema::load::{
    Body, ClientSpec, Endpoint, Expect, ExpectBody, ExpectStatus, LoadPlan, LoadSpec, Pacing,
    RequestSpec, Spin, Stop, Transport,
};
use tare_schema::units::Period;

use super::Args;
use super::target::Target;

/// Connections when nothing is said: what comparable tools open.
const CONNECTIONS: u32 = 50;

/// How long to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopping {
    /// So long.
    After(Period),
    /// Until Ctrl-C.
    Interrupted,
}

impl FromStr for Stopping {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "forever" {
            return Ok(Stopping::Interrupted);
        }
        let period: Period = text.parse().map_err(|e| format!("{e}, or forever"))?;
        if period.0 == Duration::ZERO {
            return Err("nothing can be measured in no time: write 10s, or forever".into());
        }
        Ok(Stopping::After(period))
    }
}

/// What the user wants.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// For the generator.
    pub plan: LoadPlan,
    /// In words.
    pub words: String,
}

impl Wanted {
    /// Makes the plan.
    pub fn new(args: &Args, target: &Target) -> anyhow::Result<Self> {
        let pacing = match (args.rate, args.clients) {
            (Some(rate_per_s), _) => Pacing::Constant { rate_per_s },
            (None, Some(clients)) => Pacing::Closed {
                clients,
                think_ns: args.think.as_ns(),
            },
            (None, None) => Pacing::Max,
        };
        let shared_by = match args.http2 || args.grpc {
            true => u32::from(args.streams.max(1)),
            false => 1,
        };
        let needed = args.clients.map(|clients| clients.div_ceil(shared_by));
        let connections = args.connections.or(needed).unwrap_or(CONNECTIONS);
        if let (Some(clients), Some(needed)) =
            (args.clients, needed.filter(|&needed| needed > connections))
        {
            bail!(
                "{clients} clients cannot share {connections} connections: at most {shared_by} fit on each, so leave out \
                 --connections or give at least {needed}"
            );
        }
        let stop = match (args.count, args.duration) {
            (Some(exchanges), _) => Stop::Count { exchanges },
            (None, Stopping::After(period)) => Stop::Duration {
                window_ns: period.as_ns(),
            },
            (None, Stopping::Interrupted) => Stop::Interrupted,
        };
        let plan = LoadPlan {
            version: FORMAT_VERSION,
            role: "client".into(),
            start_at_unix_us: None,
            seed: args.seed,
            endpoint: Endpoint {
                addresses: target.addresses.clone(),
                host: target.host.clone(),
            },
            load: LoadSpec {
                pacing,
                stop,
                warmup_ns: args.warmup.as_ns(),
                timeout_ns: args.timeout.as_ns(),
                workers: args.workers,
                spin: if args.no_spin {
                    Spin::Off
                } else {
                    Spin::Bounded
                },
                sample_every_ns: Duration::from_secs(1).as_nanos() as u64,
                transport: Transport::Tcp,
                client: client(args, connections),
                requests: vec![request(args, target)?],
            },
        };
        let words = format!(
            "{} · {} · {} · {connections} connections, {} worker{}",
            target.url,
            pacing_words(pacing),
            stop_words(stop),
            args.workers,
            if args.workers == 1 { "" } else { "s" }
        );
        Ok(Self { plan, words })
    }

    /// The rate asked for, if one was.
    pub fn rate_per_s(&self) -> Option<f64> {
        match self.plan.load.pacing {
            Pacing::Constant { rate_per_s } => Some(rate_per_s),
            Pacing::Closed { .. } | Pacing::Max => None,
        }
    }
}

fn client(args: &Args, connections: u32) -> ClientSpec {
    let streams = args.streams;
    match (args.grpc, args.http2) {
        (true, _) => ClientSpec::Grpc {
            connections,
            streams,
        },
        (false, true) => ClientSpec::Http2 {
            connections,
            streams,
        },
        (false, false) => ClientSpec::Http1 { connections },
    }
}

fn request(args: &Args, target: &Target) -> anyhow::Result<RequestSpec> {
    let headers = args
        .headers
        .iter()
        .map(|text| header(text))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let body = match (&args.body, args.body_size) {
        (Some(text), _) => Body::Text { text: text.clone() },
        (None, Some(size)) => Body::Filler { bytes: size.0 },
        (None, None) => Body::None,
    };
    let usual = if body == Body::None { "GET" } else { "POST" };
    Ok(RequestSpec {
        name: "request".into(),
        weight: 1.0,
        method: args.method.clone().unwrap_or_else(|| usual.into()),
        path: target.path.clone(),
        headers,
        body,
        expect: Expect {
            status: status(args.expect_status.as_deref())?,
            body: ExpectBody::Any,
        },
    })
}

fn header(text: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = text
        .split_once(':')
        .with_context(|| format!("{text:?} is not a header: write -H 'Name: value'"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn status(text: Option<&str>) -> anyhow::Result<ExpectStatus> {
    match text {
        None => Ok(ExpectStatus::Success),
        Some("any") => Ok(ExpectStatus::Any),
        Some(text) => text
            .parse()
            .ok()
            .filter(|status| (200..600).contains(status))
            .map(ExpectStatus::Exactly)
            .with_context(|| {
                format!("{text:?} is not a status: write a number from 200 to 599, or any")
            }),
    }
}

fn pacing_words(pacing: Pacing) -> String {
    match pacing {
        Pacing::Constant { rate_per_s } => format!("{rate_per_s}/s"),
        Pacing::Closed {
            clients,
            think_ns: 0,
        } => format!("{clients} clients in a closed loop"),
        Pacing::Closed { clients, think_ns } => {
            let think = Period(Duration::from_nanos(think_ns));
            format!("{clients} clients in a closed loop, pausing {think}")
        }
        Pacing::Max => "as fast as possible".into(),
    }
}

fn stop_words(stop: Stop) -> String {
    match stop {
        Stop::Duration { window_ns } => Period(Duration::from_nanos(window_ns)).to_string(),
        Stop::Count { exchanges } => format!("{exchanges} requests"),
        Stop::Interrupted => "until Ctrl-C".into(),
    }
}
