//! A scripted laboratory: beds and agents that answer at once with what a script says.

mod plan;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tare_conduct::{Event, StopDecision, Watcher};
use tare_lab::LabError;
use tare_lab::environment::{
    Agent, Environment, FaultAction, HttpResponse, InstanceCounters, Observation, StartDuration,
    TestBed, TestBedPlan, TopicAdministration, UnexpectedExit,
};
use tare_lab::fault::FaultHandle;
use tare_record::FORMAT_VERSION;
use tare_record::agent::{
    Acknowledged, AgentMessage, CompletedCounts, ConnectionCounts, GeneratorStats, LoadEnd,
    LoadResult, QuantileSummary,
};
use tare_record::counter::{CounterKind, CounterReading};
use tare_record::load::{Endpoint, LoadPlan};
use tare_record::plan::{Ask, PreparedTopic};
use tare_record::record::{
    EnvironmentRecord, InstanceUsage, MachineUsage, ReadBackRecord, TargetVersion,
};
use tare_record::topology::Topology;

pub use plan::plan;

/// What becomes of one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// All well.
    Good,
    /// A fifth of the starts were bunched.
    Bunched,
    /// The load could not go on to its end.
    Aborted,
    /// A proxy saw one request less than was sent.
    Bypassed,
    /// The proxy dies.
    Dies,
    /// The agent answers what is no result, then nothing.
    AgentFails,
    /// Every exchange fails.
    AllWrong,
    /// The agent gets no turn at all.
    Starved,
    /// What is sent in the warm-up is never answered, so nothing follows.
    Hangs,
    /// Every request of the proxy is counted a while after its answer.
    CountsLater,
    /// The audit finds that something does not add up.
    BooksWrong,
    /// The bed does not come up.
    NoStart,
    /// A record that was acknowledged is not there.
    Loses,
    /// What is external takes no connection any more.
    Gone,
}

/// The laboratory; counts what it was asked for.
#[derive(Clone, Default)]
pub struct Lab {
    pub fates: Arc<Mutex<VecDeque<Fate>>>,
    pub placed: Arc<Mutex<Vec<String>>>,
    pub stopped: Arc<Mutex<u32>>,
    /// Test beds whose instances run, now.
    running: Arc<Mutex<u32>>,
    /// Test beds that were paused, in all.
    pub pauses: Arc<Mutex<u32>>,
    /// Test beds whose instances ran at the start of each agent.
    pub running_at_agents: Arc<Mutex<Vec<u32>>>,
    /// Questions after trials.
    pub asked: Arc<Mutex<Vec<String>>>,
    /// Faults, in order: what and to whom.
    pub disturbed: Arc<Mutex<Vec<String>>>,
    pub mended: Arc<Mutex<u32>>,
    /// Steps and agents, in the order in which they were wanted.
    pub steps: Arc<Mutex<Vec<String>>>,
    /// What agents were told, in order.
    pub orders: Arc<Mutex<Vec<LoadPlan>>>,
    /// What their workers then took for an exchange, in turn; none: 10 ns.
    pub costs_ns: Arc<Mutex<VecDeque<u64>>>,
    /// How often software was fetched.
    pub fetched: Arc<Mutex<u32>>,
    pub fingerprint: String,
    /// Digest of the program that conducts.
    pub tare: String,
    pub targets: BTreeMap<String, TargetVersion>,
    /// What the server of every bed says to have taken to come up.
    pub start_takes: Option<Duration>,
    /// Nothing external is to be found.
    pub nowhere: bool,
    /// What instances of other arms use while a trial is observed, in cores.
    pub other_arms: f64,
}

fn outside(reason: &str) -> LabError {
    LabError::External {
        instance: "server".into(),
        at: "127.0.0.1:9".into(),
        reason: reason.into(),
    }
}

