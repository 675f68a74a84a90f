//! Whole loads over loopback: counts are exact, streams are complete, orders are followed.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails"
)]

mod rig;

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

use rig::{MS, OK, Server, count, measure, plan, request, try_measure};
use tare_load::{
    AgentError, LoadError, LoadProgress, SchedulingPolicy, StopHandle, abort_on_hangup, run,
    run_agent,
};
use tare_record::agent::{AgentMessage, ErrorSource, LoadEnd};
use tare_record::load::{
    ClientSpec, Cores, LoadPlan, Pacing, Sched, Spin, Stop, ThinkDistribution,
};

#[test]
fn a_constant_rate_by_count_sends_exactly_that_many() {
    let server = Server::answering(OK);
    let outcome = measure(&plan(server.address));
    let result = &outcome.result;
    assert_eq!(
        (result.intended, result.released, result.sent, result.ok),
        (100, 100, 100, 100)
    );
    assert_eq!(
        (result.errors, result.unfinished, result.overflow),
        (0, 0, 0)
    );
    assert_eq!(result.window_ns, 100 * MS);
    assert_eq!(server.requests(), 100);
    assert_eq!(result.requests_sent_total, 100);
    assert_eq!(
        result.generator.counts.kernel_timestamps + result.generator.counts.user_timestamps,
        100
    );
    assert_eq!(result.bytes_received, 100 * OK.len() as u64);
    for tag in [
        "client.root.latency",
        "client.root.service",
        "client.lateness",
        "client.receive-lag",
    ] {
        assert_eq!(outcome.totals[tag].count(), 100, "{tag}");
    }
}

#[test]
fn workers_together_send_every_request_once_and_their_histograms_add_up() {
    for workers in [1, 2, 4] {
        let server = Server::answering(OK);
        let mut plan = plan(server.address);
        plan.load.workers = workers;
        plan.load.client = ClientSpec::new("http1", 5);
        plan.load.stop = Stop::Count { exchanges: 301 };
        plan.load.warmup_ns = 50 * MS;
        let outcome = measure(&plan);
        let result = &outcome.result;
        assert_eq!((result.intended, result.ok), (301, 301));
        assert_eq!(result.requests_sent_total, 351, "50 of them in the warm-up");
        let by_request = &result.by_request["root"];
        assert_eq!((by_request.sent, by_request.ok), (351, 351));
        assert_eq!(server.requests(), 351);
        assert_eq!(server.connections.load(Ordering::SeqCst), 5);
        assert_eq!(outcome.totals["client.root.latency"].count(), 301);
        assert_eq!(result.generator.worker_cpu_ns.len(), workers as usize);
        let text = result.latency_hlog.as_bytes();
        let merged = tare_stats::hlog::read_merged(text, ..).unwrap();
        assert_eq!(
            merged["client.root.latency"].sparse(),
            outcome.totals["client.root.latency"],
            "the log of {workers} workers holds the same, to the last count"
        );
    }
}

#[test]
fn a_closed_loop_and_a_full_speed_by_count_are_exact_too() {
    for pacing in [
        Pacing::Closed {
            clients: 3,
            think_time_ns: MS,
            think_distribution: ThinkDistribution::None,
        },
        Pacing::Max,
    ] {
        let server = Server::answering(OK);
        let mut plan = plan(server.address);
        plan.load.pacing = pacing.clone();
        plan.load.workers = 2;
        plan.load.client = ClientSpec::new("http1", 4);
        plan.load.stop = Stop::Count { exchanges: 500 };
        let outcome = measure(&plan);
        assert_eq!(
            (outcome.result.intended, outcome.result.ok),
            (500, 500),
            "{pacing:?}"
        );
        assert_eq!(server.requests(), 500);
        assert!(outcome.result.window_ns > 0);
        assert_eq!(outcome.result.ended, LoadEnd::Completed);
    }
}

