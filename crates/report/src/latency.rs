//! Histogram logs of one trial: merged over its seconds, and what each second says.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use tare_schema::agent::is_status_class;
use tare_schema::load::session::SESSION_NAME;
use tare_schema::regular::open_regular;
use tare_schema::view::{CurvePoint, TimePoint};
use tare_stats::hlog::{Interval, Reader};
use tare_stats::{Latencies, LatenciesError, Quantile, Range, Sparse};

/// Error classes of exchanges that nobody saw the end of: unanswered when their limit passed, or when the drain ended.
const UNSEEN: [&str; 2] = ["unfinished", "timeout"];

/// Longest log that is read: an hour of a busy load takes a third of it.
const LOG_BYTES_MAX: u64 = 1 << 30;

/// Most intervals of one log: an hour of a hundred requests and more, second by second.
const INTERVALS_MAX: usize = 1 << 19;

/// Most names of requests: each holds a histogram.
const REQUESTS_MAX: usize = 1000;

/// Most occupied buckets that are held of all seconds together: 1 GiB.
const BUCKETS_MAX: usize = 64 << 20;

/// What a second costs even if nothing was observed in it, in buckets.
const BUCKETS_OF_NOTHING: usize = 16;

/// Points of a curve each time the share beyond halves: smooth at any width a page has.
const STEPS_PER_HALVING: u32 = 4;

/// A figure that may be a lower bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figured {
    /// The figure.
    pub value: f64,
    /// Whether the true value lies above it.
    pub at_least: bool,
}

impl Figured {
    /// A figure that is what it says.
    pub fn exact(value: f64) -> Figured {
        Figured {
            value,
            at_least: false,
        }
    }

    /// A quantile, unless too few observations carry it.
    pub fn quantile(quantile: Quantile) -> Option<Figured> {
        match quantile {
            Quantile::Exact(value_ns) => Some(Figured::exact(value_ns as f64)),
            Quantile::Above(value_ns) => Some(Figured {
                value: value_ns as f64,
                at_least: true,
            }),
            Quantile::TooFew => None,
        }
    }
}

/// The arithmetic mean, a lower bound when some observations are.
pub fn mean(latencies: &Latencies) -> Option<Figured> {
    let at_least = latencies.unfinished() > 0 || latencies.out_of_range() > 0;
    latencies.mean_ns().map(|value| Figured { value, at_least })
}

/// Points of the latency-by-percentile curve, as far as the counts carry, and the maximum at 100.
pub fn curve(latencies: &Latencies) -> Vec<CurvePoint> {
    let point = |quantile: f64, value: Quantile| {
        Figured::quantile(value).map(|figured| CurvePoint {
            // Six digits are finer than any curve can be drawn and keep the files small.
            percentile: (quantile * 1e8).round() / 1e6,
            value_ns: figured.value as u64,
            at_least: figured.at_least,
        })
    };
    let below = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4].map(|q| point(q, latencies.quantile(q)));
    let above = latencies.curve(STEPS_PER_HALVING);
    below
        .into_iter()
        .chain(above.into_iter().map(|p| point(p.quantile, p.value)))
        .flatten()
        .collect()
}

/// One quantity of a trial: over the window, and second by second.
#[derive(Debug, Default)]
pub struct Quantity {
    /// The whole window; `None`: nothing was observed.
    pub window: Option<Latencies>,
    /// Per second of intended time.
    pub seconds: Vec<TimePoint>,
}

/// Everything in the two logs of a trial, over all roles and requests.
#[derive(Debug)]
pub struct TrialLatency {
    /// `latency`: right answers, and those that never came at their age.
    pub latency: Quantity,
    /// `response`: the same exchanges from their intended starts, as this client saw it.
    pub response: Quantity,
    /// `service`: the same of what was sent.
    pub service: Quantity,
    /// `lateness` of the generator.
    pub lateness: Quantity,
    /// `lag` of the generator.
    pub lag: Quantity,
    /// `latency` over the window by name of the request. Whole sessions are among them, under their own name, where some were played;
    /// in `latency` they are not.
    pub by_request: ByRequest,
}

/// Observations by name of the request.
pub type ByRequest = BTreeMap<String, Latencies>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Latency,
    Response,
    Service,
    Lateness,
    Lag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Seen,
    Unseen,
}

