//! Machine, versions and settings as titled lists.

use tare_record::load::{Pacing, SessionSpec, Stop};
use tare_record::plan::{Addressing, Plan, Restart, RoleLoad};
use tare_record::record::{ClusterRecord, EnvironmentRecord};
use tare_record::text::value_of;
use tare_record::view::FactGroup;

use crate::{pace, quantity};
use tare_record::metric::Unit;

/// All facts, most important first.
pub fn facts(plan: &Plan, environment: Option<&EnvironmentRecord>) -> Vec<FactGroup> {
    let mut groups = Vec::new();
    if let Some(environment) = environment {
        groups.push(machine(environment));
        groups.extend(environment.clusters().map(cluster));
        groups.push(software(environment));
    }
    if let Some(calibration) = environment.and_then(|e| e.calibration.as_ref()) {
        let title = "host baseline (idle)";
        groups.push(group(title, calibration.in_words()));
    }
    groups.push(design(plan, environment));
    groups.extend(load(plan));
    if let Some(environment) = environment.filter(|e| !e.facts.is_empty()) {
        let facts = environment
            .facts
            .iter()
            .map(|(name, value)| (name.clone(), value.clone()));
        groups.push(group("limits and settings of the system", facts.collect()));
    }
    groups
}

fn group(title: &str, facts: Vec<(String, String)>) -> FactGroup {
    FactGroup {
        title: title.into(),
        facts,
    }
}

fn fact(name: &str, value: impl Into<String>) -> (String, String) {
    (name.into(), value.into())
}

fn machine(environment: &EnvironmentRecord) -> FactGroup {
    group(
        "machine",
        vec![
            fact("processor", environment.cpu_model.clone()),
            fact("cores", environment.cores.to_string()),
            fact(
                "memory",
                quantity::value(Unit::Bytes, environment.memory_bytes as f64),
            ),
            fact("system", environment.os.clone()),
            fact("kernel", environment.kernel.clone()),
            fact("fingerprint", environment.fingerprint.clone()),
        ],
    )
}

fn cluster(cluster: &ClusterRecord) -> FactGroup {
    let mut facts = vec![
        fact("Kubernetes", cluster.kubernetes.clone()),
        fact("cluster", cluster.id.clone()),
        fact("image", cluster.image.clone()),
    ];
    let load_cores = cluster.load_cores.map(|cores| cores.to_string());
    facts.extend(load_cores.map(|cores| fact("exclusive cores per pod of agents", cores)));
    facts.extend(cluster.nodes.iter().map(|node| {
        let place = [&node.instance_type, &node.zone];
        let place = place.into_iter().flatten().map(|word| format!(", {word}"));
        let place: String = place.collect();
        let words = format!(
            "{} cores, {}{place}, kernel {}, {}",
            node.cores,
            quantity::value(Unit::Bytes, node.memory_bytes as f64),
            node.kernel,
            node.runtime
        );
        (format!("node {}", node.node), words)
    }));
    match cluster.sites.is_empty() {
        true => group("cluster", facts),
        false => group(&format!("cluster of {}", cluster.sites.join(", ")), facts),
    }
}

fn software(environment: &EnvironmentRecord) -> FactGroup {
    let build = environment.tare_build.as_ref();
    let mut facts = vec![fact("tare", build.unwrap_or(&environment.tare).clone())];
    let program = environment.tare_sha256.clone();
    facts.extend(program.map(|digest| fact("program of tare, SHA-256", digest)));
    facts.extend(environment.targets.iter().map(|(name, version)| {
        (
            name.clone(),
            format!("{} ({})", version.version, version.source),
        )
    }));
    group("software", facts)
}