#[test]
fn spinning_before_starts_changes_no_count() {
    let server = Server::answering(OK);
    let mut plan = plan(server.address);
    plan.load.spin = Spin::Bounded;
    let outcome = measure(&plan);
    assert_eq!(outcome.result.ok, 100);
    let ours = &outcome.result.generator;
    assert!(ours.worker_spun_ns.iter().sum::<u64>() <= ours.cpu_ns.max(1));
}

#[test]
fn workers_precede_their_neighbours_where_they_may_and_the_result_says_so() {
    use rustix::process::getpriority_process;
    let own = getpriority_process(None).unwrap();
    let server = Server::answering(OK);
    for (cores, sched, precedence) in [
        (Cores::Shared, Sched::Auto, SchedulingPolicy::Niceness),
        (Cores::Dedicated, Sched::Normal, SchedulingPolicy::Niceness),
        (Cores::Dedicated, Sched::Auto, SchedulingPolicy::Fifo),
        (Cores::Shared, Sched::Fifo, SchedulingPolicy::Fifo),
    ] {
        let mut plan = plan(server.address);
        (plan.cores, plan.load.sched) = (cores, sched);
        // It is a thread's own: this one finds out what a worker is given here.
        let given = std::thread::spawn(move || precedence.take());
        let expected = given.join().unwrap();
        let outcome = measure(&plan);
        assert_eq!(
            outcome.result.generator.sched_policy,
            Some(expected),
            "{sched:?}"
        );
        assert_eq!(outcome.result.ok, 100);
    }
    assert_eq!(getpriority_process(None).unwrap(), own, "nobody else's");
}

#[test]
fn requests_are_chosen_by_weight_from_the_seed() {
    let server = Server::answering(OK);
    let mut plan = plan(server.address);
    plan.load.requests = vec![request("often", "/often"), request("seldom", "/seldom")];
    plan.load.requests[0].weight = 3.0;
    plan.load.stop = Stop::Count { exchanges: 400 };
    plan.load.pacing = Pacing::Max;
    let shares = |outcome: &tare_load::LoadOutcome| {
        ["often", "seldom"].map(|name| outcome.totals[&format!("client.{name}.latency")].count())
    };
    let first = shares(&measure(&plan));
    assert_eq!(first[0] + first[1], 400);
    assert!((260..=340).contains(&first[0]), "{first:?}");
    assert_eq!(
        shares(&measure(&plan)),
        first,
        "the same seed chooses the same"
    );
}

fn messages(plan: &LoadPlan) -> (Vec<AgentMessage>, Result<(), AgentError>) {
    let mut stream = Vec::new();
    let ended = run_agent(plan, &mut stream, &StopHandle::new());
    let text = String::from_utf8(stream).unwrap();
    (
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect(),
        ended,
    )
}

/// The same of an agent that is to end at once: one that waits fails its test.
fn prompt_messages(plan: LoadPlan) -> (Vec<AgentMessage>, Result<(), AgentError>) {
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || sender.send(messages(&plan)));
    let ended = ended.recv_timeout(Duration::from_secs(10));
    ended.unwrap_or_else(|_| panic!("the agent neither starts nor ends"))
}

#[test]
fn an_agent_says_hello_ready_samples_and_the_result_in_this_order() {
    let server = Server::answering(OK);
    let mut plan = plan(server.address);
    plan.load.sample_every_ns = 20 * MS;
    let (messages, ended) = messages(&plan);
    ended.unwrap();
    assert!(matches!(messages[0], AgentMessage::Hello { .. }));
    assert!(matches!(
        messages[1],
        AgentMessage::Ready { connections: 2, .. }
    ));
    let last = messages.len() - 1;
    let mut ok = 0;
    let mut offset_ns = 0;
    for message in &messages[2..last] {
        let AgentMessage::Sample(sample) = message else {
            panic!("{message:?}")
        };
        assert_eq!(
            sample.offset_ns - sample.length_ns,
            offset_ns,
            "samples follow each other without a gap"
        );
        offset_ns = sample.offset_ns;
        ok += sample.ok;
    }
    assert!(last - 2 >= 5, "{} samples", last - 2);
    let AgentMessage::Result(result) = &messages[last] else {
        panic!()
    };
    assert_eq!((ok, result.ok), (100, 100));
}

