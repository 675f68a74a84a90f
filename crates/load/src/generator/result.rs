//! Assembles the result of a load from those of the workers.

use std::collections::BTreeMap;
use std::time::Duration;

use tare_record::FORMAT_VERSION;
use tare_record::agent::{
    ErrorSource, FailedAddress, GeneratorStats, LoadEnd, LoadResult, OutcomeCount, QuantileSummary,
    RecordDirection, RecordFlow, Redirects, RequestCount, SessionCounts, TlsCount, WaitCount,
};
use tare_record::load::session::SESSION_NAME;
use tare_record::load::{ClientSpec, LoadPlan};
use tare_stats::SparseHistogram;

use super::{LoadError, LoadOutcome, Start, figures};
use crate::aggregator::{AggregatedLoad, Log, SeriesNames};
use crate::arrivals::{Arrivals, NEVER};
use crate::client::WaitCause;
use crate::engine::{ArrivalKind, FailedAttempts, WorkerCounts};
use crate::protocols::http1::ResponseMismatch;
use crate::tally::{Quantity, Series};
use crate::worker::WorkerEnd;

/// Histograms over the whole window.
type Totals = BTreeMap<Series, SparseHistogram>;

/// Builds the result; `window` is the schedule as planned.
///
/// # Errors
/// When a log cannot be written.
pub(crate) fn assemble(
    plan: &LoadPlan,
    mut window: Arrivals,
    start: &Start,
    gathered: &AggregatedLoad,
) -> Result<LoadOutcome, LoadError> {
    window.begin(start.monotonic_ns);
    let window_start_ns = window.window_start_ns();
    let mut counts = WorkerCounts::default();
    let ends = || gathered.ends.iter();
    ends().for_each(|end| counts.add(&end.counts));
    let window_end_ns = ends().map(|end| end.window_end_ns).max().unwrap_or(0);
    let (ended, abort_reason) = load_end(&gathered.ends, &counts);
    let log = |log| {
        let started = Duration::from_nanos(start.unix_ns);
        gathered
            .logs
            .text(log, started, &format!("load of {}", plan.role))
            .map_err(|error| LoadError::Histograms(error.to_string()))
    };
    let exchanges = *counts.exchanges_of_window();
    let totals = gathered.logs.totals(&gathered.names);
    let mut result = LoadResult {
        version: FORMAT_VERSION,
        role: plan.role.clone(),
        ended,
        abort_reason,
        clock: None,
        window_start_unix_us: (start.unix_ns + (window_start_ns - start.monotonic_ns)) / 1000,
        window_ns: window_end_ns.saturating_sub(window_start_ns),
        offered_per_s: None,
        intended: exchanges.intended,
        released: exchanges.released,
        sent: exchanges.sent,
        ok: exchanges.ok,
        errors: exchanges.errors,
        unfinished: exchanges.unfinished,
        never_sent: exchanges.never_sent,
        completed_in_window: counts.completed_in_window,
        ok_by_status: counts.ok_by_status.seen().collect(),
        // Of sessions, each counts as one request.
        overflow: counts.window.overflow,
        outcomes: outcomes(&totals, gathered),
        connection_errors: connection_errors(&counts, &gathered.names),
        failed_addresses: failed_addresses(&counts, &gathered.names),
        requests_sent_total: counts.exchanges().sent,
        requests_lost_total: ends().map(|end| end.requests_lost).sum(),
        by_request: by_request(&counts, &gathered.names),
        sessions: sessions(&counts),
        records: counts.records,
        flow: None,
        connections: counts.connections,
        redirects: None,
        protocol_counts: protocol_counts(gathered),
        acknowledged: ends().flat_map(|end| end.acknowledged.clone()).collect(),
        tls: tls(gathered),
        client_certificates: ends().map(|end| end.client_certificates).sum(),
        bytes_sent: ends().map(|end| end.usage.bytes_sent).sum(),
        bytes_received: ends().map(|end| end.usage.bytes_received).sum(),
        queue_waits: queue_waits(&counts),
        generator: generator(&counts, (gathered, &totals), window.is_open_loop()),
        latency_hlog: log(Log::Latency)?,
        lateness_hlog: log(Log::Lateness)?,
    };
    result.offered_per_s = match result.sessions {
        Some(_) => None,
        None => (plan.load.pacing).offered_per_s(result.intended, result.window_ns),
    };
    result.flow = flow(&plan.load.client, &result);
    result.redirects = redirects(&result, gathered);
    debug_assert!(
        window_start_ns != NEVER,
        "the start is fixed before anything is gathered"
    );
    let totals = totals
        .into_iter()
        .map(|(series, histogram)| (gathered.names.tag(&series), histogram));
    Ok(LoadOutcome {
        result,
        totals: totals.collect(),
    })
}

