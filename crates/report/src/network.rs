//! Network traffic of pods and usage of the machine, over the fit trials of a cell.

use tare_record::metric::Unit;
use tare_record::plan::Placement;
use tare_record::record::{MachineUsage, PodUsage, TrialRecord};
use tare_record::view::{CellView, MachineView, Output, Table, TableColumn, TableRow};

use crate::cells::{distinct, median};
use crate::tables::{TableInputs, cell, share};
use crate::{measure, quantity};

/// Heading of the section on the page.
pub const SECTION: &str = "Network and host";

/// Traffic of every pod with its own network namespace: medians over the trials of a cell.
pub fn pods(source: &TableInputs<'_>) -> Vec<Table> {
    let note = "Medians over the trials. With segmentation offload a kernel packet may be larger than one on a wire. Calls \
                within a pod are not counted.";
    let table = Table::new("pods", SECTION, "pod network traffic")
        .note(note)
        .only(match source.compares_arms() {
            true => &Output::ALL,
            false => &[Output::Page],
        })
        .columns([
            TableColumn::group("arm"),
            TableColumn::name("pod"),
            TableColumn::figure("packets in /1000").csv("packets in, {}", "per 1000"),
            TableColumn::figure("packets out /1000").csv("packets out, {}", "per 1000"),
            TableColumn::figure("bytes in /exchange")
                .csv("bytes in, {}", "bytes per exchange")
                .omit(1),
            TableColumn::figure("bytes out /exchange")
                .csv("bytes out, {}", "bytes per exchange")
                .omit(1),
            TableColumn::figure("connections").csv("TCP connections, {}", "per window"),
            TableColumn::figure("retransmits").csv("TCP retransmits, {}", "per window"),
        ]);
    source.per_level(&table, |level, cell| {
        let records = source.records(level, cell);
        let pods = records.iter().flat_map(|record| pod_usages(record));
        let names = distinct(pods.map(|pod| pod.pod.as_str())).into_iter();
        names.map(|name| pod(name, &records)).collect()
    })
}

fn pod_usages(record: &TrialRecord) -> &[PodUsage] {
    record.machine.as_ref().map_or(&[], |machine| &machine.pods)
}

fn pod(name: &str, records: &[&TrialRecord]) -> TableRow {
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
    let in_window = |count: fn(&PodUsage) -> Option<u64>| {
        let count = figure(&move |_, pod| Some(count(pod)? as f64));
        cell(count, quantity::count)
    };
    let bytes = |count: fn(&PodUsage) -> Option<u64>| {
        cell(per_1000(count).map(|amount| amount / 1000.0), |bytes| {
            quantity::value(Unit::Bytes, bytes)
        })
    };
    let cells = vec![
        name.into(),
        cell(per_1000(|pod| pod.packets_in), quantity::count),
        cell(per_1000(|pod| pod.packets_out), quantity::count),
        bytes(|pod| pod.bytes_in),
        bytes(|pod| pod.bytes_out),
        in_window(|pod| Some(pod.tcp_opened? + pod.tcp_accepted?)),
        in_window(|pod| pod.tcp_retransmits),
    ];
    TableRow {
        subject: Some(format!("pod {name}")),
        ..cells.into()
    }
}

/// Usage of the whole machine, a row per cell.
pub fn host(source: &TableInputs<'_>) -> Vec<Table> {
    let column = |label: &str, metric: &str| TableColumn::figure(label).csv(metric, "share");
    let table = Table::new("host-usage", SECTION, "host")
        .note("Medians over the trials. Softirq: receiving packets, charged to the interrupted process.")
        .only(&[Output::Markdown, Output::Page]);
    source.per_level_of(
        &table,
        measured,
        [
            (column("softirq", "softirq"), |of| {
                share(of.machine.softirq_share)
            }),
            (column("steal", "steal"), |of| share(of.machine.steal_share)),
            (column("parts' cores busy", "parts' cores busy"), |of| {
                share(of.machine.target_cores_busy)
            }),
            (
                column(
                    "background, parts' cores",
                    "other programs on the parts' cores",
                ),
                |of| share(of.machine.background_target_share),
            ),
            (
                column(
                    "background, generator cores",
                    "other programs on the generator's cores",
                ),
                |of| share(of.machine.background_agent_share),
            ),
            (
                column("other arms, parts' cores", "other arms on the parts' cores"),
                |of| share(of.machine.other_arms_share),
            ),
            (column("busiest core", "busiest core"), |of| {
                share(of.machine.busiest_core)
            }),
            (column("throttled", "throttled"), |of| {
                share(of.machine.throttled_share)
            }),
        ],
    )
}

fn measured(cell: &CellView) -> &[CellView] {
    match cell.trials_fit {
        0 => &[],
        _ => std::slice::from_ref(cell),
    }
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
    MachineView {
        softirq_share: figure(&|_, machine| machine.softirq_share),
        steal_share: figure(&|_, machine| machine.steal_share),
        target_cores_busy: figure(&|_, machine| target_cores_busy(placement, machine)),
        background_target_share: figure(&|_, machine| Some(machine.background?.target_cores)),
        background_agent_share: figure(&|_, machine| machine.background?.agent_cores),
        other_arms_share: figure(&|_, machine| machine.other_arms),
        busiest_core: figure(&|_, machine| machine.core_busy.iter().copied().reduce(f64::max)),
        throttled_share: figure(&|record, machine| {
            let worst = record
                .instances
                .iter()
                .filter_map(|part| part.throttled_ns)
                .max();
            of_window(worst?, machine)
        }),
    }
}

/// Mean busy share of the parts' cores; of all cores without placement.
fn target_cores_busy(placement: &Placement, machine: &MachineUsage) -> Option<f64> {
    let cores = &machine.core_busy;
    let of = |cpu: &u32| cores.get(*cpu as usize).copied();
    let (sum, count) = match placement.target_cpus.as_slice() {
        [] => (Some(cores.iter().sum::<f64>()), cores.len()),
        cpus => (cpus.iter().map(of).sum(), cpus.len()),
    };
    (count > 0).then(|| Some(sum? / count as f64))?
}