impl Lab {
    fn record(&self) -> EnvironmentRecord {
        EnvironmentRecord {
            version: FORMAT_VERSION,
            tare: "0".into(),
            tare_build: None,
            tare_sha256: Some(self.tare.clone()),
            environment: "scripted".into(),
            addressing: "none".into(),
            kernel: "k".into(),
            os: "o".into(),
            cpu_model: "c".into(),
            cores: 2,
            memory_bytes: 1,
            machine_id: None,
            boot_id: "b".into(),
            fingerprint: self.fingerprint.clone(),
            targets: self.targets.clone(),
            checks: Vec::new(),
            facts: BTreeMap::new(),
            calibration: None,
            link_rtts: Vec::new(),
            cluster: None,
            further_clusters: Vec::new(),
        }
    }

    pub fn with(fates: &[Fate]) -> Self {
        Lab {
            fates: Arc::new(Mutex::new(fates.iter().copied().collect())),
            fingerprint: "one".into(),
            ..Lab::default()
        }
    }

    fn note(&self, step: String) {
        self.steps.lock().unwrap().push(step);
    }

    fn next_fate(&self) -> Fate {
        self.fates.lock().unwrap().pop_front().unwrap_or(Fate::Good)
    }

    fn peek_fate(&self) -> Fate {
        self.fates
            .lock()
            .unwrap()
            .front()
            .copied()
            .unwrap_or(Fate::Good)
    }
}

impl Environment for Lab {
    fn machine(&mut self) -> Result<Option<EnvironmentRecord>, LabError> {
        Ok(Some(EnvironmentRecord {
            targets: BTreeMap::new(),
            ..self.record()
        }))
    }

    fn provide(&mut self, _: &[String], _: &mut dyn FnMut(&str)) -> Result<(), LabError> {
        *self.fetched.lock().unwrap() += 1;
        Ok(())
    }

    fn resolve_external(&mut self, topology: &Topology) -> Result<(), LabError> {
        for one in &topology.external {
            self.note(format!("find {}", one.name));
        }
        match self.nowhere {
            true => Err(outside("no connection; start it")),
            false => Ok(()),
        }
    }

    fn describe(&mut self) -> Result<EnvironmentRecord, LabError> {
        Ok(self.record())
    }

    fn place(&mut self, plan: &TestBedPlan) -> Result<Box<dyn TestBed>, LabError> {
        self.placed.lock().unwrap().push(plan.name.clone());
        Ok(Box::new(ScriptedBed {
            lab: self.clone(),
            proxies: plan
                .topology
                .routes
                .iter()
                .flat_map(|route| route.proxies.clone())
                .collect(),
            seen: 0.0,
            observed: Arc::default(),
            readings: 0,
            fate: Fate::Good,
        }))
    }
}

struct ScriptedBed {
    lab: Lab,
    proxies: Vec<String>,
    seen: f64,
    readings: u32,
    fate: Fate,
    /// Whether the trial that runs is observed.
    observed: Arc<AtomicBool>,
}

/// Requests of every scripted trial.
pub const REQUESTS: u64 = 1000;
/// What every agent says its window was.
const WINDOW_NS: u64 = 1_000_000;
/// What of it its worker spun.
const SPUN_NS: u64 = 400_000;

impl TestBed for ScriptedBed {
    fn start(
        &mut self,
        waiting: &mut dyn FnMut(&str, Duration),
    ) -> Result<Vec<StartDuration>, LabError> {
        if self.lab.peek_fate() == Fate::NoStart {
            self.lab.next_fate();
            return Err(LabError::Plan("it does not come up".into()));
        }
        *self.lab.running.lock().unwrap() += 1;
        let Some(took) = self.lab.start_takes else {
            return Ok(Vec::new());
        };
        waiting("server", took);
        let target = String::from("origin");
        Ok(vec![StartDuration { target, took }])
    }

    fn ask(&mut self, ask: &Ask) -> Result<HttpResponse, LabError> {
        let asked = format!("{} {}", ask.request.method, ask.request.path);
        self.lab.asked.lock().unwrap().push(asked);
        let (status, text) = match self.fate {
            Fate::BooksWrong => (409, "miles: 7 instead of 8"),
            _ => (200, ""),
        };
        Ok(HttpResponse {
            status,
            text: text.into(),
        })
    }

