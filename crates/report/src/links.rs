//! Links between sites: measured round trips, and traffic over the fit trials of a cell.

use tare_record::metric::Unit;
use tare_record::record::{LinkDirectionUsage, LinkUsage, TrialRecord};
use tare_record::view::{Output, Table, TableColumn, TableRow};

use crate::cells::{distinct, median};
use crate::measure;
use crate::network::SECTION;
use crate::quantity::{self, MISSING};
use crate::tables::{TableInputs, cell};

/// Every link of the plan, with the round trips that were measured before the first block.
pub fn rtts(source: &TableInputs<'_>) -> Vec<Table> {
    let environment = source.run.environment.as_ref();
    let found = environment.map_or(&[][..], |environment| &environment.link_rtts);
    let title = "round trips between sites, before the first block";
    let mut table = Table::new("link-rtts", SECTION, title).columns([
        TableColumn::name("configured"),
        TableColumn::figure("median").csv("round trip {}, median", "ns"),
        TableColumn::figure("p99").csv("round trip {}, p99", "ns"),
        TableColumn::figure("answered"),
    ]);
    for link in &source.run.plan.site_links {
        let name = link.name();
        let found = found.iter().find(|found| found.link == name);
        // Always to the microsecond, so that the deviation from the configured delay is visible.
        let trip =
            |ns: Option<u64>| cell(ns.map(|ns| ns as f64), |ns| format!("{:.3} ms", ns / 1e6));
        let answered = found.map_or_else(
            || MISSING.into(),
            |found| format!("{} of {}", found.answered, found.sent),
        );
        let cells = vec![
            link.in_words().into(),
            trip(found.and_then(|found| found.p50_ns)),
            trip(found.and_then(|found| found.p99_ns)),
            answered.into(),
        ];
        table.rows.push(TableRow {
            subject: Some(name),
            ..cells.into()
        });
    }
    vec![table]
}

/// Traffic in both directions of every link: medians over the trials of a cell, of unintended drops the maximum.
pub fn traffic(source: &TableInputs<'_>) -> Vec<Table> {
    let note = "Packets as they would be on a wire. Lost: the configured loss. Unintended drops (worst trial) and late packets \
                (over 0.2 ms): the emulated link deviated from its configuration.";
    let table = Table::new("link-traffic", SECTION, "link traffic")
        .note(note)
        .only(match source.compares_arms() {
            true => &Output::ALL,
            false => &[Output::Markdown, Output::Page],
        })
        .columns([
            TableColumn::group("arm"),
            TableColumn::name("direction"),
            TableColumn::figure("packets /1000").csv("packets, {}", "per 1000"),
            TableColumn::figure("bytes /exchange")
                .csv("bytes, {}", "bytes per exchange")
                .omit(1),
            TableColumn::figure("lost").csv("packets lost, {}", "share"),
            TableColumn::figure("queue full").csv("packets dropped, queue full, {}", "per window"),
            TableColumn::figure("unintended drops").csv("unintended drops, {}", "per window"),
            TableColumn::figure("late")
                .csv("late writes, {}", "per window")
                .omit(1),
        ]);
    source.per_level(&table, |level, cell| {
        let records = source.records(level, cell);
        let names = direction_names(&records).into_iter();
        names.map(|name| row(name, &records)).collect()
    })
}

/// The link directions of a trial.
pub fn link_directions(record: &TrialRecord) -> impl Iterator<Item = &LinkDirectionUsage> {
    let links: &[LinkUsage] = record.machine.as_ref().map_or(&[], |m| &m.links);
    links.iter().flat_map(|link| &link.directions)
}

/// Both sites of every link direction of these trials.
pub fn direction_names<'a>(records: &[&'a TrialRecord]) -> Vec<(&'a str, &'a str)> {
    let all = records.iter().flat_map(|record| link_directions(record));
    distinct(all.map(|way| (way.from.as_str(), way.to.as_str())))
}

/// Packets dropped beyond the configured loss: no buffer, refused or overflowed.
pub fn unintended_drops(way: &LinkDirectionUsage) -> u64 {
    way.no_buffer_packets + way.refused_packets + way.overflowed_packets.unwrap_or(0)
}

fn row((from, to): (&str, &str), records: &[&TrialRecord]) -> TableRow {
    let all = || {
        records.iter().filter_map(|record| {
            let mut directions = link_directions(record);
            let way = directions.find(|way| (way.from.as_str(), way.to.as_str()) == (from, to))?;
            Some((*record, way))
        })
    };
    let per_1000 = |count: fn(&LinkDirectionUsage) -> u64| {
        let each = all().map(|(record, way)| measure::per_1000(record, count(way) as f64));
        median(each.collect())
    };
    let in_window = |count: fn(&LinkDirectionUsage) -> u64| {
        median(all().map(|(_, w)| Some(count(w) as f64)).collect())
    };
    let lost = all().map(|(_, way)| {
        let entered = (way.packets_in > 0).then_some(way.packets_in as f64)?;
        Some(way.lost_packets as f64 / entered)
    });
    let drops = all().map(|(_, way)| unintended_drops(way)).max();
    let bytes = per_1000(|way| way.bytes_out).map(|bytes| bytes / 1000.0);
    let cells = vec![
        format!("{from} → {to}").into(),
        cell(per_1000(|way| way.packets_out), quantity::count),
        cell(bytes, |bytes| quantity::value(Unit::Bytes, bytes)),
        cell(median(lost.collect()), quantity::percent),
        cell(in_window(|way| way.queue_full_packets), quantity::count),
        cell(drops.map(|packets| packets as f64), quantity::count),
        cell(in_window(|way| way.late_writes), quantity::count),
    ];
    TableRow {
        subject: Some(format!("{from} to {to}")),
        ..cells.into()
    }
}
