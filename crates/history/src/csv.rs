//! A history as CSV: one value per line, for spreadsheets and statistics programs.

use tare_record::api::{SeriesDetail, SeriesKey};
use tare_record::text::word_of;
use tare_report::csv::{quoted, unit};

/// The line of the names of columns.
pub const HEAD: &str =
    "experiment,form,level,arm,metric,unit,machine,run,started_unix_us,value,low,high,is_change\n";

/// The runs of a series. `is_change` is 1 for the first run after a change point, else 0. Values are unrounded.
#[must_use]
pub fn lines(series: &SeriesDetail) -> String {
    let SeriesKey {
        experiment,
        form,
        arm,
        level,
        metric,
        machine,
    } = &series.key;
    let form = word_of(form);
    let metric = metric.name();
    let unit = unit(series.unit);
    let key = [experiment, &form, level, arm, &metric, unit, machine];
    let key = key.map(quoted).join(",");
    let mut text = String::new();
    for (place, point) in (series.left_out..).zip(&series.points) {
        let is_change = series.changes.iter().any(|change| change.index == place);
        let end = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        text.push_str(&format!(
            "{key},{},{},{},{},{},{}\n",
            quoted(&point.run),
            point.started_unix_us,
            point.value,
            end(point.low),
            end(point.high),
            u8::from(is_change)
        ));
    }
    text
}