/// Which quantity a tag belongs to, if any of those shown, and whether the ends of its exchanges were seen.
fn sort_tag(tag: &str) -> Option<(Kind, Ends)> {
    let words: Vec<&str> = tag.split('.').collect();
    let kind = |word: &str| match word {
        "latency" => Some(Kind::Latency),
        "response" => Some(Kind::Response),
        "service" => Some(Kind::Service),
        _ => None,
    };
    match words.as_slice() {
        [_, "lateness"] => Some((Kind::Lateness, Ends::Seen)),
        [_, "lag"] => Some((Kind::Lag, Ends::Seen)),
        [_, .., of, status] if is_status_class(status) => Some((kind(of)?, Ends::Seen)),
        [_, .., of, class] if UNSEEN.contains(class) => Some((kind(of)?, Ends::Unseen)),
        [_, .., of] => Some((kind(of)?, Ends::Seen)),
        _ => None,
    }
}

/// The role of a tag of `latency`, and its request.
fn role_and_request(tag: &str) -> Option<(&str, &str)> {
    let (role, rest) = tag.split_once('.')?;
    let at = rest.find(".latency")?;
    Some((role, &rest[..at]))
}

/// What was observed, by start of its second.
type Seconds = BTreeMap<Duration, Vec<Sparse>>;

/// What is read from the logs of a trial.
struct Sorted {
    kinds: BTreeMap<Kind, Seconds>,
    by_request: ByRequest,
    /// Occupied buckets of all seconds.
    buckets: usize,
    /// A histogram as the generator makes them: what does not merge with it is none of ours.
    ours: Latencies,
}

/// Reads both logs of a trial's folder; `players` are the roles that play sessions.
///
/// # Errors
/// Says which file cannot be read and where it stops making sense.
pub fn read_trial(folder: &Path, players: &[&str]) -> Result<TrialLatency, String> {
    let ours = Latencies::new(Range::default()).map_err(|error| error.to_string())?;
    let mut sorted = Sorted {
        kinds: BTreeMap::new(),
        by_request: ByRequest::new(),
        buckets: 0,
        ours: ours.clone(),
    };
    for name in ["latency.hlog", "lateness.hlog"] {
        collect(&folder.join(name), players, &mut sorted)
            .map_err(|error| format!("{name}: {error}"))?;
    }
    let by_request = sorted.by_request;
    let mut sorted = sorted.kinds;
    let first = sorted
        .values()
        .filter_map(|s| s.keys().next())
        .min()
        .copied();
    let first = first.unwrap_or_default();
    let mut take = |kind| {
        quantity(
            first,
            sorted.remove(&kind).unwrap_or_default(),
            ours.clone(),
        )
    };
    Ok(TrialLatency {
        latency: take(Kind::Latency).map_err(|error| format!("latency: {error}"))?,
        response: take(Kind::Response).map_err(|error| format!("response: {error}"))?,
        service: take(Kind::Service).map_err(|error| format!("service: {error}"))?,
        lateness: take(Kind::Lateness).map_err(|error| format!("lateness: {error}"))?,
        lag: take(Kind::Lag).map_err(|error| format!("lag: {error}"))?,
        by_request,
    })
}

