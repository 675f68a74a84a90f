//! The metrics of a run or a load: figures of cells, verdicts with their intervals, parts, target counters.

use tare_record::metric::Unit;
use tare_record::text::word_of;
use tare_record::view::{CellView, Family, Interval, LevelView, Outcome, Overhead, View};
use tare_report::target_counters::{CounterFigure, MILLISECONDS_SUFFIX};

use crate::metrics::{self, MetricDef, Metrics};

/// Name and value of a label.
type Label<'a> = (&'static str, &'a str);

/// Factor from Tare's unit to the base unit, and the metrics of a value and of a difference.
struct Base {
    factor: f64,
    result: &'static MetricDef,
    added: &'static MetricDef,
}

fn base(unit: Unit) -> Base {
    let (factor, result, added) = match unit {
        Unit::Nanoseconds => (1e-9, &metrics::RESULT_LATENCY, &metrics::ADDED_LATENCY),
        // No metric of a run has a unit of its own.
        Unit::PerSecond | Unit::Own => (1.0, &metrics::RESULT_RATE, &metrics::ADDED_RATE),
        Unit::BytesPerSecond => (1.0, &metrics::RESULT_THROUGHPUT, &metrics::ADDED_THROUGHPUT),
        Unit::CpuSecondsPer1000 => (
            1e-3,
            &metrics::RESULT_EXCHANGE_CPU,
            &metrics::ADDED_EXCHANGE_CPU,
        ),
        Unit::Bytes => (1.0, &metrics::RESULT_MEMORY, &metrics::ADDED_MEMORY),
        Unit::Cores => (1.0, &metrics::RESULT_CPU, &metrics::ADDED_CPU),
    };
    Base {
        factor,
        result,
        added,
    }
}

/// The figures of all cells and the comparisons of primary metrics: what a page with many runs shows of each.
#[must_use]
pub fn results(view: &View) -> Metrics {
    let mut to = Metrics::default();
    let run = [
        ("experiment", view.run.experiment.as_str()),
        ("run", view.run.id.as_str()),
    ];
    let blocks = f64::from(view.run.blocks_complete);
    to.set(&metrics::RUN_BLOCKS, &run, blocks);
    for (level, cell) in cells(view) {
        for figure in &cell.figures {
            let base = base(figure.unit);
            let metric = figure.metric.name();
            let labels = of_cell(run, level, cell, &[("metric", &metric)]);
            let value = figure.value.map(|value| value * base.factor);
            to.maybe(base.result, &labels, value);
        }
    }
    for overhead in &view.overheads {
        if overhead.family == Family::Primary {
            comparison(&mut to, run, overhead);
        }
    }
    to
}

/// All that is known of a run.
#[must_use]
pub fn all(view: &View, counters: &[CounterFigure]) -> Metrics {
    let mut to = results(view);
    let run = [
        ("experiment", view.run.experiment.as_str()),
        ("run", view.run.id.as_str()),
    ];
    let state = word_of(&view.run.progress);
    to.set(
        &metrics::RUN_STATE,
        &[("run", &view.run.id), ("state", &state)],
        1.0,
    );
    to.set(&metrics::RUN_DURATION, &run, view.run.took_ns as f64 / 1e9);
    for overhead in &view.overheads {
        comparison(&mut to, run, overhead);
    }
    for assertion in &view.assertions {
        let more = [
            ("assertion", assertion.text.as_str()),
            ("outcome", assertion.outcome.word()),
        ];
        to.set(&metrics::ASSERTION, &[&run[..], &more].concat(), 1.0);
    }
    for (level, cell) in cells(view) {
        for (outcome, count) in [
            ("ok", cell.ok),
            ("error", cell.errors),
            ("unfinished", cell.unfinished),
            ("never-sent", cell.never_sent),
        ] {
            let labels = of_cell(run, level, cell, &[("outcome", outcome)]);
            to.set(&metrics::RUN_EXCHANGES, &labels, count as f64);
        }
        let labels = of_cell(run, level, cell, &[]);
        to.maybe(&metrics::FAILED, &labels, cell.failed.share);
        for part in &cell.parts {
            let part_labels = [
                ("part", part.instance.as_str()),
                ("role", part.role.as_str()),
            ];
            let labels = of_cell(run, level, cell, &part_labels);
            to.maybe(&metrics::PART_CPU, &labels, part.cores);
            let memory = part.rss_peak_bytes.map(|bytes| bytes as f64);
            to.maybe(&metrics::PART_MEMORY, &labels, memory);
        }
    }
    for counter in counters {
        target_counter(&mut to, run, counter);
    }
    to
}

fn cells(view: &View) -> impl Iterator<Item = (&LevelView, &CellView)> {
    let levels = view.levels.iter();
    levels.flat_map(|level| level.cells.iter().map(move |cell| (level, cell)))
}

fn of_cell<'a>(
    run: [Label<'a>; 2],
    level: &'a LevelView,
    cell: &'a CellView,
    more: &[Label<'a>],
) -> Vec<Label<'a>> {
    let cell = [("arm", cell.arm.as_str()), ("level", level.name.as_str())];
    [&run[..], &cell, more].concat()
}

/// The difference, the ratio and the outcome of a comparison.
fn comparison(to: &mut Metrics, run: [Label<'_>; 2], overhead: &Overhead) {
    let (metric, family) = (overhead.metric.name(), word_of(&overhead.family));
    let common = [
        ("arm", overhead.arm.as_str()),
        ("level", overhead.level.as_str()),
        ("against", overhead.against.as_str()),
        ("against_level", overhead.against_level.as_str()),
        ("metric", metric.as_str()),
        ("family", family.as_str()),
    ];
    let labels = [&run[..], &common].concat();
    let base = base(overhead.unit);
    let mut ends = |def, interval: Option<Interval>, factor: f64| {
        let Some(interval) = interval else { return };
        for (bound, value) in [
            ("estimate", Some(interval.estimate)),
            ("low", interval.low),
            ("high", interval.high),
        ] {
            let labels = [&labels[..], &[("bound", bound)]].concat();
            to.maybe(def, &labels, value.map(|value| value * factor));
        }
    };
    ends(base.added, overhead.added, base.factor);
    ends(&metrics::OVERHEAD, overhead.ratio, 1.0);
    let outcome = match &overhead.outcome {
        Outcome::Differs { .. } => "differs",
        Outcome::Same => "same",
        Outcome::Undecided { .. } => "undecided",
        Outcome::None { .. } => "none",
        Outcome::Descriptive => return,
    };
    let labels = [&labels[..], &[("outcome", outcome)]].concat();
    to.set(&metrics::VERDICT, &labels, 1.0);
}

fn target_counter(to: &mut Metrics, run: [Label<'_>; 2], counter: &CounterFigure) {
    let time = counter.name.strip_suffix(MILLISECONDS_SUFFIX);
    let (def, name, factor) = match time {
        Some(name) => (&metrics::TARGET_COUNTER_TIME, name, 1e-3),
        None => (&metrics::TARGET_COUNTER, counter.name.as_str(), 1.0),
    };
    let of = [
        ("arm", counter.arm.as_str()),
        ("level", counter.level.as_str()),
        ("part", counter.instance.as_str()),
        ("counter", name),
    ];
    let label = counter.label.as_deref().map(|label| ("label", label));
    let label: Vec<Label<'_>> = label.into_iter().collect();
    let labels = [&run[..], &of, &label].concat();
    to.set(def, &labels, counter.value * factor);
}