/// Redirects, among successful exchanges and failed ones; `None` without one.
fn redirects(result: &LoadResult, gathered: &AggregatedLoad) -> Option<Redirects> {
    let ok = result.ok_by_status.iter();
    let ok = ok.filter(|seen| Redirects::STATUSES.contains(&seen.status));
    let classes = Redirects::STATUSES.map(|status| ResponseMismatch::Status(status).class());
    let classes = classes.map(|class| class.to_string());
    let failed = result.outcomes.iter();
    let failed = failed.filter(|outcome| classes.contains(&outcome.class));
    let count = ok.map(|seen| seen.count).sum::<u64>() + failed.map(|seen| seen.count).sum::<u64>();
    (count > 0).then(|| Redirects {
        count,
        location: gathered
            .ends
            .iter()
            .find_map(|end| end.redirected_to.clone()),
    })
}

/// How a load ended, and why if it was aborted. It is complete only if every worker came to the end of its schedule.
fn load_end(ends: &[WorkerEnd], counts: &WorkerCounts) -> (LoadEnd, Option<String>) {
    let problem = ends.iter().find_map(|end| end.abort_reason.clone());
    let failure = ends.iter().find_map(|end| end.permanent_failure.as_ref());
    let failure = failure.map(|why| format!("connections failed again and again: {why}"));
    let wrong_sum = (!counts.add_up()).then(|| {
        let all = counts.exchanges_of_window();
        format!(
            "the counts do not add up, {} intended are not {} ok + {} errors + {} unfinished + {} never sent; this is an error of \
             tare, please report it",
            all.intended, all.ok, all.errors, all.unfinished, all.never_sent
        )
    });
    if let Some(why) = wrong_sum.or(problem).or(failure) {
        return (LoadEnd::Aborted, Some(why));
    }
    if ends.iter().any(|end| end.interrupted) {
        return (LoadEnd::Interrupted, None);
    }
    if ends.iter().all(|end| end.is_complete) {
        return (LoadEnd::Completed, None);
    }
    let why = "a worker ended before the load did; this is an error of tare, please report it";
    (LoadEnd::Aborted, Some(why.to_owned()))
}

/// Records of the window; `None` for a client without records.
fn flow(client: &ClientSpec, result: &LoadResult) -> Option<RecordFlow> {
    if let Some(records) = result.records {
        return Some(RecordFlow {
            direction: RecordDirection::Consumed,
            count: records.in_window,
            bytes: Some(records.bytes_in_window),
            negative_end_to_end: Some(records.negative_end_to_end),
        });
    }
    client.writes_records().then(|| RecordFlow {
        direction: RecordDirection::Produced,
        count: result.completed_in_window.ok,
        bytes: written_bytes(result),
        negative_end_to_end: None,
    })
}

/// Bytes written in the window: its share of all bytes, which is exact for payloads of one size.
fn written_bytes(result: &LoadResult) -> Option<u64> {
    let all: u64 = result.by_request.values().map(|one| one.ok).sum();
    let bytes = *result.protocol_counts.get("payload-bytes")?;
    let share = result.completed_in_window.ok as f64 / all as f64;
    (all > 0).then(|| (bytes as f64 * share).round() as u64)
}

fn has_sessions(gathered: &AggregatedLoad) -> bool {
    let mut ends = gathered.ends.iter();
    ends.any(|end| end.counts.released == ArrivalKind::Sessions)
}

fn sessions(counts: &WorkerCounts) -> Option<SessionCounts> {
    let window = &counts.window;
    (counts.released == ArrivalKind::Sessions).then_some(SessionCounts {
        intended: window.intended,
        started: window.released,
        completed: window.ok,
        failed: window.errors,
        unfinished: window.unfinished,
        overflow: window.overflow,
        never_started: window.never_sent,
        ended_in_window: counts.within.ended_in_window,
    })
}

