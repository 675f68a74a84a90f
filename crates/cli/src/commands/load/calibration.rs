//! Calibration against a null server in this process: latency and CPU of generator, kernel and loopback alone.
//!
//! It uses HTTP/1.1 without TLS for any protocol, as the cheapest one; rate, connections and request size are those of the load,
//! within bounds. Only `tare load` does it: in an agent of an experiment it would disturb the measurement.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use tare_lab::cached;
use tare_load::protocols::http1;
use tare_load::{Load, LoadOutcome};
use tare_origin::{Limits, OriginOptions};
use tare_record::agent::GeneratorCalibration;
use tare_record::load::{
    Body, ConnectionRules, Expect, ExpectBody, ExpectStatus, LoadPlan, LoadSpec, Mix, Pacing,
    RequestSpec, Stop, TemplateMode, ThinkDistribution, Transport,
};

/// Duration of the calibration.
const WARMUP: Duration = Duration::from_millis(50);
const WINDOW: Duration = Duration::from_millis(450);

/// Range of rates. Below it, half a second gives no median; above it, the server would be the limit.
const RATE_PER_S: (f64, f64) = (200.0, 20_000.0);

/// Assumed rate of a replay, whose recording has not been read yet.
const REPLAY_PER_S: f64 = 1000.0;

/// Upper bounds; beyond them the figures change little and the calibration takes longer.
const CONNECTIONS_MAX: u32 = 64;
const REQUEST_BYTES_MAX: u64 = 64 * 1024;

/// Above this lateness (p99), other programs have disturbed the calibration.
const QUIET_NS: u64 = 100_000;
/// Bytes of a response body, as of a small API.
const ANSWER_BYTES: u64 = 128;

/// Most calibrations in the cache.
const CACHED_MAX: usize = 64;

/// Returns the cached calibration for this load since the machine was booted, or measures one.
pub fn calibrate(plan: &LoadPlan) -> anyhow::Result<GeneratorCalibration> {
    let wanted = null_load(plan);
    let key = key(&wanted);
    let path = cache_path();
    let mut kept = path
        .as_deref()
        .and_then(CalibrationCache::read)
        .unwrap_or_default();
    if let Some(found) = kept.calibrations.get(&key) {
        return Ok(GeneratorCalibration {
            kept: true,
            ..*found
        });
    }
    let (calibration, quality) = measure(wanted)?;
    if let (Some(path), Quality::Quiet) = (path, quality) {
        if kept.calibrations.len() >= CACHED_MAX {
            kept.calibrations.clear();
        }
        kept.calibrations.insert(key, calibration);
        // Without a cache the next calibration takes half a second again.
        let _ = kept.write(&path);
    }
    Ok(calibration)
}

/// Whether other programs disturbed the calibration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quality {
    Quiet,
    Disturbed,
}

/// The load of the calibration, derived from that of the plan.
fn null_load(plan: &LoadPlan) -> LoadSpec {
    let load = &plan.load;
    let connections = load.client.connections.clamp(1, CONNECTIONS_MAX);
    let request_bytes = load.requests.iter().map(|request| match &request.body {
        Body::Text { text } => text.len() as u64,
        Body::Filler { bytes } => *bytes,
        _ => 0,
    });
    let request_bytes = request_bytes.max().unwrap_or(0).min(REQUEST_BYTES_MAX);
    let pacing = match (busiest_per_s(&load.pacing), &load.pacing) {
        (Some(rate), _) => Pacing::Constant {
            rate_per_s: rate.clamp(RATE_PER_S.0, RATE_PER_S.1),
        },
        (None, Pacing::Closed { clients, .. }) => Pacing::Closed {
            clients: (*clients).clamp(1, connections),
            think_time_ns: 0,
            think_distribution: ThinkDistribution::None,
        },
        (None, _) => Pacing::Max,
    };
    LoadSpec {
        pacing,
        stop: Stop::Duration {
            window_ns: WINDOW.as_nanos() as u64,
        },
        warmup_ns: WARMUP.as_nanos() as u64,
        timeout_ns: Duration::from_secs(1).as_nanos() as u64,
        sample_every_ns: Duration::from_secs(1).as_nanos() as u64,
        transport: Transport::Tcp,
        client: http1::client(connections),
        requests: vec![request(request_bytes)],
        connections: ConnectionRules::default(),
        mix: Mix::default(),
        ..load.clone()
    }
}