    fn inject_fault(
        &mut self,
        instance: &str,
        action: FaultAction,
    ) -> Result<FaultHandle, LabError> {
        self.disturb(format!("{action:?} {instance}"))
    }

    fn pause(&mut self) -> Result<(), LabError> {
        *self.lab.running.lock().unwrap() -= 1;
        *self.lab.pauses.lock().unwrap() += 1;
        Ok(())
    }

    fn resume(&mut self, waiting: &mut dyn FnMut(&str, Duration)) -> Result<(), LabError> {
        waiting("server", Duration::ZERO);
        *self.lab.running.lock().unwrap() += 1;
        Ok(())
    }

    fn recover(&mut self) -> Result<(), LabError> {
        *self.lab.mended.lock().unwrap() += 1;
        Ok(())
    }

    fn topics(&mut self) -> Result<&mut dyn TopicAdministration, LabError> {
        Ok(self)
    }

    fn endpoint(&self, _: &str, _: &str) -> Result<Endpoint, LabError> {
        Ok(Endpoint {
            addresses: vec!["127.0.0.1:9".parse().unwrap()],
            host: "server".into(),
        })
    }

    fn start_agent(&mut self, _: &str, plan: &LoadPlan) -> Result<Box<dyn Agent>, LabError> {
        self.lab
            .note(format!("{}: {:?}", plan.role, plan.load.stop));
        self.lab.orders.lock().unwrap().push(plan.clone());
        let running = *self.lab.running.lock().unwrap();
        self.lab.running_at_agents.lock().unwrap().push(running);
        let cost_ns = self.lab.costs_ns.lock().unwrap().pop_front();
        self.fate = self.lab.next_fate();
        self.seen += match self.fate {
            Fate::Bypassed => REQUESTS as f64 - 1.0,
            Fate::Starved => 0.0,
            _ => REQUESTS as f64,
        };
        // What prepares a trial is not observed.
        let is_trial = plan.start_at_unix_us.is_some();
        self.observed.store(!is_trial, Ordering::Relaxed);
        Ok(Box::new(ScriptedAgent {
            said: RefCell::new(false),
            is_over: false,
            observed: Arc::clone(&self.observed),
            ends: Instant::now() + until_start(plan) + Duration::from_millis(5),
            result: result(plan, self.fate, cost_ns.unwrap_or(10)),
            fate: self.fate,
        }))
    }

    fn counters(&mut self) -> Result<Vec<InstanceCounters>, LabError> {
        self.readings += 1;
        let seen = match (self.fate, self.readings) {
            (Fate::CountsLater, 2..=3) => self.seen - REQUESTS as f64,
            _ => self.seen,
        };
        Ok(self
            .proxies
            .iter()
            .map(|proxy| InstanceCounters {
                instance: proxy.clone(),
                readings: vec![CounterReading {
                    name: "requests".into(),
                    edge: None,
                    label: None,
                    value: seen,
                    kind: CounterKind::Counter,
                }],
            })
            .collect())
    }

    fn observe(&mut self) -> Result<Box<dyn Observation>, LabError> {
        self.observed.store(true, Ordering::Relaxed);
        Ok(Box::new(Usage {
            other_arms: self.lab.other_arms,
        }))
    }

    fn check_external(&mut self) -> Result<(), LabError> {
        match self.fate {
            Fate::Gone => Err(outside("it takes no connection any more")),
            _ => Ok(()),
        }
    }

    fn unexpected_exits(&mut self) -> Vec<UnexpectedExit> {
        if self.fate == Fate::Dies {
            return vec![UnexpectedExit {
                instance: "client-sidecar".into(),
                how: "killed by signal 11".into(),
                log_tail: vec!["last words".into()],
            }];
        }
        Vec::new()
    }

    fn collect(&mut self, _: &Path) -> Result<Vec<PathBuf>, LabError> {
        Ok(Vec::new())
    }

    fn stop(&mut self) -> Result<(), LabError> {
        *self.lab.stopped.lock().unwrap() += 1;
        Ok(())
    }
}