/// Every exchange has one `latency`, so its histograms give the outcomes. Sessions are left out.
fn outcomes(totals: &Totals, gathered: &AggregatedLoad) -> Vec<OutcomeCount> {
    let latency = totals
        .iter()
        .filter(|(series, _)| series.quantity == Quantity::Latency)
        .filter(|(series, _)| {
            gathered.names.request(series.request) != SESSION_NAME || !has_sessions(gathered)
        });
    let mut outcomes: Vec<OutcomeCount> = Vec::new();
    for (series, latencies) in latency {
        let seen = gathered.names.class(series.class);
        let outcome = OutcomeCount {
            request: gathered.names.request(series.request).to_owned(),
            class: seen.map_or_else(|| "ok".to_owned(), |seen| seen.class.to_string()),
            error_source: seen.map_or(ErrorSource::None, |seen| seen.class.error_source),
            count: latencies.count(),
            example: seen.and_then(|seen| seen.example.clone()),
        };
        // Correct responses of several statuses are several series, but one outcome.
        let of_request = outcomes.iter_mut().rev();
        let mut of_request = of_request.take_while(|known| known.request == outcome.request);
        match of_request.find(|known| known.class == outcome.class) {
            Some(known) => known.count += outcome.count,
            None => outcomes.push(outcome),
        }
    }
    outcomes
}

fn by_request(counts: &WorkerCounts, names: &SeriesNames) -> BTreeMap<String, RequestCount> {
    let mut all: BTreeMap<String, RequestCount> = BTreeMap::new();
    for (request, count) in counts.by_request.iter().enumerate() {
        // Requests of the same name are one in the result.
        *all.entry(names.request(request as u16).to_owned())
            .or_default() += *count;
    }
    all.retain(|_, count| count.sent > 0);
    all
}

fn connection_errors(counts: &WorkerCounts, names: &SeriesNames) -> Vec<OutcomeCount> {
    let faults = counts.faults.iter();
    faults
        .filter_map(|&(class, count)| {
            let seen = names.class(class)?;
            Some(OutcomeCount {
                request: String::new(),
                class: seen.class.to_string(),
                error_source: seen.class.error_source,
                count,
                example: seen.example.clone(),
            })
        })
        .collect()
}

fn failed_addresses(counts: &WorkerCounts, names: &SeriesNames) -> Vec<FailedAddress> {
    let attempts = counts.failed_attempts.iter();
    let one = |attempts: &FailedAttempts| {
        let seen = names.class(attempts.class)?;
        Some(FailedAddress {
            address: attempts.address,
            class: seen.class.to_string(),
            error_source: seen.class.error_source,
            count: attempts.count,
            example: seen.example.clone(),
        })
    };
    attempts.filter_map(one).collect()
}

fn protocol_counts(gathered: &AggregatedLoad) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for &(name, count) in gathered.ends.iter().flat_map(|end| &end.protocol_counts) {
        *sums.entry(name.to_owned()).or_insert(0) += count;
    }
    sums
}

/// The handshakes of all workers, the most frequent result first.
fn tls(gathered: &AggregatedLoad) -> Vec<TlsCount> {
    let mut all: Vec<TlsCount> = Vec::new();
    for count in gathered.ends.iter().flat_map(|end| &end.tls) {
        match all.iter_mut().find(|one| one.seen == count.seen) {
            Some(one) => {
                one.full += count.full;
                one.resumed += count.resumed;
            }
            None => all.push(count.clone()),
        }
    }
    all.sort_by_key(|count| std::cmp::Reverse(count.full + count.resumed));
    all
}

fn queue_waits(counts: &WorkerCounts) -> Vec<WaitCount> {
    WaitCause::ALL
        .into_iter()
        .zip(&counts.queue_waits)
        .filter(|(_, queue_waits)| queue_waits.count > 0)
        .map(|(cause, queue_waits)| WaitCount {
            cause: cause.name().to_owned(),
            count: queue_waits.count,
            total_ns: queue_waits.total_ns,
        })
        .collect()
}

fn generator(
    counts: &WorkerCounts,
    (gathered, totals): (&AggregatedLoad, &Totals),
    is_open_loop: bool,
) -> GeneratorStats {
    let ends = &gathered.ends;
    let mut by_worker: Vec<_> = ends
        .iter()
        .map(|end| (end.worker, end.usage.cpu_ns, end.usage.spun_ns))
        .collect();
    by_worker.sort_unstable();
    GeneratorStats {
        lateness: spread(totals, Quantity::Lateness),
        receive_lag: spread(totals, Quantity::Lag),
        cpu_ns: ends.iter().map(|end| end.usage.process_cpu_ns).sum(),
        worker_cpu_ns: by_worker.iter().map(|(_, cpu_ns, _)| *cpu_ns).collect(),
        worker_spun_ns: by_worker.iter().map(|(_, _, spun_ns)| *spun_ns).collect(),
        sched_policy: ends.iter().map(|end| end.sched_policy).max(),
        bunched: is_open_loop.then_some(counts.bunched),
        peak_rss_bytes: peak_rss_bytes().unwrap_or(0),
        counts: counts.generator,
        clock_steps: ends.iter().map(|end| end.clock_steps).max().unwrap_or(0),
        // Calibration is the caller's.
        calibration: None,
    }
}