/// The highest rate of an open loop; `None` for a closed one.
fn busiest_per_s(pacing: &Pacing) -> Option<f64> {
    match pacing {
        Pacing::Constant { rate_per_s } | Pacing::Poisson { rate_per_s } => Some(*rate_per_s),
        Pacing::Ramp {
            from_per_s,
            to_per_s,
            ..
        } => Some(from_per_s.max(*to_per_s)),
        Pacing::Steps { steps, .. } => {
            Some(steps.iter().map(|step| step.rate_per_s).fold(0.0, f64::max))
        }
        Pacing::Replay { .. } => Some(REPLAY_PER_S),
        Pacing::Closed { .. } | Pacing::Max => None,
    }
}

fn request(bytes: u64) -> RequestSpec {
    let (method, body) = match bytes {
        0 => ("GET", Body::None),
        bytes => ("POST", Body::Filler { bytes }),
    };
    RequestSpec {
        name: "null".into(),
        weight: 1.0,
        method: method.into(),
        path: format!("/?size={ANSWER_BYTES}"),
        headers: Vec::new(),
        body,
        template: TemplateMode::default(),
        expect: Expect {
            status: ExpectStatus::Exactly(200),
            body: ExpectBody::Any,
        },
    }
}

fn measure(load: LoadSpec) -> anyhow::Result<(GeneratorCalibration, Quality)> {
    let origin = tare_origin::bind(OriginOptions {
        limits: Limits {
            drain_max: Duration::from_millis(50),
            ..Limits::default()
        },
        ..OriginOptions::default()
    })?;
    let mut null_load = Load::get(&format!("http://{}/", origin.local_addr()))?;
    null_load.plan_mut().load = load;
    let stop = tare_origin::StopHandle::new()?;
    let serving = std::thread::Builder::new().name("null server".into());
    let server = serving.spawn({
        let stop = stop.clone();
        move || {
            move_to_other_cores();
            origin.run(stop)
        }
    })?;
    let outcome = null_load.run();
    stop.stop();
    let served = server.join();
    let outcome = outcome?;
    if !matches!(served, Ok(Ok(_))) {
        bail!("the calibration against the null server was aborted");
    }
    figures(&null_load.plan().load, &outcome)
}

/// Moves the server's thread to the other cores, where this process is pinned to one core: there it would compete with the
/// generator.
fn move_to_other_cores() {
    let Ok(mine) = sched_getaffinity(None) else {
        return;
    };
    if mine.count() != 1 {
        return;
    }
    let mut others = CpuSet::new();
    (0..CpuSet::MAX_CPU)
        .filter(|&cpu| !mine.is_set(cpu))
        .for_each(|cpu| others.set(cpu));
    // Refused when there is no other core: then they share it.
    let _ = sched_setaffinity(None, &others);
}

fn figures(
    load: &LoadSpec,
    outcome: &LoadOutcome,
) -> anyhow::Result<(GeneratorCalibration, Quality)> {
    let found = &outcome.result;
    let done = found.completed_in_window.ok;
    if done == 0 || found.errors > 0 {
        bail!(
            "the server that does nothing gave {done} successful and {} failed responses",
            found.errors
        );
    }
    let generator = &found.generator;
    let workers_cpu_ns: u64 = generator.worker_cpu_ns.iter().sum();
    let calibration = GeneratorCalibration {
        offered_per_s: match load.pacing {
            Pacing::Constant { rate_per_s } => Some(rate_per_s),
            _ => None,
        },
        achieved_per_s: done as f64 / (found.window_ns.max(1) as f64 / 1e9),
        connections: load.client.connections,
        request_bytes: match load.requests[0].body {
            Body::Filler { bytes } => bytes,
            _ => 0,
        },
        answer_bytes: ANSWER_BYTES,
        latency: tare_load::spread(outcome.latency().as_ref()),
        service: tare_load::spread(outcome.service().as_ref()),
        cpu_per_exchange_ns: Some(workers_cpu_ns / done),
        kernel_timestamps: generator.counts.user_timestamps == 0,
        kept: false,
    };
    let latest = generator.lateness.p99_ns.or(generator.lateness.p50_ns);
    // A disturbed calibration must not be cached until the next boot.
    let quality = match latest.is_some_and(|ns| ns <= QUIET_NS) {
        true => Quality::Quiet,
        false => Quality::Disturbed,
    };
    Ok((calibration, quality))
}

/// The cache file: calibrations of this boot and this binary.
#[derive(Debug, Default, Serialize, Deserialize)]
struct CalibrationCache {
    of: String,
    calibrations: BTreeMap<String, GeneratorCalibration>,
}

impl CalibrationCache {
    /// Reads a cache that is still valid.
    fn read(path: &Path) -> Option<Self> {
        let kept: Self = cached::read(path)?;
        (kept.of == cache_fingerprint()?).then_some(kept)
    }

