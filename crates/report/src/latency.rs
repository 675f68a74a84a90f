//! Histogram logs of one trial: merged over the window, and second by second.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use tare_record::agent::{is_status_class, is_unanswered_class};
use tare_record::api::LatencyBucket;
use tare_record::load::session::SESSION_NAME;
use tare_record::regular::open_regular;
use tare_record::view::{CurvePoint, TimePoint};
use tare_stats::hlog::{LogInterval, Reader};
use tare_stats::{Latencies, LatenciesError, Quantile, Range, SparseHistogram};

/// Upper limit of a log's bytes: an hour of a busy load takes a third of it.
pub const LOG_BYTES_MAX: u64 = 1 << 30;

/// Upper limit of intervals in a log: an hour of a hundred requests and more, second by second.
const INTERVALS_MAX: usize = 1 << 19;

/// Upper limit of names of requests: each takes a histogram.
const REQUESTS_MAX: usize = 1000;

/// Upper limit of occupied buckets over all seconds: 1 GiB.
const BUCKETS_MAX: usize = 64 << 20;

/// Fixed cost of an interval in a second, in buckets, even if it is empty.
const BUCKETS_PER_SECOND: usize = 16;

/// Points of a curve each time the share beyond halves: smooth at the width of a page.
const STEPS_PER_HALVING: u32 = 4;

/// Buckets of a histogram from one value to twice that value: each is a fifth wider than the one before.
const BUCKETS_PER_DOUBLING: f64 = 4.0;

/// A value that may be a lower bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MaybeLowerBound {
    pub value: f64,
    /// Whether it is a lower bound: the true value is larger.
    pub is_lower_bound: bool,
}

impl MaybeLowerBound {
    pub fn exact(value: f64) -> MaybeLowerBound {
        MaybeLowerBound {
            value,
            is_lower_bound: false,
        }
    }

    /// A quantile; `None` if there are too few observations.
    pub fn quantile(quantile: Quantile) -> Option<MaybeLowerBound> {
        match quantile {
            Quantile::Exact(value_ns) => Some(MaybeLowerBound::exact(value_ns as f64)),
            Quantile::Above(value_ns) => Some(MaybeLowerBound {
                value: value_ns as f64,
                is_lower_bound: true,
            }),
            Quantile::TooFew => None,
        }
    }
}

/// The arithmetic mean; a lower bound if there are censored observations.
pub fn mean(latencies: &Latencies) -> Option<MaybeLowerBound> {
    let is_lower_bound = latencies.unfinished() > 0 || latencies.out_of_range() > 0;
    latencies.mean_ns().map(|value| MaybeLowerBound {
        value,
        is_lower_bound,
    })
}

/// Points of the latency-by-percentile curve, as far as there are enough observations, the minimum at 0 and the maximum
/// at 100.
pub fn curve(latencies: &Latencies) -> Vec<CurvePoint> {
    let point = |quantile: f64, value: Quantile| {
        MaybeLowerBound::quantile(value).map(|figured| CurvePoint {
            // Six decimals are finer than any drawing and keep the files small.
            percentile: (quantile * 1e8).round() / 1e6,
            value_ns: figured.value as u64,
            is_lower_bound: figured.is_lower_bound,
        })
    };
    let minimum = latencies.min_ns().map(|value_ns| CurvePoint {
        percentile: 0.0,
        value_ns,
        is_lower_bound: false,
    });
    let below = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4].map(|q| point(q, latencies.quantile(q)));
    let above = latencies.curve(STEPS_PER_HALVING);
    let below = below.into_iter();
    [minimum]
        .into_iter()
        .chain(below)
        .chain(above.into_iter().map(|p| point(p.quantile, p.value)))
        .flatten()
        .collect()
}