impl ScriptedBed {
    fn disturb(&self, what: String) -> Result<FaultHandle, LabError> {
        self.lab.disturbed.lock().unwrap().push(what);
        Ok(FaultHandle::done(Ok("done".into())))
    }
}

impl TopicAdministration for ScriptedBed {
    fn create(&mut self, topic: &PreparedTopic, _: u32, _: u16) -> Result<(), LabError> {
        self.lab.note(format!("make {}", topic.topic));
        Ok(())
    }

    fn delete(&mut self, topic: &PreparedTopic) -> Result<(), LabError> {
        self.lab.note(format!("undo {}", topic.topic));
        Ok(())
    }

    fn elect_preferred_leaders(&mut self, topic: &PreparedTopic) -> Result<FaultHandle, LabError> {
        self.disturb(format!("elect {}", topic.topic))
    }

    fn reassign(&mut self, topic: &PreparedTopic) -> Result<FaultHandle, LabError> {
        self.disturb(format!("reassign {}", topic.topic))
    }

    fn read_back(
        &mut self,
        topic: &PreparedTopic,
        _: u64,
        acknowledged: &[Acknowledged],
    ) -> Result<ReadBackRecord, LabError> {
        let lost = u64::from(self.fate == Fate::Loses);
        let all: u64 = acknowledged
            .iter()
            .flat_map(|one| &one.ranges)
            .map(|range| range[1])
            .sum();
        Ok(ReadBackRecord {
            topic: topic.topic.clone(),
            acknowledged: all,
            read: all - lost,
            lost,
            duplicated: 0,
            unacknowledged: 0,
            reordered: 0,
            unexpected: 0,
            violations: Vec::new(),
        })
    }
}

/// An observation in which all use the same at all times.
struct Usage {
    other_arms: f64,
}

impl Observation for Usage {
    fn tick(&mut self) {}

    fn finish(self: Box<Self>) -> Result<(Vec<InstanceUsage>, MachineUsage), LabError> {
        let part = |role: &str, share: f64| InstanceUsage {
            instance: role.into(),
            role: role.into(),
            cpu_ns: Some((share * WINDOW_NS as f64) as u64),
            ..InstanceUsage::default()
        };
        let machine = MachineUsage {
            window_ns: WINDOW_NS,
            core_busy: vec![0.95, 0.5],
            core_unattributed: vec![0.0, 0.0],
            other_arms_cpu_ns: Some((self.other_arms * WINDOW_NS as f64) as u64),
            ..MachineUsage::default()
        };
        Ok((vec![part("app", 0.7), part("agent", 0.4)], machine))
    }
}

struct ScriptedAgent {
    said: RefCell<bool>,
    is_over: bool,
    observed: Arc<AtomicBool>,
    ends: Instant,
    result: LoadResult,
    fate: Fate,
}

impl Agent for ScriptedAgent {
    fn next(&mut self, limit: Duration) -> Result<Option<AgentMessage>, LabError> {
        // It works until a moment after its window's start, as a real one does.
        let wait = self.ends.saturating_duration_since(Instant::now());
        if wait > limit {
            std::thread::park_timeout(limit);
            return Ok(None);
        }
        std::thread::park_timeout(wait);
        // Nor does it end before that on a machine that is too busy to look, or to do before its end what is due until then.
        let was_over = std::mem::replace(&mut self.is_over, true);
        if !was_over && self.fate != Fate::AgentFails {
            return Ok(None);
        }
        if !self.observed.load(Ordering::Relaxed) && self.fate != Fate::AgentFails {
            return Ok(None);
        }
        if self.said.replace(true) {
            return Ok(None);
        }
        Ok(Some(match self.fate {
            Fate::AgentFails => AgentMessage::Failed {
                error: "no descriptors left: raise the limit".into(),
            },
            _ => AgentMessage::Result(Box::new(self.result.clone())),
        }))
    }

    fn interrupt(&mut self) -> Result<(), LabError> {
        Ok(())
    }
}

