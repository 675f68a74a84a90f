//! Generator section of the summary: lateness, receive lag, timestamps, CPU, comparison with the null server.

use tare_load::LoadOutcome;
use tare_record::agent::{GeneratorCalibration, QuantileSummary};
use tare_record::load_report::GeneratorReport;
use tare_record::metric::Unit;
use tare_report::quantity;

use super::SummaryWriter;
use crate::values::{MISSING, bytes, maybe, maybe_time as time, per_s};

fn percent(share: Option<f64>) -> String {
    maybe(share.map(quantity::percent))
}

fn spread(spread: QuantileSummary) -> String {
    format!("p50 {}, p99 {}", time(spread.p50_ns), time(spread.p99_ns))
}

/// Writes the section.
pub(super) fn generator(
    out: &mut SummaryWriter,
    outcome: &LoadOutcome,
    generator: &GeneratorReport,
) {
    let stats = &outcome.result.generator;
    if let Some(null) = &generator.calibration {
        out.line("null server", &calibrated(null, generator));
    }
    let fit = match generator.fit {
        true => out.paint.good("fit"),
        false => out.paint.bad("NOT FIT"),
    };
    out.line(
        "generator",
        &format!(
            "{fit}: lateness {}{}, receive lag {}; neither is in the latency",
            spread(stats.lateness),
            generator
                .bunched_share
                .map_or_else(String::new, |share| format!(
                    ", {} of the starts bunched",
                    quantity::percent(share)
                )),
            spread(stats.receive_lag),
        ),
    );
    let upper = stats.counts.upper_bound_share();
    let upper = upper
        .filter(|share| *share > 0.0)
        .map_or_else(String::new, |share| {
            format!(
                ", {} of them upper bounds (several requests in flight on the connection)",
                quantity::percent(share)
            )
        });
    out.line(
        "timestamps",
        &format!(
            "{} by the kernel{upper}",
            percent(generator.kernel_timestamp_share)
        ),
    );
    let workers: Vec<String> = generator
        .worker_busy
        .iter()
        .map(|busy| quantity::percent(*busy))
        .collect();
    let spun_ns: u64 = stats.worker_spun_ns.iter().sum();
    let spun = (stats.cpu_ns > 0).then(|| spun_ns as f64 / stats.cpu_ns as f64);
    out.line(
        "cpu",
        &format!(
            "{} a request ({} of it spinning), {} of a core by worker without it, {} of memory{}",
            maybe(
                generator
                    .cpu_per_exchange_ns
                    .map(|ns| quantity::value(Unit::Nanoseconds, ns))
            ),
            percent(spun),
            if workers.is_empty() {
                MISSING.to_owned()
            } else {
                workers.join(" ")
            },
            bytes(stats.peak_rss_bytes as f64),
            stats
                .sched_policy
                .map_or_else(String::new, |sched_policy| format!(", {sched_policy}"))
        ),
    );
}

fn calibrated(null: &GeneratorCalibration, generator: &GeneratorReport) -> String {
    let pace = match null.offered_per_s {
        Some(rate) => format!("at {}", per_s(rate)),
        None => format!("in a closed loop reaching {}", per_s(null.achieved_per_s)),
    };
    let share = match (null.offered_per_s, generator.calibrated_share) {
        // In a closed loop without pauses latency follows from throughput: its ratio says nothing.
        (Some(_), Some(share)) if share < 1.0 => format!(
            ", {} of the p50 here: that share is generator, kernel and loopback",
            quantity::percent(share)
        ),
        (Some(_), Some(_)) => {
            ", no less than here: the target's share cannot be distinguished".into()
        }
        _ => String::new(),
    };
    format!("on this machine {pace}: {}{share}", spread(null.latency))
}