/// A histogram with logarithmic buckets, from the one with the minimum to the one with the maximum.
pub fn histogram(latencies: &Latencies) -> Vec<LatencyBucket> {
    let bound = |step: i32| (f64::from(step) / BUCKETS_PER_DOUBLING).exp2().round() as u64;
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    // The buckets of the log are a thousandth wide, so that each is within one of these.
    for (lowest, _, count) in latencies.buckets() {
        let step = ((lowest.max(1) as f64).log2() * BUCKETS_PER_DOUBLING).floor() as i32;
        *counts.entry(step).or_default() += count;
    }
    let ends = counts.keys().next().zip(counts.keys().last());
    let steps = ends.map_or(0..0, |(first, last)| *first..*last + 1);
    let (all, mut below) = (latencies.count() as f64, 0);
    let bucket = |step| {
        let count = counts.get(&step).copied().unwrap_or_default();
        below += count;
        LatencyBucket {
            start_ns: bound(step),
            end_ns: bound(step + 1),
            count,
            cumulative_percent: (below as f64 / all * 1e6).round() / 1e4,
        }
    };
    steps.map(bucket).collect()
}

/// One quantity of a trial: over the window, and second by second.
#[derive(Debug, Default)]
pub struct QuantitySeries {
    /// The whole window; `None` without observations.
    pub window: Option<Latencies>,
    /// Per second of intended time.
    pub seconds: Vec<TimePoint>,
}

/// The contents of the two logs of a trial, over all roles and requests.
#[derive(Debug)]
pub struct TrialLatency {
    /// `latency`: successful exchanges, and unfinished ones at their age.
    pub latency: QuantitySeries,
    /// `response`: response time of the same exchanges, from their intended starts.
    pub response: QuantitySeries,
    /// `service`: service time of those that were sent.
    pub service: QuantitySeries,
    /// `lateness` of the generator.
    pub lateness: QuantitySeries,
    /// `receive-lag`: receive lag of the generator.
    pub receive_lag: QuantitySeries,
    /// `latency` over the window by name of the request. Whole sessions are included under a name of their own, but not in
    /// `latency`.
    pub by_request: ByRequest,
}

/// Latencies by name of the request.
pub type ByRequest = BTreeMap<String, Latencies>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Latency,
    Response,
    Service,
    Lateness,
    ReceiveLag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Complete,
    Censored,
}

/// The quantity of a tag, if it is one of those shown, and whether its exchanges are censored.
fn classify_tag(tag: &str) -> Option<(Kind, Ends)> {
    let words: Vec<&str> = tag.split('.').collect();
    let kind = |word: &str| match word {
        "latency" => Some(Kind::Latency),
        "response" => Some(Kind::Response),
        "service" => Some(Kind::Service),
        _ => None,
    };
    match words.as_slice() {
        [_, "lateness"] => Some((Kind::Lateness, Ends::Complete)),
        [_, "receive-lag"] => Some((Kind::ReceiveLag, Ends::Complete)),
        [_, .., of, status] if is_status_class(status) => Some((kind(of)?, Ends::Complete)),
        [_, .., of, class] if is_unanswered_class(class) => Some((kind(of)?, Ends::Censored)),
        [_, .., of] => Some((kind(of)?, Ends::Complete)),
        _ => None,
    }
}

/// The role and the request of a tag of `latency`.
fn role_and_request(tag: &str) -> Option<(&str, &str)> {
    let (role, rest) = tag.split_once('.')?;
    let at = rest.find(".latency")?;
    Some((role, &rest[..at]))
}

/// Observations by the start of their second.
type Seconds = BTreeMap<Duration, Vec<SparseHistogram>>;

/// Accumulates the logs of a trial.
struct LogContents {
    kinds: BTreeMap<Kind, Seconds>,
    by_request: ByRequest,
    /// Occupied buckets over all seconds.
    buckets: usize,
    /// Scratch histogram with the generator's settings: histograms with other settings do not merge with it.
    scratch: Latencies,
}