    fn write(&self, path: &Path) -> anyhow::Result<()> {
        let kept = Self {
            of: cache_fingerprint().context("the boot of this machine has no name")?,
            calibrations: self.calibrations.clone(),
        };
        Ok(cached::write(path, &kept)?)
    }
}

/// What a cached calibration is valid for: this boot, this kernel, this binary.
fn cache_fingerprint() -> Option<String> {
    let read = |path| std::fs::read_to_string(path).ok();
    let boot = read("/proc/sys/kernel/random/boot_id")?;
    let kernel = read("/proc/sys/kernel/osrelease")?;
    let binary = std::fs::metadata(std::env::current_exe().ok()?).ok()?;
    let built = binary
        .modified()
        .ok()?
        .duration_since(SystemTime::UNIX_EPOCH)
        .ok()?;
    Some(format!(
        "{} {} {} {}",
        boot.trim(),
        kernel.trim(),
        binary.len(),
        built.as_nanos()
    ))
}

/// Cache key: pacing, connections, request size, workers, and the number of cores of this process.
fn key(load: &LoadSpec) -> String {
    let cores = sched_getaffinity(None).map_or(0, |cores| cores.count());
    let request = load.requests.first().map(|request| &request.body);
    format!(
        "{:?} {:?} {request:?} {} workers {:?} {:?} {cores} cores",
        load.pacing, load.client, load.workers, load.spin, load.sched
    )
}

/// The cache file.
fn cache_path() -> Option<PathBuf> {
    Some(cached::folder()?.join("null-server.json"))
}

#[cfg(test)]
mod tests {
    use tare_load::protocols::http2::Http2Options;
    use tare_record::load::ClientSpec;

    use super::*;

    fn plan(pacing: Pacing, body: Body) -> LoadPlan {
        let mut load = null_load_of(Pacing::Max);
        load.pacing = pacing;
        load.requests[0].body = body;
        load.client = ClientSpec::with(500, &Http2Options { streams: 8 });
        let mut planned = Load::get("http://127.0.0.1:1/").unwrap();
        planned.plan_mut().load = load;
        planned.plan().clone()
    }

    fn null_load_of(pacing: Pacing) -> LoadSpec {
        LoadSpec {
            pacing,
            stop: Stop::Interrupted,
            warmup_ns: 0,
            timeout_ns: 1,
            workers: 1,
            spin: tare_record::load::Spin::Off,
            sched: tare_record::load::Sched::Auto,
            sample_every_ns: 1,
            transport: Transport::Tcp,
            client: http1::client(1),
            requests: vec![request(0)],
            connections: ConnectionRules::default(),
            mix: Mix::default(),
        }
    }

    #[test]
    fn it_is_the_loads_own_pace_width_and_size_within_bounds() {
        let rate = Pacing::Constant { rate_per_s: 3.0 };
        let wanted = null_load(&plan(rate, Body::Filler { bytes: 500 }));
        assert_eq!(wanted.pacing, Pacing::Constant { rate_per_s: 200.0 });
        assert_eq!(wanted.client, http1::client(64));
        assert_eq!(wanted.requests[0].body, Body::Filler { bytes: 500 });
        let closed = Pacing::Closed {
            clients: 7,
            think_time_ns: 1_000_000_000,
            think_distribution: ThinkDistribution::Uniform,
        };
        let wanted = null_load(&plan(closed, Body::None));
        assert_eq!(
            wanted.pacing,
            Pacing::Closed {
                clients: 7,
                think_time_ns: 0,
                think_distribution: ThinkDistribution::None,
            }
        );
    }

    #[test]
    fn what_was_kept_for_another_start_of_the_machine_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/null-server.json");
        let mut kept = CalibrationCache::default();
        kept.calibrations
            .insert("a".into(), GeneratorCalibration::default());
        kept.write(&path).unwrap();
        assert_eq!(CalibrationCache::read(&path).unwrap().calibrations.len(), 1);
        let text = std::fs::read_to_string(&path).unwrap();
        let of = cache_fingerprint().unwrap();
        std::fs::write(&path, text.replace(&of, "another boot")).unwrap();
        assert!(CalibrationCache::read(&path).is_none());
    }

    #[test]
    fn a_server_that_does_nothing_answers_every_request_and_leaves_figures() {
        let rate = Pacing::Constant { rate_per_s: 500.0 };
        let (calibration, _) = measure(null_load(&plan(rate, Body::None))).unwrap();
        assert_eq!(calibration.latency.count, 225, "450 ms at 500/s");
        assert!(calibration.latency.p50_ns.is_some());
        assert!(calibration.cpu_per_exchange_ns.is_some());
        assert_eq!(calibration.offered_per_s, Some(500.0));
    }
}
