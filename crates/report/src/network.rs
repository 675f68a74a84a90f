//! Network traffic of pods and usage of the machine, over the fit trials of a cell.

use tare_schema::metric::Unit;
use tare_schema::plan::Placement;
use tare_schema::record::{MachineUsage, PodUsage, TrialRecord};
use tare_schema::view::{MachineView, PodView};

use crate::cells::median;
use crate::measure;
use crate::quantity::{self, MISSING};

/// Heads of [`PodView::texts`].
pub const POD_HEADS: [&str; 6] = [
    "packets in /1000",
    "packets out /1000",
    "bytes in /exchange",
    "bytes out /exchange",
    "connections",
    "retransmits",
];

/// Heads of [`MachineView::texts`].
pub const MACHINE_HEADS: [&str; 8] = [
    "softirq",
    "steal",
    "parts' cores busy",
    "background, parts' cores",
    "background, generator cores",
    "other arms, parts' cores",
    "busiest core",
    "throttled",
];

/// Every pod with its own network namespace, in the order of the records.
pub fn pods(records: &[&TrialRecord]) -> Vec<PodView> {
    let mut names: Vec<&str> = Vec::new();
    for pod in records.iter().flat_map(|record| pod_usages(record)) {
        if !names.contains(&pod.pod.as_str()) {
            names.push(&pod.pod);
        }
    }
    names.into_iter().map(|name| pod(name, records)).collect()
}

fn pod_usages(record: &TrialRecord) -> &[PodUsage] {
    record.machine.as_ref().map_or(&[], |machine| &machine.pods)
}

fn pod(name: &str, records: &[&TrialRecord]) -> PodView {
    let figure = |amount: &dyn Fn(&TrialRecord, &PodUsage) -> Option<f64>| {
        let values = records.iter().map(|record| {
            let pod = pod_usages(record).iter().find(|pod| pod.pod == name)?;
            amount(record, pod)
        });
        median(values.collect())
    };
    let per_1000 = |count: fn(&PodUsage) -> Option<u64>| {
        figure(&move |record, pod| measure::per_1000(record, count(pod)? as f64))
    };
    let in_window =
        |count: fn(&PodUsage) -> Option<u64>| figure(&move |_, pod| Some(count(pod)? as f64));
    let each = |per_1000: Option<f64>| per_1000.map(|amount| amount / 1000.0);
    let mut view = PodView {
        pod: name.to_owned(),
        packets_in_per_1000: per_1000(|pod| pod.packets_in),
        packets_out_per_1000: per_1000(|pod| pod.packets_out),
        bytes_in_per_exchange: each(per_1000(|pod| pod.bytes_in)),
        bytes_out_per_exchange: each(per_1000(|pod| pod.bytes_out)),
        tcp_connections: in_window(|pod| Some(pod.tcp_opened? + pod.tcp_accepted?)),
        tcp_retransmits: in_window(|pod| pod.tcp_retransmits),
        texts: Vec::new(),
    };
    view.texts = vec![
        count(view.packets_in_per_1000),
        count(view.packets_out_per_1000),
        bytes(view.bytes_in_per_exchange),
        bytes(view.bytes_out_per_exchange),
        count(view.tcp_connections),
        count(view.tcp_retransmits),
    ];
    view
}

pub(crate) fn count(value: Option<f64>) -> String {
    value.map_or_else(|| MISSING.into(), quantity::count)
}

pub(crate) fn bytes(value: Option<f64>) -> String {
    value.map_or_else(
        || MISSING.into(),
        |value| quantity::value(Unit::Bytes, value),
    )
}

/// Usage of the whole machine.
pub fn machine(placement: &Placement, records: &[&TrialRecord]) -> MachineView {
    let figure = |share: &dyn Fn(&TrialRecord, &MachineUsage) -> Option<f64>| {
        let values = records
            .iter()
            .map(|record| share(record, record.machine.as_ref()?));
        median(values.collect())
    };
    let of_window = |ns: u64, machine: &MachineUsage| {
        (machine.window_ns > 0).then_some(ns as f64 / machine.window_ns as f64)
    };
    let mut view = MachineView {
        softirq_share: figure(&|_, machine| machine.softirq_share),
        steal_share: figure(&|_, machine| machine.steal_share),
        part_cores_busy: figure(&|_, machine| part_cores_busy(placement, machine)),
        background_part_share: figure(&|_, machine| Some(machine.background?.part_cores)),
        background_agent_share: figure(&|_, machine| machine.background?.agent_cores),
        other_arms_share: figure(&|_, machine| machine.other_arms),
        busiest_core: figure(&|_, machine| machine.core_busy.iter().copied().reduce(f64::max)),
        throttled_share: figure(&|record, machine| {
            let worst = record
                .parts
                .iter()
                .filter_map(|part| part.throttled_ns)
                .max();
            of_window(worst?, machine)
        }),
        texts: Vec::new(),
    };
    let percent = |share: Option<f64>| share.map_or_else(|| MISSING.into(), quantity::percent);
    view.texts = vec![
        percent(view.softirq_share),
        percent(view.steal_share),
        percent(view.part_cores_busy),
        percent(view.background_part_share),
        percent(view.background_agent_share),
        percent(view.other_arms_share),
        percent(view.busiest_core),
        percent(view.throttled_share),
    ];
    view
}

/// Mean busy share of the parts' cores; of all cores without placement.
fn part_cores_busy(placement: &Placement, machine: &MachineUsage) -> Option<f64> {
    let cores = &machine.core_busy;
    let of = |cpu: &u32| cores.get(*cpu as usize).copied();
    let (sum, count) = match placement.part_cpus.as_slice() {
        [] => (Some(cores.iter().sum::<f64>()), cores.len()),
        cpus => (cpus.iter().map(of).sum(), cpus.len()),
    };
    (count > 0).then(|| Some(sum? / count as f64))?
}
