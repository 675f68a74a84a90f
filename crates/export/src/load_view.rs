//! A load as a view: one arm at one level, without comparisons.

use std::path::Path;

use tare_record::agent::{LoadEnd, OutcomeCount};
use tare_record::load_report::LoadReport;
use tare_record::plan::{Compare, Form};
use tare_record::record::RunProgress;
use tare_record::view::{
    ArmHead, AssertionView, CellView, FactGroup, FailedShare, Figure, GeneratorView, LevelView,
    MachineView, MetricHead, RunHead, Sentence, SentenceKind, Table, TableCell, TableColumn, View,
    ViewState,
};
use tare_report::figures::StoredFigure;
use tare_report::latency::MaybeLowerBound;
use tare_report::loads::{self, LOAD_PRIMARY};
use tare_report::quantity;
use tare_report::view::{metric_head, rfc3339};

/// The view of a load. `path`: its folder, or the file of its report.
pub fn view(report: &LoadReport, path: &Path) -> View {
    let cell = loads::cell(report);
    let result = &report.result;
    let figures: Vec<Figure> = cell.figures.iter().map(figure).collect();
    let metrics: Vec<MetricHead> = figures
        .iter()
        .map(|figure| metric_head(figure.metric, &LOAD_PRIMARY))
        .collect();
    let sentence = |kind, text: &String| Sentence {
        kind,
        text: text.clone(),
    };
    let found = loads::finding(report);
    let found = found
        .iter()
        .map(|text| sentence(SentenceKind::Finding, text));
    let warnings = report.warnings.iter();
    let warnings = warnings.map(|text| sentence(SentenceKind::Warning, text));
    View {
        version: report.version,
        run: head(report, &cell.experiment, path),
        verdict: found.chain(warnings).collect(),
        assertions: assertions(report),
        compare: Compare::Arms,
        tables: vec![table(&metrics, &figures)],
        metrics,
        arms: vec![ArmHead {
            name: cell.arm.clone(),
            about: report.load.clone(),
            baseline: false,
            not_run: None,
        }],
        levels: vec![LevelView {
            name: cell.level,
            values: Vec::new(),
            beyond_knee: None,
            missing: Vec::new(),
            cells: vec![CellView {
                arm: cell.arm,
                trials_fit: u32::from(report.generator.fit),
                trials_made: 1,
                offered_per_s: report.rate.offered_per_s,
                rate_reached: report.rate.reached.unwrap_or(true),
                ok: result.ok,
                errors: result.errors,
                unfinished: result.unfinished,
                never_sent: result.never_sent(),
                failed: failed(report),
                trials_saturated: 0,
                repeated_share: None,
                outcomes: failures(report),
                figures,
                latency: Vec::new(),
                response: Vec::new(),
                service: Vec::new(),
                over_time: Vec::new(),
                parts: Vec::new(),
                machine: MachineView::default(),
                generator: GeneratorView::default(),
            }],
        }],
        overheads: Vec::new(),
        failures: Vec::new(),
        faults: Vec::new(),
        waterfalls: Vec::new(),
        factors: Vec::new(),
        published: Vec::new(),
        baseline_check: None,
        noise: Vec::new(),
        trials: Vec::new(),
        flame_graphs: Vec::new(),
        unreadable_files: Vec::new(),
        facts: facts(report),
        checks: Vec::new(),
        plan_text: String::new(),
    }
}

fn head(report: &LoadReport, experiment: &str, path: &Path) -> RunHead {
    let name = path.file_stem().unwrap_or(path.as_os_str());
    RunHead {
        id: name.to_string_lossy().into_owned(),
        experiment: experiment.to_owned(),
        question: String::new(),
        started: rfc3339(report.result.window_start_unix_us),
        took_ns: report.result.window_ns,
        measuring_share: 1.0,
        state: ViewState::Complete,
        progress: match report.result.ended {
            LoadEnd::Aborted => RunProgress::Failed,
            // How a load without an end is ended.
            LoadEnd::Completed | LoadEnd::Interrupted => RunProgress::Complete,
        },
        end_reason: report.result.abort_reason.clone(),
        form: Form::Full,
        blocks_complete: 1,
        blocks_planned: 1,
        command: String::new(),
        tare: report.tare.clone(),
    }
}

fn figure(stored: &StoredFigure) -> Figure {
    let value = MaybeLowerBound {
        value: stored.value,
        is_lower_bound: stored.is_lower_bound,
    };
    let unit = stored.metric.unit();
    Figure {
        metric: stored.metric,
        unit,
        value: Some(stored.value),
        is_lower_bound: stored.is_lower_bound,
        low: None,
        high: None,
        by_block: vec![Some(stored.value)],
        text: quantity::figure(unit, Some(value)),
    }
}

fn table(metrics: &[MetricHead], figures: &[Figure]) -> Table {
    let columns = [TableColumn::name("metric"), TableColumn::figure("value")];
    let mut table = Table::new("load-figures", "Figures", "figures").columns(columns);
    for (head, figure) in metrics.iter().zip(figures) {
        let value = TableCell::from(figure.text.as_str());
        table.push([head.label.as_str().into(), value]);
    }
    table
}

fn assertions(report: &LoadReport) -> Vec<AssertionView> {
    let assertions = report.assertions.iter();
    assertions
        .map(|one| AssertionView {
            text: one.assertion.clone(),
            outcome: one.verdict,
            reason: one.reason.clone(),
        })
        .collect()
}

fn failures(report: &LoadReport) -> Vec<OutcomeCount> {
    let all = report.result.outcomes.iter();
    all.filter(|one| one.class != "ok").cloned().collect()
}

fn failed(report: &LoadReport) -> FailedShare {
    let share = report.result.error_rate();
    FailedShare {
        share,
        text: share.map_or_else(|| quantity::MISSING.to_owned(), quantity::percent),
        what: "requests".to_owned(),
        ..FailedShare::default()
    }
}

fn facts(report: &LoadReport) -> Vec<FactGroup> {
    let Some(machine) = &report.machine else {
        return Vec::new();
    };
    let fact = |name: &str, value: String| (name.to_owned(), value);
    vec![FactGroup {
        title: "machine".to_owned(),
        facts: vec![
            fact("processor", machine.cpu_model.clone()),
            fact("cores", machine.cores.to_string()),
            fact("kernel", machine.kernel.clone()),
        ],
    }]
}