fn spread(totals: &Totals, quantity: Quantity) -> QuantileSummary {
    let found = totals
        .iter()
        .find(|(series, _)| series.quantity == quantity);
    let found = found.and_then(|(_, histogram)| histogram.latencies().ok());
    figures::spread(found.as_ref())
}

/// The high-water mark, from `/proc/self/status` in kB.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tare_record::agent::SchedPolicy;

    use super::*;
    use crate::worker::Usage;

    fn unended() -> WorkerEnd {
        WorkerEnd {
            worker: 0,
            counts: WorkerCounts::default(),
            usage: Usage::default(),
            sched_policy: SchedPolicy::Fifo,
            window_end_ns: 0,
            requests_lost: 0,
            protocol_counts: Vec::new(),
            acknowledged: Vec::new(),
            tls: Vec::new(),
            client_certificates: 0,
            clock_steps: 0,
            interrupted: false,
            is_complete: false,
            permanent_failure: None,
            abort_reason: None,
            redirected_to: None,
            failure: None,
        }
    }

    fn none() -> WorkerCounts {
        WorkerCounts::default()
    }

    #[test]
    fn counts_that_do_not_add_up_are_named_and_no_result_counts() {
        let mut counts = none();
        counts.window.intended = 5;
        counts.window.ok = 3;
        counts.window.never_sent = 1;
        let (ended, why) = load_end(&[end()], &counts);
        assert_eq!(ended, LoadEnd::Aborted);
        let why = why.unwrap();
        assert!(why.contains("5 intended are not 3 ok"), "{why}");
        counts.window.unfinished = 1;
        assert_eq!(load_end(&[end()], &counts).0, LoadEnd::Completed);
    }

    fn end() -> WorkerEnd {
        WorkerEnd {
            is_complete: true,
            ..unended()
        }
    }

    #[test]
    fn a_load_is_complete_only_if_every_worker_came_to_the_end_of_its_schedule() {
        assert_eq!(
            load_end(&[end(), end()], &none()),
            (LoadEnd::Completed, None)
        );
        let (ended, why) = load_end(&[end(), unended()], &none());
        assert_eq!(ended, LoadEnd::Aborted);
        assert!(why.unwrap().contains("ended before the load did"));
        let interrupted = WorkerEnd {
            interrupted: true,
            ..end()
        };
        assert_eq!(
            load_end(&[end(), interrupted], &none()).0,
            LoadEnd::Interrupted
        );
    }

    proptest! {
        #[test]
        fn no_other_end_is_called_complete(
            workers in prop::collection::vec((any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()), 1..5),
            (ok, errors, unfinished, never_sent, missing) in (0..9_u64, 0..9_u64, 0..9_u64, 0..9_u64, 0..3_u64),
        ) {
            let mut counts = none();
            counts.window.intended = ok + errors + unfinished + never_sent + missing;
            counts.window.ok = ok;
            counts.window.errors = errors;
            counts.window.unfinished = unfinished;
            counts.window.never_sent = never_sent;
            let ends: Vec<WorkerEnd> = workers
                .iter()
                .map(|&(is_complete, interrupted, fails, aborts)| WorkerEnd {
                    is_complete,
                    interrupted,
                    permanent_failure: fails.then(|| "refused".into()),
                    abort_reason: aborts.then(|| "no topic".into()),
                    ..unended()
                })
                .collect();
            let is_complete = missing == 0
                && workers.iter().all(|&worker| worker == (true, false, false, false));
            let (ended, why) = load_end(&ends, &counts);
            prop_assert_eq!(ended == LoadEnd::Completed, is_complete);
            prop_assert_eq!(ended == LoadEnd::Aborted, why.is_some());
        }
    }

    #[test]
    fn a_permanent_failure_of_one_worker_is_in_the_result_whatever_the_others_did() {
        let mut counts = WorkerCounts::default();
        counts.all.ok = 100;
        let successful = WorkerEnd { counts, ..end() };
        let failed = WorkerEnd {
            permanent_failure: Some("connection refused".into()),
            interrupted: true,
            ..unended()
        };
        let (ended, why) = load_end(&[successful, failed], &none());
        assert_eq!(ended, LoadEnd::Aborted);
        assert!(why.unwrap().contains("connection refused"));
    }
}