/// Reads both logs of a trial's folder; `session_roles` are the roles that run sessions.
///
/// # Errors
/// The file that cannot be read, with the line or the reason.
pub fn read_trial(folder: &Path, session_roles: &[&str]) -> Result<TrialLatency, String> {
    let scratch = Latencies::new(Range::default()).map_err(|error| error.to_string())?;
    let mut contents = LogContents {
        kinds: BTreeMap::new(),
        by_request: ByRequest::new(),
        buckets: 0,
        scratch: scratch.clone(),
    };
    for name in ["latency.hlog", "lateness.hlog"] {
        collect(&folder.join(name), session_roles, &mut contents)
            .map_err(|error| format!("{name}: {error}"))?;
    }
    let by_request = contents.by_request;
    let mut contents = contents.kinds;
    let first = contents
        .values()
        .filter_map(|s| s.keys().next())
        .min()
        .copied();
    let first = first.unwrap_or_default();
    let mut take = |kind| {
        quantity(
            first,
            contents.remove(&kind).unwrap_or_default(),
            scratch.clone(),
        )
    };
    Ok(TrialLatency {
        latency: take(Kind::Latency).map_err(|error| format!("latency: {error}"))?,
        response: take(Kind::Response).map_err(|error| format!("response: {error}"))?,
        service: take(Kind::Service).map_err(|error| format!("service: {error}"))?,
        lateness: take(Kind::Lateness).map_err(|error| format!("lateness: {error}"))?,
        receive_lag: take(Kind::ReceiveLag).map_err(|error| format!("receive-lag: {error}"))?,
        by_request,
    })
}

