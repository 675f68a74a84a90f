//! `tare history`: answers one question and prints the answer.

use std::process::ExitCode;

use tare_history::series::{self, Changes};
use tare_history::{History, HistoryError, chart, csv, suite, text};
use tare_program::{Failed, print, print_json, say, write};
use tare_record::api::{HistoryOptions, HistoryOutput, SeriesDetail, SeriesFilter, SeriesList};
use tare_report::quantity::counted;

/// Runs the command.
pub fn run(options: &HistoryOptions) -> Result<ExitCode, Failed> {
    let mut history = History::of(&options.runs);
    let HistoryOptions { filter, last, .. } = options;
    let screen = tare_program::screen(&options.screen);
    let changes = match options.changes {
        true => Changes::Find,
        false => Changes::LeaveOut,
    };
    match &options.output {
        HistoryOutput::Index => {
            let update = history.rebuild(&say)?;
            let runs = counted(update.read as u64, "run", "runs");
            print(&format!("index of {}: {runs}\n", options.runs.display()))?;
        }
        HistoryOutput::Text if filter.experiment.is_none() => {
            let found = history.ask(&say, series::experiments)?;
            print(&text::experiments(&found, screen))?;
        }
        HistoryOutput::Json if filter.experiment.is_none() => {
            print_json(&history.ask(&say, series::experiments)?)?;
        }
        HistoryOutput::Text => match ask(&mut history, filter, *last, changes)? {
            Answer::One(found, unmatched) => {
                print(&(text::detail(&found, screen) + &text::unmatched(&unmatched, screen)))?;
            }
            Answer::Several(found) => print(&text::series(&found, changes, screen))?,
        },
        HistoryOutput::Json => match ask(&mut history, filter, *last, changes)? {
            Answer::One(found, _) => print_json(&found)?,
            Answer::Several(found) => print_json(&found)?,
        },
        HistoryOutput::Csv => {
            let all = history.ask(&say, |index| {
                let found = series::list_series(index, filter, Changes::LeaveOut)?;
                let keys = found.series.iter().map(|one| series::filter_of(&one.key));
                keys.map(|key| series::one_series(index, &key, *last))
                    .collect::<Result<Vec<_>, _>>()
            })?;
            let lines: String = all.iter().map(csv::lines).collect();
            print(&format!("{}{lines}", csv::HEAD))?;
        }
        HistoryOutput::Svg(file) => {
            let found = history.ask(&say, |index| series::one_series(index, filter, *last))?;
            write(file, &chart::svg(&found))?;
            print(&format!("chart: {}\n", file.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What a filter means.
enum Answer {
    /// It names metric, arm and level, and there is one such series; beside it the acknowledgements that match no change.
    One(Box<SeriesDetail>, Vec<String>),
    Several(SeriesList),
}

fn ask(
    history: &mut History,
    filter: &SeriesFilter,
    last: usize,
    changes: Changes,
) -> Result<Answer, HistoryError> {
    let is_one = filter.metric.is_some() && filter.arm.is_some() && filter.level.is_some();
    let acknowledged = suite::acknowledged(history.runs());
    history.ask(&say, |index| {
        let mut found = series::list_series(index, filter, changes)?;
        if changes == Changes::Find {
            acknowledged.mark(index, &mut found)?;
        }
        Ok(match found.series.len() {
            1 if is_one => {
                let one = series::one_series(index, filter, last)?;
                Answer::One(Box::new(one), found.unmatched)
            }
            _ => Answer::Several(found),
        })
    })
}
