//! A history for the terminal: experiments, their series, the runs of one series.

use tare_record::api::{
    HistoryList, SeriesChange, SeriesDetail, SeriesKey, SeriesList, SeriesSummary, VersionChange,
};
use tare_record::escape::escape_line;
use tare_record::metric::Unit;
use tare_record::plan::Form;
use tare_record::text::word_of;
use tare_record::view::ColumnKind::{self, Figure, Name, Words};
use tare_report::latency::MaybeLowerBound;
use tare_report::quantity::{self, MISSING, Sign};
use tare_report::terminal::{Screen, columns};

use crate::series::Changes;

/// Columns of a screen from which on there is room for all recent runs, and how many there are otherwise.
const WIDE: u16 = 130;
const SHORT: usize = 14;
/// Heights of a sparkline.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The experiments, a line each.
#[must_use]
pub fn experiments(list: &HistoryList, screen: Screen) -> String {
    let mut text = String::new();
    if list.experiments.is_empty() {
        text.push_str("There is no complete run yet: `tare run` makes one.\n");
    } else {
        let heads = [
            ("experiment", Name),
            ("form", Name),
            ("runs", Figure),
            ("first", Name),
            ("last", Name),
            ("machines", Words),
        ];
        let rows = list.experiments.iter().map(|one| {
            let machines = one.machines.iter().map(|machine| {
                let runs = quantity::counted(machine.runs, "run", "runs");
                format!("{} ({runs}, {})", machine.machine, machine.about)
            });
            vec![
                one.experiment.clone(),
                word_of(&one.form),
                one.runs.to_string(),
                date(one.first_unix_us),
                date(one.last_unix_us),
                machines.collect::<Vec<_>>().join(", "),
            ]
        });
        text.push_str(&columns(&heads, &rows.collect::<Vec<_>>(), screen));
    }
    for (run, problem) in &list.unreadable {
        let line = format!("not in the history: {run}: {problem}");
        text.push_str(&format!("{}\n", screen.colour.faint(&escape_line(&line))));
    }
    text
}

/// The series of an experiment, a line each; below them their last change points where they were asked for.
#[must_use]
pub fn series(list: &SeriesList, changes: Changes, screen: Screen) -> String {
    type Pick = fn(&SeriesSummary) -> String;
    // What all have in common stands above the table.
    let (mut title, mut heads, mut picks): (Vec<String>, Vec<(&str, ColumnKind)>, Vec<Pick>) =
        Default::default();
    let common: [(&str, Pick); 3] = [
        ("experiment", |one| one.key.experiment.clone()),
        ("form", |one| word_of(&one.key.form)),
        ("machine", |one| one.key.machine.clone()),
    ];
    for (head, pick) in common {
        let mut values: Vec<String> = list.series.iter().map(pick).collect();
        values.dedup();
        match values.as_slice() {
            [one] => title.push(format!("{head} {one}")),
            _ => {
                heads.push((head, Name));
                picks.push(pick);
            }
        }
    }
    let columns_of: [(&str, ColumnKind, Pick); 7] = [
        ("level", Name, |one| named(&one.key.level)),
        ("arm", Name, |one| named(&one.key.arm)),
        ("metric", Name, |one| one.key.metric.label().to_owned()),
        ("runs", Figure, |one| one.runs.to_string()),
        ("latest", Figure, |one| {
            quantity::value(one.unit, one.latest)
        }),
        ("median", Figure, |one| {
            quantity::value(one.unit, one.median)
        }),
        ("change", Figure, |one| {
            one.latest_change
                .map_or_else(|| MISSING.to_owned(), relative)
        }),
    ];
    for (head, kind, pick) in columns_of {
        heads.push((head, kind));
        picks.push(pick);
    }
    heads.push(("last runs", Name));
    let characters = match screen.width {
        0..WIDE => SHORT,
        _ => usize::MAX,
    };
    let row = |one: &SeriesSummary| {
        let mut cells: Vec<String> = picks.iter().map(|pick| pick(one)).collect();
        let recent = &one.recent[one.recent.len().saturating_sub(characters)..];
        cells.push(sparkline(recent));
        cells
    };
    let rows: Vec<Vec<String>> = list.series.iter().map(row).collect();
    let title = escape_line(&title.join(", ")).into_owned();
    let mut text = format!("{title}\n{}", columns(&heads, &rows, screen));
    if changes == Changes::Find {
        text.push_str(&last_changes(list, screen));
    }
    text
}

/// The last change point of each series that has one, a line each.
fn last_changes(list: &SeriesList, screen: Screen) -> String {
    let mut text = String::new();
    for one in &list.series {
        if let Some(change) = &one.last_change {
            let (label, key) = (one.key.metric.label(), &one.key);
            let words = change_words(change, one.unit);
            let note = one.acknowledged.as_ref();
            let note = note.map_or_else(String::new, |note| format!("; acknowledged: {note}"));
            let line = format!(
                "{label} of {}{}: {words}{note}",
                named(&key.arm),
                at_level(key)
            );
            text.push_str(&coloured(&line, change, screen));
        }
    }
    if text.is_empty() {
        text.push_str("No series has a change point.\n");
    }
    text + &unmatched(&list.unmatched, screen)
}

/// Acknowledgements that match no change, a line each.
#[must_use]
pub fn unmatched(sentences: &[String], screen: Screen) -> String {
    let line = |said: &String| format!("{}\n", screen.colour.bad(&escape_line(said)));
    sentences.iter().map(line).collect()
}

/// A line about a change point.
fn coloured(line: &str, change: &SeriesChange, screen: Screen) -> String {
    let line = escape_line(line);
    let line = match change.is_worse {
        true => screen.colour.bad(&line),
        false => screen.colour.good(&line),
    };
    format!("{line}\n")
}