fn collect(path: &Path, players: &[&str], sorted: &mut Sorted) -> Result<(), String> {
    let file = open_regular(path, LOG_BYTES_MAX).map_err(|error| error.to_string())?;
    for (place, interval) in Reader::new(BufReader::new(file)).enumerate() {
        if place == INTERVALS_MAX {
            return Err(format!(
                "more than {INTERVALS_MAX} intervals are no log of a trial"
            ));
        }
        let interval = interval.map_err(|error| error.to_string())?;
        let Some((kind, ends)) = sort_tag(&interval.tag) else {
            continue;
        };
        sorted
            .add(kind, ends, interval, players)
            .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Why what a log holds cannot be kept.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error(transparent)]
    Merge(#[from] LatenciesError),
    #[error("more than {REQUESTS_MAX} names of requests are no log of a trial")]
    Requests,
    #[error("more than {BUCKETS_MAX} different values, second by second, are no log of a trial")]
    Buckets,
}

impl Sorted {
    fn add(
        &mut self,
        kind: Kind,
        ends: Ends,
        interval: Interval,
        players: &[&str],
    ) -> Result<(), KeepError> {
        self.ours.clear();
        match ends {
            Ends::Seen => self.ours.merge(&interval.latencies)?,
            Ends::Unseen => unseen(&interval.latencies, &mut self.ours)?,
        }
        if let Some((role, request)) =
            role_and_request(&interval.tag).filter(|_| kind == Kind::Latency)
        {
            let is_full = self.by_request.len() >= REQUESTS_MAX;
            match self.by_request.entry(request.to_owned()) {
                Entry::Occupied(mut place) => place.get_mut().merge(&self.ours)?,
                Entry::Vacant(_) if is_full => return Err(KeepError::Requests),
                Entry::Vacant(place) => {
                    place.insert(self.ours.clone());
                }
            }
            // A session is no exchange: it is as long as all of its requests.
            if request == SESSION_NAME && players.contains(&role) {
                return Ok(());
            }
        }
        let sparse = self.ours.sparse();
        self.buckets += sparse.buckets() + BUCKETS_OF_NOTHING;
        if self.buckets > BUCKETS_MAX {
            return Err(KeepError::Buckets);
        }
        let seconds = self.kinds.entry(kind).or_default();
        seconds.entry(interval.start).or_default().push(sparse);
        Ok(())
    }
}

/// The same observations in an empty histogram, all known to be larger than they say, also if the log did not mark them.
fn unseen(latencies: &Latencies, into: &mut Latencies) -> Result<(), LatenciesError> {
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

/// Adds up a quantity; `second` is an empty histogram.
fn quantity(
    first: Duration,
    seconds: Seconds,
    mut second: Latencies,
) -> Result<Quantity, LatenciesError> {
    let mut quantity = Quantity::default();
    for (start, parts) in seconds {
        second.clear();
        for part in &parts {
            second.merge_sparse(part)?;
        }
        let at = |q: f64| Figured::quantile(second.quantile(q)).map(|f| f.value as u64);
        quantity.seconds.push(TimePoint {
            offset_ns: u64::try_from((start - first).as_nanos()).unwrap_or(u64::MAX),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            max_ns: second
                .max()
                .and_then(Figured::quantile)
                .map(|f| f.value as u64),
        });
        match &mut quantity.window {
            Some(window) => window.merge(&second)?,
            None => quantity.window = Some(second.clone()),
        }
    }
    Ok(quantity)
}

/// Adds a trial's observations to those of its cell.
///
/// # Errors
/// When the two were recorded with different settings.
pub fn pour(into: &mut Option<Latencies>, from: Option<&Latencies>) -> Result<(), LatenciesError> {
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
    fn a_tag_tells_the_quantity_and_whether_the_end_was_seen() {
        assert_eq!(
            sort_tag("client.echo.latency"),
            Some((Kind::Latency, Ends::Seen))
        );
        assert_eq!(
            sort_tag("client.echo.latency.unfinished"),
            Some((Kind::Latency, Ends::Unseen))
        );
        assert_eq!(
            sort_tag("client.a.b.service"),
            Some((Kind::Service, Ends::Seen))
        );
        assert_eq!(
            sort_tag("client.lateness"),
            Some((Kind::Lateness, Ends::Seen))
        );
        for (tag, kind) in [
            ("client.echo.latency.3xx", Kind::Latency),
            ("client.echo.service.4xx", Kind::Service),
            ("client.echo.response", Kind::Response),
            ("client.echo.response.3xx", Kind::Response),
        ] {
            assert_eq!(sort_tag(tag), Some((kind, Ends::Seen)), "{tag}");
        }
        for (tag, kind) in [
            ("client.echo.latency.timeout", Kind::Latency),
            ("client.echo.service.timeout", Kind::Service),
            ("client.echo.service.unfinished", Kind::Service),
            ("client.echo.response.unfinished", Kind::Response),
        ] {
            assert_eq!(sort_tag(tag), Some((kind, Ends::Unseen)), "{tag}");
        }
        for tag in ["client.a.b.latency", "client.a.b.latency.timeout"] {
            assert_eq!(role_and_request(tag), Some(("client", "a.b")), "{tag}");
        }
        assert_eq!(role_and_request("client.lateness"), None);
        assert_eq!(sort_tag("client.echo.latency.connect-refused"), None);
        assert_eq!(sort_tag("client.wait"), None);
        assert_eq!(sort_tag(""), None);
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
        unseen(&plain, &mut marked).unwrap();
        latencies.merge(&marked).unwrap();
        let at = |q| Figured::quantile(latencies.quantile(q)).unwrap();
        assert!(!at(0.5).at_least);
        assert!(at(0.99).at_least);
        assert!(curve(&latencies).iter().any(|p| p.at_least));
        assert!(curve(&latencies).iter().any(|p| !p.at_least));
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
        let counts = |players: &[&str]| {
            let read = read_trial(folder.path(), players).unwrap();
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
        let mut sorted = Sorted {
            kinds: BTreeMap::new(),
            by_request: ByRequest::new(),
            // Room for one more second with one value.
            buckets: BUCKETS_MAX - BUCKETS_OF_NOTHING - 1,
            ours: empty.clone(),
        };
        let mut add = |latencies: &Latencies| {
            let interval = Interval {
                tag: "client.lag".to_owned(),
                start: Duration::ZERO,
                length: Duration::from_secs(1),
                latencies: latencies.clone(),
            };
            sorted.add(Kind::Lag, Ends::Seen, interval, &[])
        };
        let mut one = empty.clone();
        one.record(1000);
        assert!(add(&one).is_ok());
        assert!(matches!(add(&empty), Err(KeepError::Buckets)));
    }
}