#[test]
fn a_start_that_has_passed_shows_as_lateness() {
    let server = Server::answering(OK);
    let mut plan = plan(server.address);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    plan.start_at_unix_us = Some(now.as_micros() as u64 - 50_000);
    let outcome = measure(&plan);
    assert_eq!(outcome.result.ok, 100);
    let late = outcome.result.generator.lateness.max_ns.unwrap();
    assert!(
        late >= 50 * MS,
        "the first exchange was 50 ms late at least: {late}"
    );
}

#[test]
fn a_start_by_a_clock_that_was_set_is_refused_at_once() {
    let server = Server::answering(OK);
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let now_us = now.as_micros() as u64;
    let hour_us = 3600 * 1_000_000;
    for (start_us, said) in [
        (now_us + hour_us, "s ahead of this machine's clock"),
        (now_us - hour_us, "s behind this machine's clock"),
        (u64::MAX, "s ahead of this machine's clock"),
    ] {
        let mut plan = plan(server.address);
        plan.start_at_unix_us = Some(start_us);
        plan.start_lead_ns = Some(200 * MS);
        let (messages, ended) = prompt_messages(plan);
        assert!(matches!(
            ended,
            Err(AgentError::Load(LoadError::Clock { .. }))
        ));
        let Some(AgentMessage::Failed { error }) = messages.last() else {
            panic!("{messages:?}")
        };
        assert!(error.contains(said) && error.contains("NTP"), "{error}");
    }
    // As far ahead as its conductor says.
    let mut plan = plan(server.address);
    plan.start_at_unix_us = Some(now_us - hour_us);
    plan.start_lead_ns = Some(2 * hour_us * 1000);
    assert_eq!(measure(&plan).result.ok, 100);
}

#[test]
fn without_a_server_an_agent_fails_and_says_what_to_do() {
    let nobody = std::net::SocketAddr::from(([127, 0, 0, 1], 1));
    let (messages, ended) = messages(&plan(nobody));
    assert!(matches!(
        ended,
        Err(AgentError::Load(LoadError::NoConnection { .. }))
    ));
    let Some(AgentMessage::Failed { error }) = messages.last() else {
        panic!()
    };
    assert!(
        error.contains("refused") && error.contains("start the server"),
        "{error}"
    );
}

#[test]
fn an_order_to_end_cuts_the_window_and_keeps_what_was_measured() {
    let server = Server::answering(OK);
    let mut plan = plan(server.address);
    plan.load.stop = Stop::Interrupted;
    plan.load.sample_every_ns = 20 * MS;
    plan.load.workers = 2;
    let stop = StopHandle::new();
    let mut samples = 0;
    let outcome = run(&plan, &stop, &mut |progress| {
        if let LoadProgress::Sample(_) = progress {
            samples += 1;
            if samples == 5 {
                stop.end();
            }
        }
        ControlFlow::Continue(())
    })
    .unwrap();
    let result = &outcome.result;
    assert_eq!(result.ended, LoadEnd::Interrupted);
    assert!(result.window_ns >= 100 * MS);
    assert_eq!(result.intended, result.ok);
    let planned = result.window_ns.div_ceil(MS);
    assert!(
        result.intended.abs_diff(planned) <= 1,
        "{} of {planned} starts",
        result.intended
    );
}