/// One series: its runs, the newest last, with what changed.
#[must_use]
pub fn detail(series: &SeriesDetail, screen: Screen) -> String {
    let key = &series.key;
    let form = match key.form {
        Form::Full => "",
        Form::Quick => " (quick)",
    };
    let title = format!(
        "{}{form}: {} of {}{}",
        key.experiment,
        series.label,
        key.arm,
        at_level(key)
    );
    let mut text = format!("{}\n", screen.colour.strong(&escape_line(&title)));
    text.push_str(&format!(
        "{} on machine {}: {}; a change of less than {} does not count\n",
        quantity::counted(series.runs, "run", "runs"),
        key.machine,
        escape_line(&series.machine),
        quantity::percent(series.margin)
    ));
    if series.left_out > 0 {
        let line = format!(
            "{} before these: --last N shows more",
            quantity::counted(series.left_out, "run", "runs")
        );
        text.push_str(&format!("{}\n", screen.colour.faint(&line)));
    }
    let heads = [
        ("started (UTC)", Name),
        ("run", Name),
        ("value", Figure),
        ("blocks", Figure),
        ("changed", Words),
    ];
    let rows = (series.left_out..)
        .zip(&series.points)
        .map(|(place, point)| {
            let change = series.changes.iter().find(|change| change.index == place);
            let change = change.map(|change| format!("◀ {}", step(change, series.unit)));
            let changed: Vec<String> = change.into_iter().chain(versions(&point.changed)).collect();
            let value = MaybeLowerBound {
                value: point.value,
                is_lower_bound: point.is_lower_bound,
            };
            let of_block = |value| quantity::value(series.unit, value);
            let blocks = point.low.zip(point.high);
            let blocks =
                blocks.map(|(low, high)| format!("{} to {}", of_block(low), of_block(high)));
            vec![
                time(point.started_unix_us),
                point.run.clone(),
                quantity::figure(series.unit, Some(value)),
                blocks.unwrap_or_else(|| MISSING.to_owned()),
                changed.join("; "),
            ]
        });
    text.push_str(&columns(&heads, &rows.collect::<Vec<_>>(), screen));
    for change in &series.changes {
        text.push_str(&coloured(
            &change_words(change, series.unit),
            change,
            screen,
        ));
    }
    text
}

/// A change point in words: how much, since which run, and what else changed there.
#[must_use]
pub fn change_words(change: &SeriesChange, unit: Unit) -> String {
    let changed = versions(&change.changed);
    let changed = changed.map_or_else(String::new, |changed| format!(", with {changed}"));
    format!(
        "{} since {} ({}){changed}",
        step(change, unit),
        date(change.started_unix_us),
        change.run
    )
}

/// `+10 % (0.31 ms → 0.34 ms)`.
fn step(change: &SeriesChange, unit: Unit) -> String {
    let value = |value| quantity::value(unit, value);
    format!(
        "{} ({} → {})",
        relative(change.change),
        value(change.before),
        value(change.after)
    )
}

/// `kernel 6.1 → 6.18, envoy 1.39.3 → 1.40.0`; `None`: nothing changed.
#[must_use]
pub fn versions(changed: &[VersionChange]) -> Option<String> {
    let words = changed.iter().map(|one| {
        let named = |version: &str| match version {
            "" => MISSING.to_owned(),
            version => version.to_owned(),
        };
        format!(
            "{} {} → {}",
            one.axis,
            named(&one.before),
            named(&one.after)
        )
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Values as characters, the lowest and the highest at the ends of the scale; a lone height where all are equal.
#[must_use]
pub fn sparkline(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let height = |value: &f64| match high > low {
        true => BLOCKS[((value - low) / (high - low) * 7.0).round() as usize],
        false => BLOCKS[3],
    };
    values.iter().map(height).collect()
}

/// `+10 %`.
#[must_use]
pub fn relative(change: f64) -> String {
    quantity::change(&quantity::interval(1.0 + change, None), Sign::Shown)
}

/// A level or an arm; one without a name has a dash.
fn named(name: &str) -> String {
    match name {
        "" => MISSING.to_owned(),
        name => name.to_owned(),
    }
}

/// ` at 400/s`, or ` in ns` where the level names the unit of a micro-benchmark; nothing without a level.
#[must_use]
pub fn at_level(key: &SeriesKey) -> String {
    match (key.level.as_str(), key.metric.unit()) {
        ("", _) => String::new(),
        (unit, Unit::Own) => format!(" in {unit}"),
        (level, _) => format!(" at {level}"),
    }
}

/// `2026-11-21`.
#[must_use]
pub fn date(unix_us: u64) -> String {
    let time = time(unix_us);
    time.split(' ').next().unwrap_or(&time).to_owned()
}

/// `2026-11-21T09-12-44`, in UTC: the beginning of a folder's name.
#[must_use]
pub fn second(unix_us: u64) -> String {
    let timestamp = i64::try_from(unix_us).ok();
    let timestamp = timestamp.and_then(|us| jiff::Timestamp::from_microsecond(us).ok());
    let timestamp = timestamp.unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    timestamp.strftime("%Y-%m-%dT%H-%M-%S").to_string()
}

/// `2026-11-21 09:12`, in UTC.
#[must_use]
pub fn time(unix_us: u64) -> String {
    let timestamp = i64::try_from(unix_us).ok();
    let timestamp = timestamp.and_then(|us| jiff::Timestamp::from_microsecond(us).ok());
    timestamp.map_or_else(
        || MISSING.to_owned(),
        |time| time.strftime("%Y-%m-%d %H:%M").to_string(),
    )
}