fn until_start(plan: &LoadPlan) -> Duration {
    let Some(start_unix_us) = plan.start_at_unix_us else {
        return Duration::ZERO;
    };
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    Duration::from_micros(start_unix_us).saturating_sub(now)
}

fn result(plan: &LoadPlan, fate: Fate, cost_ns: u64) -> LoadResult {
    let sent = match fate {
        Fate::Starved | Fate::Hangs => 0,
        _ => REQUESTS,
    };
    let ok = if fate == Fate::AllWrong { 0 } else { sent };
    LoadResult {
        version: FORMAT_VERSION,
        role: plan.role.clone(),
        ended: if fate == Fate::Aborted {
            LoadEnd::Aborted
        } else {
            LoadEnd::Completed
        },
        abort_reason: (fate == Fate::Aborted).then(|| "the group is gone".into()),
        clock: None,
        window_start_unix_us: 1,
        window_ns: WINDOW_NS,
        offered_per_s: None,
        intended: sent,
        released: sent,
        sent,
        ok,
        errors: sent - ok,
        unfinished: 0,
        never_sent: 0,
        completed_in_window: CompletedCounts {
            ok,
            errors: sent - ok,
        },
        ok_by_status: Default::default(),
        redirects: None,
        failed_addresses: Vec::new(),
        overflow: 0,
        sessions: None,
        records: None,
        flow: None,
        outcomes: Vec::new(),
        connection_errors: Vec::new(),
        requests_sent_total: if fate == Fate::Starved { 0 } else { REQUESTS },
        requests_lost_total: 0,
        by_request: Default::default(),
        connections: ConnectionCounts::default(),
        protocol_counts: Default::default(),
        acknowledged: vec![Acknowledged {
            topic: "t".into(),
            partition: 0,
            writer: 0,
            ranges: vec![[0, REQUESTS]],
        }],
        tls: Vec::new(),
        client_certificates: 0,
        bytes_sent: 1,
        bytes_received: 1,
        queue_waits: Vec::new(),
        generator: GeneratorStats {
            lateness: QuantileSummary {
                count: REQUESTS,
                p50_ns: Some(10),
                p99_ns: Some(20),
                max_ns: Some(30),
            },
            worker_cpu_ns: vec![cost_ns * REQUESTS + SPUN_NS],
            worker_spun_ns: vec![SPUN_NS],
            bunched: Some(match fate {
                Fate::Bunched => REQUESTS / 5,
                _ => 0,
            }),
            ..GeneratorStats::default()
        },
        latency_hlog: String::new(),
        lateness_hlog: String::new(),
    }
}

/// A watcher that remembers, and interrupts after so many trials.
#[derive(Default)]
pub struct Memory {
    /// Time left, as it was told when each trial began.
    pub left: Vec<Duration>,
    pub heard: Vec<String>,
    pub interrupt_after: Option<u32>,
    pub trials: u32,
    pub enough_after: Option<u32>,
    pub asked: u32,
}

impl Watcher for Memory {
    fn on_event(&mut self, event: &Event<'_>) {
        match event {
            Event::TrialDone(record) => {
                self.trials += 1;
                self.heard.push(format!(
                    "{}/{}/{}/{}",
                    record.block, record.arm, record.aa_copy, record.attempt
                ));
            }
            Event::TrialStarted(progress) => self.left.push(progress.left),
            Event::Starting(_, instance, waited) => {
                self.heard.push(format!("{instance} after {waited:?}"));
            }
            Event::Step(_, step) => self.heard.push(format!("step {step}")),
            Event::Note(words) => self.heard.push((*words).to_owned()),
            Event::BlockDone { block, .. } => self.heard.push(format!("block {block}")),
            _ => {}
        }
    }

    fn should_stop(&mut self, _: &Path) -> StopDecision {
        self.asked += 1;
        match self.enough_after {
            Some(after) if self.asked >= after => StopDecision::Stop("narrow enough".into()),
            _ => StopDecision::Continue,
        }
    }

    fn interrupted(&self) -> bool {
        self.interrupt_after
            .is_some_and(|after| self.trials >= after)
    }
}