#[test]
fn an_order_given_before_the_start_ends_the_load_with_nothing_measured() {
    let server = Server::answering(OK);
    let stop = StopHandle::new();
    stop.end();
    let outcome = run(&plan(server.address), &stop, &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(
        (outcome.result.ended, outcome.result.intended),
        (LoadEnd::Interrupted, 0)
    );
}

/// A reader that goes away after two lines.
struct Leaving(u32);

impl Write for Leaving {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_agent_whose_reader_has_gone_ends_at_once() {
    let server = Server::answering(OK);
    let mut plan = plan(server.address);
    plan.load.stop = Stop::Interrupted;
    plan.load.sample_every_ns = 20 * MS;
    let ended = run_agent(&plan, Leaving(2), &StopHandle::new());
    assert!(matches!(ended, Err(AgentError::Stream(_))), "{ended:?}");
}

#[test]
fn an_agent_notices_at_once_that_its_pipe_has_no_reader() {
    let server = Server::answering(OK);
    let mut plan = plan(server.address);
    plan.load.stop = Stop::Interrupted;
    plan.load.sample_every_ns = 3600 * 1000 * MS;
    let (reader, writer) = io::pipe().unwrap();
    let stop = StopHandle::new();
    abort_on_hangup(writer.try_clone().unwrap(), stop.clone()).unwrap();
    let agent = std::thread::spawn(move || run_agent(&plan, writer, &stop));
    let mut lines = io::BufRead::lines(io::BufReader::new(reader));
    assert!(lines.next().unwrap().unwrap().contains("hello"));
    assert!(lines.next().unwrap().unwrap().contains("ready"));
    drop(lines);
    // No sample is due for an hour: only the watch can have ended it.
    assert!(matches!(agent.join().unwrap(), Err(AgentError::Stream(_))));
}

#[test]
fn an_order_to_give_up_while_connecting_ends_the_load() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut plan = plan(listener.local_addr().unwrap());
    plan.load.client = ClientSpec::new("http1", 64);
    plan.load.timeout_ns = 60_000 * MS;
    let stop = StopHandle::new();
    stop.abort();
    let outcome = run(&plan, &stop, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(
        (outcome.result.ended, outcome.result.intended),
        (LoadEnd::Interrupted, 0)
    );
}

#[test]
fn a_plan_that_makes_no_sense_is_refused_before_anything_is_started() {
    let server = Server::answering(OK);
    let wrong = |change: &dyn Fn(&mut LoadPlan)| {
        let mut plan = plan(server.address);
        change(&mut plan);
        match try_measure(&plan) {
            Err(LoadError::Plan(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert!(wrong(&|p| p.load.pacing = Pacing::Constant { rate_per_s: 0.0 }).contains("rate"));
    assert!(
        wrong(&|p| p.load.pacing = Pacing::Constant {
            rate_per_s: f64::NAN
        })
        .contains("rate")
    );
    assert!(wrong(&|p| p.load.requests.clear()).contains("requests"));
    assert!(wrong(&|p| p.load.requests.push(request("root", "/"))).contains("named"));
    assert!(wrong(&|p| p.load.requests[0].path = "no slash".into()).contains("path"));
    assert!(wrong(&|p| p.role = "a,b".into()).contains("tag"));
    assert!(wrong(&|p| p.endpoint.addresses.clear()).contains("addresses"));
    assert!(wrong(&|p| p.version = 99).contains("version"));
    let planned = ClientSpec::new("kafka", 1);
    assert!(wrong(&|p| p.load.client = planned.clone()).contains("kafka"));
    assert_eq!(server.connections.load(Ordering::SeqCst), 0);
}

#[test]
fn more_connections_than_descriptors_are_refused_with_the_limit() {
    let server = Server::answering(OK);
    let mut plan = plan(server.address);
    plan.load.client = ClientSpec::new("http1", 1_000_000);
    match try_measure(&plan) {
        Err(error @ LoadError::Descriptors { .. }) => assert!(error.to_string().contains("ulimit")),
        other => panic!("a machine that allows a million descriptors? {other:?}"),
    }
}

#[test]
fn hundreds_of_connections_are_opened_held_and_used() {
    let server = Server::answering(OK);
    let mut plan = plan(server.address);
    plan.load.client = ClientSpec::new("http1", 300);
    plan.load.stop = Stop::Count { exchanges: 900 };
    plan.load.pacing = Pacing::Constant { rate_per_s: 3000.0 };
    let outcome = measure(&plan);
    assert_eq!(outcome.result.ok, 900);
    assert_eq!(outcome.result.connections.peak, 300);
    assert_eq!(outcome.result.connections.reconnects, 0);
    assert_eq!(count(&outcome, "ok"), 900);
    assert!(
        outcome
            .result
            .outcomes
            .iter()
            .all(|o| o.error_source == ErrorSource::None)
    );
}