fn design(plan: &Plan, environment: Option<&EnvironmentRecord>) -> FactGroup {
    let blocks = match (plan.blocks.min, plan.blocks.max, plan.blocks.until) {
        (min, max, _) if min == max => min.to_string(),
        (min, max, None) => format!("{min} to {max}"),
        (min, max, Some(until)) => format!(
            "{min} to {max}, until the {} is known within {}",
            until.metric.label(),
            quantity::percent(until.half_width)
        ),
    };
    let restart = match plan.restart {
        Restart::Trial => "for every trial",
        Restart::Block => "for every arm in every block",
        Restart::Run => "once per run and arm",
    };
    let burn_in = plan.burn_in_ns.map_or_else(
        || "as every trial's".to_string(),
        |ns| quantity::value(Unit::Nanoseconds, ns as f64),
    );
    let baseline = match plan.aa_check {
        true => "twice in each block",
        false => "once in each block",
    };
    let primary: Vec<&str> = plan.primary.iter().map(|metric| metric.label()).collect();
    let cpus = |cpus: &[u32]| match cpus {
        [] => "all".to_string(),
        some => some
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    };
    let mut facts = vec![
        fact("experiment", plan.file.clone()),
        fact(
            "workload",
            format!("{}: {}", plan.workload.name, plan.workload.about),
        ),
        fact("blocks", blocks),
        fact(
            "order",
            format!("random within a block, seed {}", plan.seed),
        ),
        fact("targets restarted", restart),
        fact("burn-in", burn_in),
        fact("baseline runs", baseline),
        fact("primary metrics", primary.join(", ")),
        fact("margin", quantity::margin(plan)),
        fact("placement", addressing(plan, environment)),
        fact("cores of the agents", cpus(&plan.placement.agent_cpus)),
        fact(
            "cores of everything else",
            cpus(&plan.placement.target_cpus),
        ),
    ];
    let external = plan.external().into_iter();
    facts.extend(external.map(|one| {
        let words = format!("{}: {}", one.name, one.in_words());
        fact("external part", words)
    }));
    let links = plan.site_links.iter();
    facts.extend(links.map(|link| fact("round trip between sites", link.in_words())));
    facts.extend(plan.capacity.as_ref().map(|capacity| {
        let carried = quantity::value(Unit::PerSecond, capacity.achieved_per_s);
        fact(
            "sustained at max rate",
            format!("{carried} ({})", capacity.arm),
        )
    }));
    group("design", facts)
}

/// The addressing that was used; the plan may leave it open.
fn addressing(plan: &Plan, environment: Option<&EnvironmentRecord>) -> &'static str {
    let made = environment.and_then(|environment| value_of(&environment.addressing));
    match made.unwrap_or(plan.addressing) {
        Addressing::Loopback => "loopback addresses",
        Addressing::Namespaces => "network namespaces",
        Addressing::Auto => "network namespaces where possible",
    }
}

/// The load of each role in the first cell; values that vary between levels are in their names.
fn load(plan: &Plan) -> Vec<FactGroup> {
    let Some(cell) = plan.cells.first() else {
        return Vec::new();
    };
    cell.load.iter().map(role).collect()
}

/// Names of a session's requests, in order.
fn steps(session: &SessionSpec) -> String {
    let steps = session.request_steps();
    let names: Vec<&str> = steps
        .iter()
        .map(|step| step.request.name.as_str())
        .collect();
    names.join(", ")
}

fn role(role: &RoleLoad) -> FactGroup {
    let load = &role.load;
    let pacing = match &load.pacing {
        // The rate is in the names of the levels.
        Pacing::Constant { .. } | Pacing::Poisson { .. } => pace::kind(&load.pacing).into(),
        varied => pace::words(varied),
    };
    let stop = match load.stop {
        Stop::Duration { window_ns } => quantity::value(Unit::Nanoseconds, window_ns as f64),
        Stop::Count { exchanges } => format!("{exchanges} exchanges"),
        Stop::Interrupted => "until interrupted".into(),
    };
    let protocol = &load.client.protocol;
    let connections = u64::from(load.client.connections);
    let connections = quantity::counted(connections, "connection", "connections");
    let requests: Vec<String> = load
        .requests
        .iter()
        .map(|request| format!("{} {} ({})", request.method, request.path, request.name))
        .collect();
    let sent = match &load.mix.session {
        Some(session) => fact("session of", steps(session)),
        None => fact("requests", requests.join(", ")),
    };
    let ns = |ns: u64| quantity::value(Unit::Nanoseconds, ns as f64);
    group(
        &format!("load: {}", role.role),
        vec![
            fact("edge", role.edge.clone()),
            fact("pacing", pacing),
            fact("window", stop),
            fact("warm-up", ns(load.warmup_ns)),
            fact("timeout", ns(load.timeout_ns)),
            fact("client", format!("{protocol}, {connections}")),
            sent,
            fact("agents", role.agents.to_string()),
            fact("worker threads", load.workers.to_string()),
        ],
    )
}
