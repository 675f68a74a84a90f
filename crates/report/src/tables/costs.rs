//! CPU, memory, disk and packets of each part.

use tare_record::metric::{Metric, Unit};
use tare_record::topology::SHARED_CONTROL_PLANE;
use tare_record::view::{CellView, LevelView, Output, PartView, Table, TableCell, TableColumn};

use super::figures::{exchanges, of_one_arm};
use super::{TableInputs, cell, figure, figure_text, group, name, share, text};
use crate::cells::distinct;
use crate::quantity::{self, MISSING};

/// CPU and peak memory of the parts of each level: both in one table, in a table each, or a row per part.
pub fn level(source: &TableInputs<'_>) -> Vec<Table> {
    if !source.compares_arms() {
        return Vec::new();
    }
    let what = exchanges(source.view);
    let cpu = format!("CPU-seconds per 1000 {what}");
    let levels = source.view.levels.iter();
    let mut parts = levels
        .clone()
        .flat_map(|level| &level.cells)
        .flat_map(|cell| &cell.parts);
    let all = match parts.any(|part| part.role == SHARED_CONTROL_PLANE) {
        true => "under test: without agents, Tare and the cluster's control plane",
        false => "under test: without agents and Tare",
    };
    let measured = levels.filter(|level| level.cells.iter().any(|cell| !cell.parts.is_empty()));
    measured
        .flat_map(|level| {
            let both = format!("{cpu} and peak memory of each part");
            [
                wide(level, 0, format!("{both}; {all}"), |[cpu, memory]| {
                    match cpu == MISSING && memory == MISSING {
                        true => MISSING.into(),
                        false => format!("{cpu}, {memory}"),
                    }
                }),
                wide(level, 1, format!("{cpu}; {all}"), |[cpu, _]| cpu),
                wide(level, 1, format!("peak memory; {all}"), |[_, memory]| {
                    memory
                }),
                long(level, both),
            ]
        })
        .collect()
}

fn costs(level: &LevelView, layout: u8, title: String) -> Table {
    Table {
        level: Some(level.name.clone()),
        layout,
        ..Table::new("costs-of-parts", "CPU and memory per part", title).only(&Output::TEXT)
    }
}

/// CPU and peak memory of a part, as texts.
fn cost(part: &PartView) -> [String; 2] {
    let memory = part.rss_peak_bytes.map(|bytes| bytes as f64);
    let text = |value: Option<f64>, unit| {
        value.map_or_else(|| MISSING.into(), |value| quantity::value(unit, value))
    };
    [
        text(part.cpu_s_per_1000, Unit::CpuSecondsPer1000),
        text(memory, Unit::Bytes),
    ]
}

/// A column per part, and one for the sum of the parts under test.
fn wide(
    level: &LevelView,
    layout: u8,
    title: String,
    text: impl Fn([String; 2]) -> String,
) -> Table {
    let instances = instances(level.cells.iter(), |_| true);
    let columns = instances.iter().map(|instance| {
        // The conductor is idle during trials: a narrow terminal omits it first.
        TableColumn::figure(*instance).omit(u8::from(*instance == "conductor"))
    });
    let mut table = costs(level, layout, title)
        .columns([TableColumn::name("arm"), TableColumn::figure("under test")])
        .columns(columns);
    for cell in &level.cells {
        let total = [Metric::Cpu, Metric::Memory].map(|metric| figure_text(cell, metric).into());
        let mut cells: Vec<TableCell> = vec![cell.arm.as_str().into(), text(total).into()];
        cells.extend(instances.iter().map(|instance| {
            let part = cell.parts.iter().find(|part| part.instance == *instance);
            let text = part.map_or_else(|| MISSING.into(), |part| text(cost(part)));
            TableCell::from(text)
        }));
        table.rows.push(cells.into());
    }
    table
}

/// A row per part.
fn long(level: &LevelView, title: String) -> Table {
    let cells = level.cells.iter();
    let parts = cells.flat_map(|cell| cell.parts.iter().map(move |part| (cell, part)));
    let parts: Vec<(&CellView, &PartView)> = parts.collect();
    costs(level, 2, title).fill(
        &parts,
        [
            group("arm", |(cell, _)| text(&cell.arm)),
            name("part", |(_, part)| text(&part.instance)),
            name("software", |(_, part)| text(&part.software)),
            figure("CPU per 1000", |(_, part)| {
                let [cpu, _] = cost(part);
                cpu.into()
            }),
            figure("peak memory", |(_, part)| {
                let [_, memory] = cost(part);
                memory.into()
            }),
        ],
    )
}

