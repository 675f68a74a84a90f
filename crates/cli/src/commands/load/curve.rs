//! `tare load --curve`: latency over offered rate, from idle to beyond the knee.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use tare_load::{LoadError, LoadOutcome, StopHandle};
use tare_rate_search::curve::{Point, QUANTILES, chart, knee_of, order, rates, svg};
use tare_rate_search::search::probe_length;
use tare_record::FORMAT_VERSION;
use tare_record::event::LoadEvent;
use tare_record::load::{Pacing, Stop};
use tare_record::search_report::{CurveReport, PointReport, QuantilesReport};
use tare_stats::{Latencies, Range};

use super::args::{Args, CurveRates};
use super::classify_load_error;
use super::plan::ResolvedLoad;
use super::search::{busiest, generator_limit, plan_of, rest, run_probe};
use crate::exit::{Exit, unmeasured};
use crate::json_output::JsonOutput;
use crate::screen;
use crate::values::{columns, exact, maybe_time};

/// Length of the load that measures the maximum rate.
const MAX_RATE_WINDOW: Duration = Duration::from_secs(3);
/// Longest window of a probe.
const LENGTH_MAX: Duration = Duration::from_secs(30);
/// Share of exchanges beyond the highest quantile that every window must support: p99.
const SHARE: f64 = 0.01;

/// The merged probes of one rate.
struct MergedRuns {
    latency: Latencies,
    response: Latencies,
    answered: u64,
    window_ns: u64,
    intended: u64,
    ok: u64,
    busy: f64,
    generator_limited: bool,
}

