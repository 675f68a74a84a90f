//! Pacing, stop rule and connection rules of the arguments.

use anyhow::Context;
use tare_record::load::{
    AtEnd, ConnectionRules, Interarrival, LoadSpec, Pacing, RequestSpec, Shard, Stop,
};
use tare_record::units::Period;

use super::super::args::{Args, NetworkArgs, PacingArgs, RateArg};
use super::protocol::text;

/// The pacing.
pub(super) fn pacing(args: &PacingArgs) -> anyhow::Result<Pacing> {
    let interarrival = match args.poisson {
        true => Interarrival::Exponential,
        false => Interarrival::Constant,
    };
    if let Some(steps) = &args.steps {
        let steps = steps.0.clone();
        return Ok(Pacing::Steps {
            steps,
            interarrival,
        });
    }
    if let Some(file) = &args.replay {
        let file = std::path::absolute(file).context("--replay names no file")?;
        return Ok(Pacing::Replay {
            file: file.to_string_lossy().into_owned(),
            speed: args.replay_speed,
            at_end: match args.replay_repeat {
                true => AtEnd::Repeat,
                false => AtEnd::Stop,
            },
            shard: Shard::ALL,
        });
    }
    Ok(match (args.rate, args.clients) {
        (Some(RateArg::Constant(rate_per_s)), _) => match interarrival {
            Interarrival::Constant => Pacing::Constant { rate_per_s },
            Interarrival::Exponential => Pacing::Poisson { rate_per_s },
        },
        (
            Some(RateArg::Ramp {
                from_per_s,
                to_per_s,
                over,
            }),
            _,
        ) => Pacing::Ramp {
            from_per_s,
            to_per_s,
            ramp_ns: over.as_ns(),
            interarrival,
        },
        (None, Some(clients)) => Pacing::Closed {
            clients,
            think_time_ns: args.think_time.as_ns(),
            think_distribution: args.think_distribution,
        },
        (None, None) => Pacing::Max,
    })
}

/// The stop rule: as given, else the end of the schedule.
pub(super) fn stop(args: &PacingArgs, pacing: &Pacing) -> Stop {
    match (args.count, args.duration, pacing) {
        (Some(exchanges), ..) => Stop::Count { exchanges },
        (None, Some(stop), _) => stop,
        (None, None, Pacing::Ramp { ramp_ns, .. }) if *ramp_ns > 0 => Stop::Duration {
            window_ns: *ramp_ns,
        },
        (None, None, Pacing::Steps { steps, .. }) => Stop::Duration {
            window_ns: steps
                .iter()
                .map(|step| step.length_ns)
                .fold(0, u64::saturating_add),
        },
        (
            None,
            None,
            Pacing::Replay {
                at_end: AtEnd::Stop,
                ..
            },
        ) => Stop::Interrupted,
        (None, None, _) => Stop::Duration {
            window_ns: LoadSpec::WINDOW_NS,
        },
    }
}

/// The stop rule as text.
pub(super) fn stop_text(pacing: &Pacing, stop: Stop) -> String {
    match (stop, pacing) {
        (Stop::Duration { window_ns }, _) => {
            Period(std::time::Duration::from_nanos(window_ns)).to_string()
        }
        (Stop::Count { exchanges }, _) => format!("{exchanges} requests"),
        (Stop::Interrupted, Pacing::Replay { .. }) => "to its end".into(),
        (Stop::Interrupted, _) => "until Ctrl-C".into(),
    }
}

/// The connection rules.
pub(super) fn connections(
    args: &PacingArgs,
    network: &NetworkArgs,
) -> anyhow::Result<ConnectionRules> {
    let unix_socket = network.unix_socket.as_deref().map(text).transpose()?;
    Ok(ConnectionRules {
        exchanges_max: match args.no_keepalive {
            true => Some(1),
            false => args.requests_per_connection,
        },
        open_over_ns: args.connect_ramp.as_ns(),
        unix_socket,
        proxy_protocol: network.proxy_protocol,
    })
}

/// Adds `Connection: close` without keep-alive. HTTP/2 has no such header (RFC 9113 §8.2.2): there only the limit applies.
pub(super) fn closing(args: &Args, mut request: RequestSpec) -> RequestSpec {
    let says_it = |(name, _): &(String, String)| name.eq_ignore_ascii_case("connection");
    let is_http1 = !args.protocol.http2 && !args.protocol.grpc;
    if args.pacing.no_keepalive && is_http1 && !request.headers.iter().any(says_it) {
        request.headers.push(("Connection".into(), "close".into()));
    }
    request
}