fn collect(path: &Path, session_roles: &[&str], contents: &mut LogContents) -> Result<(), String> {
    let file = open_regular(path, LOG_BYTES_MAX).map_err(|error| error.to_string())?;
    for (place, interval) in Reader::new(BufReader::new(file)).enumerate() {
        if place == INTERVALS_MAX {
            return Err(format!(
                "more than {INTERVALS_MAX} intervals are no log of a trial"
            ));
        }
        let interval = interval.map_err(|error| error.to_string())?;
        let Some((kind, ends)) = classify_tag(&interval.tag) else {
            continue;
        };
        contents
            .add(kind, ends, interval, session_roles)
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Why an interval of a log is refused.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error(transparent)]
    Merge(#[from] LatenciesError),
    #[error("more than {REQUESTS_MAX} names of requests are no log of a trial")]
    Requests,
    #[error("more than {BUCKETS_MAX} different values, second by second, are no log of a trial")]
    Buckets,
}

impl LogContents {
    fn add(
        &mut self,
        kind: Kind,
        ends: Ends,
        interval: LogInterval,
        session_roles: &[&str],
    ) -> Result<(), KeepError> {
        self.scratch.clear();
        match ends {
            Ends::Complete => self.scratch.merge(&interval.latencies)?,
            Ends::Censored => merge_censored(&interval.latencies, &mut self.scratch)?,
        }
        if let Some((role, request)) =
            role_and_request(&interval.tag).filter(|_| kind == Kind::Latency)
        {
            let is_full = self.by_request.len() >= REQUESTS_MAX;
            match self.by_request.entry(request.to_owned()) {
                Entry::Occupied(mut place) => place.get_mut().merge(&self.scratch)?,
                Entry::Vacant(_) if is_full => return Err(KeepError::Requests),
                Entry::Vacant(place) => {
                    place.insert(self.scratch.clone());
                }
            }
            // A session is not an exchange: it lasts as long as all of its requests.
            if request == SESSION_NAME && session_roles.contains(&role) {
                return Ok(());
            }
        }
        let sparse = self.scratch.sparse();
        self.buckets += sparse.buckets() + BUCKETS_PER_SECOND;
        if self.buckets > BUCKETS_MAX {
            return Err(KeepError::Buckets);
        }
        let seconds = self.kinds.entry(kind).or_default();
        seconds.entry(interval.start).or_default().push(sparse);
        Ok(())
    }
}

/// Merges observations into an empty histogram, all of them as censored, also if the log does not mark them.
fn merge_censored(latencies: &Latencies, into: &mut Latencies) -> Result<(), LatenciesError> {
    into.merge(latencies)?;
    if latencies.unfinished() == latencies.count() {
        return Ok(());
    }
    into.clear();
    for (age_ns, _, count) in latencies.buckets() {
        into.record_many_unfinished(age_ns, count);
    }
    Ok(())
}

/// Merges a quantity over all seconds; `second` is a histogram to reuse.
fn quantity(
    first: Duration,
    seconds: Seconds,
    mut second: Latencies,
) -> Result<QuantitySeries, LatenciesError> {
    let mut quantity = QuantitySeries::default();
    for (start, parts) in seconds {
        second.clear();
        for part in &parts {
            second.merge_sparse(part)?;
        }
        let at = |q: f64| MaybeLowerBound::quantile(second.quantile(q)).map(|f| f.value as u64);
        quantity.seconds.push(TimePoint {
            offset_ns: u64::try_from((start - first).as_nanos()).unwrap_or(u64::MAX),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            max_ns: second
                .max()
                .and_then(MaybeLowerBound::quantile)
                .map(|f| f.value as u64),
        });
        match &mut quantity.window {
            Some(window) => window.merge(&second)?,
            None => quantity.window = Some(second.clone()),
        }
    }
    Ok(quantity)
}

/// Merges a trial's observations into those of its cell.
///
/// # Errors
/// When the two were recorded with different settings.
pub fn merge_into(
    into: &mut Option<Latencies>,
    from: Option<&Latencies>,
) -> Result<(), LatenciesError> {
    match (into.as_mut(), from) {
        (_, None) => Ok(()),
        (Some(sum), Some(from)) => sum.merge(from),
        (None, Some(from)) => {
            *into = Some(from.clone());
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_has_every_latency_in_its_bucket_and_none_is_left_out_between() {
        let mut latencies = Latencies::new(Range::default()).unwrap();
        assert_eq!(histogram(&latencies), []);
        for value in [1024, 1100, 1300, 4096, 4097] {
            latencies.record(value);
        }
        latencies.record_unfinished(5000);
        let found: Vec<(u64, u64, u64)> = histogram(&latencies)
            .iter()
            .map(|one| (one.start_ns, one.end_ns, one.count))
            .collect();
        // Four to a doubling: 2^10, 2^10.25, 2^10.5 …
        let expected = [
            (1024, 1218, 2),
            (1218, 1448, 1),
            (1448, 1722, 0),
            (1722, 2048, 0),
            (2048, 2435, 0),
            (2435, 2896, 0),
            (2896, 3444, 0),
            (3444, 4096, 0),
            (4096, 4871, 2),
            (4871, 5793, 1),
        ];
        assert_eq!(found, expected);
        let percents = histogram(&latencies)
            .iter()
            .map(|one| one.cumulative_percent)
            .collect::<Vec<_>>();
        assert_eq!(
            (percents[0], percents[7], percents[9]),
            (33.3333, 50.0, 100.0)
        );
    }

    #[test]
    fn a_tag_tells_the_quantity_and_whether_the_end_was_seen() {
        assert_eq!(
            classify_tag("client.echo.latency"),
            Some((Kind::Latency, Ends::Complete))
        );
        assert_eq!(
            classify_tag("client.echo.latency.unfinished"),
            Some((Kind::Latency, Ends::Censored))
        );
        assert_eq!(
            classify_tag("client.a.b.service"),
            Some((Kind::Service, Ends::Complete))
        );
        assert_eq!(
            classify_tag("client.lateness"),
            Some((Kind::Lateness, Ends::Complete))
        );
        for (tag, kind) in [
            ("client.echo.latency.3xx", Kind::Latency),
            ("client.echo.service.4xx", Kind::Service),
            ("client.echo.response", Kind::Response),
            ("client.echo.response.3xx", Kind::Response),
        ] {
            assert_eq!(classify_tag(tag), Some((kind, Ends::Complete)), "{tag}");
        }
        for (tag, kind) in [
            ("client.echo.latency.timeout", Kind::Latency),
            ("client.echo.service.timeout", Kind::Service),
            ("client.echo.service.unfinished", Kind::Service),
            ("client.echo.response.unfinished", Kind::Response),
        ] {
            assert_eq!(classify_tag(tag), Some((kind, Ends::Censored)), "{tag}");
        }
        for tag in ["client.a.b.latency", "client.a.b.latency.timeout"] {
            assert_eq!(role_and_request(tag), Some(("client", "a.b")), "{tag}");
        }
        assert_eq!(role_and_request("client.lateness"), None);
        assert_eq!(classify_tag("client.echo.latency.connect-refused"), None);
        assert_eq!(classify_tag("client.queue-wait"), None);
        assert_eq!(classify_tag(""), None);
    }

    #[test]
    fn unanswered_exchanges_make_every_quantile_from_their_age_on_a_bound() {
        let mut latencies = Latencies::new(Range::default()).unwrap();
        for value_ns in 1..=2000 {
            latencies.record(value_ns * 1000);
        }
        let mut plain = Latencies::new(Range::default()).unwrap();
        for _ in 0..200 {
            plain.record(1_900_000);
        }
        let mut marked = Latencies::new(Range::default()).unwrap();
        merge_censored(&plain, &mut marked).unwrap();
        latencies.merge(&marked).unwrap();
        let at = |q| MaybeLowerBound::quantile(latencies.quantile(q)).unwrap();
        assert!(!at(0.5).is_lower_bound);
        assert!(at(0.99).is_lower_bound);
        assert!(curve(&latencies).iter().any(|p| p.is_lower_bound));
        assert!(curve(&latencies).iter().any(|p| !p.is_lower_bound));
    }

    #[test]
    fn whole_sessions_are_kept_apart_from_the_requests_they_are_made_of() {
        use tare_stats::hlog::Writer;
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::begin(Vec::new(), Duration::ZERO, &[]).unwrap();
        let mut log = |tag: &str, count: u64, value_ns: u64| {
            let mut latencies = Latencies::new(Range::default()).unwrap();
            (0..count).for_each(|_| latencies.record(value_ns));
            let second = Duration::from_secs(1);
            writer
                .interval(tag, Duration::ZERO, second, &latencies)
                .unwrap();
        };
        log("client.query.latency", 60, 2_000_000);
        log("client.login.latency", 20, 5_000_000);
        log("client.login.latency.3xx", 5, 5_000_000);
        log("client.session.latency", 10, 900_000_000);
        let text = writer.finish().unwrap();
        std::fs::write(folder.path().join("latency.hlog"), text).unwrap();
        let none = Writer::begin(Vec::new(), Duration::ZERO, &[]).unwrap();
        let none = none.finish().unwrap();
        std::fs::write(folder.path().join("lateness.hlog"), none).unwrap();
        let counts = |session_roles: &[&str]| {
            let read = read_trial(folder.path(), session_roles).unwrap();
            let of = |name: &str| read.by_request.get(name).map_or(0, Latencies::count);
            let latency = read.latency.window.unwrap().count();
            (latency, of("query"), of("login"), of("session"))
        };
        assert_eq!(counts(&["client"]), (85, 60, 25, 10));
        // Another load may have a request of that name.
        assert_eq!(counts(&[]), (95, 60, 25, 10));
    }

    #[test]
    fn a_log_of_more_intervals_or_bytes_than_any_trial_has_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("latency.hlog");
        // The smallest histogram, with nothing in it.
        let line = "0,1,1,HISTEwAAAAAAAAAAAAAAAQAAAAAAAAABAAAAAAAAAAI/8AAAAAAAAA==\n";
        std::fs::write(&log, line.repeat(INTERVALS_MAX + 1)).unwrap();
        let said = read_trial(folder.path(), &[]).unwrap_err();
        assert!(said.contains("more than 524288 intervals"), "{said}");
        std::fs::File::create(&log)
            .and_then(|file| file.set_len(LOG_BYTES_MAX + 1))
            .unwrap();
        let said = read_trial(folder.path(), &[]).unwrap_err();
        assert!(said.contains("latency.hlog has 1073741825 bytes"), "{said}");
    }

    #[test]
    fn the_values_of_all_seconds_are_held_up_to_a_bound_and_an_empty_second_counts() {
        let empty = Latencies::new(Range::default()).unwrap();
        let mut contents = LogContents {
            kinds: BTreeMap::new(),
            by_request: ByRequest::new(),
            // Room for one more second with one value.
            buckets: BUCKETS_MAX - BUCKETS_PER_SECOND - 1,
            scratch: empty.clone(),
        };
        let mut add = |latencies: &Latencies| {
            let interval = LogInterval {
                tag: "client.receive-lag".to_owned(),
                start: Duration::ZERO,
                length: Duration::from_secs(1),
                latencies: latencies.clone(),
            };
            contents.add(Kind::ReceiveLag, Ends::Complete, interval, &[])
        };
        let mut one = empty.clone();
        one.record(1000);
        assert!(add(&one).is_ok());
        assert!(matches!(add(&empty), Err(KeepError::Buckets)));
    }
}