/// Measures the curve and prints it.
pub fn run(
    args: &Args,
    wanted_rates: &CurveRates,
    resolved: &ResolvedLoad,
    stop: &StopHandle,
) -> anyhow::Result<ExitCode> {
    let rates = match wanted_rates {
        // `None`: interrupted while the maximum rate was measured.
        CurveRates::Auto => measure_max_rate(resolved, stop)?.map_or_else(Vec::new, rates),
        CurveRates::These(rates) => rates.clone(),
    };
    let order = order(rates.len(), args.search.repeats as usize, args.seed);
    let mut merged: BTreeMap<usize, MergedRuns> = BTreeMap::new();
    let mut gone = None;
    for (number, &at) in order.iter().enumerate() {
        let rate_per_s = rates[at];
        let length = probe_length(rate_per_s, Some(SHARE), args.search.probe.0, LENGTH_MAX);
        if is_over(stop) || tell(args, (number + 1, order.len()), rate_per_s, length).is_break() {
            break;
        }
        let outcome = match run_probe(&plan_of(resolved, rate_per_s, length), stop, None) {
            Ok((outcome, _)) => outcome,
            Err(error @ (LoadError::NoConnection { .. } | LoadError::Refused(_)))
                if !merged.is_empty() =>
            {
                gone = Some(error);
                break;
            }
            Err(error) => return Err(classify_load_error(error)),
        };
        if is_over(stop) {
            break;
        }
        add(&mut merged, at, &outcome)?;
        rest(args.search.cooldown.0, stop);
    }
    // Before the result is printed: that it is not read to its end cuts nothing short.
    let is_cut = is_over(stop);
    if is_cut || gone.is_some() {
        let (of, rates) = (rates.len(), merged.len());
        let why = gone
            .as_ref()
            .map_or_else(|| "interrupted".into(), LoadError::to_string);
        screen::say(format_args!(
            "error: {why}: {rates} of {of} rates were measured, and not each as often as wanted"
        ));
    }
    let mut points: Vec<Point> = merged
        .iter()
        .map(|(&at, merged)| point(rates[at], merged))
        .collect();
    points.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    if let Some(path) = &args.output.csv {
        std::fs::write(path, csv(&points))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &args.search.svg {
        let picture = svg(&points, "Latency over load", &resolved.target_text);
        std::fs::write(path, picture)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    match args.output.form() {
        JsonOutput::Document => screen::print_json(&report(resolved, &points))?,
        JsonOutput::Lines => {
            // That nobody reads it changes nothing any more.
            let _ = screen::print_event(&LoadEvent::CurveResult(report(resolved, &points)));
        }
        JsonOutput::No => {
            let width = screen::screen(&console::Term::stdout()).width;
            screen::print(&format!(
                "{}\n\n{}\n\n{}\n{}\n",
                resolved.target_text,
                table(&points),
                chart(&points, usize::from(width)),
                knee_words(&points)
            ))?;
        }
    }
    let exit = match (points.is_empty(), gone) {
        _ if is_cut => Exit::of_cut(stop.signal()),
        (true, _) => Exit::NothingMeasured,
        (false, Some(_)) => Exit::Failed,
        (false, None) => Exit::Done,
    };
    Ok(exit.into())
}

/// Whether a signal ended the curve, or nobody reads its lines any more.
fn is_over(stop: &StopHandle) -> bool {
    stop.is_ended() || screen::is_closed()
}

/// Says which window begins; breaks when nobody reads it.
fn tell(
    args: &Args,
    (number, windows): (usize, usize),
    rate_per_s: f64,
    length: Duration,
) -> ControlFlow<()> {
    match args.output.form() {
        JsonOutput::Lines => {
            return screen::print_event(&LoadEvent::Window {
                number: u32::try_from(number).unwrap_or(u32::MAX),
                windows: u32::try_from(windows).unwrap_or(u32::MAX),
                rate_per_s,
                length_ns: length.as_nanos() as u64,
            });
        }
        JsonOutput::No if !args.output.quiet => screen::say(format_args!(
            "{number:>3}/{windows}  {rate_per_s}/s for {:.0} s",
            length.as_secs_f64()
        )),
        JsonOutput::No | JsonOutput::Document => {}
    }
    ControlFlow::Continue(())
}

/// Measures the maximum rate in a closed loop; `None` when it was interrupted.
fn measure_max_rate(resolved: &ResolvedLoad, stop: &StopHandle) -> anyhow::Result<Option<f64>> {
    let mut plan = plan_of(resolved, 1.0, MAX_RATE_WINDOW);
    plan.load.pacing = Pacing::Max;
    plan.load.stop = Stop::Duration {
        window_ns: MAX_RATE_WINDOW.as_nanos() as u64,
    };
    let (outcome, _) = run_probe(&plan, stop, None).map_err(classify_load_error)?;
    if stop.is_ended() {
        return Ok(None);
    }
    let result = outcome.result;
    let answered = result.completed_in_window.ok as f64 * 1e9 / result.window_ns.max(1) as f64;
    match answered > 0.0 {
        true => Ok(Some(answered)),
        false => Err(unmeasured(
            "no response was successful: there is no curve; try one load without --curve",
        )),
    }
}

fn add(
    merged: &mut BTreeMap<usize, MergedRuns>,
    at: usize,
    outcome: &LoadOutcome,
) -> anyhow::Result<()> {
    let one = match merged.entry(at) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(empty) => empty.insert(MergedRuns {
            latency: Latencies::new(Range::default()).context("cannot make a histogram")?,
            response: Latencies::new(Range::default()).context("cannot make a histogram")?,
            answered: 0,
            window_ns: 0,
            intended: 0,
            ok: 0,
            busy: 0.0,
            generator_limited: false,
        }),
    };
    let result = &outcome.result;
    for (all, of_this) in [
        (&mut one.latency, outcome.latency_by_all()),
        (&mut one.response, outcome.response_by_all()),
    ] {
        if let Some(of_this) = of_this {
            all.merge(&of_this).context("cannot merge histograms")?;
        }
    }
    one.answered += result.completed_in_window.ok + result.completed_in_window.errors;
    one.window_ns += result.window_ns;
    one.intended += result.intended;
    one.ok += result.ok;
    one.busy = one.busy.max(busiest(outcome));
    one.generator_limited |= generator_limit(outcome).is_some();
    Ok(())
}

fn point(rate_per_s: f64, merged: &MergedRuns) -> Point {
    let of = |latencies: &Latencies| {
        let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(|q| exact(latencies.quantile(q)));
        [p50, p90, p99, p999, latencies.max().and_then(exact)]
    };
    Point {
        rate_per_s,
        achieved_per_s: merged.answered as f64 * 1e9 / merged.window_ns.max(1) as f64,
        latency_ns: of(&merged.latency),
        response_ns: of(&merged.response),
        errors: 1.0 - merged.ok as f64 / merged.intended.max(1) as f64,
        busy: merged.busy,
        generator_limited: merged.generator_limited,
    }
}

fn table(points: &[Point]) -> String {
    let knee = knee_of(points);
    let mut head = vec!["rate/s", "completed/s"];
    head.extend(QUANTILES);
    head.extend(["response p99", "errors", "generator"]);
    let mut rows: Vec<Vec<String>> = vec![head.into_iter().map(str::to_owned).collect()];
    rows.extend(points.iter().map(|point| {
        let mut row = vec![
            point.rate_per_s.to_string(),
            format!("{:.1}", point.achieved_per_s),
        ];
        row.extend(point.latency_ns.map(maybe_time));
        row.push(maybe_time(point.response_ns[2]));
        row.push(format!("{:.2} %", point.errors * 100.0));
        row.push(format!("{:.0} %", point.busy * 100.0));
        row
    }));
    let mut lines = columns(&rows);
    for (at, (point, line)) in points.iter().zip(&mut lines[1..]).enumerate() {
        line.push_str(match (knee == Some(at), point.generator_limited) {
            (true, _) => "  ← knee",
            (false, true) => "  generator-limited",
            (false, false) => "",
        });
    }
    lines.join("\n")
}

fn knee_words(points: &[Point]) -> String {
    match knee_of(points) {
        Some(at) => format!(
            "the knee is at {}/s: the highest rate below the first that was not sustained (99 % of it completed within its window)",
            points[at].rate_per_s
        ),
        None => "no knee was seen: no rate that the server, and not the generator, failed to sustain above one that it sustained".into(),
    }
}

fn csv(points: &[Point]) -> String {
    let mut text = String::from(
        "rate_per_s,achieved_per_s,p50_ns,p90_ns,p99_ns,p99.9_ns,max_ns,response_p50_ns,response_p90_ns,response_p99_ns,\
         response_p99.9_ns,response_max_ns,errors,generator_busy,generator_limited,knee\n",
    );
    let knee = knee_of(points);
    for (at, point) in points.iter().enumerate() {
        let _ = write!(text, "{},{:.1}", point.rate_per_s, point.achieved_per_s);
        for ns in point.latency_ns.into_iter().chain(point.response_ns) {
            let ns = ns.map_or_else(String::new, |ns| ns.to_string());
            let _ = write!(text, ",{ns}");
        }
        let _ = writeln!(
            text,
            ",{:.6},{:.3},{},{}",
            point.errors,
            point.busy,
            point.generator_limited,
            knee == Some(at)
        );
    }
    text
}

fn report(resolved: &ResolvedLoad, points: &[Point]) -> CurveReport {
    let one = |point: &Point| {
        let of = |[p50, p90, p99, p99_9, max]: [Option<u64>; 5]| QuantilesReport {
            p50,
            p90,
            p99,
            p99_9,
            max,
        };
        PointReport {
            rate_per_s: point.rate_per_s,
            achieved_per_s: point.achieved_per_s,
            latency_ns: of(point.latency_ns),
            response_ns: of(point.response_ns),
            errors: point.errors,
            generator_busy: point.busy,
            generator_limited: point.generator_limited,
        }
    };
    CurveReport {
        version: FORMAT_VERSION,
        tare: env!("CARGO_PKG_VERSION").to_owned(),
        load: resolved.target_text.clone(),
        points: points.iter().map(one).collect(),
        knee_per_s: knee_of(points).map(|at| points[at].rate_per_s),
    }
}