/// The names of the parts of these cells that fulfil a condition.
fn instances<'a>(
    cells: impl Iterator<Item = &'a CellView>,
    holds: impl Fn(&PartView) -> bool,
) -> Vec<&'a str> {
    let parts = cells.flat_map(|cell| &cell.parts);
    let parts = parts.filter(|part| holds(part));
    distinct(parts.map(|part| part.instance.as_str()))
}

/// Levels compared: cores and peak memory of each part.
pub fn used(source: &TableInputs<'_>) -> Vec<Table> {
    let title = "CPU and peak memory by part";
    let table = Table::new("used-by-parts", "CPU and memory per part", title);
    of_parts(source, table, |part| {
        let memory = part.rss_peak_bytes;
        [
            part.cores.map(|cores| format!("{cores:.2} cores")),
            memory.map(|bytes| quantity::value(Unit::Bytes, bytes as f64)),
        ]
    })
}

/// Levels compared: disk writes and network packets of each part.
pub fn moved(source: &TableInputs<'_>) -> Vec<Table> {
    let title = "disk and network I/O by part: bytes written, packets in and out";
    let table = Table::new("moved-by-parts", "CPU and memory per part", title);
    of_parts(source, table, |part| {
        let (disk, packets) = (part.disk_write_per_s, part.packets_per_s);
        [
            disk.map(|bytes| quantity::value(Unit::BytesPerSecond, bytes)),
            packets.map(|count| quantity::value(Unit::PerSecond, count)),
        ]
    })
}

/// A row per cell, and a column for every part with values except the conductor.
fn of_parts(
    source: &TableInputs<'_>,
    table: Table,
    texts: impl Fn(&PartView) -> [Option<String>; 2],
) -> Vec<Table> {
    if source.compares_arms() {
        return Vec::new();
    }
    let text = |part: &PartView| {
        let known: Vec<String> = texts(part).into_iter().flatten().collect();
        (!known.is_empty()).then(|| known.join(", "))
    };
    let cells = source.cells().map(|(_, cell)| cell);
    let instances = instances(cells, |part| {
        part.role != "conductor" && text(part).is_some()
    });
    if instances.is_empty() {
        return Vec::new();
    }
    let mut table = table
        .only(&Output::TEXT)
        .columns([TableColumn::name("level"), TableColumn::name("arm")])
        .columns(instances.iter().map(|name| TableColumn::figure(*name)));
    for (level, cell) in source.cells() {
        let mut cells: Vec<TableCell> = vec![level.name.as_str().into(), cell.arm.as_str().into()];
        cells.extend(instances.iter().map(|instance| {
            let part = cell.parts.iter().find(|part| part.instance == *instance);
            TableCell::from(part.and_then(&text).unwrap_or_else(|| MISSING.into()))
        }));
        table.rows.push(cells.into());
    }
    vec![of_one_arm(source, table)]
}

/// Everything that is known of each part, on the page.
pub fn parts(source: &TableInputs<'_>) -> Vec<Table> {
    let title = "every part as a table";
    let table = Table::new("every-part", "CPU and memory per part", title).only(&[Output::Page]);
    source.per_level_of(
        &table,
        parts_of,
        [
            name("part", |part| {
                TableCell::from(part.instance.as_str()).detail(part.role.as_str())
            }),
            name("software", |part| text(&part.software)),
            figure("CPU-s per 1000", |part| {
                cell(part.cpu_s_per_1000, |s| {
                    quantity::value(Unit::CpuSecondsPer1000, s)
                })
            }),
            figure("cores", |part| {
                cell(part.cores, |cores| format!("{cores:.2}"))
            }),
            figure("peak memory", |part| bytes(part.rss_peak_bytes)),
            figure("mean memory", |part| bytes(part.rss_mean_bytes)),
            figure("run-queue wait", |part| share(part.run_queue_wait_share)),
            figure("switches per 1000", |part| {
                cell(part.switches_per_1000, quantity::count)
            }),
            figure("packets per 1000", |part| {
                cell(part.packets_per_1000, quantity::count)
            }),
            figure("packets per s", |part| {
                cell(part.packets_per_s, |count| {
                    quantity::value(Unit::PerSecond, count)
                })
            }),
            figure("disk written", |part| bytes(part.disk_write_bytes)),
            figure("disk per s", |part| {
                cell(part.disk_write_per_s, |bytes| {
                    quantity::value(Unit::BytesPerSecond, bytes)
                })
            }),
            figure("throttled", |part| share(part.throttled_share)),
        ],
    )
}

fn parts_of(cell: &CellView) -> &[PartView] {
    &cell.parts
}

fn bytes(count: Option<u64>) -> TableCell {
    cell(count.map(|count| count as f64), |count| {
        quantity::value(Unit::Bytes, count)
    })
}
